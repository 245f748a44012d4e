package authz_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// step is one call that a controller makes.
type step struct {
	what string
	do   func(context.Context) error
}

// profileTags are the tags of the controller's own instance profiles.
func profileTags() []iamtypes.Tag {
	return []iamtypes.Tag{
		{Key: aws.String("kubernetes.io/cluster/" + cluster), Value: aws.String("owned")},
		{Key: aws.String("topology.kubernetes.io/region"), Value: aws.String("us-east-1")},
		{Key: aws.String("karpenter.k8s.aws/ec2nodeclass"), Value: aws.String("default")},
		{Key: aws.String("eks:eks-cluster-name"), Value: aws.String(cluster)},
	}
}

// life is all that a controller does from its start to the end of an instance, in this order. Its launch template tags
// network interfaces and more kinds, if given.
func (s *sim) life(moreTagged ...types.ResourceType) []step {
	profile, template, node := aws.String("kerf_profile"), "kerf-template", aws.String("KarpenterNodeRole-"+cluster)
	queue := aws.String(s.World.QueueURL(cluster))
	var tagged []types.LaunchTemplateTagSpecificationRequest
	for _, kind := range append(moreTagged, types.ResourceTypeNetworkInterface) {
		tagged = append(tagged, types.LaunchTemplateTagSpecificationRequest{ResourceType: kind, Tags: tags()})
	}
	var templateID string
	var instances []string
	read := map[string]func(context.Context) error{
		"DescribeInstanceTypeOfferings": func(ctx context.Context) error {
			_, err := s.ec2.DescribeInstanceTypeOfferings(ctx, &ec2.DescribeInstanceTypeOfferingsInput{LocationType: types.LocationTypeAvailabilityZone})
			return err
		},
		"DescribeInstanceTypes": func(ctx context.Context) error {
			_, err := s.ec2.DescribeInstanceTypes(ctx, &ec2.DescribeInstanceTypesInput{})
			return err
		},
		"DescribeSpotPriceHistory": func(ctx context.Context) error {
			_, err := s.ec2.DescribeSpotPriceHistory(ctx, &ec2.DescribeSpotPriceHistoryInput{})
			return err
		},
		"DescribeSubnets": func(ctx context.Context) error {
			_, err := s.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{})
			return err
		},
		"DescribeSecurityGroups": func(ctx context.Context) error {
			_, err := s.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{})
			return err
		},
		"DescribeImages": func(ctx context.Context) error {
			_, err := s.ec2.DescribeImages(ctx, &ec2.DescribeImagesInput{ImageIds: []string{s.image()}})
			return err
		},
		"DescribeAvailabilityZones": func(ctx context.Context) error {
			_, err := s.ec2.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
			return err
		},
		"DescribeInstances": func(ctx context.Context) error {
			_, err := s.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{})
			return err
		},
		"DescribeLaunchTemplates": func(ctx context.Context) error {
			_, err := s.ec2.DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{})
			return err
		},
		"DescribeCapacityReservations": func(ctx context.Context) error {
			_, err := s.ec2.DescribeCapacityReservations(ctx, &ec2.DescribeCapacityReservationsInput{})
			return err
		},
		"DescribePlacementGroups": func(ctx context.Context) error {
			_, err := s.ec2.DescribePlacementGroups(ctx, &ec2.DescribePlacementGroupsInput{})
			return err
		},
		"DescribeInstanceStatus": func(ctx context.Context) error {
			_, err := s.ec2.DescribeInstanceStatus(ctx, &ec2.DescribeInstanceStatusInput{})
			return err
		},
	}
	steps := []step{
		{"DescribeCluster", func(ctx context.Context) error {
			_, err := s.eks.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: aws.String(cluster)})
			return err
		}},
		{"GetProducts", func(ctx context.Context) error {
			_, err := s.pricing.GetProducts(ctx, &pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), MaxResults: new(int32(1))})
			return err
		}},
		{"GetParameter", func(ctx context.Context) error {
			_, err := s.ssm.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id")})
			return err
		}},
		{"GetQueueUrl", func(ctx context.Context) error {
			_, err := s.sqs.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(cluster)})
			return err
		}},
		{"ReceiveMessage", func(ctx context.Context) error {
			_, err := s.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: queue})
			return err
		}},
		{"DeleteMessage", func(ctx context.Context) error {
			receipt := s.message(ctx)
			_, err := s.sqs.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: queue, ReceiptHandle: &receipt})
			return err
		}},
		{"ListInstanceProfiles", func(ctx context.Context) error {
			_, err := s.iam.ListInstanceProfiles(ctx, &iam.ListInstanceProfilesInput{PathPrefix: aws.String("/karpenter/us-east-1/" + cluster + "/")})
			return err
		}},
		{"GetInstanceProfile", func(ctx context.Context) error {
			_, err := s.iam.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: profile})
			if code(err) == "NoSuchEntity" {
				return nil
			}
			return err
		}},
		{"CreateInstanceProfile", func(ctx context.Context) error {
			_, err := s.iam.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{
				InstanceProfileName: profile, Path: aws.String("/karpenter/us-east-1/" + cluster + "/uid/"), Tags: profileTags(),
			})
			return err
		}},
		{"AddRoleToInstanceProfile", func(ctx context.Context) error {
			_, err := s.iam.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: profile, RoleName: node})
			return err
		}},
		{"CreateLaunchTemplate", func(ctx context.Context) error {
			out, err := s.ec2.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
				LaunchTemplateName: &template, TagSpecifications: []types.TagSpecification{spec(types.ResourceTypeLaunchTemplate)},
				LaunchTemplateData: &types.RequestLaunchTemplateData{
					ImageId:            aws.String(s.image()),
					IamInstanceProfile: &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: profile},
					NetworkInterfaces: []types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{
						DeviceIndex: new(int32(0)), Groups: s.groups(),
					}},
					TagSpecifications: tagged,
				},
			})
			if err == nil {
				templateID = *out.LaunchTemplate.LaunchTemplateId
			}
			return err
		}},
		{"CreateFleet, dry", func(ctx context.Context) error {
			in := s.fleet(template, 1, types.DefaultTargetCapacityTypeOnDemand, "m5.large")
			in.DryRun = new(true)
			_, err := s.ec2.CreateFleet(ctx, in)
			return dry(err)
		}},
		{"RunInstances, dry", func(ctx context.Context) error {
			_, err := s.ec2.RunInstances(ctx, s.run(template, "m5.large"))
			return dry(err)
		}},
	}
	for _, capacityType := range []types.DefaultTargetCapacityType{types.DefaultTargetCapacityTypeOnDemand, types.DefaultTargetCapacityTypeSpot} {
		steps = append(steps, step{"CreateFleet, " + string(capacityType), func(ctx context.Context) error {
			out, err := s.ec2.CreateFleet(ctx, s.fleet(template, 1, capacityType, "m5.large", "c5.large"))
			if err != nil {
				return err
			}
			for _, e := range out.Errors {
				return fmt.Errorf("fleet error %s: %s", *e.ErrorCode, *e.ErrorMessage)
			}
			instances = append(instances, out.Instances[0].InstanceIds...)
			return nil
		}})
	}
	steps = append(steps,
		step{"CreateTags", func(ctx context.Context) error {
			_, err := s.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: instances, Tags: []types.Tag{
				{Key: aws.String("Name"), Value: aws.String("n")}, {Key: aws.String("karpenter.sh/nodeclaim"), Value: aws.String("c")},
			}})
			return err
		}},
		step{"TerminateInstances", func(ctx context.Context) error {
			_, err := s.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: instances})
			return err
		}},
		step{"DeleteLaunchTemplate", func(ctx context.Context) error {
			_, err := s.ec2.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &templateID})
			return err
		}},
		step{"RemoveRoleFromInstanceProfile", func(ctx context.Context) error {
			_, err := s.iam.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: profile, RoleName: node})
			return err
		}},
		step{"DeleteInstanceProfile", func(ctx context.Context) error {
			_, err := s.iam.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: profile})
			return err
		}},
	)
	for _, name := range slices.Sorted(maps.Keys(read)) {
		steps = append(steps, step{name, read[name]})
	}
	return steps
}

// dry makes an error of anything but the answer that the call would have been allowed.
func dry(err error) error {
	if code(err) == "DryRunOperation" {
		return nil
	}
	return fmt.Errorf("dry run: %w", err)
}

// run is the trial of a launch by which a controller checks its permissions.
func (s *sim) run(template, instanceType string) *ec2.RunInstancesInput {
	return &ec2.RunInstancesInput{
		DryRun: new(true), MinCount: new(int32(1)), MaxCount: new(int32(1)), InstanceType: types.InstanceType(instanceType),
		LaunchTemplate: &types.LaunchTemplateSpecification{LaunchTemplateName: &template, Version: aws.String("$Latest")},
		NetworkInterfaces: []types.InstanceNetworkInterfaceSpecification{{
			DeviceIndex: new(int32(0)), SubnetId: &s.subnets()[0], Groups: s.groups(),
		}},
		TagSpecifications: []types.TagSpecification{spec(types.ResourceTypeInstance), spec(types.ResourceTypeVolume)},
	}
}

// message puts a message on the queue and receives it with the world's own rights.
func (s *sim) message(ctx context.Context) string {
	s.t.Helper()
	if _, err := s.World.SendMessage(cluster, "test", "{}", nil, -1); err != nil {
		s.t.Fatal(err)
	}
	got, err := s.World.ReceiveMessages(ctx, cluster, world.Receive{Max: 1})
	if err != nil || len(got) != 1 {
		s.t.Fatalf("received %d messages, %v", len(got), err)
	}
	return got[0].ReceiptHandle
}

// later are the calls that a controller of today makes and the first published statements do not allow.
var later = []string{"ListInstanceProfiles", "DescribeCapacityReservations", "DescribePlacementGroups", "DescribeInstanceStatus"}

func isLater(what string) bool { return slices.Contains(later, what) }

func TestPublishedStatementsAllowTheLifeOfAnInstance(t *testing.T) {
	s := start(t, read(t, "controller-v0.32.json"))
	for _, step := range s.life() {
		err := step.do(t.Context())
		switch {
		case isLater(step.what) && (code(err) != "UnauthorizedOperation" && code(err) != "AccessDenied"):
			t.Errorf("%s is not in the statements, but: %v", step.what, err)
		case !isLater(step.what) && err != nil:
			t.Errorf("%s: %v", step.what, err)
		}
	}
	if got := s.Permissions.Denied(); got.Total != len(later) {
		t.Errorf("%d calls denied, want %d: %+v", got.Total, len(later), got.Denials)
	}
	s.attach(read(t, "controller-v0.32.json"), read(t, "later.json"))
	for _, step := range s.life() {
		if err := step.do(t.Context()); err != nil {
			t.Errorf("with the later statements, %s: %v", step.what, err)
		}
	}
	if got := s.Permissions.Denied(); got.Total != 0 {
		t.Errorf("denied: %+v", got.Denials)
	}
}

func TestEveryStatementIsUsedByTheLifeOfAnInstance(t *testing.T) {
	full := read(t, "controller-v0.32.json")
	s := start(t, full)
	for _, step := range s.life() {
		_ = step.do(t.Context()) // what is refused is no use
	}
	used := map[string]bool{}
	for _, u := range s.Permissions.Permissions() {
		used[u.Sid] = true
		if u.Count < 1 {
			t.Errorf("%+v was used", u)
		}
	}
	for _, e := range full["Statement"].([]any) {
		if sid := e.(map[string]any)["Sid"].(string); !used[sid] {
			t.Errorf("statement %s allowed nothing", sid)
		}
	}
}

func TestRenderedPoliciesAllowTheLifeOfAnInstance(t *testing.T) {
	for _, edition := range stack.Editions() {
		t.Run(string(edition), func(t *testing.T) {
			o := stack.Defaults(edition)
			o.ClusterName, o.Region, o.AccountID = cluster, "us-east-1", account
			made, err := stack.New(o)
			if err != nil {
				t.Fatal(err)
			}
			var policies []map[string]any
			for _, p := range made.Setup(account, "us-east-1").Policies {
				text, err := json.Marshal(p.Document)
				if err != nil {
					t.Fatal(err)
				}
				var m map[string]any
				if err := json.Unmarshal(text, &m); err != nil {
					t.Fatal(err)
				}
				policies = append(policies, m)
			}
			s := start(t, policies...)
			var spot []types.ResourceType
			if edition.TagsByCluster() {
				spot = append(spot, types.ResourceTypeSpotInstancesRequest) // which that edition demands and the older ones forbid
			}
			for _, step := range s.life(spot...) {
				err := step.do(t.Context())
				older := edition != stack.Latest && isLater(step.what) || edition == stack.Latest && step.what == "DescribeAvailabilityZones"
				if (err != nil) != older {
					t.Errorf("%s: %v", step.what, err)
				}
			}
		})
	}
}

func TestWithoutAStatementItsCallsAreDenied(t *testing.T) {
	on := func(resource string) string { return " on resource: arn:aws:" + resource }
	none := func(action string) string {
		return " because no identity-based policy allows the " + action + " action"
	}
	ec2Text := func(action, resource string) string {
		return "You are not authorized to perform this operation. User: " + session + " is not authorized to perform: " + action + resource + none(action)
	}
	text := func(action, resource string) string {
		return "User: " + session + " is not authorized to perform: " + action + resource + none(action)
	}
	mine := "ec2:us-east-1:" + account + ":"
	cases := []struct {
		sid   string
		parts []string // of the statement, that alone are missing
		fails string   // the step that is denied first
		want  string
	}{
		{"AllowAPIServerEndpointDiscovery", nil, "DescribeCluster", text("eks:DescribeCluster", on("eks:us-east-1:"+account+":cluster/"+cluster))},
		{"AllowPricingReadActions", nil, "GetProducts", text("pricing:GetProducts", "")},
		{"AllowSSMReadActions", nil, "GetParameter", text("ssm:GetParameter", on("ssm:us-east-1::parameter/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id"))},
		{"AllowInterruptionQueueActions", []string{"GetQueueUrl"}, "GetQueueUrl", text("sqs:getqueueurl", on("sqs:us-east-1:"+account+":"+cluster))},
		{"AllowInterruptionQueueActions", []string{"ReceiveMessage"}, "ReceiveMessage", text("sqs:receivemessage", on("sqs:us-east-1:"+account+":"+cluster))},
		{"AllowInterruptionQueueActions", []string{"DeleteMessage"}, "DeleteMessage", text("sqs:deletemessage", on("sqs:us-east-1:"+account+":"+cluster))},
		{"AllowListingInstanceProfiles", nil, "ListInstanceProfiles", text("iam:ListInstanceProfiles", on("iam::"+account+":instance-profile/karpenter/us-east-1/"+cluster+"/"))},
		{"AllowInstanceProfileReadActions", nil, "GetInstanceProfile", text("iam:GetInstanceProfile", " on resource: instance profile kerf_profile")},
		{"AllowScopedInstanceProfileCreationActions", nil, "CreateInstanceProfile", text("iam:CreateInstanceProfile", on("iam::"+account+":instance-profile/karpenter/us-east-1/"+cluster+"/uid/kerf_profile"))},
		{"AllowScopedInstanceProfileTagActions", nil, "CreateInstanceProfile", text("iam:TagInstanceProfile", on("iam::"+account+":instance-profile/karpenter/us-east-1/"+cluster+"/uid/kerf_profile"))},
		{"AllowScopedInstanceProfileActions", []string{"AddRoleToInstanceProfile"}, "AddRoleToInstanceProfile", text("iam:AddRoleToInstanceProfile", on("iam::"+account+":instance-profile/karpenter/us-east-1/"+cluster+"/uid/kerf_profile"))},
		{"AllowPassingInstanceRole", nil, "AddRoleToInstanceProfile", text("iam:PassRole", on("iam::"+account+":role/KarpenterNodeRole-"+cluster))},
		{"AllowScopedInstanceProfileActions", []string{"RemoveRoleFromInstanceProfile"}, "RemoveRoleFromInstanceProfile", text("iam:RemoveRoleFromInstanceProfile", on("iam::"+account+":instance-profile/karpenter/us-east-1/"+cluster+"/uid/kerf_profile"))},
		{"AllowScopedInstanceProfileActions", []string{"DeleteInstanceProfile"}, "DeleteInstanceProfile", text("iam:DeleteInstanceProfile", on("iam::"+account+":instance-profile/karpenter/us-east-1/"+cluster+"/uid/kerf_profile"))},
		{"AllowScopedEC2InstanceActionsWithTags", []string{"CreateLaunchTemplate"}, "CreateLaunchTemplate", ec2Text("ec2:CreateLaunchTemplate", on(mine+"launch-template/*"))},
		{"AllowScopedResourceCreationTagging", []string{"CreateLaunchTemplate"}, "CreateLaunchTemplate", ec2Text("ec2:CreateTags", on(mine+"launch-template/*"))},
		{"AllowScopedEC2InstanceActionsWithTags", []string{"CreateFleet"}, "CreateFleet, dry", ec2Text("ec2:CreateFleet", on(mine+"fleet/*"))},
		{"AllowScopedEC2InstanceActions", []string{"CreateFleet"}, "CreateFleet, dry", "ec2:CreateFleet" + on(mine+"launch-template/lt-")},
		{"AllowScopedEC2InstanceActions", []string{"subnet/*"}, "CreateFleet, dry", "ec2:CreateFleet" + on(mine+"subnet/subnet-")},
		{"AllowScopedEC2InstanceActions", []string{"image/*"}, "RunInstances, dry", "ec2:RunInstances" + on("ec2:us-east-1::image/ami-")},
		{"AllowScopedEC2InstanceActions", []string{"security-group/*"}, "RunInstances, dry", "ec2:RunInstances" + on(mine+"security-group/sg-")},
		{"AllowScopedEC2InstanceActions", []string{"RunInstances"}, "RunInstances, dry", "ec2:RunInstances" + on("ec2:us-east-1::image/ami-")},
		{"AllowScopedEC2InstanceActionsWithTags", []string{"instance/*"}, "RunInstances, dry", ec2Text("ec2:RunInstances", on(mine+"instance/*"))},
		{"AllowScopedEC2InstanceActionsWithTags", []string{"volume/*"}, "RunInstances, dry", ec2Text("ec2:RunInstances", on(mine+"volume/*"))},
		{"AllowScopedEC2InstanceActionsWithTags", []string{"network-interface/*"}, "RunInstances, dry", ec2Text("ec2:RunInstances", on(mine+"network-interface/*"))},
		{"AllowScopedResourceCreationTagging", []string{"RunInstances"}, "RunInstances, dry", ec2Text("ec2:CreateTags", on(mine+"instance/*"))},
		{"AllowScopedResourceCreationTagging", []string{"CreateFleet"}, "CreateFleet, dry", ec2Text("ec2:CreateTags", on(mine+"fleet/*"))},
		{"AllowScopedResourceCreationTagging", []string{"instance/*"}, "RunInstances, dry", ec2Text("ec2:CreateTags", on(mine+"instance/*"))},
		{"AllowScopedResourceCreationTagging", []string{"fleet/*"}, "CreateFleet, dry", ec2Text("ec2:CreateTags", on(mine+"fleet/*"))},
		{"AllowScopedEC2InstanceActions", []string{"spot-instances-request/*"}, "CreateFleet, spot", "fleet error UnauthorizedOperation: " + ec2Text("ec2:RunInstances", on(mine+"spot-instances-request/*"))},
		{"AllowScopedResourceTagging", nil, "CreateTags", "ec2:CreateTags" + on(mine+"instance/i-")},
		{"AllowScopedDeletion", []string{"TerminateInstances"}, "TerminateInstances", "ec2:TerminateInstances" + on(mine+"instance/i-")},
		{"AllowScopedDeletion", []string{"DeleteLaunchTemplate"}, "DeleteLaunchTemplate", "ec2:DeleteLaunchTemplate" + on(mine+"launch-template/lt-")},
	}
	for _, action := range []string{"DescribeAvailabilityZones", "DescribeImages", "DescribeInstances", "DescribeInstanceTypeOfferings",
		"DescribeInstanceTypes", "DescribeLaunchTemplates", "DescribeSecurityGroups", "DescribeSpotPriceHistory", "DescribeSubnets"} {
		cases = append(cases, struct {
			sid   string
			parts []string
			fails string
			want  string
		}{"AllowRegionalReadActions", []string{":" + action}, action, ec2Text("ec2:"+action, "")})
	}
	for _, action := range []string{"DescribeCapacityReservations", "DescribeInstanceStatus", "DescribePlacementGroups"} {
		cases = append(cases, struct {
			sid   string
			parts []string
			fails string
			want  string
		}{"AllowLaterReadActions", []string{":" + action}, action, ec2Text("ec2:"+action, "")})
	}
	full, more := read(t, "controller-v0.32.json"), read(t, "later.json")
	for _, c := range cases {
		t.Run(c.sid+" less "+strings.Join(c.parts, ","), func(t *testing.T) {
			s := start(t, full, more)
			for _, step := range s.life() {
				if step.what != c.fails {
					if err := step.do(t.Context()); err != nil {
						t.Fatalf("%s, with all statements: %v", step.what, err)
					}
					continue
				}
				one, two := full, more
				if strings.Contains(fmt.Sprint(full), c.sid) {
					one = without(t, full, c.sid, c.parts...)
				} else {
					two = without(t, more, c.sid, c.parts...)
				}
				s.attach(one, two)
				err := step.do(t.Context())
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: got %v\nwant %s", step.what, err, c.want)
				}
				denied := s.Permissions.Denied()
				if denied.Total == 0 || denied.Denials[0].Principal != session {
					t.Errorf("denials: %+v", denied)
				}
				return
			}
			t.Fatalf("there is no step %q", c.fails)
		})
	}
}
