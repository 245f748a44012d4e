package instancetype

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// Labels of Kubernetes that a type decides.
const (
	labelInstanceType = "node.kubernetes.io/instance-type"
	labelArch         = "kubernetes.io/arch"
	labelOS           = "kubernetes.io/os"
	labelWindowsBuild = "node.kubernetes.io/windows-build"
	labelRegion       = "topology.kubernetes.io/region"
)

// nameParts takes a family apart: letters, an optional memory size as in u-6tb1, the generation.
var nameParts = regexp.MustCompile(`^([a-z]+)(?:-[0-9]+tb)?([0-9]+)?`)

// arch is the Kubernetes word for the first architecture that an image of ours can have.
func arch(t *ec2facts.Type) string {
	for _, a := range t.Architectures {
		switch a {
		case "x86_64":
			return "amd64"
		case "arm64":
			return "arm64"
		}
	}
	return ""
}

// kebab makes a label value of a name: lower case, dashes for spaces.
func kebab(s string) string { return strings.ReplaceAll(strings.ToLower(s), " ", "-") }

// windowsBuild is the build number of a Windows family's kernel.
func windowsBuild(f awsv1.AMIFamily) string {
	switch f {
	case awsv1.AMIFamilyWindows2019:
		return "10.0.17763"
	case awsv1.AMIFamilyWindows2022:
		return "10.0.20348"
	case awsv1.AMIFamilyWindows2025:
		return "10.0.26100"
	}
	return ""
}

// terms collects requirements; the values of all share one array, as there are tens of thousands of them.
type terms struct {
	list   []requirement.Term
	values []string
}

// labelCount is a little more than the number of labels of a type.
const labelCount = 36

// is adds a label with one value; an empty one means that the label does not apply.
func (t *terms) is(key, value string) {
	if value == "" {
		t.list = append(t.list, requirement.Term{Key: key, Operator: requirement.DoesNotExist})
		return
	}
	t.oneOf(key, value)
}

func (t *terms) oneOf(key string, values ...string) {
	from := len(t.values)
	t.values = append(t.values, values...)
	t.list = append(t.list, requirement.Term{Key: key, Operator: requirement.In, Values: t.values[from:len(t.values):len(t.values)]})
}

// labels are the requirements that a node of the type brings, without those that an offering decides. Every label of the
// provider is among them: one that does not apply says DoesNotExist.
func (c *Config) labels(t *ec2facts.Type) []requirement.Term {
	out := terms{list: make([]requirement.Term, 0, labelCount), values: make([]string, 0, labelCount)}
	c.systemLabels(t, &out)
	instanceLabels(t, &out)
	gpuLabels(t, &out)
	acceleratorLabels(t, &out)
	for _, key := range []string{
		awsv1.LabelCapacityReservationID, awsv1.LabelCapacityReservationType, awsv1.LabelCapacityReservationInterruptible,
		awsv1.LabelPlacementGroupID, awsv1.LabelPlacementGroupPartition,
	} {
		out.is(key, "")
	}
	slices.SortFunc(out.list, func(a, b requirement.Term) int { return strings.Compare(a.Key, b.Key) })
	return out.list
}

func (c *Config) systemLabels(t *ec2facts.Type, out *terms) {
	system := "linux"
	if c.Family.IsWindows() {
		system = "windows"
	}
	out.is(labelInstanceType, t.Name)
	out.is(labelArch, arch(t))
	out.is(labelOS, system)
	out.is(labelWindowsBuild, windowsBuild(c.Family))
	out.is(labelRegion, c.Region)
	if c.SharedTenancy {
		out.is(awsv1.LabelInstanceTenancy, awsv1.TenancyDefault)
		return
	}
	out.oneOf(awsv1.LabelInstanceTenancy, awsv1.TenancyDedicated, awsv1.TenancyDefault)
}

func instanceLabels(t *ec2facts.Type, out *terms) {
	family, size := ec2facts.SplitName(t.Name)
	category, generation := "", ""
	if m := nameParts.FindStringSubmatch(family); m != nil {
		category, generation = m[1], m[2]
	}
	bandwidth, nvme := "", ""
	if t.EBS.Optimized == ec2facts.ByDefault {
		bandwidth = positive(t.EBS.MaxMbps)
	}
	if t.Disks.HasNVMe() {
		nvme = positive(t.Disks.TotalGB)
	}
	out.is(awsv1.LabelInstanceFamily, family)
	out.is(awsv1.LabelInstanceSize, size)
	out.is(awsv1.LabelInstanceCategory, category)
	out.is(awsv1.LabelInstanceGeneration, generation)
	out.is(awsv1.LabelInstanceCapabilityFlex, strconv.FormatBool(strings.Contains(family, "-flex")))
	out.is(awsv1.LabelInstanceCPU, strconv.Itoa(t.VCPUs))
	out.is(awsv1.LabelInstanceCPUManufacturer, kebab(t.CPUMaker))
	out.is(awsv1.LabelInstanceCPUSustainedClockSpeedMHz, positive(t.ClockMHz))
	out.is(awsv1.LabelInstanceMemory, strconv.Itoa(t.MemoryMiB))
	out.is(awsv1.LabelInstanceEBSBandwidth, bandwidth)
	out.is(awsv1.LabelInstanceNetworkBandwidth, positive(t.Network.BaselineMbps))
	out.is(awsv1.LabelInstanceLocalNVME, nvme)
	out.is(awsv1.LabelInstanceEncryptionInTransitSupported, strconv.FormatBool(t.Network.EncryptionInTransit))
	// Bare metal has no hypervisor, and says so with an empty value.
	out.oneOf(awsv1.LabelInstanceHypervisor, t.Hypervisor)
}

func gpuLabels(t *ec2facts.Type, out *terms) {
	var name, maker, count, memory string
	if t.GPU.Name != "" {
		name, maker, count, memory = kebab(t.GPU.Name), kebab(t.GPU.Maker), strconv.Itoa(t.GPU.Count), strconv.Itoa(t.GPU.MemoryMiB)
	}
	out.is(awsv1.LabelInstanceGPUName, name)
	out.is(awsv1.LabelInstanceGPUManufacturer, maker)
	out.is(awsv1.LabelInstanceGPUCount, count)
	out.is(awsv1.LabelInstanceGPUMemory, memory)
}

// acceleratorLabels speak of inference devices, else of Neuron devices; EC2 describes some under both names.
func acceleratorLabels(t *ec2facts.Type, out *terms) {
	var name, maker, count string
	switch {
	case t.Inference.Name != "":
		name, maker, count = kebab(t.Inference.Name), kebab(t.Inference.Maker), strconv.Itoa(t.Inference.Count)
	case t.Neuron.Name != "":
		name, maker, count = kebab(t.Neuron.Name), "aws", strconv.Itoa(t.Neuron.Devices)
	}
	out.is(awsv1.LabelInstanceAcceleratorName, name)
	out.is(awsv1.LabelInstanceAcceleratorManufacturer, maker)
	out.is(awsv1.LabelInstanceAcceleratorCount, count)
}

// positive words a number, empty for what is not known.
func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}
