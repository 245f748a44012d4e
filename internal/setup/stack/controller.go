package stack

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

var launches = []string{"ec2:RunInstances", "ec2:CreateFleet"}

// launching are the statements on making, tagging and ending instances.
func launching(o *Options) []iampolicy.Statement {
	made := []string{ec2ARN("*", "fleet"), ec2ARN("*", "instance"), ec2ARN("*", "volume"), ec2ARN("*", "network-interface"), ec2ARN("*", "launch-template")}
	if o.tagsByCluster() {
		made = append(made, ec2ARN("*", "spot-instances-request"))
	}
	list := selected(o)
	list = append(list,
		allow("AllowScopedEC2InstanceActionsWithTags", append(slices.Clone(launches), "ec2:CreateLaunchTemplate"), made, requested(o)...),
		allow("AllowScopedResourceCreationTagging", []string{"ec2:CreateTags"}, made,
			append(requested(o), when(stringEquals, "ec2:CreateAction", "RunInstances", "CreateFleet", "CreateLaunchTemplate"))...),
		tagging(o),
		allow("AllowScopedDeletion", []string{"ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"},
			[]string{ec2ARN("*", "instance"), ec2ARN("*", "launch-template")}, owned(resourceTag)...),
	)
	if o.LaunchTemplates && o.tagsByCluster() { // older editions let it launch from any template
		list = append(list, allow("AllowUserLaunchTemplates", slices.Clone(launches), []string{ec2ARN("*", "launch-template")},
			when(stringEquals, resourceTag+tagDiscover, refCluster)))
	}
	if o.LaunchTemplates {
		// A fleet can tag instances and volumes; what else a template makes has the tags that the template gives, or none.
		parts := []string{ec2ARN("*", "network-interface"), ec2ARN("*", "key-pair")}
		list = append(list, allow("AllowUserLaunchTemplateParts", []string{"ec2:RunInstances"}, parts,
			when(arnLike, keyLaunchTemplate, ec2ARN("*", "launch-template"))))
		if o.tagsByCluster() { // older editions let it make spot requests without tags anyway
			// EC2 does not tell the template of a spot request (service authorization reference, Amazon EC2, resource types).
			list = append(list, allow("AllowUserLaunchTemplateSpotRequests", []string{"ec2:RunInstances"}, []string{ec2ARN("*", "spot-instances-request")}))
		}
	}
	return list
}

// keyLaunchTemplate is the ARN of the template that a launch is made from.
const keyLaunchTemplate = "ec2:LaunchTemplate"

// selected are the statements on what instances are made from.
func selected(o *Options) []iampolicy.Statement {
	sources := []string{ec2ARN("", "image"), ec2ARN("", "snapshot")}
	if !o.tagsByCluster() {
		sources = append(sources, ec2ARN("*", "spot-instances-request"))
	}
	sources = append(sources, ec2ARN("*", "security-group"), ec2ARN("*", "subnet"))
	if !o.tagsByCluster() {
		sources = append(sources, ec2ARN("*", "launch-template"))
	}
	if o.CapacityReservations {
		sources = append(sources, ec2ARN("*", "capacity-reservation"))
	}
	if o.PlacementGroups {
		sources = append(sources, ec2ARN("*", "placement-group"))
	}
	if !o.tagsByCluster() {
		return []iampolicy.Statement{allow("AllowScopedEC2InstanceActions", slices.Clone(launches), sources)}
	}
	return []iampolicy.Statement{
		allow("AllowScopedEC2InstanceAccessActions", slices.Clone(launches), sources),
		allow("AllowScopedEC2LaunchTemplateAccessActions", slices.Clone(launches), []string{ec2ARN("*", "launch-template")}, owned(resourceTag)...),
	}
}

// tagging is the statement on tags that instances get later.
func tagging(o *Options) iampolicy.Statement {
	keys := []string{tagClaim, "Name"}
	conditions := owned(resourceTag)
	if o.tagsByCluster() {
		keys = append([]string{tagCluster}, keys...)
		conditions = append(conditions, when(stringEqualsIfExists, requestTag+tagCluster, refCluster))
	}
	return allow("AllowScopedResourceTagging", []string{"ec2:CreateTags"}, []string{ec2ARN("*", "instance")},
		append(conditions, when(allValuesEqual, "aws:TagKeys", keys...))...)
}

// profiles are the statements on instance profiles and the role in them. Reading one is apart, for editions have it in
// another place.
func profiles(o *Options) []iampolicy.Statement {
	services := []string{partition.EC2Service, partition.EC2ServiceChina}
	if o.Compat == V032 {
		services = services[:1]
	}
	where := profileARNs(o)
	list := []iampolicy.Statement{
		allow("AllowPassingInstanceRole", []string{"iam:PassRole"}, []string{o.nodeRoleARN()}, when(stringEquals, "iam:PassedToService", services...)),
		allow("AllowScopedInstanceProfileCreationActions", []string{"iam:CreateInstanceProfile"}, where, requestedOfClass(o)...),
		allow("AllowScopedInstanceProfileTagActions", []string{"iam:TagInstanceProfile"}, where, append(ofClass(resourceTag), requestedOfClass(o)...)...),
		allow("AllowScopedInstanceProfileActions",
			[]string{"iam:AddRoleToInstanceProfile", "iam:RemoveRoleFromInstanceProfile", "iam:DeleteInstanceProfile"}, where, ofClass(resourceTag)...),
	}
	if len(o.PassRoles) > 0 {
		list = append(list, allow("AllowPassingUserRoles", []string{"iam:PassRole"}, slices.Clone(o.PassRoles), when(stringEquals, "iam:PassedToService", services...)))
	}
	return list
}

func profileARNs(o *Options) []string {
	if o.Compat == V032 {
		return []string{"*"}
	}
	return []string{"arn:" + refPartition + ":iam::" + refAccount + ":instance-profile/*"}
}

func readProfile(o *Options) iampolicy.Statement {
	return allow("AllowInstanceProfileReadActions", []string{"iam:GetInstanceProfile"}, profileARNs(o))
}

// discovering are the statements on reading what there is.
func discovering(o *Options) []iampolicy.Statement {
	describe := []string{"Images", "Instances", "InstanceTypeOfferings", "InstanceTypes", "LaunchTemplates", "SecurityGroups", "SpotPriceHistory", "Subnets"}
	if o.Compat != Latest {
		describe = append(describe, "AvailabilityZones")
	}
	if o.CapacityReservations {
		describe = append(describe, "CapacityReservations")
	}
	if o.PlacementGroups {
		describe = append(describe, "PlacementGroups")
	}
	if o.InstanceStatus {
		describe = append(describe, "InstanceStatus")
	}
	if o.LaunchTemplates {
		describe = append(describe, "LaunchTemplateVersions")
	}
	slices.Sort(describe)
	for i, d := range describe {
		describe[i] = "ec2:Describe" + d
	}
	list := []iampolicy.Statement{
		allow("AllowRegionalReadActions", describe, []string{"*"}, when(stringEquals, "aws:RequestedRegion", refRegion)),
		allow("AllowSSMReadActions", []string{"ssm:GetParameter"}, o.publicParameters()),
	}
	if len(o.Parameters) > 0 {
		list = append(list, allow("AllowUserSSMParameterReads", []string{"ssm:GetParameter"}, slices.Clone(o.Parameters)))
	}
	return append(list, allow("AllowPricingReadActions", []string{"pricing:GetProducts"}, []string{"*"}))
}

// publicParameters are the ARNs of the parameters of AWS that may be read.
func (o *Options) publicParameters() []string {
	if len(o.PublicParameters) == 0 {
		return []string{regional("ssm", "", "parameter"+publicPath+"*")}
	}
	var list []string
	for _, path := range o.PublicParameters {
		list = append(list, regional("ssm", "", "parameter"+path))
	}
	return list
}

// publicPath begins the names of AWS's own parameters.
const publicPath = "/aws/service/"

func clusterARN() string { return regional("eks", refAccount, "cluster/"+refCluster) }

func findCluster() iampolicy.Statement {
	return allow("AllowAPIServerEndpointDiscovery", []string{"eks:DescribeCluster"}, []string{clusterARN()})
}

func zonalShift() iampolicy.Statement {
	return allow("AllowZonalShiftStatusReadOnly", []string{"arc-zonal-shift:GetManagedResource"}, []string{"*"},
		when(stringEquals, "arc-zonal-shift:ResourceIdentifier", clusterARN()))
}

// receiveActions are what the controller calls on the queue.
func receiveActions(c Compat) []string {
	if c == V032 {
		return []string{"sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:ReceiveMessage"}
	}
	return []string{"sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"}
}

// receiving are the statements on the queue.
func receiving(s *Stack) []iampolicy.Statement {
	list := []iampolicy.Statement{allow("AllowInterruptionQueueActions", receiveActions(s.Options.Compat), []string{s.Options.queueARN()})}
	if s.Queue.KMSKey != "" {
		list = append(list, allow("AllowInterruptionQueueKeyDecrypt", []string{"kms:Decrypt"}, []string{s.Queue.KMSKey}))
	}
	return list
}

// volumeKeys are the statements on keys that volumes are encrypted with; EC2 uses them in the name of who launches.
func volumeKeys(o *Options) []iampolicy.Statement {
	via := when(stringEquals, "kms:ViaService", "ec2."+refRegion+"."+refSuffix)
	return []iampolicy.Statement{
		allow("AllowVolumeKeyUse", []string{
			"kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncryptFrom", "kms:ReEncryptTo",
		}, slices.Clone(o.VolumeKeys), via),
		allow("AllowVolumeKeyGrants", []string{"kms:CreateGrant"}, slices.Clone(o.VolumeKeys), via,
			when(boolean, "kms:GrantIsForAWSResource", "true")),
	}
}

// A group is a set of statements that go into one policy as long as they fit.
type group struct {
	id         string // logical ID, and name without the suffix
	statements []iampolicy.Statement
}

// onePolicy is the policy of editions that have one; discoveryPolicy has the longest name of the others.
const (
	onePolicy       = "KarpenterControllerPolicy"
	discoveryPolicy = "KarpenterControllerResourceDiscoveryPolicy"
)

func groups(s *Stack) []group {
	o := &s.Options
	if o.Compat != Latest {
		return []group{{onePolicy, oneAfterTheOther(s)}}
	}
	list := []group{
		{"KarpenterControllerNodeLifecyclePolicy", launching(o)},
		{"KarpenterControllerIAMIntegrationPolicy", profiles(o)},
		{"KarpenterControllerEKSIntegrationPolicy", []iampolicy.Statement{findCluster()}},
		{"KarpenterControllerInterruptionPolicy", receiving(s)},
	}
	if o.ZonalShift {
		list = append(list, group{"KarpenterControllerZonalShiftPolicy", []iampolicy.Statement{zonalShift()}})
	}
	list = append(list, group{discoveryPolicy, append(discovering(o),
		allow("AllowUnscopedInstanceProfileListAction", []string{"iam:ListInstanceProfiles"}, []string{"*"}), readProfile(o))})
	if len(o.VolumeKeys) > 0 {
		list = append(list, group{"KarpenterControllerVolumeKeyPolicy", volumeKeys(o)})
	}
	return list
}

// oneAfterTheOther are all statements in the order of the older editions, which have one policy.
func oneAfterTheOther(s *Stack) []iampolicy.Statement {
	o := &s.Options
	list := slices.Concat(launching(o), discovering(o), receiving(s), profiles(o), []iampolicy.Statement{readProfile(o), findCluster()})
	if o.ZonalShift {
		list = append(list, zonalShift())
	}
	if len(o.VolumeKeys) > 0 {
		list = append(list, volumeKeys(o)...)
	}
	return list
}
