package aws_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

func findings(t *testing.T, p *aws.Provider, class *awsv1.EC2NodeClass) (*cloud.Resolution, map[string]cloud.Finding) {
	t.Helper()
	r, err := p.Resolve(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]cloud.Finding{}
	for _, f := range r.Findings {
		if _, dup := out[f.Condition]; dup {
			t.Errorf("%s was found twice", f.Condition)
		}
		out[f.Condition] = f
	}
	return r, out
}

func TestAGoodClassResolvesToEverything(t *testing.T) {
	for _, alias := range []string{"al2023@latest", "bottlerocket@latest"} {
		t.Run(alias, func(t *testing.T) {
			s := startSim(t, awssim.Options{})
			p, calls := newCountedProvider(t, s, nil)
			class := newClass(s)
			class.Spec.AMISelectorTerms[0].Alias = alias
			r, found := findings(t, p, class)
			for condition, f := range found {
				if !f.OK {
					t.Errorf("%s: %s: %s", condition, f.Reason, f.Message)
				}
			}
			if len(r.Subnets) != 3 || len(r.SecurityGroups) != 2 || len(r.AMIs) < 2 || r.InstanceProfile == "" || len(found) != 7 {
				t.Errorf("got %+v", r)
			}
			calls.Reset()
			findings(t, p, class)
			for _, op := range []string{"RunInstances", "CreateFleet", "CreateLaunchTemplate", "CreateInstanceProfile"} {
				if calls.Of(op) != 0 {
					t.Errorf("a second look called %s", op)
				}
			}
		})
	}
}

// Karpenter takes such user data, too: nodes join, and a cluster that moves over goes on.
func TestUserDataThatNothingRunsIsToldOfAndTaken(t *testing.T) {
	s := startSim(t, awssim.Options{})
	class := newClass(s)
	class.Spec.UserData = new("echo hi")
	r, found := findings(t, newProvider(t, s, nil), class)
	if f := found["ValidationSucceeded"]; !f.OK || len(r.Ignored) != 1 || !strings.Contains(r.Ignored[0], "spec.userData") {
		t.Errorf("got %+v, ignored: %q", f, r.Ignored)
	}
}

func TestWhatIsWrongWithAClassIsSaidByConditionReasonAndField(t *testing.T) {
	s := startSim(t, awssim.Options{})
	nothing := map[string]string{"karpenter.sh/discovery": "nobody"}
	tests := []struct {
		name              string
		edit              func(*awsv1.EC2NodeClass)
		condition, reason string
		message           string
	}{
		{"no subnet", func(c *awsv1.EC2NodeClass) { c.Spec.SubnetSelectorTerms[0].Tags = nothing }, "SubnetsReady", "SubnetsNotFound", "spec.subnetSelectorTerms"},
		{"no security group", func(c *awsv1.EC2NodeClass) { c.Spec.SecurityGroupSelectorTerms[0].Tags = nothing }, "SecurityGroupsReady", "SecurityGroupsNotFound", "spec.securityGroupSelectorTerms"},
		{"no image", func(c *awsv1.EC2NodeClass) { c.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Tags: nothing}} }, "AMIsReady", "AMINotFound", "spec.amiSelectorTerms"},
		{"a block device without a volume", func(c *awsv1.EC2NodeClass) {
			c.Spec.BlockDeviceMappings = []awsv1.BlockDeviceMapping{{DeviceName: new("/dev/xvda")}}
		}, "ValidationSucceeded", "SpecInvalid", "spec.blockDeviceMappings[0].ebs"},
		{"user data that can't be merged", func(c *awsv1.EC2NodeClass) {
			c.Spec.AMISelectorTerms[0].Alias, c.Spec.UserData = "bottlerocket@latest", new("#!/bin/sh\necho hi")
		}, "ValidationSucceeded", "SpecInvalid", "spec.userData"},
		{"user data that is too long", func(c *awsv1.EC2NodeClass) { c.Spec.UserData = new(strings.Repeat("x", 17000)) }, "ValidationSucceeded", "UserDataSizeLimitExceeded", "spec.userData"},
		{"a tag of the controller", func(c *awsv1.EC2NodeClass) { c.Spec.Tags = map[string]string{"karpenter.sh/nodeclaim": "x"} }, "ValidationSucceeded", "TagValidationFailed", "spec.tags"},
		{"kubelet nonsense", func(c *awsv1.EC2NodeClass) {
			c.Spec.Kubelet = &awsv1.KubeletConfiguration{KubeReserved: map[string]string{"cpu": "many"}}
		}, "ValidationSucceeded", "SpecInvalid", "spec.kubelet.kubeReserved"},
		{"nothing selected", func(c *awsv1.EC2NodeClass) { c.Spec.SubnetSelectorTerms[0].Tags = nothing }, "ValidationSucceeded", "DependenciesNotReady", "SubnetsReady"},
		{"no placement group", func(c *awsv1.EC2NodeClass) {
			c.Spec.PlacementGroupSelector = &awsv1.PlacementGroupSelector{Name: "x"}
		}, "PlacementGroupReady", "PlacementGroupNotFound", "spec.placementGroupSelector"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			class := newClass(s)
			tt.edit(class)
			_, found := findings(t, newProvider(t, s, nil), class)
			f := found[tt.condition]
			if f.OK || f.Unknown || f.Reason != tt.reason || !strings.Contains(f.Message, tt.message) {
				t.Errorf("got %+v", f)
			}
		})
	}
}

// As Karpenter does: a profile that could not be had leaves the condition as it is, Unknown at first. One that was had for
// the same spec and can't be any more is lost.
func TestARoleThatDoesNotExistLeavesTheProfileUnknown(t *testing.T) {
	s := startSim(t, awssim.Options{})
	for name, tt := range map[string]struct {
		was     func(*awsv1.EC2NodeClass)
		unknown bool
	}{
		"a new class":                   {func(*awsv1.EC2NodeClass) {}, true},
		"a class that had another role": {func(c *awsv1.EC2NodeClass) { c.StatusConditions(false).SetTrue("InstanceProfileReady"); c.Generation++ }, true},
		"a class whose role was there":  {func(c *awsv1.EC2NodeClass) { c.StatusConditions(false).SetTrue("InstanceProfileReady") }, false},
		"a class that is known to have no one": {func(c *awsv1.EC2NodeClass) {
			c.StatusConditions(false).SetFalse("InstanceProfileReady", "RoleNotFound", "x")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			class := newClass(s)
			class.Spec.Role, class.Generation = "Nobody", 1
			tt.was(class)
			_, found := findings(t, newProvider(t, s, nil), class)
			if f := found["InstanceProfileReady"]; f.OK || f.Unknown != tt.unknown || f.Reason != "RoleNotFound" || !strings.Contains(f.Message, "spec.role") {
				t.Errorf("got %+v", f)
			}
			if f := found["ValidationSucceeded"]; f.OK || f.Unknown != tt.unknown || f.Reason != "DependenciesNotReady" {
				t.Errorf("got %+v", f)
			}
		})
	}
}

func TestWhoHasSetTheEndpointIsNotAdvisedTo(t *testing.T) {
	s := startSim(t, awssim.Options{})
	for endpoint, want := range map[string]bool{"": true, "https://api.example": false} {
		p := newProvider(t, s, func(o *aws.Options) { o.ClusterName, o.ClusterEndpoint = "other", endpoint })
		_, found := findings(t, p, newClass(s))
		f := found[awsv1.ConditionTypeValidationSucceeded]
		if f.OK || !strings.Contains(f.Message, "CLUSTER_NAME") || strings.Contains(f.Message, "CLUSTER_ENDPOINT") != want {
			t.Errorf("with the endpoint %q: %+v", endpoint, f)
		}
	}
}

func TestAMissingPermissionIsNamed(t *testing.T) {
	tests := []struct{ operation, message, reason, action string }{
		{"CreateLaunchTemplate", "You are not authorized to perform this operation.", "CreateLaunchTemplateAuthCheckFailed", "ec2:CreateLaunchTemplate"},
		{"CreateFleet", "You are not authorized to perform this operation.", "CreateFleetAuthCheckFailed", "ec2:CreateFleet"},
		{"RunInstances", "User: arn:aws:sts::1:assumed-role/x is not authorized to perform: iam:PassRole on resource: y because no identity-based policy allows the iam:PassRole action", "RunInstancesAuthCheckFailed", "iam:PassRole"},
	}
	for _, tt := range tests {
		t.Run(tt.action, func(t *testing.T) {
			s := startSim(t, awssim.Options{})
			s.World.AddFault(world.Fault{Kind: world.FaultError, Service: "ec2", Operation: tt.operation, Code: "UnauthorizedOperation", Message: tt.message, Status: 403})
			_, found := findings(t, newProvider(t, s, nil), newClass(s))
			f := found[awsv1.ConditionTypeValidationSucceeded]
			if f.OK || f.Unknown || f.Reason != tt.reason || !strings.Contains(f.Message, "missing permission "+tt.action) {
				t.Errorf("got %+v", f)
			}
			off := newProvider(t, s, func(o *aws.Options) { o.DisableDryRun = true })
			if _, found := findings(t, off, newClass(s)); !found[awsv1.ConditionTypeValidationSucceeded].OK {
				t.Error("without dry runs the class must pass")
			}
		})
	}
}

// A quota that is used up, a full subnet or a type that one zone lacks is no fault of the class: what it can't have now
// another zone or capacity type may give, and instances that go give back.
func TestALackOfCapacityDoesNotMakeAClassUnready(t *testing.T) {
	for _, code := range []string{"VcpuLimitExceeded", "InsufficientFreeAddressesInSubnet", "Unsupported", "InsufficientInstanceCapacity"} {
		for _, operation := range []string{"CreateFleet", "RunInstances"} {
			s := startSim(t, awssim.Options{})
			s.World.AddFault(world.Fault{Kind: world.FaultError, Service: "ec2", Operation: operation, Code: code, Message: "Too little.", Status: 400})
			_, found := findings(t, newProvider(t, s, nil), newClass(s))
			if f := found[awsv1.ConditionTypeValidationSucceeded]; !f.OK {
				t.Errorf("%s of a dry run of %s: %+v", code, operation, f)
			}
		}
	}
}

func TestWhatCanNotBeSeenNowIsUnknownAndKeepsWhatWasSeen(t *testing.T) {
	s := startSim(t, awssim.Options{})
	class := newClass(s)
	p := newProvider(t, s, nil)
	resolve(t, p, class)
	for _, op := range []string{"DescribeSubnets", "DescribeSecurityGroups", "DescribeImages", "GetInstanceProfile"} {
		s.World.AddFault(world.Fault{Kind: world.FaultThrottle, Operation: op})
	}
	blind := newProvider(t, s, nil)
	r, found := findings(t, blind, class)
	for _, condition := range []string{"SubnetsReady", "SecurityGroupsReady", "AMIsReady", "InstanceProfileReady", "ValidationSucceeded"} {
		if f := found[condition]; !f.Unknown || f.Reason == "" || f.Message == "" {
			t.Errorf("%s: %+v", condition, f)
		}
	}
	if len(r.Subnets) != 3 || len(r.SecurityGroups) != 2 || len(r.AMIs) != len(class.Status.AMIs) || r.InstanceProfile != class.Status.InstanceProfile {
		t.Errorf("what was seen before is gone: %+v", r)
	}
}

func TestAClassOnAClusterThatEKSDoesNotKnow(t *testing.T) {
	s := startSim(t, awssim.Options{})
	p := newProvider(t, s, func(o *aws.Options) {
		o.ClusterName, o.ClusterEndpoint, o.KubernetesVersion = "other", "https://x.example", version("1.36")
	})
	if err := p.Check(t.Context()); err != nil {
		t.Errorf("a given endpoint must do: %v", err)
	}
	class := newClass(s)
	_, found := findings(t, p, class)
	f := found[awsv1.ConditionTypeValidationSucceeded]
	if f.OK || f.Reason != awsv1.ReasonClusterCIDRResolutionFailed || !strings.Contains(f.Message, `"other"`) || !strings.Contains(f.Message, "CLUSTER_NAME") {
		t.Errorf("got %+v", f)
	}
}

func TestANewProfileThatEC2DoesNotKnowYetIsWaitedFor(t *testing.T) {
	s := startSim(t, awssim.Options{World: world.Options{ProfileDelay: 200 * time.Millisecond}})
	now := time.Now()
	p := newProvider(t, s, func(o *aws.Options) { o.Now = func() time.Time { return now } })
	class := newClass(s)
	_, found := findings(t, p, class)
	if f := found[awsv1.ConditionTypeValidationSucceeded]; !f.Unknown || !strings.Contains(f.Message, "nstance Profile") {
		t.Fatalf("got %+v", f)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		now = now.Add(5 * time.Second)
		_, found = findings(t, p, class)
		if found[awsv1.ConditionTypeValidationSucceeded].OK {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %+v", found[awsv1.ConditionTypeValidationSucceeded])
		}
	}
}

func TestReleaseLeavesNothingOfTheClass(t *testing.T) {
	s := startSim(t, awssim.Options{})
	p := newProvider(t, s, nil)
	ready(t, p)
	class := newClass(s)
	class.Spec.BlockDeviceMappings = []awsv1.BlockDeviceMapping{{DeviceName: new("/dev/xvda"), EBS: &awsv1.BlockDevice{VolumeSize: new(resource.MustParse("30Gi"))}}}
	resolve(t, p, class)
	if _, err := p.Launch(t.Context(), newClaim(1), class); err != nil {
		t.Fatal(err)
	}
	if err := p.Release(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	if lt, ip := s.World.Templates(), s.World.InstanceProfiles("/karpenter/"); len(lt) != 0 || len(ip) != 0 {
		t.Errorf("left are %d templates and %d profiles", len(lt), len(ip))
	}
}
