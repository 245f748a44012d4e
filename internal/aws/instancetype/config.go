package instancetype

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/guestmemory"
	"github.com/kerf-sh/kerf/internal/aws/podnetwork"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// DefaultMemoryOverhead is the share of an instance's memory that is taken off where nothing better is known.
const DefaultMemoryOverhead = 0.075

// Options are the settings of the controller that change what a node offers.
type Options struct {
	Region string
	// MemoryOverhead is the share (0.075 = 7.5 %) of memory that hypervisor and kernel keep (VM_MEMORY_OVERHEAD_PERCENT).
	// Any value but DefaultMemoryOverhead is the user's own and is applied to all types; see memoryCapacity.
	MemoryOverhead float64
	// ReservedENIs are interfaces that pods get no addresses from (RESERVED_ENIS).
	ReservedENIs int
	// SharedTenancy is set where instances can't be had with dedicated tenancy.
	SharedTenancy bool
	// PodNetwork is how the cluster's network plug-in gives pods addresses.
	PodNetwork podnetwork.Settings
	// OwnUserData is set where the user data is the user's alone, so that the kubelet is not told how many pods to take.
	OwnUserData bool
}

// Config is what the arithmetic needs of a node class, parsed.
type Config struct {
	Options
	Family      awsv1.AMIFamily
	MaxPods     *int
	PodsPerCore *int
	// KubeReserved and SystemReserved replace the defaults key by key.
	KubeReserved   res.List
	SystemReserved res.List
	// EvictMemory and EvictStorage are the hard thresholds.
	EvictMemory  Threshold
	EvictStorage Threshold
	// Disk is the size in bytes of the volume that holds the pods' ephemeral storage.
	Disk int64
	// Volumes is how many volumes an instance is launched with.
	Volumes int
	// RAID0 puts ephemeral storage onto the instance store where there is one.
	RAID0 bool
	// Interfaces are the explicit network interfaces, none for the usual single one.
	Interfaces []awsv1.NetworkInterface
	// Prefixes is how many IP prefixes every interface with addresses is given.
	Prefixes int
	// NestedVirtualization, Enclaves and ConnectionTracking are demands that not all types meet.
	NestedVirtualization bool
	Enclaves             bool
	ConnectionTracking   bool
	// Images are those that the class has resolved. None means that types are not checked against images.
	Images []awsv1.AMI
	// Class is the hash of the node class's settings, as nodes of it have learned under.
	Class string
	// Learned is how much nodes were seen to have, nil for nothing.
	Learned *guestmemory.Snapshot
	// Extra is what they keep besides; see ExtraOf.
	Extra Extra
}

// Threshold is an amount or a share of the capacity. An eviction threshold of 100 % counts as switched off.
type Threshold struct {
	Bytes   int64
	Percent float64
	IsShare bool
}

func (t Threshold) of(capacity int64) int64 {
	switch {
	case !t.IsShare:
		return t.Bytes
	case t.Percent >= 100:
		return 0
	}
	// Multiplying before dividing keeps whole percentages exact.
	return int64(math.Ceil(float64(capacity) * t.Percent / 100))
}

const (
	mib = int64(1) << 20
	gib = int64(1) << 30
	// defaultDisk is the ephemeral storage where neither class nor family says another.
	defaultDisk = 20 * gib
)

// ConfigOf reads a node class.
//
// Errors name the class and the field whose text makes no sense.
func ConfigOf(class *awsv1.EC2NodeClass, options Options) (Config, error) {
	spec := &class.Spec
	c := Config{
		Options:      options,
		Family:       class.ResolvedAMIFamily(),
		EvictMemory:  Threshold{Bytes: 100 * mib},
		EvictStorage: Threshold{IsShare: true, Percent: 10},
		RAID0:        spec.InstanceStorePolicy != nil && *spec.InstanceStorePolicy == awsv1.InstanceStorePolicyRAID0,
		Interfaces:   spec.NetworkInterfaces,
		Images:       class.Status.AMIs,
		Class:        class.Annotations[awsv1.AnnotationEC2NodeClassHash],
	}
	c.NestedVirtualization = spec.CPUOptions != nil && spec.CPUOptions.NestedVirtualization != nil && *spec.CPUOptions.NestedVirtualization == "enabled"
	c.Enclaves = spec.EnclaveOptions != nil && spec.EnclaveOptions.Enabled
	c.ConnectionTracking = spec.ConnectionTracking != nil
	if spec.IPPrefixCount != nil {
		c.Prefixes = int(*spec.IPPrefixCount)
	}
	c.Disk, c.Volumes = diskOf(spec.BlockDeviceMappings, c.Family), volumesOf(spec.BlockDeviceMappings, c.Family)
	if c.Family.IsWindows() {
		// Source: the kubelet's defaults, Kubernetes documentation, node-pressure eviction.
		c.EvictMemory = Threshold{Bytes: 500 * mib}
	}
	if err := c.readKubelet(spec.Kubelet); err != nil {
		return Config{}, fmt.Errorf("EC2NodeClass %s: spec.kubelet.%w", class.Name, err)
	}
	return c, nil
}

func (c *Config) readKubelet(k *awsv1.KubeletConfiguration) (err error) {
	if k == nil {
		return nil
	}
	if k.MaxPods != nil {
		c.MaxPods = new(int(*k.MaxPods))
	}
	if k.PodsPerCore != nil {
		c.PodsPerCore = new(int(*k.PodsPerCore))
	}
	if c.KubeReserved, err = reserved("kubeReserved", k.KubeReserved); err != nil {
		return err
	}
	if c.SystemReserved, err = reserved("systemReserved", k.SystemReserved); err != nil {
		return err
	}
	for signal, into := range map[string]*Threshold{"memory.available": &c.EvictMemory, "nodefs.available": &c.EvictStorage} {
		text, ok := k.EvictionHard[signal]
		if !ok {
			continue
		}
		if *into, err = threshold(text); err != nil {
			return fmt.Errorf("evictionHard[%s]: %w", signal, err)
		}
	}
	return nil
}

// reserved reads amounts of cpu, memory and ephemeral storage; process IDs are no resource of a node.
func reserved(field string, in map[string]string) (res.List, error) {
	out := res.List{}
	for key, text := range in {
		q, err := resource.ParseQuantity(text)
		if err != nil {
			return nil, fmt.Errorf("%s[%s]: %q is not a quantity such as 100m or 1Gi", field, key, text)
		}
		if q.Sign() < 0 {
			return nil, fmt.Errorf("%s[%s]: %q is negative", field, key, text)
		}
		switch key {
		case res.CPU:
			out[key] = q.MilliValue()
		case res.Memory, res.EphemeralStorage:
			out[key] = q.Value()
		}
	}
	return out, nil
}

func threshold(text string) (Threshold, error) {
	if share, ok := strings.CutSuffix(text, "%"); ok {
		p, err := strconv.ParseFloat(share, 64)
		if err != nil || !(p >= 0 && p <= 100) {
			return Threshold{}, fmt.Errorf("%q is not a percentage between 0%% and 100%%", text)
		}
		return Threshold{IsShare: true, Percent: p}, nil
	}
	q, err := resource.ParseQuantity(text)
	if err != nil || q.Sign() < 0 {
		return Threshold{}, fmt.Errorf("%q is neither a quantity such as 100Mi nor a percentage such as 5%%", text)
	}
	return Threshold{Bytes: q.Value()}, nil
}

// diskOf finds the size of the volume with the pods' ephemeral storage: the one marked as root volume, else the one at the
// family's device, else, as nothing is known of a custom image, the last. A volume whose size the snapshot decides, and a
// class without volumes of its own, count as the family's default.
func diskOf(mappings []awsv1.BlockDeviceMapping, family awsv1.AMIFamily) int64 {
	pick := -1
	for i := range mappings {
		m := &mappings[i]
		if m.EBS == nil {
			continue
		}
		if m.RootVolume {
			pick = i
			break
		}
		at := m.DeviceName != nil && *m.DeviceName == ephemeralDevice(family)
		if family == awsv1.AMIFamilyCustom || at && pick < 0 {
			pick = i
		}
	}
	if pick >= 0 && mappings[pick].EBS.VolumeSize != nil {
		if size := mappings[pick].EBS.VolumeSize.Value(); size > 0 {
			return (size + gib - 1) / gib * gib
		}
	}
	if family.IsWindows() && len(mappings) == 0 {
		return 50 * gib
	}
	return defaultDisk
}

func ephemeralDevice(family awsv1.AMIFamily) string {
	switch {
	case family == awsv1.AMIFamilyBottlerocket:
		return "/dev/xvdb"
	case family.IsWindows():
		return "/dev/sda1"
	default:
		return "/dev/xvda"
	}
}
