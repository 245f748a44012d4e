package ec2facts

import (
	"fmt"
	"strconv"
	"strings"
)

// A column carries one field of a Type to and from the text of the facts file.
type column struct {
	name string
	get  func(*Type) string
	set  func(*Type, string) error
}

// typeColumns is the layout of the types section. The first column must be the name.
var typeColumns = []column{
	text("type", func(t *Type) *string { return &t.Name }),
	text("last_seen", func(t *Type) *string { return &t.LastSeen }),
	list("arch", func(t *Type) *[]string { return &t.Architectures }),
	text("cpu_maker", func(t *Type) *string { return &t.CPUMaker }),
	number("vcpus", func(t *Type) *int { return &t.VCPUs }),
	number("cores", func(t *Type) *int { return &t.Cores }),
	number("threads_per_core", func(t *Type) *int { return &t.ThreadsPerCore }),
	number("clock_mhz", func(t *Type) *int { return &t.ClockMHz }),
	numbers("valid_cores", func(t *Type) *[]int { return &t.ValidCores }),
	numbers("valid_threads", func(t *Type) *[]int { return &t.ValidThreads }),
	list("cpu_features", func(t *Type) *[]string { return &t.CPUFeatures }),
	number("memory_mib", func(t *Type) *int { return &t.MemoryMiB }),
	number("guest_memory_mib", func(t *Type) *int { return &t.GuestMemoryMiB }),
	text("hypervisor", func(t *Type) *string { return &t.Hypervisor }),
	flag("bare_metal", func(t *Type) *bool { return &t.BareMetal }),
	flag("burstable", func(t *Type) *bool { return &t.Burstable }),
	flag("current_generation", func(t *Type) *bool { return &t.CurrentGeneration }),
	list("usage_classes", func(t *Type) *[]string { return &t.UsageClasses }),
	list("virtualization", func(t *Type) *[]string { return &t.Virtualization }),
	list("boot_modes", func(t *Type) *[]string { return &t.BootModes }),
	list("root_devices", func(t *Type) *[]string { return &t.RootDevices }),
	flag("hibernation", func(t *Type) *bool { return &t.Hibernation }),
	flag("dedicated_hosts", func(t *Type) *bool { return &t.DedicatedHosts }),
	flag("auto_recovery", func(t *Type) *bool { return &t.AutoRecovery }),
	flag("free_tier", func(t *Type) *bool { return &t.FreeTier }),
	text("nitro_enclaves", func(t *Type) *string { return &t.NitroEnclaves }),
	list("tpm_versions", func(t *Type) *[]string { return &t.TPMVersions }),
	list("placement_strategies", func(t *Type) *[]string { return &t.PlacementStrategies }),
	text("reboot_migration", func(t *Type) *string { return &t.RebootMigration }),
	number("gpu_count", func(t *Type) *int { return &t.GPU.Count }),
	number("gpu_logical", func(t *Type) *int { return &t.GPU.Logical }),
	real("gpu_partition", func(t *Type) *float64 { return &t.GPU.Partition }),
	text("gpu_maker", func(t *Type) *string { return &t.GPU.Maker }),
	text("gpu_name", func(t *Type) *string { return &t.GPU.Name }),
	number("gpu_memory_mib", func(t *Type) *int { return &t.GPU.MemoryMiB }),
	number("neuron_devices", func(t *Type) *int { return &t.Neuron.Devices }),
	text("neuron_name", func(t *Type) *string { return &t.Neuron.Name }),
	number("neuron_cores_per_device", func(t *Type) *int { return &t.Neuron.CoresPerDevice }),
	number("neuron_core_version", func(t *Type) *int { return &t.Neuron.CoreVersion }),
	number("neuron_memory_mib", func(t *Type) *int { return &t.Neuron.MemoryMiB }),
	number("inference_count", func(t *Type) *int { return &t.Inference.Count }),
	text("inference_maker", func(t *Type) *string { return &t.Inference.Maker }),
	text("inference_name", func(t *Type) *string { return &t.Inference.Name }),
	number("inference_memory_mib", func(t *Type) *int { return &t.Inference.MemoryMiB }),
	number("fpga_count", func(t *Type) *int { return &t.FPGA.Count }),
	text("fpga_name", func(t *Type) *string { return &t.FPGA.Name }),
	number("fpga_memory_mib", func(t *Type) *int { return &t.FPGA.MemoryMiB }),
	number("media_count", func(t *Type) *int { return &t.Media.Count }),
	text("media_name", func(t *Type) *string { return &t.Media.Name }),
	number("media_memory_mib", func(t *Type) *int { return &t.Media.MemoryMiB }),
	number("disk_total_gb", func(t *Type) *int { return &t.Disks.TotalGB }),
	number("disk_count", func(t *Type) *int { return &t.Disks.Count }),
	number("disk_each_gb", func(t *Type) *int { return &t.Disks.EachGB }),
	text("disk_kind", func(t *Type) *string { return &t.Disks.Kind }),
	text("disk_nvme", func(t *Type) *string { return &t.Disks.NVMe }),
	text("disk_encryption", func(t *Type) *string { return &t.Disks.Encryption }),
	text("ebs_optimized", func(t *Type) *string { return &t.EBS.Optimized }),
	text("ebs_nvme", func(t *Type) *string { return &t.EBS.NVMe }),
	number("ebs_max_attachments", func(t *Type) *int { return &t.EBS.MaxAttachments }),
	text("ebs_attachment_kind", func(t *Type) *string { return &t.EBS.AttachmentKind }),
	number("ebs_baseline_mbps", func(t *Type) *int { return &t.EBS.BaselineMbps }),
	number("ebs_max_mbps", func(t *Type) *int { return &t.EBS.MaxMbps }),
	number("ebs_baseline_iops", func(t *Type) *int { return &t.EBS.BaselineIOPS }),
	number("ebs_max_iops", func(t *Type) *int { return &t.EBS.MaxIOPS }),
	real("ebs_baseline_mb_s", func(t *Type) *float64 { return &t.EBS.BaselineThroughput }),
	real("ebs_max_mb_s", func(t *Type) *float64 { return &t.EBS.MaxThroughput }),
	number("ebs_cards", func(t *Type) *int { return &t.EBS.Cards }),
	text("network_performance", func(t *Type) *string { return &t.Network.Performance }),
	numbers("enis_per_card", func(t *Type) *[]int { return &t.Network.ENIsPerCard }),
	number("default_card", func(t *Type) *int { return &t.Network.DefaultCard }),
	number("ipv4_per_eni", func(t *Type) *int { return &t.Network.IPv4PerENI }),
	flag("ipv6", func(t *Type) *bool { return &t.Network.IPv6 }),
	number("ipv6_per_eni", func(t *Type) *int { return &t.Network.IPv6PerENI }),
	number("network_baseline_mbps", func(t *Type) *int { return &t.Network.BaselineMbps }),
	number("network_peak_mbps", func(t *Type) *int { return &t.Network.PeakMbps }),
	text("ena", func(t *Type) *string { return &t.Network.ENA }),
	flag("ena_srd", func(t *Type) *bool { return &t.Network.ENASRD }),
	flag("efa", func(t *Type) *bool { return &t.Network.EFA }),
	number("max_efa", func(t *Type) *int { return &t.Network.MaxEFA }),
	flag("encryption_in_transit", func(t *Type) *bool { return &t.Network.EncryptionInTransit }),
	list("bandwidth_weightings", func(t *Type) *[]string { return &t.Network.BandwidthWeightings }),
	flag("trunking", func(t *Type) *bool { return &t.Trunking }),
	number("branch_enis", func(t *Type) *int { return &t.BranchENIs }),
	number("eks_max_pods", func(t *Type) *int { return &t.EKSMaxPods }),
}

func text(name string, at func(*Type) *string) column {
	return column{name,
		func(t *Type) string { return strings.Map(noControl, *at(t)) },
		func(t *Type, s string) error { *at(t) = s; return nil }}
}

// noControl keeps tabs and line ends, which delimit the file, out of texts.
func noControl(r rune) rune {
	if r < ' ' {
		return ' '
	}
	return r
}

func list(name string, at func(*Type) *[]string) column {
	return column{name,
		func(t *Type) string { return strings.Map(noControl, strings.Join(*at(t), "|")) },
		func(t *Type, s string) error {
			if s != "" {
				*at(t) = strings.Split(s, "|")
			}
			return nil
		}}
}

func flag(name string, at func(*Type) *bool) column {
	return column{name,
		func(t *Type) string {
			if *at(t) {
				return "1"
			}
			return ""
		},
		func(t *Type, s string) error {
			if s != "" && s != "1" {
				return fmt.Errorf("%q is neither empty nor 1", s)
			}
			*at(t) = s == "1"
			return nil
		}}
}

func number(name string, at func(*Type) *int) column {
	return column{name,
		func(t *Type) string {
			if *at(t) == 0 {
				return ""
			}
			return strconv.Itoa(*at(t))
		},
		func(t *Type, s string) (err error) {
			if s != "" {
				*at(t), err = count(s)
			}
			return err
		}}
}

// count parses a number that is never negative.
func count(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err == nil && n < 0 {
		err = fmt.Errorf("%d is negative", n)
	}
	return n, err
}

func real(name string, at func(*Type) *float64) column {
	return column{name,
		func(t *Type) string {
			if *at(t) == 0 {
				return ""
			}
			return strconv.FormatFloat(*at(t), 'f', -1, 64)
		},
		func(t *Type, s string) (err error) {
			if s != "" {
				*at(t), err = strconv.ParseFloat(s, 64)
			}
			return err
		}}
}

// numbers writes runs of equal numbers as COUNTxVALUE.
func numbers(name string, at func(*Type) *[]int) column {
	return column{name,
		func(t *Type) string { return formatRuns(*at(t)) },
		func(t *Type, s string) (err error) {
			*at(t), err = parseRuns(s)
			return err
		}}
}

func formatRuns(in []int) string {
	var out []string
	for i := 0; i < len(in); {
		j := i
		for j < len(in) && in[j] == in[i] {
			j++
		}
		if j-i == 1 {
			out = append(out, strconv.Itoa(in[i]))
		} else {
			out = append(out, strconv.Itoa(j-i)+"x"+strconv.Itoa(in[i]))
		}
		i = j
	}
	return strings.Join(out, "|")
}

// maxRun bounds what a damaged file can make the reader allocate.
const maxRun = 1024

func parseRuns(s string) ([]int, error) {
	if s == "" {
		return nil, nil
	}
	var out []int
	for part := range strings.SplitSeq(s, "|") {
		times, value := 1, part
		if n, v, ok := strings.Cut(part, "x"); ok {
			var err error
			if times, err = count(n); err != nil {
				return nil, err
			}
			value = v
		}
		v, err := count(value)
		if err != nil {
			return nil, err
		}
		if times > maxRun || len(out)+times > maxRun {
			return nil, fmt.Errorf("%q has more than %d entries", s, maxRun)
		}
		for range times {
			out = append(out, v)
		}
	}
	return out, nil
}
