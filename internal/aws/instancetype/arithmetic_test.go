package instancetype

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

func known(t testing.TB) *ec2facts.Facts {
	t.Helper()
	f, err := ec2facts.Load()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func typeOf(t testing.TB, name string) *ec2facts.Type {
	t.Helper()
	out, ok := known(t).Type(name)
	if !ok {
		t.Fatalf("no facts on %s", name)
	}
	return out
}

var standard = Options{Region: "us-east-1", MemoryOverhead: DefaultMemoryOverhead}

// class makes a node class of a family; edit may be nil.
func class(family awsv1.AMIFamily, edit func(*awsv1.EC2NodeClassSpec)) *awsv1.EC2NodeClass {
	c := &awsv1.EC2NodeClass{}
	c.Name = "default"
	c.Spec.AMIFamily = &family
	if edit != nil {
		edit(&c.Spec)
	}
	return c
}

func shape(t testing.TB, name string, family awsv1.AMIFamily, options Options, edit func(*awsv1.EC2NodeClassSpec)) Shape {
	t.Helper()
	c, err := ConfigOf(class(family, edit), options)
	if err != nil {
		t.Fatal(err)
	}
	return NewShape(typeOf(t, name), []string{"us-east-1a"}, c)
}

func kubelet(k awsv1.KubeletConfiguration) func(*awsv1.EC2NodeClassSpec) {
	return func(s *awsv1.EC2NodeClassSpec) { s.Kubelet = &k }
}

func TestPartsOfCapacityAndAllocatable(t *testing.T) {
	const al2, al2023, br, custom, win = awsv1.AMIFamilyAL2, awsv1.AMIFamilyAL2023, awsv1.AMIFamilyBottlerocket, awsv1.AMIFamilyCustom, awsv1.AMIFamilyWindows2022
	flat := func(share float64) Options { return Options{Region: "us-east-1", MemoryOverhead: share} }
	size := func(s string) *resource.Quantity { return new(resource.MustParse(s)) }
	disk := func(device, s string, root bool) awsv1.BlockDeviceMapping {
		return awsv1.BlockDeviceMapping{DeviceName: &device, RootVolume: root, EBS: &awsv1.BlockDevice{VolumeSize: size(s)}}
	}
	disks := func(d ...awsv1.BlockDeviceMapping) func(*awsv1.EC2NodeClassSpec) {
		return func(s *awsv1.EC2NodeClassSpec) { s.BlockDeviceMappings = d }
	}
	efaOnly := func(cards ...int32) func(*awsv1.EC2NodeClassSpec) {
		return func(s *awsv1.EC2NodeClassSpec) {
			s.NetworkInterfaces = []awsv1.NetworkInterface{{InterfaceType: awsv1.InterfaceTypeInterface}}
			for _, c := range cards {
				s.NetworkInterfaces = append(s.NetworkInterfaces, awsv1.NetworkInterface{NetworkCardIndex: c, DeviceIndex: 1, InterfaceType: awsv1.InterfaceTypeEFAOnly})
			}
		}
	}
	type what struct {
		of  string // capacity or allocatable
		key string
	}
	capacity, allocatable := func(k string) what { return what{"capacity", k} }, func(k string) what { return what{"allocatable", k} }
	for name, c := range map[string]struct {
		instanceType string
		family       awsv1.AMIFamily
		options      Options
		edit         func(*awsv1.EC2NodeClassSpec)
		what         what
		want         int64
	}{
		"2 vCPUs keep 70m back":                          {"a1.large", al2, standard, nil, allocatable(res.CPU), 1930},
		"1 vCPU keeps 60m back":                          {"a1.medium", al2, standard, nil, allocatable(res.CPU), 940},
		"4 vCPUs keep 80m back":                          {"m5.xlarge", al2023, standard, nil, allocatable(res.CPU), 3920},
		"8 vCPUs keep 90m back":                          {"m5.2xlarge", al2023, standard, nil, allocatable(res.CPU), 7910},
		"96 vCPUs keep 310m back":                        {"m5.24xlarge", br, standard, nil, allocatable(res.CPU), 95690},
		"20Gi of disk leave 17Gi":                        {"m5.large", al2023, standard, nil, allocatable(res.EphemeralStorage), 17 * gib},
		"Bottlerocket's data disk counts":                {"m5.large", br, standard, disks(disk("/dev/xvda", "4Gi", false), disk("/dev/xvdb", "40Gi", false)), capacity(res.EphemeralStorage), 40 * gib},
		"the marked root volume wins":                    {"m5.large", br, standard, disks(disk("/dev/xvda", "100Gi", true), disk("/dev/xvdb", "40Gi", false)), capacity(res.EphemeralStorage), 100 * gib},
		"custom images take the last disk":               {"m5.large", custom, standard, disks(disk("/dev/xvda", "10Gi", false), disk("/dev/xvdf", "70Gi", false)), capacity(res.EphemeralStorage), 70 * gib},
		"decimal sizes round up to whole GiB":            {"m5.large", al2023, standard, disks(disk("/dev/xvda", "100G", false)), capacity(res.EphemeralStorage), 94 * gib},
		"another device leaves the default":              {"m5.large", al2023, standard, disks(disk("/dev/xvdz", "100Gi", false)), capacity(res.EphemeralStorage), 20 * gib},
		"a device without ebs is passed over":            {"m5.large", al2023, standard, disks(awsv1.BlockDeviceMapping{DeviceName: new("/dev/xvda")}), capacity(res.EphemeralStorage), 20 * gib},
		"Windows has 50Gi":                               {"m5.large", win, standard, nil, capacity(res.EphemeralStorage), 50 * gib},
		"RAID0 uses the instance store":                  {"m5d.large", al2023, standard, func(s *awsv1.EC2NodeClassSpec) { s.InstanceStorePolicy = new(awsv1.InstanceStorePolicyRAID0) }, capacity(res.EphemeralStorage), 75_000_000_000},
		"RAID0 is nothing to disks that are not of NVMe": {"x1.16xlarge", al2023, standard, func(s *awsv1.EC2NodeClassSpec) { s.InstanceStorePolicy = new(awsv1.InstanceStorePolicyRAID0) }, capacity(res.EphemeralStorage), 20 * gib},
		"but a custom image may join them":               {"x1.16xlarge", custom, standard, func(s *awsv1.EC2NodeClassSpec) { s.InstanceStorePolicy = new(awsv1.InstanceStorePolicyRAID0) }, capacity(res.EphemeralStorage), 1920_000_000_000},
		"RAID0 is nothing to Windows":                    {"m5d.large", win, standard, func(s *awsv1.EC2NodeClassSpec) { s.InstanceStorePolicy = new(awsv1.InstanceStorePolicyRAID0) }, capacity(res.EphemeralStorage), 50 * gib},
		"RAID0 without instance store uses the disk":     {"m5.large", al2023, standard, func(s *awsv1.EC2NodeClassSpec) { s.InstanceStorePolicy = new(awsv1.InstanceStorePolicyRAID0) }, capacity(res.EphemeralStorage), 20 * gib},
		"m5.large runs 29 pods":                          {"m5.large", al2023, standard, nil, capacity(res.Pods), 29},
		"maxPods counts as it is":                        {"m5.large", al2023, standard, kubelet(awsv1.KubeletConfiguration{MaxPods: new(int32(110))}), capacity(res.Pods), 110},
		"podsPerCore lowers":                             {"m5.large", al2023, standard, kubelet(awsv1.KubeletConfiguration{PodsPerCore: new(int32(5))}), capacity(res.Pods), 10},
		"podsPerCore is nothing to Bottlerocket":         {"m5.large", br, standard, kubelet(awsv1.KubeletConfiguration{PodsPerCore: new(int32(5))}), capacity(res.Pods), 29},
		"podsPerCore zero means none":                    {"m5.large", al2023, standard, kubelet(awsv1.KubeletConfiguration{PodsPerCore: new(int32(0))}), capacity(res.Pods), 29},
		"reserved interfaces carry no pods":              {"m5.large", al2023, Options{MemoryOverhead: DefaultMemoryOverhead, ReservedENIs: 1}, nil, capacity(res.Pods), 20},
		"no interface left means no pods":                {"m5.large", al2023, Options{MemoryOverhead: DefaultMemoryOverhead, ReservedENIs: 3}, nil, capacity(res.Pods), 0},
		"Windows runs 110 pods":                          {"m5.large", win, standard, nil, capacity(res.Pods), 110},
		"Windows lists private addresses":                {"m5.large", win, standard, nil, capacity(awsv1.ResourcePrivateIPv4Address), 9},
		"efa-only on card 0 takes an interface":          {"p5.48xlarge", al2023, standard, efaOnly(0, 1), capacity(res.Pods), 51},
		"pods count on the default card only":            {"p5.48xlarge", al2023, standard, nil, capacity(res.Pods), 100},
		"EFA interfaces are those of the type":           {"p5.48xlarge", al2023, standard, nil, capacity(awsv1.ResourceEFA), 32},
		"explicit interfaces say how many are EFA":       {"p5.48xlarge", al2023, standard, efaOnly(1, 2), capacity(awsv1.ResourceEFA), 2},
		"branch interfaces need trunking":                {"m5.large", al2023, standard, nil, capacity(awsv1.ResourceAWSPodENI), 9},
		"t3 can't trunk":                                 {"t3.large", al2023, standard, nil, capacity(awsv1.ResourceAWSPodENI), 0},
		"NVIDIA GPUs":                                    {"g5.12xlarge", al2023, standard, nil, capacity(awsv1.ResourceNVIDIAGPU), 4},
		"a fraction of a GPU is none":                    {"g6f.large", al2023, standard, nil, capacity(awsv1.ResourceNVIDIAGPU), 0},
		"AMD GPUs":                                       {"g4ad.8xlarge", al2023, standard, nil, capacity(awsv1.ResourceAMDGPU), 2},
		"Gaudi":                                          {"dl1.24xlarge", al2, standard, nil, capacity(awsv1.ResourceHabanaGaudi), 8},
		"neuron devices":                                 {"trn1.32xlarge", al2023, standard, nil, capacity(awsv1.ResourceAWSNeuron), 16},
		"neuron cores":                                   {"trn1.32xlarge", al2023, standard, nil, capacity(awsv1.ResourceAWSNeuronCore), 32},
		"the user's share of 8 GiB, x86":                 {"m5.large", al2023, flat(0.0750001), nil, capacity(res.Memory), 7577 * mib},
		"the user's share on arm64, after 64 MiB":        {"m6g.large", al2023, flat(0.0750001), nil, capacity(res.Memory), (8128 - 610) * mib},
		"no share at all":                                {"m5.large", al2023, flat(0), nil, capacity(res.Memory), 8192 * mib},
		"measured memory less the margin":                {"m5.large", al2023, standard, nil, capacity(res.Memory), (7811 - 64 - 40) * mib},
		"Windows is not measured":                        {"m5.large", win, standard, nil, capacity(res.Memory), 7577 * mib},
		"AL2023 reserves for the interfaces' pods":       {"m5.large", al2023, flat(0), kubelet(awsv1.KubeletConfiguration{MaxPods: new(int32(110))}), allocatable(res.Memory), (8192 - 11*29 - 255 - 100) * mib},
		"Bottlerocket reserves for the kubelet's pods":   {"m5.large", br, flat(0), kubelet(awsv1.KubeletConfiguration{MaxPods: new(int32(110))}), allocatable(res.Memory), (8192 - 11*110 - 255 - 100) * mib},
		"RESERVED_ENIS does not change AL2023's reserve": {"m5.large", al2023, Options{ReservedENIs: 1}, nil, allocatable(res.Memory), (8192 - 11*29 - 255 - 100) * mib},
		"kubeReserved replaces key by key":               {"m5.large", al2023, flat(0), kubelet(awsv1.KubeletConfiguration{KubeReserved: map[string]string{"memory": "1Gi"}}), allocatable(res.Memory), (8192 - 1024 - 100) * mib},
		"kubeReserved leaves the other keys":             {"m5.large", al2023, flat(0), kubelet(awsv1.KubeletConfiguration{KubeReserved: map[string]string{"memory": "1Gi"}}), allocatable(res.CPU), 1930},
		"systemReserved comes on top":                    {"m5.large", al2023, flat(0), kubelet(awsv1.KubeletConfiguration{SystemReserved: map[string]string{"cpu": "100m"}}), allocatable(res.CPU), 1830},
		"evictionHard as a quantity":                     {"m5.large", al2023, flat(0), kubelet(awsv1.KubeletConfiguration{EvictionHard: map[string]string{"memory.available": "500Mi"}}), allocatable(res.Memory), (8192 - 574 - 500) * mib},
		"evictionHard as a share":                        {"m5.large", al2023, flat(0), kubelet(awsv1.KubeletConfiguration{EvictionHard: map[string]string{"memory.available": "10%"}}), allocatable(res.Memory), 8192*mib - 574*mib - (8192*mib+9)/10},
		"evictionHard at 100% is off":                    {"m5.large", al2023, flat(0), kubelet(awsv1.KubeletConfiguration{EvictionHard: map[string]string{"memory.available": "100%"}}), allocatable(res.Memory), (8192 - 574) * mib},
		"Windows keeps 500Mi free":                       {"m5.large", win, standard, nil, allocatable(res.Memory), (7577 - 255 - 1210 - 500) * mib},
		"evictionSoft is ignored":                        {"m5.large", al2023, flat(0), kubelet(awsv1.KubeletConfiguration{EvictionSoft: map[string]string{"memory.available": "2Gi"}}), allocatable(res.Memory), (8192 - 574 - 100) * mib},
	} {
		t.Run(name, func(t *testing.T) {
			s := shape(t, c.instanceType, c.family, c.options, c.edit)
			list := s.Type.Capacity
			if c.what.of == "allocatable" {
				list = s.Type.Allocatable()
			}
			if got := list[c.what.key]; got != c.want {
				t.Errorf("%s %s of %s is %d, want %d", c.what.of, c.what.key, c.instanceType, got, c.want)
			}
		})
	}
}

func TestVolumesOfTheInstanceAreTakenOffWhatPodsAttach(t *testing.T) {
	disks := func(devices ...string) func(*awsv1.EC2NodeClassSpec) {
		return func(s *awsv1.EC2NodeClassSpec) {
			for _, d := range devices {
				s.BlockDeviceMappings = append(s.BlockDeviceMappings, awsv1.BlockDeviceMapping{DeviceName: &d, EBS: &awsv1.BlockDevice{}})
			}
		}
	}
	for name, c := range map[string]struct {
		instanceType string
		family       awsv1.AMIFamily
		edit         func(*awsv1.EC2NodeClassSpec)
		want         int64
	}{
		"the family's":                    {"m5.large", awsv1.AMIFamilyAL2023, nil, 25},
		"the family's two":                {"m5.large", awsv1.AMIFamilyBottlerocket, nil, 24},
		"the class's one":                 {"m5.large", awsv1.AMIFamilyAL2023, disks("/dev/xvda"), 25},
		"the class's three":               {"m5.large", awsv1.AMIFamilyAL2023, disks("/dev/xvda", "/dev/xvdb", "/dev/xvdc"), 23},
		"the image's root besides":        {"m5.large", awsv1.AMIFamilyAL2023, disks("/dev/xvdb"), 24},
		"Bottlerocket's two and one more": {"m5.large", awsv1.AMIFamilyBottlerocket, disks("/dev/xvdb", "/dev/xvdc"), 23},
		"of Windows":                      {"m5.large", awsv1.AMIFamilyWindows2022, disks("/dev/sda1", "xvdf"), 24},
		"of a custom image":               {"m5.large", awsv1.AMIFamilyCustom, disks("/dev/sda1", "/dev/sdf"), 24},
		"nothing known of it":             {"m5.large", awsv1.AMIFamilyCustom, nil, 25},
		"with a limit of volumes alone":   {"m7i.large", awsv1.AMIFamilyAL2023, disks("/dev/xvda", "/dev/xvdb"), 30},
		"a device without ebs": {"m5.large", awsv1.AMIFamilyAL2023, func(s *awsv1.EC2NodeClassSpec) {
			s.BlockDeviceMappings = []awsv1.BlockDeviceMapping{{DeviceName: new("/dev/xvdb")}}
		}, 25},
	} {
		s := shape(t, c.instanceType, c.family, standard, c.edit)
		if got := s.Type.AttachLimits[ebsDriver]; got != c.want {
			t.Errorf("%s: %s attaches %d volumes of pods, want %d", name, c.instanceType, got, c.want)
		}
	}
}

func TestNonsenseInAClassIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		kubelet awsv1.KubeletConfiguration
		want    string
	}{
		"no quantity":            {awsv1.KubeletConfiguration{KubeReserved: map[string]string{"cpu": "lots"}}, `EC2NodeClass default: spec.kubelet.kubeReserved[cpu]: "lots" is not a quantity`},
		"a negative amount":      {awsv1.KubeletConfiguration{SystemReserved: map[string]string{"memory": "-1Gi"}}, `spec.kubelet.systemReserved[memory]: "-1Gi" is negative`},
		"a share above all":      {awsv1.KubeletConfiguration{EvictionHard: map[string]string{"memory.available": "101%"}}, `spec.kubelet.evictionHard[memory.available]: "101%" is not a percentage`},
		"a share that is none":   {awsv1.KubeletConfiguration{EvictionHard: map[string]string{"nodefs.available": "NaN%"}}, `spec.kubelet.evictionHard[nodefs.available]`},
		"a negative threshold":   {awsv1.KubeletConfiguration{EvictionHard: map[string]string{"memory.available": "-5Mi"}}, `"-5Mi" is neither`},
		"an empty threshold":     {awsv1.KubeletConfiguration{EvictionHard: map[string]string{"memory.available": ""}}, `"" is neither`},
		"a quantity with spaces": {awsv1.KubeletConfiguration{KubeReserved: map[string]string{"memory": " 1Gi"}}, "is not a quantity"},
	} {
		_, err := ConfigOf(class(awsv1.AMIFamilyAL2023, kubelet(c.kubelet)), standard)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

func labelsOf(s Shape) map[string]string {
	out := map[string]string{}
	for _, t := range s.Type.Requirements {
		if t.Operator == requirement.In {
			out[strings.TrimPrefix(t.Key, awsv1.Group+"/")] = strings.Join(t.Values, "|")
		}
	}
	return out
}

func TestLabels(t *testing.T) {
	for name, c := range map[string]struct {
		family awsv1.AMIFamily
		want   map[string]string
	}{
		"m5.large": {awsv1.AMIFamilyAL2023, map[string]string{
			"node.kubernetes.io/instance-type": "m5.large", "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "topology.kubernetes.io/region": "us-east-1",
			"instance-cpu": "2", "instance-cpu-manufacturer": "intel", "instance-cpu-sustained-clock-speed-mhz": "3100", "instance-memory": "8192",
			"instance-ebs-bandwidth": "4750", "instance-network-bandwidth": "750", "instance-category": "m", "instance-generation": "5",
			"instance-family": "m5", "instance-size": "large", "instance-capability-flex": "false", "instance-hypervisor": "nitro",
			"instance-encryption-in-transit-supported": "false", "instance-tenancy": "dedicated|default",
		}},
		"g4dn.metal": {awsv1.AMIFamilyAL2023, map[string]string{
			"node.kubernetes.io/instance-type": "g4dn.metal", "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "topology.kubernetes.io/region": "us-east-1",
			"instance-cpu": "96", "instance-cpu-manufacturer": "intel", "instance-cpu-sustained-clock-speed-mhz": "2500", "instance-memory": "393216",
			"instance-ebs-bandwidth": "19000", "instance-network-bandwidth": "100000", "instance-category": "g", "instance-generation": "4",
			"instance-family": "g4dn", "instance-size": "metal", "instance-capability-flex": "false", "instance-hypervisor": "",
			"instance-encryption-in-transit-supported": "true", "instance-tenancy": "dedicated|default", "instance-local-nvme": "1800",
			"instance-gpu-name": "t4", "instance-gpu-manufacturer": "nvidia", "instance-gpu-count": "8", "instance-gpu-memory": "16384",
		}},
		"inf2.xlarge": {awsv1.AMIFamilyWindows2022, map[string]string{
			"node.kubernetes.io/instance-type": "inf2.xlarge", "kubernetes.io/arch": "amd64", "kubernetes.io/os": "windows", "topology.kubernetes.io/region": "us-east-1",
			"node.kubernetes.io/windows-build": "10.0.20348",
			"instance-cpu":                     "4", "instance-cpu-manufacturer": "amd", "instance-cpu-sustained-clock-speed-mhz": "3600", "instance-memory": "16384",
			"instance-ebs-bandwidth": "10000", "instance-network-bandwidth": "2083", "instance-category": "inf", "instance-generation": "2",
			"instance-family": "inf2", "instance-size": "xlarge", "instance-capability-flex": "false", "instance-hypervisor": "nitro",
			"instance-encryption-in-transit-supported": "true", "instance-tenancy": "dedicated|default",
			"instance-accelerator-name": "inferentia2", "instance-accelerator-manufacturer": "aws", "instance-accelerator-count": "1",
		}},
	} {
		if diff := cmp.Diff(c.want, labelsOf(shape(t, name, c.family, standard, nil))); diff != "" {
			t.Errorf("labels of %s (-want +got):\n%s", name, diff)
		}
	}
	for name, want := range map[string][2]string{
		"m7i-flex.large": {"m", "7"}, "u-6tb1.56xlarge": {"u", "1"}, "u7i-12tb.224xlarge": {"u", "7"}, "trn1n.32xlarge": {"trn", "1"}, "x2gd.medium": {"x", "2"}, "hpc7g.4xlarge": {"hpc", "7"},
	} {
		got := labelsOf(shape(t, name, awsv1.AMIFamilyAL2023, standard, nil))
		if got["instance-category"] != want[0] || got["instance-generation"] != want[1] {
			t.Errorf("%s is of category %q, generation %q; want %v", name, got["instance-category"], got["instance-generation"], want)
		}
		if flex := got["instance-capability-flex"]; flex != map[bool]string{true: "true", false: "false"}[strings.Contains(name, "-flex")] {
			t.Errorf("%s: flex is %q", name, flex)
		}
	}
}

func TestEveryWellKnownLabelIsDecided(t *testing.T) {
	s := shape(t, "m5.large", awsv1.AMIFamilyAL2023, standard, nil)
	if !slices.IsSortedFunc(s.Type.Requirements, func(a, b requirement.Term) int { return strings.Compare(a.Key, b.Key) }) {
		t.Error("requirements are not sorted")
	}
	for _, key := range awsv1.WellKnownLabels() {
		found := slices.ContainsFunc(s.Type.Requirements, func(r requirement.Term) bool { return r.Key == key })
		if !found && key != awsv1.LabelTopologyZoneID {
			t.Errorf("nothing is said of %s", key)
		}
	}
}

func TestWhatAClassCannotRun(t *testing.T) {
	for name, c := range map[string]struct {
		instanceType string
		family       awsv1.AMIFamily
		edit         func(*awsv1.EC2NodeClassSpec)
		want         string
	}{
		"an ordinary type":           {"m5.large", awsv1.AMIFamilyAL2023, nil, ""},
		"AL2023 does not boot on a1": {"a1.large", awsv1.AMIFamilyAL2023, nil, RefusedCPU},
		"AL2 does":                   {"a1.large", awsv1.AMIFamilyAL2, nil, ""},
		"Windows needs amd64":        {"m6g.large", awsv1.AMIFamilyWindows2022, nil, RefusedArchitecture},
		"macs run nothing of ours":   {"mac2.metal", awsv1.AMIFamilyCustom, nil, RefusedArchitecture},
		"nested virtualization": {"m5.large", awsv1.AMIFamilyAL2023, func(s *awsv1.EC2NodeClassSpec) {
			s.CPUOptions = &awsv1.CPUOptions{NestedVirtualization: new("enabled")}
		}, RefusedVirtualization},
		"nested virtualization switched off": {"m5.large", awsv1.AMIFamilyAL2023, func(s *awsv1.EC2NodeClassSpec) {
			s.CPUOptions = &awsv1.CPUOptions{NestedVirtualization: new("disabled")}
		}, ""},
		"enclaves":                   {"m5.xlarge", awsv1.AMIFamilyAL2023, func(s *awsv1.EC2NodeClassSpec) { s.EnclaveOptions = &awsv1.EnclaveOptions{Enabled: true} }, ""},
		"enclaves on a type without": {"t3.large", awsv1.AMIFamilyAL2023, func(s *awsv1.EC2NodeClassSpec) { s.EnclaveOptions = &awsv1.EnclaveOptions{Enabled: true} }, RefusedEnclaves},
		"enclaves switched off":      {"t3.large", awsv1.AMIFamilyAL2023, func(s *awsv1.EC2NodeClassSpec) { s.EnclaveOptions = &awsv1.EnclaveOptions{} }, ""},
		"connection tracking on xen": {"m4.large", awsv1.AMIFamilyAL2023, func(s *awsv1.EC2NodeClassSpec) {
			s.ConnectionTracking = &awsv1.ConnectionTracking{UDPTimeout: new(int32(30))}
		}, RefusedTracking},
		"too many cards": {"m5.large", awsv1.AMIFamilyAL2023, func(s *awsv1.EC2NodeClassSpec) {
			s.NetworkInterfaces = []awsv1.NetworkInterface{{InterfaceType: "interface"}, {NetworkCardIndex: 1, InterfaceType: "interface"}}
		}, RefusedInterfaces},
		"too many interfaces on a card": {"m5.large", awsv1.AMIFamilyAL2023, func(s *awsv1.EC2NodeClassSpec) {
			s.NetworkInterfaces = []awsv1.NetworkInterface{{InterfaceType: "interface"}, {DeviceIndex: 1, InterfaceType: "interface"}, {DeviceIndex: 2, InterfaceType: "interface"}, {DeviceIndex: 3, InterfaceType: "interface"}}
		}, RefusedInterfaces},
		"IP prefixes":                  {"m5.large", awsv1.AMIFamilyAL2023, func(s *awsv1.EC2NodeClassSpec) { s.IPPrefixCount = new(int32(9)) }, ""},
		"more IP prefixes than places": {"m5.large", awsv1.AMIFamilyAL2023, func(s *awsv1.EC2NodeClassSpec) { s.IPPrefixCount = new(int32(10)) }, RefusedPrefixes},
		"IP prefixes on Xen":           {"m4.large", awsv1.AMIFamilyAL2023, func(s *awsv1.EC2NodeClassSpec) { s.IPPrefixCount = new(int32(1)) }, RefusedPrefixes},
		"no EFA": {"m5.large", awsv1.AMIFamilyAL2023, func(s *awsv1.EC2NodeClassSpec) {
			s.NetworkInterfaces = []awsv1.NetworkInterface{{InterfaceType: "interface"}, {DeviceIndex: 1, InterfaceType: "efa-only"}}
		}, RefusedEFA},
	} {
		if got := shape(t, c.instanceType, c.family, standard, c.edit).Refused; got != c.want {
			t.Errorf("%s: %s is refused for %q, want %q", name, c.instanceType, got, c.want)
		}
	}
	cfg, err := ConfigOf(class(awsv1.AMIFamilyAL2023, nil), standard)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Images = []awsv1.AMI{{ID: "ami-1", Requirements: awsRequirement("kubernetes.io/arch", "arm64")}}
	if got := NewShape(typeOf(t, "m5.large"), nil, cfg).Refused; got != RefusedImage {
		t.Errorf("without an image for amd64 m5.large is refused for %q", got)
	}
}

func TestEveryTypeMakesSense(t *testing.T) {
	facts := known(t)
	for _, family := range []awsv1.AMIFamily{awsv1.AMIFamilyAL2, awsv1.AMIFamilyAL2023, awsv1.AMIFamilyBottlerocket, awsv1.AMIFamilyCustom, awsv1.AMIFamilyWindows2022} {
		cfg, err := ConfigOf(class(family, nil), standard)
		if err != nil {
			t.Fatal(err)
		}
		var all []*catalog.Type
		for i := range facts.Types {
			x := &facts.Types[i]
			s := NewShape(x, []string{"us-east-1a"}, cfg)
			all = append(all, &s.Type)
			memory, free := s.Type.Capacity[res.Memory]/mib, s.Type.Allocatable()
			if x.GuestMemoryMiB > 0 && !family.IsWindows() && memory >= int64(x.GuestMemoryMiB) {
				t.Errorf("%s on %s promises %d MiB, a guest sees %d", x.Name, family, memory, x.GuestMemoryMiB)
			}
			if memory < int64(x.MemoryMiB)*7/10 && x.MemoryMiB > 1024 || memory > int64(x.MemoryMiB) {
				t.Errorf("%s on %s promises %d of %d MiB", x.Name, family, memory, x.MemoryMiB)
			}
			if free[res.CPU] <= 0 || x.MemoryMiB >= 4096 && free[res.Memory] <= 0 && !family.IsWindows() {
				t.Errorf("%s on %s leaves %dm CPU and %d bytes", x.Name, family, free[res.CPU], free[res.Memory])
			}
			if x.EKSMaxPods > 0 && !family.IsWindows() && s.Type.Capacity[res.Pods] != int64(x.EKSMaxPods) {
				t.Errorf("%s on %s runs %d pods, published are %d", x.Name, family, s.Type.Capacity[res.Pods], x.EKSMaxPods)
			}
		}
		if _, err := catalog.Compile(all, requirement.NewVocabulary(), res.NewSchema()); err != nil {
			t.Errorf("types on %s do not compile: %v", family, err)
		}
	}
}

func TestAnEmptyTypeDoesNotPanic(t *testing.T) {
	cfg, err := ConfigOf(class(awsv1.AMIFamilyAL2023, nil), standard)
	if err != nil {
		t.Fatal(err)
	}
	if s := NewShape(&ec2facts.Type{}, nil, cfg); s.Refused == "" {
		t.Error("a type of which nothing is known is not refused")
	}
}

func BenchmarkShapes(b *testing.B) {
	facts := known(b)
	cfg, err := ConfigOf(class(awsv1.AMIFamilyAL2023, nil), standard)
	if err != nil {
		b.Fatal(err)
	}
	s := &Snapshot{Types: facts.Types, Zones: make([][]string, len(facts.Types))}
	for b.Loop() {
		Shapes(s, cfg)
	}
}
