package instancetype

import (
	"math"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// capacity is what the node of a type reports as capacity. Extended resources are listed with zero where the type has none.
func (c *Config) capacity(t *ec2facts.Type) res.List {
	out := res.List{
		res.CPU:                   int64(t.VCPUs) * 1000,
		res.Memory:                c.memoryCapacity(t),
		res.EphemeralStorage:      c.storage(t),
		res.Pods:                  c.pods(t),
		awsv1.ResourceNVIDIAGPU:   0,
		awsv1.ResourceAMDGPU:      0,
		awsv1.ResourceHabanaGaudi: 0,
		awsv1.ResourceAWSNeuron:   int64(t.Neuron.Devices),
		// Devices of one instance are alike.
		awsv1.ResourceAWSNeuronCore: int64(t.Neuron.Devices) * int64(t.Neuron.CoresPerDevice),
		awsv1.ResourceEFA:           c.efa(t),
		awsv1.ResourceAWSPodENI:     0,
	}
	// A fraction of a GPU (GPU.Logical without GPU.Count) is none: a pod that asks for one expects a whole one, the cheapest
	// type would be the smallest fraction, and the drivers of the published images do not know them.
	switch t.GPU.Maker {
	case "NVIDIA":
		out[awsv1.ResourceNVIDIAGPU] = int64(t.GPU.Count)
	case "AMD":
		out[awsv1.ResourceAMDGPU] = int64(t.GPU.Count)
	case "Habana":
		out[awsv1.ResourceHabanaGaudi] = int64(t.GPU.Count)
	}
	if t.Trunking {
		out[awsv1.ResourceAWSPodENI] = int64(t.BranchENIs)
	}
	if c.Family.IsWindows() {
		out[awsv1.ResourcePrivateIPv4Address] = max(0, int64(t.Network.IPv4PerENI)-1)
	}
	return out
}

// memoryCapacity is the memory that the kubelet will report, in bytes.
//
// What a guest sees is less than what EC2 states: the hypervisor and the kernel keep a part that is a few percent on most
// instances, a fifth on the smallest and one and a half on the largest. The flat share that Karpenter takes off (7.5 %)
// wastes memory on large instances and promises too much on small ones. So where the guest's memory was measured, that
// value counts, less a margin, because kernels differ in what they keep at boot (crash kernel, image, huge tables): 64 MiB
// and half a percent, which is more than the differences seen between images. Where it was not measured the flat share is
// taken off, and where the smallest measured instance of that size got even less, its share.
//
// A share that the user has set is the user's knowledge of their images; it is then applied alone, as it always was.
// Windows keeps memory in other ways; the measurements, made in Linux guests, say nothing of it.
func (c *Config) memoryCapacity(t *ec2facts.Type) int64 {
	flat := flatMemory(t, c.MemoryOverhead)
	if c.MemoryOverhead != DefaultMemoryOverhead || c.Family.IsWindows() {
		return flat
	}
	if t.GuestMemoryMiB > 0 {
		return lessMargin(int64(t.GuestMemoryMiB)) * mib
	}
	if least, ok := leastMeasured(t); ok {
		return min(flat, lessMargin(least)*mib)
	}
	return flat
}

// lessMargin takes the safety margin off measured memory, in MiB.
func lessMargin(measured int64) int64 { return max(0, measured-64-(measured+199)/200) }

// flatMemory takes a share off the stated memory, rounded up to whole MiB; arm64 instances lose 64 MiB before.
func flatMemory(t *ec2facts.Type, share float64) int64 {
	stated := int64(t.MemoryMiB) * mib
	if firstArch(t) == "arm64" {
		stated -= 64 * mib
	}
	overhead := int64(math.Ceil(float64(stated) * share / float64(mib)))
	return max(0, stated-overhead*mib)
}

// storage is the ephemeral storage in bytes. EC2 states instance store in decimal gigabytes.
func (c *Config) storage(t *ec2facts.Type) int64 {
	if c.onInstanceStore(t) {
		return int64(t.Disks.TotalGB) * 1_000_000_000
	}
	return c.Disk
}

// onInstanceStore reports whether ephemeral storage is on the type's instance store. The images of EKS and Bottlerocket
// join disks of NVMe only, and those of Windows none; with a custom image, the user's own start-up code is taken to do what
// the class says.
// Source: awslabs/amazon-eks-ami, setup-local-disks; bottlerocket.dev, apiclient ephemeral-storage.
func (c *Config) onInstanceStore(t *ec2facts.Type) bool {
	return c.RAID0 && t.Disks.TotalGB > 0 && !c.Family.IsWindows() && (c.Family == awsv1.AMIFamilyCustom || t.Disks.HasNVMe())
}

// pods is how many pods the kubelet will accept.
func (c *Config) pods(t *ec2facts.Type) int64 {
	var n int64
	switch {
	case c.MaxPods != nil:
		n = int64(*c.MaxPods)
	case c.Family.IsWindows():
		n = 110
	default:
		n = c.networkPods(t)
	}
	if c.PodsPerCore != nil && *c.PodsPerCore > 0 && c.Family != awsv1.AMIFamilyBottlerocket {
		n = min(n, int64(*c.PodsPerCore)*int64(t.VCPUs))
	}
	return n
}

// networkPods is how many pods find addresses on a type, as the cluster's network plug-in gives them out. Where the
// kubelet can't be told the number it is not taken to be above what interfaces carry, which is what images start with.
func (c *Config) networkPods(t *ec2facts.Type) int64 {
	taken := 0
	for _, i := range c.Interfaces {
		if i.NetworkCardIndex == 0 && i.InterfaceType == awsv1.InterfaceTypeEFAOnly {
			taken++
		}
	}
	n := c.PodNetwork.Pods(t, taken, c.ReservedENIs)
	if c.Family == awsv1.AMIFamilyCustom || c.OwnUserData {
		n = min(n, eniPods(t, t.Network.DefaultENIs()-taken-c.ReservedENIs))
	}
	return n
}

// eniPods is how many pods find addresses on a number of interfaces: each interface keeps one address for itself, and two
// pods use the host's network.
func eniPods(t *ec2facts.Type, enis int) int64 {
	if enis <= 0 {
		return 0
	}
	return int64(enis)*int64(t.Network.IPv4PerENI-1) + 2
}

func (c *Config) efa(t *ec2facts.Type) int64 {
	if len(c.Interfaces) == 0 {
		return int64(t.Network.MaxEFA)
	}
	var n int64
	for _, i := range c.Interfaces {
		if i.InterfaceType == awsv1.InterfaceTypeEFAOnly {
			n++
		}
	}
	return n
}
