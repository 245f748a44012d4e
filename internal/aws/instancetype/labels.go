package instancetype

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/ec2facts"
	"github.com/kerf-sh/kerf/internal/requirement"
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

// labels are the requirements that a node of the type brings, without those that an offering decides. Every label of the
// provider is among them: one that does not apply says DoesNotExist.
func (c *Config) labels(t *ec2facts.Type) []requirement.Term {
	family, size := ec2facts.SplitName(t.Name)
	values := map[string]string{
		labelInstanceType:                               t.Name,
		labelArch:                                       arch(t),
		labelOS:                                         "linux",
		labelRegion:                                     c.Region,
		labelWindowsBuild:                               windowsBuild(c.Family),
		awsv1.LabelInstanceCPU:                          strconv.Itoa(t.VCPUs),
		awsv1.LabelInstanceMemory:                       strconv.Itoa(t.MemoryMiB),
		awsv1.LabelInstanceFamily:                       family,
		awsv1.LabelInstanceSize:                         size,
		awsv1.LabelInstanceCategory:                     "",
		awsv1.LabelInstanceGeneration:                   "",
		awsv1.LabelInstanceCPUManufacturer:              kebab(t.CPUMaker),
		awsv1.LabelInstanceCPUSustainedClockSpeedMHz:    positive(t.ClockMHz),
		awsv1.LabelInstanceEBSBandwidth:                 "",
		awsv1.LabelInstanceNetworkBandwidth:             positive(t.Network.BaselineMbps),
		awsv1.LabelInstanceCapabilityFlex:               strconv.FormatBool(strings.Contains(family, "-flex")),
		awsv1.LabelInstanceLocalNVME:                    "",
		awsv1.LabelInstanceGPUName:                      "",
		awsv1.LabelInstanceGPUManufacturer:              "",
		awsv1.LabelInstanceGPUCount:                     "",
		awsv1.LabelInstanceGPUMemory:                    "",
		awsv1.LabelInstanceAcceleratorName:              "",
		awsv1.LabelInstanceAcceleratorManufacturer:      "",
		awsv1.LabelInstanceAcceleratorCount:             "",
		awsv1.LabelInstanceEncryptionInTransitSupported: strconv.FormatBool(t.Network.EncryptionInTransit),
		awsv1.LabelCapacityReservationID:                "",
		awsv1.LabelCapacityReservationType:              "",
		awsv1.LabelCapacityReservationInterruptible:     "",
		awsv1.LabelPlacementGroupID:                     "",
		awsv1.LabelPlacementGroupPartition:              "",
	}
	if c.Family.IsWindows() {
		values[labelOS] = "windows"
	}
	if m := nameParts.FindStringSubmatch(family); m != nil {
		values[awsv1.LabelInstanceCategory], values[awsv1.LabelInstanceGeneration] = m[1], m[2]
	}
	if t.EBS.Optimized == ec2facts.ByDefault {
		values[awsv1.LabelInstanceEBSBandwidth] = positive(t.EBS.MaxMbps)
	}
	if t.Disks.TotalGB > 0 && t.Disks.NVMe != "" && t.Disks.NVMe != ec2facts.Unsupported {
		values[awsv1.LabelInstanceLocalNVME] = strconv.Itoa(t.Disks.TotalGB)
	}
	deviceLabels(t, values)
	out := make([]requirement.Term, 0, len(values)+2)
	for key, value := range values {
		out = append(out, one(key, value))
	}
	out = append(out,
		// Bare metal has no hypervisor, and says so with an empty value.
		requirement.Term{Key: awsv1.LabelInstanceHypervisor, Operator: requirement.In, Values: []string{t.Hypervisor}},
		requirement.Term{Key: awsv1.LabelInstanceTenancy, Operator: requirement.In, Values: []string{awsv1.TenancyDedicated, awsv1.TenancyDefault}},
	)
	sortTerms(out)
	return out
}

func deviceLabels(t *ec2facts.Type, values map[string]string) {
	if t.GPU.Name != "" {
		values[awsv1.LabelInstanceGPUName] = kebab(t.GPU.Name)
		values[awsv1.LabelInstanceGPUManufacturer] = kebab(t.GPU.Maker)
		values[awsv1.LabelInstanceGPUCount] = strconv.Itoa(t.GPU.Count)
		values[awsv1.LabelInstanceGPUMemory] = strconv.Itoa(t.GPU.MemoryMiB)
	}
	switch {
	case t.Inference.Name != "":
		values[awsv1.LabelInstanceAcceleratorName] = kebab(t.Inference.Name)
		values[awsv1.LabelInstanceAcceleratorManufacturer] = kebab(t.Inference.Maker)
		values[awsv1.LabelInstanceAcceleratorCount] = strconv.Itoa(t.Inference.Count)
	case t.Neuron.Name != "":
		values[awsv1.LabelInstanceAcceleratorName] = kebab(t.Neuron.Name)
		values[awsv1.LabelInstanceAcceleratorManufacturer] = "aws"
		values[awsv1.LabelInstanceAcceleratorCount] = strconv.Itoa(t.Neuron.Devices)
	}
}

// positive words a number, empty for what is not known.
func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// one is the term of a label with one value, DoesNotExist for none.
func one(key, value string) requirement.Term {
	if value == "" {
		return requirement.Term{Key: key, Operator: requirement.DoesNotExist}
	}
	return requirement.Term{Key: key, Operator: requirement.In, Values: []string{value}}
}

func sortTerms(terms []requirement.Term) {
	slices.SortFunc(terms, func(a, b requirement.Term) int { return strings.Compare(a.Key, b.Key) })
}
