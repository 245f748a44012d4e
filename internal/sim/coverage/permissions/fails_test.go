package permissions_test

import (
	"regexp"
	"slices"
	"strings"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// Paths that fail together.
var (
	classes      = []string{resolving, byParameter, resolvedOnce, fixing, reserving, placing}
	launches     = []string{launching, launchingSpot, encrypting}
	whatLaunches = slices.Concat(classes, launches)
	userMade     = []string{ofTheUser}
	ownClasses   = slices.Concat(classes, userMade)
	ownLaunching = slices.Concat(whatLaunches, userMade)
	deletions    = []string{unusedRoles, releasing}
	disks        = []string{encrypting}
	queue        = []string{readingTheQueue}
	templates    = []string{releasing, unusedLaunch}
	ends         = []string{ending, comparing}
	pricesOnly   = []string{pricing}
)

// fails are the paths that need a grant. An action whose parts are listed needs no line of its own: all that its parts
// are needed for fails without it.
var fails = map[string][]string{
	"AllowAPIServerEndpointDiscovery eks:DescribeCluster": {starting},

	"AllowRegionalReadActions ec2:DescribeInstanceTypes":         {starting, pricing},
	"AllowRegionalReadActions ec2:DescribeInstanceTypeOfferings": pricesOnly,
	"AllowRegionalReadActions ec2:DescribeSpotPriceHistory":      pricesOnly,
	"AllowPricingReadActions pricing:GetProducts":                pricesOnly,

	"AllowRegionalReadActions ec2:DescribeSubnets":        slices.Concat(ownClasses, []string{takingOver}),
	"AllowRegionalReadActions ec2:DescribeSecurityGroups": ownClasses,
	"AllowRegionalReadActions ec2:DescribeImages":         ownClasses,
	"AllowSSMReadActions ssm:GetParameter":                {resolving, resolvedOnce, fixing, reserving, placing},
	"AllowUserSSMParameterReads ssm:GetParameter":         {byParameter},

	"AllowInstanceProfileReadActions iam:GetInstanceProfile":              classes,
	"AllowScopedInstanceProfileCreationActions iam:CreateInstanceProfile": {resolving},
	"AllowScopedInstanceProfileTagActions iam:TagInstanceProfile":         {resolving},
	"AllowScopedInstanceProfileActions iam:AddRoleToInstanceProfile":      {resolving, fixing},
	"AllowScopedInstanceProfileActions iam:RemoveRoleFromInstanceProfile": {fixing, unusedRoles, releasing},
	"AllowScopedInstanceProfileActions iam:DeleteInstanceProfile":         deletions,
	"AllowUnscopedInstanceProfileListAction iam:ListInstanceProfiles":     deletions,
	"AllowPassingInstanceRole iam:PassRole":                               whatLaunches,

	"AllowScopedEC2InstanceAccessActions ec2:CreateFleet on image,snapshot,security-group,subnet":  ownLaunching,
	"AllowScopedEC2InstanceAccessActions ec2:RunInstances on image,snapshot,security-group,subnet": ownLaunching,
	"AllowScopedEC2LaunchTemplateAccessActions ec2:CreateFleet":                                    whatLaunches,
	"AllowScopedEC2LaunchTemplateAccessActions ec2:RunInstances":                                   whatLaunches,
	"AllowScopedEC2InstanceActionsWithTags ec2:CreateLaunchTemplate":                               whatLaunches,
	"AllowScopedEC2InstanceActionsWithTags ec2:CreateFleet":                                        ownLaunching,
	"AllowScopedEC2InstanceActionsWithTags ec2:RunInstances on instance,volume,network-interface":  ownLaunching,
	"AllowScopedEC2InstanceActionsWithTags ec2:RunInstances on spot-instances-request":             {launchingSpot},
	"AllowScopedResourceCreationTagging ec2:CreateTags on launch-template":                         whatLaunches,
	"AllowScopedResourceCreationTagging ec2:CreateTags on fleet":                                   ownLaunching,
	"AllowScopedResourceCreationTagging ec2:CreateTags on instance,volume,network-interface":       ownLaunching,
	"AllowScopedResourceCreationTagging ec2:CreateTags on spot-instances-request":                  {launchingSpot},

	"AllowRegionalReadActions ec2:DescribeCapacityReservations":                    {reserving},
	"AllowScopedEC2InstanceAccessActions ec2:RunInstances on capacity-reservation": {reserving},
	"AllowRegionalReadActions ec2:DescribePlacementGroups":                         {placing},
	"AllowScopedEC2InstanceAccessActions ec2:RunInstances on placement-group":      {placing},

	"AllowRegionalReadActions ec2:DescribeLaunchTemplateVersions": userMade,
	"AllowUserLaunchTemplates ec2:CreateFleet":                    userMade,
	"AllowUserLaunchTemplates ec2:RunInstances":                   userMade,
	"AllowUserLaunchTemplateParts ec2:RunInstances":               userMade,
	"AllowUserLaunchTemplateSpotRequests ec2:RunInstances":        userMade,
	"AllowPassingUserRoles iam:PassRole":                          userMade,

	"AllowVolumeKeyUse kms:Decrypt":                         disks,
	"AllowVolumeKeyUse kms:DescribeKey":                     disks,
	"AllowVolumeKeyUse kms:GenerateDataKeyWithoutPlaintext": disks,
	"AllowVolumeKeyUse kms:ReEncryptFrom":                   disks,
	"AllowVolumeKeyUse kms:ReEncryptTo":                     disks,
	"AllowVolumeKeyGrants kms:CreateGrant":                  disks,

	"AllowScopedResourceTagging ec2:CreateTags":                        {tagging},
	"AllowScopedDeletion ec2:TerminateInstances":                       ends,
	"AllowScopedDeletion ec2:DeleteLaunchTemplate":                     templates,
	"AllowRegionalReadActions ec2:DescribeLaunchTemplates":             {takingOver, releasing, unusedLaunch},
	"AllowRegionalReadActions ec2:DescribeInstances":                   {takingOver, ending, comparing, placing, tagging, unusedLaunch},
	"AllowRegionalReadActions ec2:DescribeInstanceStatus":              {statuses},
	"AllowZonalShiftStatusReadOnly arc-zonal-shift:GetManagedResource": {shifting},
	"AllowInterruptionQueueActions sqs:GetQueueUrl":                    queue,
	"AllowInterruptionQueueActions sqs:ReceiveMessage":                 queue,
	"AllowInterruptionQueueActions sqs:DeleteMessage":                  queue,
	"AllowInterruptionQueueKeyDecrypt kms:Decrypt":                     queue,
}

// stoodInFor are grants that those for users' own launch templates stand in for: they are missed where there are none.
var stoodInFor = []string{
	"AllowScopedEC2InstanceActionsWithTags ec2:RunInstances on spot-instances-request",
	"AllowScopedResourceCreationTagging ec2:CreateTags on spot-instances-request",
}

// unjudged are grants that are missed by nothing here: it is not documented whether EC2 judges them where a reservation or
// a placement group is named in the template only, and the simulator does not.
var unjudged = []string{
	"AllowScopedEC2InstanceAccessActions ec2:CreateFleet on capacity-reservation", "AllowScopedEC2InstanceAccessActions ec2:CreateFleet on placement-group",
}

// profilesStay is what the process logs when instance profiles could not be deleted.
const profilesStay = "unused instance profiles could not all be deleted"

// conditionTypes are those that the table of needs speaks of.
var conditionTypes = []string{
	awsv1.ConditionTypeSubnetsReady, awsv1.ConditionTypeSecurityGroupsReady, awsv1.ConditionTypeAMIsReady, awsv1.ConditionTypeInstanceProfileReady,
	awsv1.ConditionTypeValidationSucceeded, awsv1.ConditionTypeInterruptionQueueReady, awsv1.ConditionTypeInstanceStatusReady, awsv1.ConditionTypeLaunchTemplateReady,
	awsv1.ConditionTypeCapacityReservationsReady, awsv1.ConditionTypePlacementGroupReady, karpv1.ConditionTypeLaunched,
}

var (
	quoted  = regexp.MustCompile(`"([^"…]+)[^"]*"`)
	reasons = regexp.MustCompile(`reason (\w+)`)
	phrases = regexp.MustCompile(`an EC2NodeClass stays when it is deleted|the NodeClaim stays|the controller ends|Client\.InternalError|InstanceGone`)
	word    = regexp.MustCompile(`\w+`)
)

// marks are what has to be seen if a text says so of a missing permission: what it quotes, the reasons and conditions
// that it names, what stays or ends.
func marks(without string) []string {
	var out []string
	for _, m := range quoted.FindAllStringSubmatch(without, -1) {
		out = append(out, strings.TrimSpace(m[1]))
	}
	for _, m := range reasons.FindAllStringSubmatch(without, -1) {
		out = append(out, "reason "+m[1])
	}
	for _, w := range word.FindAllString(without, -1) {
		if slices.Contains(conditionTypes, w) {
			out = append(out, "condition "+w+" of")
		}
	}
	return append(out, phrases.FindAllString(without, -1)...)
}
