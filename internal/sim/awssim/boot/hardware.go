package boot

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// Instance is the hardware that a kubelet finds itself on.
type Hardware struct {
	Type      *ec2facts.Type
	Family    world.Family
	Variant   string // of the image: which device drivers it has
	VCPUs     int
	MemoryKiB int64 // as the guest sees it
	DiskKiB   int64 // the file system that pods' ephemeral storage is on
	EFA       int   // interfaces with EFA
}

const (
	kib = 1024
	mib = 1024 * 1024
	gib = 1024 * 1024 * 1024
)

// Parts of a volume, in KiB, that partition table and file system take, as nodes with 20 GiB volumes show them.
const (
	al2DiskOverhead          = 12308
	al2023DiskOverhead       = 77844
	bottlerocketDiskOverhead = 346928
	windowsDiskOverhead      = 1024 // NTFS takes the disk but for the partition table's alignment
)

// dataDevice is the device that holds pods' ephemeral storage.
func dataDevice(image world.Image) string { return cmp.Or(image.DataDevice, image.RootDevice) }

func instanceOf(i world.Instance, image world.Image, t *ec2facts.Type, guestMiB int64, raid0 bool) Hardware {
	m := Hardware{Type: t, Family: image.Family, Variant: image.Variant, VCPUs: t.VCPUs, MemoryKiB: guestMiB * kib}
	if o := i.Launch.CPUOptions; o != nil && o.CoreCount != nil && o.ThreadsPerCore != nil {
		m.VCPUs = int(*o.CoreCount * *o.ThreadsPerCore)
	}
	for _, n := range i.Interfaces {
		if strings.HasPrefix(n.Type, "efa") {
			m.EFA++
		}
	}
	if raid0 && t.Disks.HasNVMe() { // the images join no other disks
		m.DiskKiB = int64(t.Disks.TotalGB) * 1e9 / kib
		return m
	}
	size := int64(0)
	for _, v := range i.Volumes {
		if v.Device == dataDevice(image) {
			size = int64(v.SizeGiB)
		}
	}
	m.DiskKiB = max(size*gib/kib-diskOverhead(image.Family), 0)
	return m
}

func diskOverhead(f world.Family) int64 {
	switch f {
	case world.FamilyAL2:
		return al2DiskOverhead
	case world.FamilyAL2023:
		return al2023DiskOverhead
	case world.FamilyBottlerocket:
		return bottlerocketDiskOverhead
	case world.FamilyWindows:
		return windowsDiskOverhead
	}
	return 0
}

// eniPods is the number of pods that get addresses: interfaces of the default card × (addresses each − 1) + 2.
func (m Hardware) eniPods() int {
	n := m.Type.Network
	return max(n.DefaultENIs()*(n.IPv4PerENI-1)+2, 0)
}

// kubeletMaxPods is the kubelet's limit when nothing sets one.
const kubeletMaxPods = 110

// maxPods is the limit that is in force.
func (m Hardware) maxPods(k *Kubelet) int {
	pods := k.MaxPods
	if pods == 0 {
		pods = m.eniPods()
		if k.NoMaxPodsDefault || m.Family == world.FamilyWindows {
			pods = kubeletMaxPods
		}
	}
	if k.PodsPerCore > 0 {
		pods = min(pods, k.PodsPerCore*m.VCPUs)
	}
	return pods
}

// reserved is what the image keeps for the kubelet and its like: by the image's formula, except for what user data sets.
func (m Hardware) reserved(k *Kubelet) map[string]string {
	if k.ReservedReplaced {
		return k.KubeReserved
	}
	pods := m.eniPods()
	if m.Family == world.FamilyBottlerocket || m.Family == world.FamilyWindows {
		pods = m.maxPods(k)
	}
	out := map[string]string{
		"cpu":               strconv.Itoa(reservedMillis(m.VCPUs)) + "m",
		"memory":            strconv.Itoa(11*pods+255) + "Mi",
		"ephemeral-storage": "1Gi",
	}
	maps.Copy(out, k.KubeReserved)
	return out
}

// reservedMillis is the CPU that the images reserve: 6 % of the first core, 1 % of the second, half a percent of the
// next two, a quarter of a percent of the rest.
func reservedMillis(vcpus int) int {
	total := 0
	for core := range vcpus {
		switch {
		case core == 0:
			total += 6000
		case core == 1:
			total += 1000
		case core < 4:
			total += 500
		default:
			total += 250
		}
	}
	return total / 100
}

// evictionOf is what the kubelet keeps free. Source of the defaults: Kubernetes, node-pressure eviction, hard thresholds.
func (m Hardware) evictionOf(k *Kubelet) map[string]string {
	if k.EvictionReplaced {
		return k.EvictionHard
	}
	out := map[string]string{"memory.available": "100Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%"}
	if m.Family == world.FamilyWindows {
		out = map[string]string{"memory.available": "500Mi", "nodefs.available": "10%"}
	}
	maps.Copy(out, k.EvictionHard)
	return out
}

// resources works out capacity and allocatable. The error names the setting that a kubelet would not start with.
func (m Hardware) resources(k *Kubelet) (capacity, allocatable corev1.ResourceList, err error) {
	capacity = corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(int64(m.VCPUs), resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(m.MemoryKiB*kib, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(int64(m.maxPods(k)), resource.DecimalSI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(m.DiskKiB*kib, resource.BinarySI),
	}
	if m.Family != world.FamilyWindows {
		capacity["hugepages-1Gi"], capacity["hugepages-2Mi"] = *resource.NewQuantity(0, resource.DecimalSI), *resource.NewQuantity(0, resource.DecimalSI)
	}
	for name, n := range m.devices() {
		capacity[name] = *resource.NewQuantity(int64(n), resource.DecimalSI)
	}
	allocatable = capacity.DeepCopy()
	for what, reserved := range map[string]map[string]string{"kubeReserved": m.reserved(k), "systemReserved": k.SystemReserved} {
		for name, text := range reserved {
			q, err := resource.ParseQuantity(text)
			if err != nil || q.Sign() < 0 {
				return nil, nil, fmt.Errorf("the kubelet does not start: %s for %s is %q, which is no amount", what, name, text)
			}
			subtract(allocatable, corev1.ResourceName(name), q)
		}
	}
	for signal, name := range map[string]corev1.ResourceName{"memory.available": corev1.ResourceMemory, "nodefs.available": corev1.ResourceEphemeralStorage} {
		text, ok := m.evictionOf(k)[signal]
		if !ok {
			continue
		}
		total := capacity[name]
		q, err := threshold(text, total)
		if err != nil {
			return nil, nil, fmt.Errorf("the kubelet does not start: evictionHard for %s: %w", signal, err)
		}
		subtract(allocatable, name, q)
	}
	return capacity, allocatable, nil
}

// devices are the extended resources that the image's own drivers and plug-ins offer.
func (m Hardware) devices() map[corev1.ResourceName]int {
	out := map[corev1.ResourceName]int{}
	switch t := m.Type; {
	case m.Variant == world.VariantNVIDIA && strings.EqualFold(t.GPU.Maker, "NVIDIA") && t.GPU.Count > 0:
		out["nvidia.com/gpu"] = t.GPU.Count
	case m.Variant == world.VariantNeuron && t.Neuron.Devices > 0:
		out["aws.amazon.com/neuron"] = t.Neuron.Devices
		out["aws.amazon.com/neuroncore"] = t.Neuron.Devices * t.Neuron.CoresPerDevice
	}
	if m.Family == world.FamilyWindows { // the VPC resource controller counts the addresses of the one interface
		out["vpc.amazonaws.com/PrivateIPv4Address"] = max(m.Type.Network.IPv4PerENI-1, 0)
	}
	if m.EFA > 0 {
		out["vpc.amazonaws.com/efa"] = m.EFA
	}
	return out
}

func subtract(from corev1.ResourceList, name corev1.ResourceName, q resource.Quantity) {
	have, ok := from[name]
	if !ok {
		return
	}
	have.Sub(q)
	if have.Sign() < 0 {
		have.Set(0)
	}
	from[name] = have
}

// threshold reads an eviction threshold: an amount, or a share of the capacity.
func threshold(text string, capacity resource.Quantity) (resource.Quantity, error) {
	percent, ok := strings.CutSuffix(text, "%")
	if !ok {
		q, err := resource.ParseQuantity(text)
		if err != nil || q.Sign() < 0 {
			return q, fmt.Errorf("%q is no amount and no percentage", text)
		}
		return q, nil
	}
	share, err := strconv.ParseFloat(percent, 32)
	if err != nil || share < 0 || share > 100 || math.IsNaN(share) {
		return resource.Quantity{}, fmt.Errorf("%q is no percentage between 0%% and 100%%", text)
	}
	if share == 100 { // the kubelet takes this to mean that the signal is not watched
		share = 0
	}
	return *resource.NewQuantity(int64(float64(capacity.Value())*share/100), resource.BinarySI), nil
}
