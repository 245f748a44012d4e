package launchtemplate

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

func newInput(edit func(*Input)) Input {
	class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Spec: awsv1.EC2NodeClassSpec{Tags: map[string]string{"a": "b"}}}
	in := Input{
		Class: class, Region: "us-east-1", Tags: Tags(class, Cluster{Name: "blue"}, "pool"), UserData: "hello", ImageID: "ami-1", InstanceProfile: "prof",
		SecurityGroups: []string{"sg-1", "sg-2"}, Family: awsv1.AMIFamilyAL2023, Tenancy: "default", NoOpenReservations: true,
	}
	if edit != nil {
		edit(&in)
	}
	return in
}

func mustBuild(t *testing.T, edit func(*Input)) *Template {
	t.Helper()
	out, err := Build(newInput(edit))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTheNameIsAFunctionOfTheContent(t *testing.T) {
	name := mustBuild(t, nil).Name
	if !strings.HasPrefix(name, "karpenter.k8s.aws/") || len(name) > 128 {
		t.Errorf("name is %q", name)
	}
	if again := mustBuild(t, nil).Name; again != name {
		t.Errorf("equal inputs are named %q and %q", name, again)
	}
	edits := map[string]func(*Input){
		"user data": func(in *Input) { in.UserData = "x" }, "image": func(in *Input) { in.ImageID = "ami-2" },
		"profile": func(in *Input) { in.InstanceProfile = "x" }, "groups": func(in *Input) { in.SecurityGroups = []string{"sg-1"} },
		"tags": func(in *Input) { in.Tags["x"] = "y" }, "spot": func(in *Input) { in.SpotTags = true }, "tenancy": func(in *Input) { in.Tenancy = "dedicated" },
		"placement group": func(in *Input) { in.Group = "pg-1" }, "partition": func(in *Input) { in.Group, in.Partition = "pg-1", 2 }, "another partition": func(in *Input) { in.Group, in.Partition = "pg-1", 3 },
		"IPv6": func(in *Input) { in.IPv6 = true }, "EFA": func(in *Input) { in.EFAs = 2 }, "EFA but for the first card": func(in *Input) { in.EFAs, in.PlainFirst = 2, true }, "reservations": func(in *Input) { in.NoOpenReservations = false },
		"monitoring": func(in *Input) { in.Class.Spec.DetailedMonitoring = new(true) },
		"public IP":  func(in *Input) { in.Class.Spec.AssociatePublicIPAddress = new(false) },
		"prefixes":   func(in *Input) { in.Class.Spec.IPPrefixCount = new(int32(3)) },
		"metadata":   func(in *Input) { in.Class.Spec.MetadataOptions = &awsv1.MetadataOptions{HTTPTokens: new("optional")} },
		"cpu":        func(in *Input) { in.Class.Spec.CPUOptions = &awsv1.CPUOptions{NestedVirtualization: new("enabled")} },
		"enclaves":   func(in *Input) { in.Class.Spec.EnclaveOptions = &awsv1.EnclaveOptions{Enabled: true} },
		"tracking": func(in *Input) {
			in.Class.Spec.ConnectionTracking = &awsv1.ConnectionTracking{UDPTimeout: new(int32(30))}
		},
	}
	seen := map[string]string{name: "nothing"}
	for what, edit := range edits {
		got := mustBuild(t, edit).Name
		if other, dup := seen[got]; dup {
			t.Errorf("a change of %s has the name of a change of %s", what, other)
		}
		seen[got] = what
	}
}

func TestTheDataIsWhatTheClassSays(t *testing.T) {
	d := mustBuild(t, func(in *Input) { in.SpotTags = true }).Data()
	if got, _ := base64.StdEncoding.DecodeString(*d.UserData); string(got) != "hello" {
		t.Errorf("user data is %q", got)
	}
	if *d.IamInstanceProfile.Name != "prof" || *d.ImageId != "ami-1" || *d.Monitoring.Enabled || d.Placement.Tenancy != "default" {
		t.Errorf("got %+v", d)
	}
	m := d.MetadataOptions
	if m.HttpEndpoint != "enabled" || m.HttpTokens != "required" || *m.HttpPutResponseHopLimit != 1 || m.HttpProtocolIpv6 != "disabled" || m.InstanceMetadataTags != "disabled" {
		t.Errorf("metadata options are %+v", m)
	}
	if len(d.NetworkInterfaces) != 1 || *d.NetworkInterfaces[0].DeviceIndex != 0 || !slices.Equal(d.NetworkInterfaces[0].Groups, []string{"sg-1", "sg-2"}) {
		t.Errorf("interfaces are %+v", d.NetworkInterfaces)
	}
	if d.CapacityReservationSpecification.CapacityReservationPreference != types.CapacityReservationPreferenceNone {
		t.Error("open reservations would be used")
	}
	kinds := []types.ResourceType{}
	for _, s := range d.TagSpecifications {
		kinds = append(kinds, s.ResourceType)
		if len(s.Tags) != 5 {
			t.Errorf("%s has %d tags, want 5", s.ResourceType, len(s.Tags))
		}
	}
	if !slices.Equal(kinds, []types.ResourceType{types.ResourceTypeNetworkInterface, types.ResourceTypeSpotInstancesRequest}) {
		t.Errorf("tags are for %v", kinds)
	}
	iso := mustBuild(t, func(in *Input) { in.Region = "us-iso-east-1" }).Data()
	if iso.MetadataOptions.HttpProtocolIpv6 != "" {
		t.Error("the IPv6 option must be left out in regions that do not know it")
	}
}

func TestFamiliesHaveTheirDisks(t *testing.T) {
	tests := map[awsv1.AMIFamily]map[string]int32{
		awsv1.AMIFamilyAL2: {"/dev/xvda": 20}, awsv1.AMIFamilyAL2023: {"/dev/xvda": 20}, awsv1.AMIFamilyBottlerocket: {"/dev/xvda": 4, "/dev/xvdb": 20},
		awsv1.AMIFamilyWindows2022: {"/dev/sda1": 50}, awsv1.AMIFamilyCustom: {},
	}
	for family, want := range tests {
		got := mustBuild(t, func(in *Input) { in.Family = family }).Data().BlockDeviceMappings
		if len(got) != len(want) {
			t.Errorf("%s has %d disks, want %d", family, len(got), len(want))
		}
		for _, d := range got {
			if *d.Ebs.VolumeSize != want[*d.DeviceName] || !*d.Ebs.Encrypted || !*d.Ebs.DeleteOnTermination || d.Ebs.VolumeType != "gp3" {
				t.Errorf("%s: %s is %+v", family, *d.DeviceName, d.Ebs)
			}
		}
	}
}

func TestTheClassesDisksReplaceThoseOfTheFamily(t *testing.T) {
	for size, want := range map[string]int32{"100Gi": 100, "100G": 94, "1Ti": 1024, "1T": 932, "59000Gi": 59000} {
		got := mustBuild(t, func(in *Input) {
			in.Class.Spec.BlockDeviceMappings = []awsv1.BlockDeviceMapping{{DeviceName: new("/dev/xvdz"), EBS: &awsv1.BlockDevice{VolumeSize: new(resource.MustParse(size)), IOPS: new(int64(3000))}}}
		}).Data().BlockDeviceMappings
		if len(got) != 1 || *got[0].Ebs.VolumeSize != want || *got[0].Ebs.Iops != 3000 {
			t.Errorf("%s became %+v, want %d GiB", size, got[0].Ebs, want)
		}
	}
}

func TestBadDisksAreErrorsThatNameTheField(t *testing.T) {
	size := new(resource.MustParse("1Gi"))
	tests := map[string]awsv1.BlockDeviceMapping{
		"spec.blockDeviceMappings[1].ebs is missing":        {DeviceName: new("/dev/xvdb")},
		"spec.blockDeviceMappings[1].deviceName is missing": {EBS: &awsv1.BlockDevice{VolumeSize: size}},
		"spec.blockDeviceMappings[1].ebs needs":             {DeviceName: new("/dev/xvdb"), EBS: &awsv1.BlockDevice{}},
		"spec.blockDeviceMappings[1].ebs.iops":              {DeviceName: new("/dev/xvdb"), EBS: &awsv1.BlockDevice{VolumeSize: size, IOPS: new(int64(1) << 40)}},
		"spec.blockDeviceMappings[1].ebs.throughput":        {DeviceName: new("/dev/xvdb"), EBS: &awsv1.BlockDevice{VolumeSize: size, Throughput: new(int64(-1))}},
		"spec.blockDeviceMappings[1].ebs.volumeSize":        {DeviceName: new("/dev/xvdb"), EBS: &awsv1.BlockDevice{VolumeSize: new(resource.MustParse("-1Gi"))}},
	}
	for want, bad := range tests {
		t.Run(want, func(t *testing.T) {
			_, err := Build(newInput(func(in *Input) {
				in.Class.Spec.BlockDeviceMappings = []awsv1.BlockDeviceMapping{{DeviceName: new("/dev/xvda"), EBS: &awsv1.BlockDevice{VolumeSize: size}}, bad}
			}))
			if err == nil || cloud.ClassOf(err) != cloud.Invalid || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestInterfaces(t *testing.T) {
	explicit := mustBuild(t, func(in *Input) {
		in.Class.Spec.AssociatePublicIPAddress = new(true)
		in.Class.Spec.IPPrefixCount = new(int32(2))
		in.Class.Spec.NetworkInterfaces = []awsv1.NetworkInterface{
			{InterfaceType: awsv1.InterfaceTypeInterface}, {NetworkCardIndex: 1, DeviceIndex: 1, InterfaceType: awsv1.InterfaceTypeEFAOnly},
		}
	}).Data().NetworkInterfaces
	if len(explicit) != 2 || *explicit[0].InterfaceType != "interface" || *explicit[0].Ipv4PrefixCount != 2 || !*explicit[0].AssociatePublicIpAddress {
		t.Errorf("the first interface is %+v", explicit[0])
	}
	if *explicit[1].InterfaceType != "efa-only" || explicit[1].Ipv4PrefixCount != nil || explicit[1].AssociatePublicIpAddress != nil || len(explicit[1].Groups) != 2 {
		t.Errorf("an interface without addresses is %+v", explicit[1])
	}
	efas := mustBuild(t, func(in *Input) { in.EFAs = 3; in.IPv6 = true }).Data().NetworkInterfaces
	for card, n := range efas {
		if *n.InterfaceType != "efa" || int(*n.NetworkCardIndex) != card || int(*n.DeviceIndex) != min(card, 1) || !*n.PrimaryIpv6 {
			t.Errorf("EFA %d is %+v", card, n)
		}
	}
}

func TestTagsThatAreNotTheUsersAreRefused(t *testing.T) {
	for _, key := range []string{"eks:eks-cluster-name", "kubernetes.io/cluster/x", "karpenter.sh/nodepool", "karpenter.sh/nodeclaim", "karpenter.k8s.aws/ec2nodeclass", "aws:x", "AWS:x"} {
		class := &awsv1.EC2NodeClass{Spec: awsv1.EC2NodeClassSpec{Tags: map[string]string{"fine": "1", key: "x"}}}
		if err := CheckTags(class); err == nil || !strings.Contains(err.Error(), "spec.tags") || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: got %v", key, err)
		}
	}
	many := map[string]string{}
	for i := range 45 {
		many[strings.Repeat("x", i+1)] = "v"
	}
	if err := CheckTags(&awsv1.EC2NodeClass{Spec: awsv1.EC2NodeClassSpec{Tags: many}}); err == nil {
		t.Error("more tags than an instance has room for must be refused")
	}
}

func TestWhereInstancesArePut(t *testing.T) {
	for name, c := range map[string]struct {
		edit      func(*Input)
		group     string
		partition int32
	}{
		"in no group":                       {nil, "", 0},
		"in a group":                        {func(in *Input) { in.Group = "pg-1" }, "pg-1", 0},
		"in a partition of one":             {func(in *Input) { in.Group, in.Partition = "pg-1", 2 }, "pg-1", 2},
		"in a group, with no word of hosts": {func(in *Input) { in.Group, in.Tenancy = "pg-1", "" }, "pg-1", 0},
	} {
		p := mustBuild(t, c.edit).Data().Placement
		if deref(p.GroupId, "") != c.group || deref(p.PartitionNumber, 0) != c.partition {
			t.Errorf("%s: %+v", name, p)
		}
	}
}
