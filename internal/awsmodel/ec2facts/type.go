package ec2facts

// Words of the EC2 API for how far a feature is supported.
const (
	Required    = "required"
	Supported   = "supported"
	Unsupported = "unsupported"
	ByDefault   = "default"
)

// Type is what is known of one instance type. Zero values mean that the API gives nothing. Strings that the EC2 API
// defines (architectures, usage classes, support words, …) are the API's own.
type Type struct {
	Name string
	// LastSeen is the day (2006-01-02) a retired type was last in the API; empty for a type that is offered.
	LastSeen string

	Architectures  []string // x86_64, arm64, i386, arm64_mac, x86_64_mac
	CPUMaker       string   // Intel, AMD, AWS, Apple
	VCPUs          int
	Cores          int
	ThreadsPerCore int
	ClockMHz       int // sustained
	ValidCores     []int
	ValidThreads   []int
	CPUFeatures    []string

	MemoryMiB int // as the API states it
	// GuestMemoryMiB is the total memory that a Linux guest was measured to see; 0 when nobody measured.
	GuestMemoryMiB int

	Hypervisor          string // nitro, xen; empty for bare metal
	BareMetal           bool
	Burstable           bool
	CurrentGeneration   bool
	UsageClasses        []string // on-demand, spot, capacity-block
	Virtualization      []string
	BootModes           []string
	RootDevices         []string
	Hibernation         bool
	DedicatedHosts      bool
	AutoRecovery        bool
	FreeTier            bool
	NitroEnclaves       string
	TPMVersions         []string
	PlacementStrategies []string
	RebootMigration     string

	GPU       GPU
	Neuron    Neuron
	Inference Accelerator
	FPGA      Accelerator
	Media     Accelerator
	Disks     Disks
	EBS       EBS
	Network   Network

	// Trunking says that the type can carry branch interfaces (security groups for pods), at most BranchENIs.
	Trunking   bool
	BranchENIs int
	// EKSMaxPods is the published limit: interfaces of the default card × (IPv4 per interface − 1) + 2.
	EKSMaxPods int
}

// Accelerated reports whether the type has devices other than processors, disks and networks.
func (t *Type) Accelerated() bool {
	return t.GPU != GPU{} || t.Neuron.Devices+t.Inference.Count+t.FPGA.Count+t.Media.Count > 0
}

// GPU devices. Count is whole GPUs, 0 for a fraction of one; Logical and Partition tell the slice then.
type GPU struct {
	Count     int     `json:"count"`
	Logical   int     `json:"logical,omitempty"`
	Partition float64 `json:"partition,omitempty"`
	Maker     string  `json:"maker,omitempty"`
	Name      string  `json:"name,omitempty"`
	MemoryMiB int     `json:"memoryMiB,omitempty"` // per GPU
}

// Neuron devices of AWS.
type Neuron struct {
	Devices        int    `json:"devices,omitempty"`
	Name           string `json:"name,omitempty"`
	CoresPerDevice int    `json:"coresPerDevice,omitempty"`
	CoreVersion    int    `json:"coreVersion,omitempty"`
	MemoryMiB      int    `json:"memoryMiB,omitempty"` // per device
}

// Accelerator is a kind of device other than a GPU. The API gives the maker of inference devices only.
type Accelerator struct {
	Count     int
	Maker     string
	Name      string
	MemoryMiB int // per device
}

// Disks of the instance store, in decimal gigabytes.
type Disks struct {
	TotalGB    int    `json:"totalGB,omitempty"`
	Count      int    `json:"count"`
	EachGB     int    `json:"eachGB,omitempty"`
	Kind       string `json:"kind,omitempty"` // ssd, hdd
	NVMe       string `json:"nvme,omitempty"` // required, supported, unsupported
	Encryption string `json:"encryption,omitempty"`
}

// HasNVMe reports whether there are disks of NVMe.
func (d *Disks) HasNVMe() bool { return d.TotalGB > 0 && (d.NVMe == Required || d.NVMe == Supported) }

// EBS limits. Throughput is in MB/s.
type EBS struct {
	Optimized          string  `json:"optimized,omitempty"` // default, supported, unsupported
	NVMe               string  `json:"nvme,omitempty"`
	MaxAttachments     int     `json:"maxAttachments,omitempty"`
	AttachmentKind     string  `json:"attachmentKind,omitempty"` // shared: interfaces, volumes and NVMe disks count together; dedicated: volumes only
	BaselineMbps       int     `json:"baselineMbps,omitempty"`
	MaxMbps            int     `json:"maxMbps,omitempty"`
	BaselineIOPS       int     `json:"baselineIOPS,omitempty"`
	MaxIOPS            int     `json:"maxIOPS,omitempty"`
	BaselineThroughput float64 `json:"baselineThroughput,omitempty"`
	MaxThroughput      float64 `json:"maxThroughput,omitempty"`
	Cards              int     `json:"cards,omitempty"`
}

// Network limits.
type Network struct {
	Performance string // the API's wording, such as "Up to 10 Gigabit"
	// ENIsPerCard has the maximum of interfaces of each network card; the index is the card's.
	ENIsPerCard         []int
	DefaultCard         int
	IPv4PerENI          int
	IPv6                bool
	IPv6PerENI          int
	BaselineMbps        int // all cards
	PeakMbps            int
	ENA                 string
	ENASRD              bool
	EFA                 bool
	MaxEFA              int
	EncryptionInTransit bool
	BandwidthWeightings []string
}

// MaxENIs is the maximum of interfaces over all cards.
func (n *Network) MaxENIs() int {
	sum := 0
	for _, c := range n.ENIsPerCard {
		sum += c
	}
	return sum
}

// DefaultENIs is the maximum of interfaces of the default card, which is where pod addresses come from.
func (n *Network) DefaultENIs() int {
	if n.DefaultCard < 0 || n.DefaultCard >= len(n.ENIsPerCard) {
		return 0
	}
	return n.ENIsPerCard[n.DefaultCard]
}
