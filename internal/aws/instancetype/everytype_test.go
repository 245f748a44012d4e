package instancetype

import (
	"fmt"
	"math/big"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// published is what the formulae that AWS and Karpenter publish give for one type, worked out here in whole numbers and
// fractions and without a line of the package. In bytes, millicores and pods.
type published struct {
	family awsv1.AMIFamily
	// share is taken off stated memory, as a fraction; nil takes the measured memory less its margin where there is one.
	share                         *big.Rat
	reservedENIs, maxPods, perCPU int64
	raid0                         bool
	evictMemory, evictDisk        *big.Rat // shares; nil: 100Mi, on Windows 500Mi, and 10 %
	volume                        int64    // GiB, 0 for the family's
}

func ceil(r *big.Rat) int64 {
	q, m := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	if m.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q.Int64()
}

func (p published) memory(t *ec2facts.Type, least map[string]int64) int64 {
	stated := int64(t.MemoryMiB)
	if t.Architectures[0] == "arm64" {
		stated -= 64
	}
	share := p.share
	if share == nil {
		share = big.NewRat(75, 1000)
	}
	flat := stated - ceil(new(big.Rat).Mul(share, big.NewRat(stated, 1)))
	windows := p.family == awsv1.AMIFamilyWindows2019 || p.family == awsv1.AMIFamilyWindows2022 || p.family == awsv1.AMIFamilyWindows2025
	if p.share != nil || windows {
		return flat << 20
	}
	margin := func(guest int64) int64 {
		return max(0, guest-64-ceil(big.NewRat(guest, 200)))
	}
	if t.GuestMemoryMiB > 0 {
		return margin(int64(t.GuestMemoryMiB)) << 20
	}
	if m, ok := least[twins(t)]; ok {
		return min(flat, margin(m)) << 20
	}
	return flat << 20
}

func twins(t *ec2facts.Type) string {
	return fmt.Sprint(t.MemoryMiB, t.Architectures[0], t.BareMetal)
}

// allocatable of CPU, memory, disk and pods.
func (p published) allocatable(t *ec2facts.Type, least map[string]int64) [4]int64 {
	cpu := int64(t.VCPUs)
	var held int64
	for core := int64(1); core <= cpu; core++ { // in hundredths of a percent of a core, which is tenths of a millicore
		switch {
		case core == 1:
			held += 600
		case core == 2:
			held += 100
		case core <= 4:
			held += 50
		default:
			held += 25
		}
	}
	// Only the last step can leave a part of a millicore, and it is cut.
	heldMilli := held / 10

	card := int64(t.Network.ENIsPerCard[t.Network.DefaultCard])
	perENI := int64(t.Network.IPv4PerENI)
	byENI := card*(perENI-1) + 2
	windows, bottlerocket := false, p.family == awsv1.AMIFamilyBottlerocket
	switch p.family {
	case awsv1.AMIFamilyWindows2019, awsv1.AMIFamilyWindows2022, awsv1.AMIFamilyWindows2025:
		windows = true
	}
	pods := (card-p.reservedENIs)*(perENI-1) + 2
	if card <= p.reservedENIs {
		pods = 0
	}
	if windows {
		pods = 110
	}
	if p.maxPods > 0 {
		pods = p.maxPods
	}
	if p.perCPU > 0 && !bottlerocket {
		pods = min(pods, p.perCPU*cpu)
	}

	const mi, gi = 1 << 20, 1 << 30
	memory := p.memory(t, least)
	counted := byENI
	if windows || bottlerocket {
		counted = pods
	}
	free := memory - (11*counted+255)*mi
	switch {
	case p.evictMemory != nil:
		free -= ceil(new(big.Rat).Mul(p.evictMemory, big.NewRat(memory, 1)))
	case windows:
		free -= 500 * mi
	default:
		free -= 100 * mi
	}

	disk := int64(20 * gi)
	switch {
	case p.raid0 && !windows && t.Disks.TotalGB > 0 && (p.family == awsv1.AMIFamilyCustom || t.Disks.NVMe == "required" || t.Disks.NVMe == "supported"):
		disk = int64(t.Disks.TotalGB) * 1e9
	case p.volume > 0:
		disk = p.volume * gi
	case windows:
		disk = 50 * gi
	}
	evictDisk := p.evictDisk
	if evictDisk == nil {
		evictDisk = big.NewRat(1, 10)
	}
	return [4]int64{cpu*1000 - heldMilli, max(0, free), disk - ceil(new(big.Rat).Mul(evictDisk, big.NewRat(disk, 1))) - gi, pods}
}

// Every type that the facts have, for every family, under several classes.
func TestAllocatableOfEveryTypeIsThePublishedOne(t *testing.T) {
	facts := known(t)
	least := map[string]int64{}
	for i := range facts.Types {
		x := &facts.Types[i]
		if g := int64(x.GuestMemoryMiB); g > 0 && (least[twins(x)] == 0 || g < least[twins(x)]) {
			least[twins(x)] = g
		}
	}
	variants := map[string]struct {
		published published
		options   Options
		edit      func(*awsv1.EC2NodeClassSpec)
	}{
		"as it comes":         {published{}, standard, nil},
		"the user's share":    {published{share: big.NewRat(1, 20)}, Options{Region: "us-east-1", MemoryOverhead: 0.05}, nil},
		"RAID0":               {published{raid0: true}, standard, func(s *awsv1.EC2NodeClassSpec) { s.InstanceStorePolicy = new(awsv1.InstanceStorePolicyRAID0) }},
		"podsPerCore":         {published{perCPU: 8}, standard, kubelet(awsv1.KubeletConfiguration{PodsPerCore: new(int32(8))})},
		"maxPods":             {published{maxPods: 110}, standard, kubelet(awsv1.KubeletConfiguration{MaxPods: new(int32(110))})},
		"reserved ENIs":       {published{reservedENIs: 1}, Options{Region: "us-east-1", MemoryOverhead: DefaultMemoryOverhead, ReservedENIs: 1}, nil},
		"evictionHard":        {published{evictMemory: big.NewRat(5, 100), evictDisk: big.NewRat(15, 100)}, standard, kubelet(awsv1.KubeletConfiguration{EvictionHard: map[string]string{"memory.available": "5%", "nodefs.available": "15%"}})},
		"evictionHard is off": {published{evictMemory: new(big.Rat), evictDisk: new(big.Rat)}, standard, kubelet(awsv1.KubeletConfiguration{EvictionHard: map[string]string{"memory.available": "100%", "nodefs.available": "100%"}})},
		"a volume of its own": {published{volume: 123}, standard, func(s *awsv1.EC2NodeClassSpec) {
			device := ephemeralDevice(*s.AMIFamily)
			s.BlockDeviceMappings = []awsv1.BlockDeviceMapping{{DeviceName: &device, EBS: &awsv1.BlockDevice{VolumeSize: new(resource.MustParse("123Gi"))}}}
		}},
	}
	families := []awsv1.AMIFamily{
		awsv1.AMIFamilyAL2, awsv1.AMIFamilyAL2023, awsv1.AMIFamilyBottlerocket, awsv1.AMIFamilyCustom,
		awsv1.AMIFamilyWindows2019, awsv1.AMIFamilyWindows2022, awsv1.AMIFamilyWindows2025,
	}
	compared := 0
	for name, v := range variants {
		for _, family := range families {
			p := v.published
			p.family = family
			cfg, err := ConfigOf(class(family, v.edit), v.options)
			if err != nil {
				t.Fatal(err)
			}
			wrong := 0
			for i := range facts.Types {
				x := &facts.Types[i]
				s := NewShape(x, nil, cfg)
				free := s.Type.Allocatable()
				got := [4]int64{free[res.CPU], free[res.Memory], free[res.EphemeralStorage], free[res.Pods]}
				if want := p.allocatable(x, least); got != want {
					t.Errorf("%s, %s, %s: allocatable (millicores, bytes, bytes, pods) is %v, want %v", name, family, x.Name, got, want)
					if wrong++; wrong > 5 {
						break
					}
				}
				compared++
			}
		}
	}
	if compared < 9*7*1370 {
		t.Errorf("only %d comparisons", compared)
	}
}
