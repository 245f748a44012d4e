// Package instancetype finds the instance types of a region through EC2 and works out what a node of each would offer to
// pods: capacity, overhead and labels, as one node class would configure it.
//
// Discovery asks EC2 and keeps an immutable Snapshot. Shape is pure arithmetic on the facts of a type and a Config; it
// knows nothing of zones and prices, which package offering adds.
package instancetype

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
)

// FromAPI turns the description of a type by EC2 into facts. What EC2 does not describe (measured guest memory, branch
// interfaces, published pod limits, and network bandwidth where it is missing) comes from known, which may be nil.
//
// Errors: a description without a name, CPUs, memory, architecture or network cards, of which no node can be planned.
func FromAPI(in *types.InstanceTypeInfo, known *ec2facts.Facts) (ec2facts.Type, error) {
	t := ec2facts.Type{
		Name:              string(in.InstanceType),
		Hypervisor:        string(in.Hypervisor),
		BareMetal:         aws.ToBool(in.BareMetal),
		Burstable:         aws.ToBool(in.BurstablePerformanceSupported),
		CurrentGeneration: aws.ToBool(in.CurrentGeneration),
		Hibernation:       aws.ToBool(in.HibernationSupported),
		DedicatedHosts:    aws.ToBool(in.DedicatedHostsSupported),
		AutoRecovery:      aws.ToBool(in.AutoRecoverySupported),
		FreeTier:          aws.ToBool(in.FreeTierEligible),
		NitroEnclaves:     string(in.NitroEnclavesSupport),
		RebootMigration:   string(in.RebootMigrationSupport),
		UsageClasses:      words(in.SupportedUsageClasses),
		Virtualization:    words(in.SupportedVirtualizationTypes),
		BootModes:         words(in.SupportedBootModes),
		RootDevices:       words(in.SupportedRootDeviceTypes),
	}
	if family, size := ec2facts.SplitName(t.Name); family == "" || size == "" {
		return t, fmt.Errorf("instance type %q: the name is not of the form family.size", t.Name)
	}
	if in.NitroTpmInfo != nil {
		t.TPMVersions = in.NitroTpmInfo.SupportedVersions
	}
	if in.PlacementGroupInfo != nil {
		t.PlacementStrategies = words(in.PlacementGroupInfo.SupportedStrategies)
	}
	processor(&t, in)
	devices(&t, in)
	storage(&t, in)
	network(&t, in.NetworkInfo)
	supplement(&t, known)
	return t, complete(&t)
}

func complete(t *ec2facts.Type) error {
	switch {
	case t.VCPUs <= 0:
		return fmt.Errorf("instance type %s: EC2 gives no default vCPUs", t.Name)
	case t.MemoryMiB <= 0:
		return fmt.Errorf("instance type %s: EC2 gives no memory size", t.Name)
	case len(t.Architectures) == 0:
		return fmt.Errorf("instance type %s: EC2 gives no architecture", t.Name)
	case t.Network.DefaultENIs() <= 0 || t.Network.IPv4PerENI <= 0:
		return fmt.Errorf("instance type %s: EC2 gives no network card with interfaces and addresses", t.Name)
	}
	return nil
}

func words[T ~string](in []T) []string {
	if len(in) == 0 {
		return nil
	}
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = string(s)
	}
	return out
}

func integers(in []int32) []int {
	var out []int
	for _, n := range in {
		out = append(out, int(n))
	}
	return out
}

func processor(t *ec2facts.Type, in *types.InstanceTypeInfo) {
	if p := in.ProcessorInfo; p != nil {
		t.Architectures = words(p.SupportedArchitectures)
		t.CPUMaker = aws.ToString(p.Manufacturer)
		t.CPUFeatures = words(p.SupportedFeatures)
		t.ClockMHz = int(aws.ToFloat64(p.SustainedClockSpeedInGhz)*1000 + 0.5)
	}
	if v := in.VCpuInfo; v != nil {
		t.VCPUs = int(aws.ToInt32(v.DefaultVCpus))
		t.Cores = int(aws.ToInt32(v.DefaultCores))
		t.ThreadsPerCore = int(aws.ToInt32(v.DefaultThreadsPerCore))
		t.ValidCores = integers(v.ValidCores)
		t.ValidThreads = integers(v.ValidThreadsPerCore)
	}
	if in.MemoryInfo != nil {
		t.MemoryMiB = int(aws.ToInt64(in.MemoryInfo.SizeInMiB))
	}
}

// devices takes the first kind of each sort of device in full; the counts are summed over kinds of GPU, though no type
// with two kinds exists so far.
func devices(t *ec2facts.Type, in *types.InstanceTypeInfo) {
	if in.GpuInfo != nil {
		for i, g := range in.GpuInfo.Gpus {
			t.GPU.Count += int(aws.ToInt32(g.Count))
			t.GPU.Logical += int(aws.ToInt32(g.LogicalGpuCount))
			if i > 0 {
				continue
			}
			t.GPU.Maker, t.GPU.Name, t.GPU.Partition = aws.ToString(g.Manufacturer), aws.ToString(g.Name), aws.ToFloat64(g.GpuPartitionSize)
			if g.MemoryInfo != nil {
				t.GPU.MemoryMiB = int(aws.ToInt32(g.MemoryInfo.SizeInMiB))
			}
		}
	}
	if in.NeuronInfo != nil {
		for i, n := range in.NeuronInfo.NeuronDevices {
			t.Neuron.Devices += int(aws.ToInt32(n.Count))
			if i > 0 {
				continue
			}
			t.Neuron.Name = aws.ToString(n.Name)
			if n.CoreInfo != nil {
				t.Neuron.CoresPerDevice, t.Neuron.CoreVersion = int(aws.ToInt32(n.CoreInfo.Count)), int(aws.ToInt32(n.CoreInfo.Version))
			}
			if n.MemoryInfo != nil {
				t.Neuron.MemoryMiB = int(aws.ToInt32(n.MemoryInfo.SizeInMiB))
			}
		}
	}
	if in.InferenceAcceleratorInfo != nil {
		for _, a := range in.InferenceAcceleratorInfo.Accelerators {
			t.Inference.Count += int(aws.ToInt32(a.Count))
			t.Inference.Maker, t.Inference.Name = aws.ToString(a.Manufacturer), aws.ToString(a.Name)
			if a.MemoryInfo != nil {
				t.Inference.MemoryMiB = int(aws.ToInt32(a.MemoryInfo.SizeInMiB))
			}
		}
	}
	if in.FpgaInfo != nil {
		for _, a := range in.FpgaInfo.Fpgas {
			t.FPGA.Count += int(aws.ToInt32(a.Count))
			t.FPGA.Maker, t.FPGA.Name = aws.ToString(a.Manufacturer), aws.ToString(a.Name)
			if a.MemoryInfo != nil {
				t.FPGA.MemoryMiB = int(aws.ToInt32(a.MemoryInfo.SizeInMiB))
			}
		}
	}
	if in.MediaAcceleratorInfo != nil {
		for _, a := range in.MediaAcceleratorInfo.Accelerators {
			t.Media.Count += int(aws.ToInt32(a.Count))
			t.Media.Maker, t.Media.Name = aws.ToString(a.Manufacturer), aws.ToString(a.Name)
			if a.MemoryInfo != nil {
				t.Media.MemoryMiB = int(aws.ToInt32(a.MemoryInfo.SizeInMiB))
			}
		}
	}
}

func storage(t *ec2facts.Type, in *types.InstanceTypeInfo) {
	if s := in.InstanceStorageInfo; s != nil {
		t.Disks.TotalGB = int(aws.ToInt64(s.TotalSizeInGB))
		t.Disks.NVMe, t.Disks.Encryption = string(s.NvmeSupport), string(s.EncryptionSupport)
		for _, d := range s.Disks {
			t.Disks.Count += int(aws.ToInt32(d.Count))
			t.Disks.EachGB, t.Disks.Kind = int(aws.ToInt64(d.SizeInGB)), string(d.Type)
		}
	}
	e := in.EbsInfo
	if e == nil {
		return
	}
	t.EBS.Optimized, t.EBS.NVMe = string(e.EbsOptimizedSupport), string(e.NvmeSupport)
	t.EBS.MaxAttachments, t.EBS.AttachmentKind = int(aws.ToInt32(e.MaximumEbsAttachments)), string(e.AttachmentLimitType)
	t.EBS.Cards = int(aws.ToInt32(e.MaximumEbsCards))
	if o := e.EbsOptimizedInfo; o != nil {
		t.EBS.BaselineMbps, t.EBS.MaxMbps = int(aws.ToInt32(o.BaselineBandwidthInMbps)), int(aws.ToInt32(o.MaximumBandwidthInMbps))
		t.EBS.BaselineIOPS, t.EBS.MaxIOPS = int(aws.ToInt32(o.BaselineIops)), int(aws.ToInt32(o.MaximumIops))
		t.EBS.BaselineThroughput, t.EBS.MaxThroughput = aws.ToFloat64(o.BaselineThroughputInMBps), aws.ToFloat64(o.MaximumThroughputInMBps)
	}
}

// maxCards bounds the index of a network card that is believed.
const maxCards = 256

func network(t *ec2facts.Type, in *types.NetworkInfo) {
	if in == nil {
		return
	}
	n := &t.Network
	n.Performance, n.ENA = aws.ToString(in.NetworkPerformance), string(in.EnaSupport)
	n.DefaultCard = int(aws.ToInt32(in.DefaultNetworkCardIndex))
	n.IPv4PerENI, n.IPv6PerENI = int(aws.ToInt32(in.Ipv4AddressesPerInterface)), int(aws.ToInt32(in.Ipv6AddressesPerInterface))
	n.IPv6, n.ENASRD, n.EFA = aws.ToBool(in.Ipv6Supported), aws.ToBool(in.EnaSrdSupported), aws.ToBool(in.EfaSupported)
	n.EncryptionInTransit = aws.ToBool(in.EncryptionInTransitSupported)
	n.BandwidthWeightings = words(in.BandwidthWeightings)
	if in.EfaInfo != nil {
		n.MaxEFA = int(aws.ToInt32(in.EfaInfo.MaximumEfaInterfaces))
	}
	var baseline, peak float64
	for _, c := range in.NetworkCards {
		i := int(aws.ToInt32(c.NetworkCardIndex))
		if i < 0 || i >= maxCards {
			continue
		}
		for len(n.ENIsPerCard) <= i {
			n.ENIsPerCard = append(n.ENIsPerCard, 0)
		}
		n.ENIsPerCard[i] = int(aws.ToInt32(c.MaximumNetworkInterfaces))
		baseline += aws.ToFloat64(c.BaselineBandwidthInGbps)
		peak += aws.ToFloat64(c.PeakBandwidthInGbps)
	}
	n.BaselineMbps, n.PeakMbps = int(baseline*1000+0.5), int(peak*1000+0.5)
}

func supplement(t *ec2facts.Type, known *ec2facts.Facts) {
	if known == nil {
		return
	}
	k, ok := known.Type(t.Name)
	if !ok {
		return
	}
	t.GuestMemoryMiB, t.Trunking, t.BranchENIs, t.EKSMaxPods = k.GuestMemoryMiB, k.Trunking, k.BranchENIs, k.EKSMaxPods
	if t.Network.BaselineMbps == 0 {
		t.Network.BaselineMbps, t.Network.PeakMbps = k.Network.BaselineMbps, k.Network.PeakMbps
	}
}
