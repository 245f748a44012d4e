package aws_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

const joins = "#!/bin/bash\n/etc/eks/bootstrap.sh 'kerf' \\\n --kubelet-extra-args '--max-pods=40 --node-labels=team=blue,karpenter.sh/capacity-type=spot --register-with-taints=dedicated=a:NoSchedule --system-reserved=cpu=100m' \\\n --use-max-pods false\n"

// ownData is what a template holds that an instance can be launched from.
func ownData(t *testing.T, s *awssim.Server, edit func(*world.LaunchData)) world.LaunchData {
	t.Helper()
	d := world.LaunchData{
		UserData: base64.StdEncoding.EncodeToString([]byte(joins)), IamInstanceProfile: &world.ProfileRef{ARN: ownProfile(t, s)},
		BlockDeviceMappings: []world.BlockDeviceMapping{{DeviceName: "/dev/xvda", Ebs: &world.EbsDevice{VolumeSize: new(int32(80)), VolumeType: "gp3"}}},
	}
	for _, i := range s.World.Images() {
		if i.Arch == "x86_64" && i.Family == world.FamilyAL2 {
			d.ImageID = i.ID
		}
	}
	if d.ImageID == "" {
		t.Fatal("the simulator has no image of AL2")
	}
	if edit != nil {
		edit(&d)
	}
	return d
}

// ownProfile is a profile that nothing of ours made.
func ownProfile(t *testing.T, s *awssim.Server) string {
	t.Helper()
	if p, err := s.World.InstanceProfile("mine"); err == nil {
		return p.ARN
	}
	if _, err := s.World.CreateInstanceProfile("mine", "/", nil); err != nil {
		t.Fatal(err)
	}
	if err := s.World.AddRoleToInstanceProfile("mine", "KarpenterNodeRole-"+s.World.ClusterName()); err != nil {
		t.Fatal(err)
	}
	p, err := s.World.InstanceProfile("mine")
	if err != nil {
		t.Fatal(err)
	}
	return p.ARN
}

func ownTemplate(t *testing.T, s *awssim.Server, name string, d world.LaunchData) world.LaunchTemplate {
	t.Helper()
	lt, err := s.World.CreateTemplate(name, "", "me", "", d, map[string]string{"karpenter.sh/discovery": s.World.ClusterName()})
	if err != nil {
		t.Fatal(err)
	}
	return lt
}

func ownClass(s *awssim.Server, template string) *awsv1.EC2NodeClass {
	class := newClass(s)
	class.Spec.Role, class.Spec.AMISelectorTerms, class.Spec.SecurityGroupSelectorTerms = "", nil, nil
	class.Spec.LaunchTemplate = &awsv1.LaunchTemplateReference{Name: template}
	return class
}

func TestAnInstanceIsLaunchedFromAUsersTemplate(t *testing.T) {
	s := startSim(t, awssim.Options{})
	p, calls := newCountedProvider(t, s, nil)
	ready(t, p)
	lt := ownTemplate(t, s, "own", ownData(t, s, nil))
	class := ownClass(s, "own")
	resolveOwn(t, p, class)

	want := &awsv1.LaunchTemplate{ID: lt.ID, Name: "own", Version: 1, Labels: map[string]string{"team": "blue"},
		Taints: []corev1.Taint{{Key: "dedicated", Value: "a", Effect: corev1.TaintEffectNoSchedule}}}
	if diff := cmp.Diff(want, class.Status.LaunchTemplate); diff != "" {
		t.Errorf("status.launchTemplate (-want +got):\n%s", diff)
	}
	if class.Status.InstanceProfile != "mine" || len(class.Status.SecurityGroups) != 1 || class.Status.SecurityGroups[0].Name != "default" {
		t.Errorf("status is %+v", class.Status)
	}
	m, err := p.Launch(t.Context(), newClaim(1), class)
	if err != nil {
		t.Fatal(err)
	}
	i := alive(s)[0]
	if i.LaunchTemplateID != lt.ID || i.LaunchTemplateVersion != 1 || i.ImageID != class.Status.AMIs[0].ID || m.ImageID != i.ImageID || !strings.HasSuffix(i.ProfileARN, "/mine") {
		t.Errorf("the instance is %+v", i)
	}
	for key, value := range map[string]string{
		awsv1.TagNodePool: "pool", awsv1.TagNodeClaim: "pool-001", "kubernetes.io/cluster/kerf": "owned", awsv1.TagEKSCluster: "kerf", awsv1.TagNodeClass: "default", "team": "blue",
	} {
		if i.Tags[key] != value {
			t.Errorf("tag %s is %q, want %q", key, i.Tags[key], value)
		}
	}
	if got := m.Annotations[awsv1.AnnotationLaunchTemplate]; got != lt.ID+":1" {
		t.Errorf("the claim is told template %q", got)
	}
	if m.Capacity["pods"] != 40 || m.Capacity["ephemeral-storage"] != 80<<30 || m.Capacity["cpu"]-m.Allocatable["cpu"] < 100 || m.Labels[awsv1.LabelInstanceTenancy] != "default" {
		t.Errorf("the node will have %v of %v", m.Allocatable, m.Capacity)
	}
	if n := calls.Of("CreateLaunchTemplate"); n != 0 {
		t.Errorf("%d launch templates were made beside the user's", n)
	}
	if err := p.Release(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	if _, err := s.World.Template(world.TemplateRef{ID: lt.ID}); err != nil {
		t.Errorf("the user's template was deleted with the class: %v", err)
	}
}

// resolveOwn is resolve for classes with a launch template.
func resolveOwn(t *testing.T, p *aws.Provider, class *awsv1.EC2NodeClass) {
	t.Helper()
	r, err := p.Resolve(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	class.Status.LaunchTemplate = r.LaunchTemplate
	resolve(t, p, class)
}

func TestVolumesOfATemplateAreTakenOffWhatPodsAttach(t *testing.T) {
	s := startSim(t, awssim.Options{})
	p := newProvider(t, s, nil)
	ready(t, p)
	ownTemplate(t, s, "one", ownData(t, s, nil))
	ownTemplate(t, s, "two", ownData(t, s, func(d *world.LaunchData) {
		d.BlockDeviceMappings = append(d.BlockDeviceMappings, world.BlockDeviceMapping{DeviceName: "/dev/sdf", Ebs: &world.EbsDevice{VolumeSize: new(int32(9)), VolumeType: "gp3"}})
	}))
	limit := func(template string) (attached, disk int64) {
		class := ownClass(s, template)
		resolveOwn(t, p, class)
		types, err := p.Types(t.Context(), class)
		if err != nil {
			t.Fatal(err)
		}
		for _, ty := range types {
			if ty.Name == "m5.large" {
				return ty.AttachLimits["ebs.csi.aws.com"], ty.Capacity["ephemeral-storage"]
			}
		}
		t.Fatal("no m5.large")
		return 0, 0
	}
	one, diskOfOne := limit("one")
	two, diskOfTwo := limit("two")
	if one == 0 || two != one-1 || diskOfOne != 80<<30 || diskOfTwo != diskOfOne {
		t.Errorf("with one volume of 80 GiB pods attach %d and have %d bytes, with another %d and %d", one, diskOfOne, two, diskOfTwo)
	}
}

func TestWithoutANumberInUserDataPodsAreCountedAsUsual(t *testing.T) {
	s := startSim(t, awssim.Options{})
	p := newProvider(t, s, nil)
	ready(t, p)
	ownTemplate(t, s, "own", ownData(t, s, func(d *world.LaunchData) {
		d.UserData = base64.StdEncoding.EncodeToString([]byte("#!/bin/bash\n/etc/eks/bootstrap.sh kerf\n"))
		d.BlockDeviceMappings = nil
	}))
	usual, own := newClass(s), ownClass(s, "own")
	resolve(t, p, usual)
	resolveOwn(t, p, own)
	pods := func(class *awsv1.EC2NodeClass) map[string]int64 {
		types, err := p.Types(t.Context(), class)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]int64{}
		for _, ty := range types {
			out[ty.Name] = ty.Capacity["pods"]
		}
		return out
	}
	if diff := cmp.Diff(pods(usual), pods(own)); diff != "" {
		t.Error(diff)
	}
	types, err := p.Types(t.Context(), own)
	if err != nil {
		t.Fatal(err)
	}
	image, _ := s.World.Image(own.Status.AMIs[0].ID)
	if got := types[0].Capacity["ephemeral-storage"]; got != int64(image.RootSizeGiB)<<30 {
		t.Errorf("%d bytes of storage, want the image's %d GiB", got, image.RootSizeGiB)
	}
	if _, ok := find(types, "m6g.large"); !ok {
		t.Fatal("m6g.large is missing")
	}
	if arm, _ := find(types, "m6g.large"); arm.Offerings[0].Available {
		t.Error("an arm64 instance is offered for an x86_64 image")
	}
}

func find(types []*catalog.Type, name string) (*catalog.Type, bool) {
	for _, ty := range types {
		if ty.Name == name {
			return ty, true
		}
	}
	return nil, false
}

func TestWhatATemplateMayNotHoldIsSaidByField(t *testing.T) {
	s := startSim(t, awssim.Options{})
	vpc, err := s.World.AddVPC("10.9.0.0/16", nil)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := s.World.AddSecurityGroup(vpc.ID, "elsewhere", "another network's", nil)
	if err != nil {
		t.Fatal(err)
	}
	text := func(script string) func(*world.LaunchData) {
		return func(d *world.LaunchData) { d.UserData = base64.StdEncoding.EncodeToString([]byte(script)) }
	}
	for name, tc := range map[string]struct {
		edit              func(*world.LaunchData)
		class             func(*awsv1.EC2NodeClass)
		condition, reason string
		words             string
	}{
		"an instance type":      {func(d *world.LaunchData) { d.InstanceType = "m5.large" }, nil, "LaunchTemplateReady", "LaunchTemplateInvalid", "InstanceType m5.large; the instance type is chosen"},
		"interfaces":            {func(d *world.LaunchData) { d.NetworkInterfaces = []world.NetworkInterfaceSpec{{}} }, nil, "LaunchTemplateReady", "LaunchTemplateInvalid", "NetworkInterfaces; the network plugin"},
		"no instance profile":   {func(d *world.LaunchData) { d.IamInstanceProfile = nil }, nil, "LaunchTemplateReady", "LaunchTemplateInvalid", "IamInstanceProfile"},
		"no image":              {func(d *world.LaunchData) { d.ImageID = "" }, nil, "LaunchTemplateReady", "LaunchTemplateInvalid", "ImageId"},
		"spot":                  {func(d *world.LaunchData) { d.MarketOptions = &world.MarketOptions{MarketType: "spot"} }, nil, "LaunchTemplateReady", "LaunchTemplateInvalid", "karpenter.sh/capacity-type"},
		"termination protected": {func(d *world.LaunchData) { d.DisableAPITermination = new(true) }, nil, "LaunchTemplateReady", "LaunchTemplateInvalid", "DisableApiTermination"},
		"a zone":                {func(d *world.LaunchData) { d.Placement = &world.Placement{AvailabilityZone: "us-east-1a"} }, nil, "LaunchTemplateReady", "LaunchTemplateInvalid", "Placement.AvailabilityZone"},
		"dedicated tenancy":     {func(d *world.LaunchData) { d.Placement = &world.Placement{Tenancy: "dedicated"} }, nil, "LaunchTemplateReady", "LaunchTemplateInvalid", "dedicated tenancy"},
		"a tag of ours": {func(d *world.LaunchData) {
			d.TagSpecifications = []world.TagSpecification{{ResourceType: "instance", Tags: []world.Tag{{Key: "karpenter.sh/nodepool", Value: "x"}}}}
		}, nil, "LaunchTemplateReady", "LaunchTemplateInvalid", "karpenter.sh/nodepool"},
		"another cluster":     {text("#!/bin/bash\n/etc/eks/bootstrap.sh other\n"), nil, "LaunchTemplateReady", "LaunchTemplateUserDataInvalid", `cluster "other", and this is cluster "kerf"`},
		"folded lines":        {text("#!/bin/bash /etc/eks/bootstrap.sh 'kerf' \\ --use-max-pods false\n"), nil, "LaunchTemplateReady", "LaunchTemplateUserDataInvalid", "write | in place of >"},
		"a group elsewhere":   {func(d *world.LaunchData) { d.SecurityGroupIDs = []string{elsewhere.ID} }, nil, "SecurityGroupsReady", "SecurityGroupsNotFound", vpc.ID},
		"a group that is not": {func(d *world.LaunchData) { d.SecurityGroupIDs = []string{"sg-0123"} }, nil, "SecurityGroupsReady", "SecurityGroupsNotFound", "sg-0123"},
		"an image that is not": {func(d *world.LaunchData) { d.ImageID = "ami-0123456789abcdef0" }, nil, "AMIsReady", "AMINotFound",
			"the launch template names image ami-0123456789abcdef0"},
		"a kubelet setting that says otherwise": {nil, func(c *awsv1.EC2NodeClass) { c.Spec.Kubelet = &awsv1.KubeletConfiguration{MaxPods: new(int32(20))} },
			"LaunchTemplateReady", "LaunchTemplateInvalid", "spec.kubelet.maxPods is 20 and the user data says 40"},
		"a version that is not": {nil, func(c *awsv1.EC2NodeClass) { c.Spec.LaunchTemplate.Version = new(intstr.FromInt32(7)) },
			"LaunchTemplateReady", "LaunchTemplateNotFound", "version 7"},
		"a template that is not": {nil, func(c *awsv1.EC2NodeClass) { c.Spec.LaunchTemplate.Name = "nobody" }, "LaunchTemplateReady", "LaunchTemplateNotFound", "nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			own := strings.ReplaceAll(name, " ", "-")
			ownTemplate(t, s, own, ownData(t, s, tc.edit))
			class := ownClass(s, own)
			if tc.class != nil {
				tc.class(class)
			}
			_, found := findings(t, newProvider(t, s, nil), class)
			f := found[tc.condition]
			if f.OK || f.Unknown || f.Reason != tc.reason || !strings.Contains(f.Message, tc.words) {
				t.Errorf("got %+v", f)
			}
			if v := found[awsv1.ConditionTypeValidationSucceeded]; v.OK || v.Reason != awsv1.ReasonDependenciesNotReady {
				t.Errorf("validation says %+v", v)
			}
		})
	}
}

func TestAnotherVersionBehindTheReferenceIsLaunchedAndToldApart(t *testing.T) {
	s := startSim(t, awssim.Options{})
	p := newProvider(t, s, nil)
	ready(t, p)
	lt := ownTemplate(t, s, "own", ownData(t, s, nil))
	next := ownData(t, s, func(d *world.LaunchData) {
		d.UserData = base64.StdEncoding.EncodeToString([]byte("#!/bin/bash\n/etc/eks/bootstrap.sh kerf --use-max-pods false --kubelet-extra-args --max-pods=17\n"))
	})
	if _, _, err := s.World.AddTemplateVersion(world.TemplateRef{ID: lt.ID}, "", "me", next); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		version *intstr.IntOrString
		number  int64
		pods    int64
	}{{nil, 1, 40}, {new(intstr.FromString("$Latest")), 2, 17}, {new(intstr.FromInt32(1)), 1, 40}, {new(intstr.FromString("2")), 2, 17}} {
		class := ownClass(s, "")
		class.Spec.LaunchTemplate = &awsv1.LaunchTemplateReference{ID: lt.ID, Version: tc.version}
		resolveOwn(t, p, class)
		types, err := p.Types(t.Context(), class)
		if err != nil {
			t.Fatal(err)
		}
		if got := class.Status.LaunchTemplate.Version; got != tc.number || types[0].Capacity["pods"] != tc.pods {
			t.Errorf("version %v: number %d with %d pods", tc.version, got, types[0].Capacity["pods"])
		}
	}
}

func TestATemplateThatIsGoneIsAnErrorAndWhatIsKnownStays(t *testing.T) {
	s := startSim(t, awssim.Options{})
	p := newProvider(t, s, nil)
	ready(t, p)
	lt := ownTemplate(t, s, "own", ownData(t, s, nil))
	class := ownClass(s, "own")
	resolveOwn(t, p, class)
	if _, err := s.World.DeleteTemplate(world.TemplateRef{ID: lt.ID}); err != nil {
		t.Fatal(err)
	}
	_, err := p.Launch(t.Context(), newClaim(1), class)
	if cloud.ClassOf(err) != cloud.ClassNotReady || !strings.Contains(err.Error(), lt.ID) {
		t.Errorf("a launch gave %v", err)
	}
	r, found := findings(t, p, class)
	f := found[awsv1.ConditionTypeLaunchTemplateReady]
	if f.OK || f.Unknown || f.Reason != awsv1.ReasonLaunchTemplateNotFound || !strings.Contains(f.Message, "own") {
		t.Errorf("got %+v", f)
	}
	if r.LaunchTemplate.Ref() != class.Status.LaunchTemplate.Ref() || len(r.AMIs) != 1 || r.InstanceProfile != "mine" {
		t.Errorf("what was known did not stay: %+v", r)
	}
	if !found[awsv1.ConditionTypeAMIsReady].Unknown {
		t.Errorf("the image is %+v", found[awsv1.ConditionTypeAMIsReady])
	}
	if _, err := p.Types(t.Context(), class); err != nil {
		t.Errorf("the types of running instances are not known any more: %v", err)
	}
}

func TestWithoutThePermissionForTemplatesTheOptionIsNamed(t *testing.T) {
	for operation, condition := range map[string]string{
		"DescribeLaunchTemplateVersions": awsv1.ConditionTypeLaunchTemplateReady, "CreateFleet": awsv1.ConditionTypeValidationSucceeded, "RunInstances": awsv1.ConditionTypeValidationSucceeded,
	} {
		t.Run(operation, func(t *testing.T) {
			s := startSim(t, awssim.Options{})
			ownTemplate(t, s, "own", ownData(t, s, nil))
			s.World.AddFault(world.Fault{Kind: world.FaultError, Service: "ec2", Operation: operation, Code: "UnauthorizedOperation", Message: "You are not authorized to perform this operation.", Status: 403})
			_, found := findings(t, newProvider(t, s, nil), ownClass(s, "own"))
			f := found[condition]
			if f.OK || f.Unknown || !strings.Contains(f.Message, "kerf stack --launch-templates") || !strings.Contains(f.Message, "ec2:"+operation) {
				t.Errorf("got %+v", f)
			}
		})
	}
}

func TestWhileATemplateCantBeReadNothingIsConcluded(t *testing.T) {
	s := startSim(t, awssim.Options{})
	ownTemplate(t, s, "own", ownData(t, s, nil))
	s.World.AddFault(world.Fault{Kind: world.FaultError, Service: "ec2", Operation: "DescribeLaunchTemplateVersions", Code: "RequestLimitExceeded", Message: "slow down", Status: 503})
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	_, found := findings(t, newProvider(t, s, nil), ownClass(s, "own"))
	for _, condition := range []string{awsv1.ConditionTypeLaunchTemplateReady, awsv1.ConditionTypeAMIsReady, awsv1.ConditionTypeValidationSucceeded} {
		if f := found[condition]; !f.Unknown {
			t.Errorf("%s is %+v", condition, f)
		}
	}
}
