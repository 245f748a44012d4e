package main

import (
	"fmt"
	"slices"

	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
)

func readTypes(folder string) ([]ec2facts.Type, error) {
	var out []ec2facts.Type
	err := each(folder, "instance-types.csv.gz", func(r *record) error {
		t, err := readType(r)
		out = append(out, t)
		return err
	})
	slices.SortFunc(out, func(a, b ec2facts.Type) int { return ec2facts.Compare(&a, &b) })
	return out, err
}

func readType(r *record) (ec2facts.Type, error) {
	t := ec2facts.Type{
		Name: r.str("type"), LastSeen: r.str("last_seen_if_gone"),
		Architectures: r.list("arch"), CPUMaker: r.str("cpu_maker"),
		VCPUs: r.num("vcpus"), Cores: r.num("cores"), ThreadsPerCore: r.num("threads"), ClockMHz: r.milli("clock_ghz"),
		ValidCores: r.nums("core_choices"), ValidThreads: r.nums("thread_choices"), CPUFeatures: r.list("cpu_features"),
		MemoryMiB: r.num("mem_mib"), GuestMemoryMiB: r.num("mem_guest_mib"),
		Hypervisor: r.str("hypervisor"), BareMetal: r.flag("metal"), Burstable: r.flag("burstable"),
		CurrentGeneration: r.flag("current_gen"),
		Virtualization:    r.list("virt"), BootModes: r.list("boot"), RootDevices: r.list("root_devices"),
		Hibernation: r.flag("hibernate"), DedicatedHosts: r.flag("dedicated_host"), AutoRecovery: r.flag("auto_recovery"),
		FreeTier: r.flag("free_tier"), NitroEnclaves: r.word("enclaves"), TPMVersions: r.list("tpm"),
		PlacementStrategies: r.list("placement"), RebootMigration: r.word("reboot_migration"),
		GPU: ec2facts.GPU{Count: r.num("gpu_count"), Logical: r.num("gpu_logical"), Partition: r.float("gpu_partition"),
			Maker: r.str("gpu_maker"), Name: r.str("gpu_name"), MemoryMiB: r.num("gpu_mem_mib")},
		Neuron: ec2facts.Neuron{Devices: r.num("neuron_devices"), Name: r.str("neuron_name"), CoresPerDevice: r.num("neuron_cores_each"),
			CoreVersion: r.num("neuron_core_ver"), MemoryMiB: r.num("neuron_mem_mib")},
		Inference: ec2facts.Accelerator{Count: r.num("infer_count"), Maker: r.str("infer_maker"), Name: r.str("infer_name"), MemoryMiB: r.num("infer_mem_mib")},
		FPGA:      ec2facts.Accelerator{Count: r.num("fpga_count"), Name: r.str("fpga_name"), MemoryMiB: r.num("fpga_mem_mib")},
		Media:     ec2facts.Accelerator{Count: r.num("media_count"), Name: r.str("media_name"), MemoryMiB: r.num("media_mem_mib")},
		Disks: ec2facts.Disks{TotalGB: r.num("disk_total_gb"), Count: r.num("disk_count"), EachGB: r.num("disk_each_gb"),
			Kind: r.str("disk_kind"), NVMe: r.word("disk_nvme"), Encryption: r.word("disk_encrypt")},
		EBS: ec2facts.EBS{Optimized: r.word("ebs_optimized"), NVMe: r.word("ebs_nvme"),
			MaxAttachments: r.num("ebs_attach_max"), AttachmentKind: r.str("ebs_attach_kind"),
			BaselineMbps: r.num("ebs_base_mbps"), MaxMbps: r.num("ebs_max_mbps"),
			BaselineIOPS: r.num("ebs_base_iops"), MaxIOPS: r.num("ebs_max_iops"),
			BaselineThroughput: r.float("ebs_base_mbyteps"), MaxThroughput: r.float("ebs_max_mbyteps"), Cards: r.num("ebs_cards")},
		Network: ec2facts.Network{Performance: r.str("net_text"), ENIsPerCard: r.nums("eni_per_card"), DefaultCard: r.num("net_default_card"),
			IPv4PerENI: r.num("ipv4_per_eni"), IPv6: r.flag("ipv6"), IPv6PerENI: r.num("ipv6_per_eni"),
			BaselineMbps: r.milli("net_base_gbps"), PeakMbps: r.milli("net_peak_gbps"),
			ENA: r.word("ena"), ENASRD: r.flag("ena_srd"), EFA: r.flag("efa"), MaxEFA: r.num("efa_max"),
			EncryptionInTransit: r.flag("net_encrypt"), BandwidthWeightings: r.list("bandwidth_weightings")},
		Trunking: r.flag("trunking"), BranchENIs: r.num("branch_eni"), EKSMaxPods: r.num("eks_max_pods"),
	}
	for _, u := range r.list("usage") {
		long, ok := map[string]string{"od": "on-demand", "spot": "spot", "cb": "capacity-block"}[u]
		if !ok {
			return t, fmt.Errorf("unknown usage class %q", u)
		}
		t.UsageClasses = append(t.UsageClasses, long)
	}
	slices.Sort(t.UsageClasses)
	if t.Network.MaxENIs() != r.num("eni_max") {
		return t, fmt.Errorf("type %s: the cards hold %d interfaces, the table says %d", t.Name, t.Network.MaxENIs(), r.num("eni_max"))
	}
	return t, nil
}
