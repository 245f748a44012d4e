package ec2

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

type describeInstanceTypesInput struct {
	paging
	Filters       []filter `query:"Filter"`
	InstanceTypes []string `query:"InstanceType"`
}

type describeInstanceTypesOutput struct {
	InstanceTypes []instanceType `xml:"instanceTypeSet>item"`
	NextToken     string         `xml:"nextToken,omitempty"`
}

type instanceType struct {
	InstanceType                  string         `xml:"instanceType"`
	CurrentGeneration             bool           `xml:"currentGeneration"`
	FreeTierEligible              bool           `xml:"freeTierEligible"`
	SupportedUsageClasses         []string       `xml:"supportedUsageClasses>item"`
	SupportedRootDeviceTypes      []string       `xml:"supportedRootDeviceTypes>item"`
	SupportedVirtualizationTypes  []string       `xml:"supportedVirtualizationTypes>item"`
	SupportedBootModes            []string       `xml:"supportedBootModes>item"`
	BareMetal                     bool           `xml:"bareMetal"`
	Hypervisor                    string         `xml:"hypervisor,omitempty"`
	ProcessorInfo                 processorInfo  `xml:"processorInfo"`
	VCPUInfo                      vCPUInfo       `xml:"vCpuInfo"`
	MemoryInfo                    sizeMiB        `xml:"memoryInfo"`
	InstanceStorageSupported      bool           `xml:"instanceStorageSupported"`
	InstanceStorageInfo           *storageInfo   `xml:"instanceStorageInfo"`
	EbsInfo                       ebsInfo        `xml:"ebsInfo"`
	NetworkInfo                   networkInfo    `xml:"networkInfo"`
	GpuInfo                       *gpuInfo       `xml:"gpuInfo"`
	FpgaInfo                      *fpgaInfo      `xml:"fpgaInfo"`
	PlacementGroupInfo            placementInfo  `xml:"placementGroupInfo"`
	InferenceAcceleratorInfo      *inferenceInfo `xml:"inferenceAcceleratorInfo"`
	MediaAcceleratorInfo          *mediaInfo     `xml:"mediaAcceleratorInfo"`
	NeuronInfo                    *neuronInfo    `xml:"neuronInfo"`
	HibernationSupported          bool           `xml:"hibernationSupported"`
	BurstablePerformanceSupported bool           `xml:"burstablePerformanceSupported"`
	DedicatedHostsSupported       bool           `xml:"dedicatedHostsSupported"`
	AutoRecoverySupported         bool           `xml:"autoRecoverySupported"`
	NitroEnclavesSupport          string         `xml:"nitroEnclavesSupport"`
	NitroTpmSupport               string         `xml:"nitroTpmSupport"`
	NitroTpmInfo                  *tpmInfo       `xml:"nitroTpmInfo"`
	RebootMigrationSupport        string         `xml:"rebootMigrationSupport,omitempty"`
}

type processorInfo struct {
	Architectures []string `xml:"supportedArchitectures>item"`
	ClockGHz      string   `xml:"sustainedClockSpeedInGhz,omitempty"`
	Manufacturer  string   `xml:"manufacturer,omitempty"`
	Features      []string `xml:"supportedFeatures>item"`
}

type vCPUInfo struct {
	VCPUs          int   `xml:"defaultVCpus"`
	Cores          int   `xml:"defaultCores,omitempty"`
	ThreadsPerCore int   `xml:"defaultThreadsPerCore,omitempty"`
	ValidCores     []int `xml:"validCores>item"`
	ValidThreads   []int `xml:"validThreadsPerCore>item"`
}

type sizeMiB struct {
	SizeInMiB int `xml:"sizeInMiB"`
}

type storageInfo struct {
	TotalGB    int    `xml:"totalSizeInGB"`
	Disks      []disk `xml:"disks>item"`
	NVMe       string `xml:"nvmeSupport,omitempty"`
	Encryption string `xml:"encryptionSupport,omitempty"`
}

type disk struct {
	SizeGB int    `xml:"sizeInGB"`
	Count  int    `xml:"count"`
	Type   string `xml:"type"`
}

type ebsInfo struct {
	Optimized      string        `xml:"ebsOptimizedSupport"`
	Encryption     string        `xml:"encryptionSupport"`
	NVMe           string        `xml:"nvmeSupport,omitempty"`
	MaxAttachments int           `xml:"maximumEbsAttachments,omitempty"`
	AttachmentType string        `xml:"attachmentLimitType,omitempty"`
	Performance    *ebsBandwidth `xml:"ebsOptimizedInfo"`
}

type ebsBandwidth struct {
	BaselineMbps       int     `xml:"baselineBandwidthInMbps"`
	BaselineIOPS       int     `xml:"baselineIops"`
	BaselineThroughput float64 `xml:"baselineThroughputInMBps"`
	MaxMbps            int     `xml:"maximumBandwidthInMbps"`
	MaxIOPS            int     `xml:"maximumIops"`
	MaxThroughput      float64 `xml:"maximumThroughputInMBps"`
}

type networkInfo struct {
	Performance         string        `xml:"networkPerformance"`
	MaxInterfaces       int           `xml:"maximumNetworkInterfaces"`
	MaxCards            int           `xml:"maximumNetworkCards"`
	DefaultCard         int           `xml:"defaultNetworkCardIndex"`
	Cards               []networkCard `xml:"networkCards>item"`
	IPv4PerInterface    int           `xml:"ipv4AddressesPerInterface"`
	IPv6PerInterface    int           `xml:"ipv6AddressesPerInterface"`
	IPv6                bool          `xml:"ipv6Supported"`
	ENA                 string        `xml:"enaSupport"`
	ENASRD              bool          `xml:"enaSrdSupported"`
	EFA                 bool          `xml:"efaSupported"`
	EfaInfo             *efaInfo      `xml:"efaInfo"`
	EncryptionInTransit bool          `xml:"encryptionInTransitSupported"`
	Weightings          []string      `xml:"bandwidthWeightings>item"`
}

type networkCard struct {
	Index        int    `xml:"networkCardIndex"`
	Performance  string `xml:"networkPerformance"`
	MaxENIs      int    `xml:"maximumNetworkInterfaces"`
	BaselineGbps string `xml:"baselineBandwidthInGbps,omitempty"`
	PeakGbps     string `xml:"peakBandwidthInGbps,omitempty"`
}

type efaInfo struct {
	MaxInterfaces int `xml:"maximumEfaInterfaces"`
}

type gpuInfo struct {
	Gpus  []gpu `xml:"gpus>item"`
	Total int   `xml:"totalGpuMemoryInMiB"`
}

type gpu struct {
	Name         string  `xml:"name"`
	Manufacturer string  `xml:"manufacturer"`
	Count        int     `xml:"count"`
	Logical      int     `xml:"logicalGpuCount,omitempty"`
	Partition    string  `xml:"gpuPartitionSize,omitempty"`
	Memory       sizeMiB `xml:"memoryInfo"`
}

type device struct {
	Name         string   `xml:"name"`
	Manufacturer string   `xml:"manufacturer,omitempty"`
	Count        int      `xml:"count"`
	Memory       *sizeMiB `xml:"memoryInfo"`
}

type fpgaInfo struct {
	Devices []device `xml:"fpgas>item"`
	Total   int      `xml:"totalFpgaMemoryInMiB"`
}

type inferenceInfo struct {
	Devices []device `xml:"accelerators>member"` // the one list of EC2 whose elements are called so
	Total   int      `xml:"totalInferenceMemoryInMiB"`
}

type mediaInfo struct {
	Devices []device `xml:"accelerators>item"`
	Total   int      `xml:"totalMediaMemoryInMiB"`
}

type neuronInfo struct {
	Devices []neuronDevice `xml:"neuronDevices>item"`
	Total   int            `xml:"totalNeuronDeviceMemoryInMiB"`
}

type neuronDevice struct {
	Count  int        `xml:"count"`
	Name   string     `xml:"name"`
	Core   neuronCore `xml:"coreInfo"`
	Memory sizeMiB    `xml:"memoryInfo"`
}

type neuronCore struct {
	Count   int `xml:"count"`
	Version int `xml:"version"`
}

type placementInfo struct {
	Strategies []string `xml:"supportedStrategies>item"`
}

type tpmInfo struct {
	Versions []string `xml:"supportedVersions>item"`
}

var instanceTypeFilters = filterable[*ec2facts.Type]{attributes: map[string]func(**ec2facts.Type) []string{
	"auto-recovery-supported":                   yesNo(func(t **ec2facts.Type) bool { return (*t).AutoRecovery }),
	"bare-metal":                                yesNo(func(t **ec2facts.Type) bool { return (*t).BareMetal }),
	"burstable-performance-supported":           yesNo(func(t **ec2facts.Type) bool { return (*t).Burstable }),
	"current-generation":                        yesNo(func(t **ec2facts.Type) bool { return (*t).CurrentGeneration }),
	"dedicated-hosts-supported":                 yesNo(func(t **ec2facts.Type) bool { return (*t).DedicatedHosts }),
	"ebs-info.ebs-optimized-support":            one(func(t **ec2facts.Type) string { return (*t).EBS.Optimized }),
	"ebs-info.nvme-support":                     one(func(t **ec2facts.Type) string { return (*t).EBS.NVMe }),
	"free-tier-eligible":                        yesNo(func(t **ec2facts.Type) bool { return (*t).FreeTier }),
	"hibernation-supported":                     yesNo(func(t **ec2facts.Type) bool { return (*t).Hibernation }),
	"hypervisor":                                one(func(t **ec2facts.Type) string { return (*t).Hypervisor }),
	"instance-storage-info.nvme-support":        one(func(t **ec2facts.Type) string { return (*t).Disks.NVMe }),
	"instance-storage-supported":                yesNo(func(t **ec2facts.Type) bool { return (*t).Disks.TotalGB > 0 }),
	"instance-type":                             one(func(t **ec2facts.Type) string { return (*t).Name }),
	"memory-info.size-in-mib":                   one(func(t **ec2facts.Type) string { return strconv.Itoa((*t).MemoryMiB) }),
	"network-info.efa-supported":                yesNo(func(t **ec2facts.Type) bool { return (*t).Network.EFA }),
	"network-info.ena-support":                  one(func(t **ec2facts.Type) string { return (*t).Network.ENA }),
	"network-info.ipv4-addresses-per-interface": one(func(t **ec2facts.Type) string { return strconv.Itoa((*t).Network.IPv4PerENI) }),
	"network-info.ipv6-supported":               yesNo(func(t **ec2facts.Type) bool { return (*t).Network.IPv6 }),
	"network-info.maximum-network-interfaces":   one(func(t **ec2facts.Type) string { return strconv.Itoa((*t).Network.MaxENIs()) }),
	"processor-info.supported-architecture":     func(t **ec2facts.Type) []string { return (*t).Architectures },
	"processor-info.supported-features":         func(t **ec2facts.Type) []string { return (*t).CPUFeatures },
	"supported-boot-mode":                       func(t **ec2facts.Type) []string { return (*t).BootModes },
	"supported-root-device-type":                func(t **ec2facts.Type) []string { return (*t).RootDevices },
	"supported-usage-class":                     func(t **ec2facts.Type) []string { return (*t).UsageClasses },
	"supported-virtualization-type":             func(t **ec2facts.Type) []string { return (*t).Virtualization },
	"vcpu-info.default-cores":                   one(func(t **ec2facts.Type) string { return strconv.Itoa((*t).Cores) }),
	"vcpu-info.default-threads-per-core":        one(func(t **ec2facts.Type) string { return strconv.Itoa((*t).ThreadsPerCore) }),
	"vcpu-info.default-vcpus":                   one(func(t **ec2facts.Type) string { return strconv.Itoa((*t).VCPUs) }),
}}

func (s *service) describeInstanceTypes(_ *wire.Request, in *describeInstanceTypesInput) (any, error) {
	if in.MaxResults != nil && len(in.InstanceTypes) > 0 {
		return nil, wire.Errorf("InvalidParameterCombination", "The parameter MaxResults cannot be used with instance types")
	}
	if len(in.InstanceTypes) > 100 {
		return nil, wire.Errorf("InvalidParameterValue", "%d instance types are named; at most 100 can be", len(in.InstanceTypes))
	}
	all := s.world.Types()
	if len(in.InstanceTypes) > 0 {
		all = slices.DeleteFunc(all, func(t *ec2facts.Type) bool { return !slices.Contains(in.InstanceTypes, t.Name) })
		if missing := without(in.InstanceTypes, all, func(t *ec2facts.Type) string { return t.Name }); len(missing) > 0 {
			return nil, wire.Errorf("InvalidInstanceType", "The following supplied instance types do not exist: [%s]", strings.Join(missing, ", "))
		}
	}
	all, err := instanceTypeFilters.choose(all, in.Filters)
	if err != nil {
		return nil, err
	}
	all, token, err := page(all, func(t **ec2facts.Type) string { return (*t).Name }, in.paging, limits{5, 100, 100})
	if err != nil {
		return nil, err
	}
	out := describeInstanceTypesOutput{NextToken: token}
	for _, t := range all {
		out.InstanceTypes = append(out.InstanceTypes, showType(t))
	}
	return out, nil
}

// without returns the names that none of the things bears.
func without[T any](names []string, have []T, name func(T) string) []string {
	var out []string
	for _, n := range names {
		if !slices.ContainsFunc(have, func(v T) bool { return name(v) == n }) {
			out = append(out, n)
		}
	}
	return out
}

func showType(t *ec2facts.Type) instanceType {
	o := instanceType{
		InstanceType: t.Name, CurrentGeneration: t.CurrentGeneration, FreeTierEligible: t.FreeTier,
		SupportedUsageClasses: t.UsageClasses, SupportedRootDeviceTypes: t.RootDevices,
		SupportedVirtualizationTypes: t.Virtualization, SupportedBootModes: t.BootModes,
		BareMetal: t.BareMetal, Hypervisor: t.Hypervisor,
		ProcessorInfo: processorInfo{Architectures: t.Architectures, Manufacturer: t.CPUMaker, Features: t.CPUFeatures},
		VCPUInfo:      vCPUInfo{t.VCPUs, t.Cores, t.ThreadsPerCore, t.ValidCores, t.ValidThreads},
		MemoryInfo:    sizeMiB{t.MemoryMiB}, NetworkInfo: showNetwork(&t.Network), EbsInfo: showEBS(&t.EBS),
		PlacementGroupInfo: placementInfo{t.PlacementStrategies}, HibernationSupported: t.Hibernation,
		BurstablePerformanceSupported: t.Burstable, DedicatedHostsSupported: t.DedicatedHosts, AutoRecoverySupported: t.AutoRecovery,
		NitroEnclavesSupport: support(t.NitroEnclaves == ec2facts.Supported), NitroTpmSupport: support(len(t.TPMVersions) > 0),
		RebootMigrationSupport: t.RebootMigration,
	}
	if t.ClockMHz > 0 {
		o.ProcessorInfo.ClockGHz = strconv.FormatFloat(float64(t.ClockMHz)/1000, 'f', -1, 64)
	}
	if len(t.TPMVersions) > 0 {
		o.NitroTpmInfo = &tpmInfo{t.TPMVersions}
	}
	if d := t.Disks; d.TotalGB > 0 {
		o.InstanceStorageSupported = true
		o.InstanceStorageInfo = &storageInfo{d.TotalGB, []disk{{d.EachGB, d.Count, d.Kind}}, d.NVMe, d.Encryption}
	}
	showDevices(t, &o)
	return o
}

func support(yes bool) string {
	if yes {
		return ec2facts.Supported
	}
	return ec2facts.Unsupported
}

func showEBS(e *ec2facts.EBS) ebsInfo {
	o := ebsInfo{
		Optimized: e.Optimized, Encryption: ec2facts.Supported, NVMe: e.NVMe, MaxAttachments: e.MaxAttachments, AttachmentType: e.AttachmentKind,
	}
	if e.MaxMbps > 0 {
		o.Performance = &ebsBandwidth{e.BaselineMbps, e.BaselineIOPS, e.BaselineThroughput, e.MaxMbps, e.MaxIOPS, e.MaxThroughput}
	}
	return o
}

func showNetwork(n *ec2facts.Network) networkInfo {
	o := networkInfo{
		Performance: n.Performance, MaxInterfaces: n.MaxENIs(), MaxCards: len(n.ENIsPerCard), DefaultCard: n.DefaultCard,
		IPv4PerInterface: n.IPv4PerENI, IPv6PerInterface: n.IPv6PerENI, IPv6: n.IPv6, ENA: n.ENA, ENASRD: n.ENASRD, EFA: n.EFA,
		EncryptionInTransit: n.EncryptionInTransit, Weightings: n.BandwidthWeightings,
	}
	if n.EFA {
		o.EfaInfo = &efaInfo{n.MaxEFA}
	}
	for i, enis := range n.ENIsPerCard {
		c := networkCard{Index: i, Performance: n.Performance, MaxENIs: enis}
		if n.PeakMbps > 0 { // the facts have the sum over all cards
			c.BaselineGbps = gbps(n.BaselineMbps, len(n.ENIsPerCard))
			c.PeakGbps = gbps(n.PeakMbps, len(n.ENIsPerCard))
		}
		o.Cards = append(o.Cards, c)
	}
	return o
}

func gbps(mbps, cards int) string {
	return strconv.FormatFloat(float64(mbps)/1000/float64(cards), 'f', -1, 64)
}

func showDevices(t *ec2facts.Type, o *instanceType) {
	if g := t.GPU; g.Name != "" {
		show := gpu{Name: g.Name, Manufacturer: g.Maker, Count: g.Count, Logical: g.Logical, Memory: sizeMiB{g.MemoryMiB}}
		if g.Partition > 0 {
			show.Partition = fmt.Sprint(g.Partition)
		}
		o.GpuInfo = &gpuInfo{[]gpu{show}, max(1, g.Count) * g.MemoryMiB}
	}
	if n := t.Neuron; n.Devices > 0 {
		device := neuronDevice{n.Devices, n.Name, neuronCore{n.CoresPerDevice, n.CoreVersion}, sizeMiB{n.MemoryMiB}}
		o.NeuronInfo = &neuronInfo{[]neuronDevice{device}, n.Devices * n.MemoryMiB}
	}
	devices := func(a ec2facts.Accelerator) []device {
		d := device{Name: a.Name, Manufacturer: a.Maker, Count: a.Count}
		if a.MemoryMiB > 0 {
			d.Memory = &sizeMiB{a.MemoryMiB}
		}
		return []device{d}
	}
	if a := t.Inference; a.Count > 0 {
		o.InferenceAcceleratorInfo = &inferenceInfo{devices(a), a.Count * a.MemoryMiB}
	}
	if a := t.FPGA; a.Count > 0 {
		o.FpgaInfo = &fpgaInfo{devices(a), a.Count * a.MemoryMiB}
	}
	if a := t.Media; a.Count > 0 {
		o.MediaAcceleratorInfo = &mediaInfo{devices(a), a.Count * a.MemoryMiB}
	}
}
