package scenario

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// Labels of instance types that stories use.
const (
	familyKey   = "karpenter.k8s.aws/instance-family"
	sizeKey     = "karpenter.k8s.aws/instance-size"
	categoryKey = "karpenter.k8s.aws/instance-category"
	cpuKey      = "karpenter.k8s.aws/instance-cpu"
	memoryKey   = "karpenter.k8s.aws/instance-memory"
	gpuCountKey = "karpenter.k8s.aws/instance-gpu-count"
)

// WellKnown are the label keys that types in scenarios define.
func WellKnown() []string {
	return []string{requirement.Zone, requirement.ZoneID, requirement.Region, requirement.Arch, requirement.OS,
		requirement.CapacityType, requirement.InstanceType, requirement.NodePool, requirement.WindowsBuild,
		requirement.ReservationID, requirement.ReservationType, requirement.ReservationInterruptible, requirement.PlacementPartition, familyKey, sizeKey, categoryKey, cpuKey, memoryKey, gpuCountKey}
}

// types defines a catalog line by line.
//
// Example line: small cpu=2 memory=4Gi price=0.10 spot=0.03 zones=a,b arch=arm64
func (e *Env) types(a *args, lines []string) (string, error) {
	name := a.text("name", "default")
	var out []*catalog.Type
	for _, line := range lines {
		la, err := parseArgs(line)
		if err != nil {
			return "", err
		}
		t, err := parseType(la)
		if err != nil {
			return "", err
		}
		if err := la.done(); err != nil {
			return "", fmt.Errorf("%s: %w", t.Name, err)
		}
		out = append(out, t)
	}
	e.catalogs[name] = out
	return "", nil
}

func parseType(a *args) (*catalog.Type, error) {
	t := &catalog.Type{Name: a.word(), Overhead: res.List{}}
	if t.Name == "" {
		return nil, fmt.Errorf("a type wants a name")
	}
	for _, k := range []string{res.CPU, res.Memory} {
		if v := a.text("overhead-"+k, ""); v != "" {
			n, err := ParseQuantity(k, v)
			if err != nil {
				return nil, err
			}
			t.Overhead[k] = n
		}
	}
	labels := map[string]string{
		requirement.Arch: a.text("arch", "amd64"), requirement.OS: a.text("os", "linux"), requirement.InstanceType: t.Name,
	}
	if family, size, ok := strings.Cut(t.Name, "."); ok {
		labels[familyKey], labels[sizeKey] = family, size
	}
	for _, pair := range a.list("labels") {
		k, v, _ := strings.Cut(pair, ":")
		labels[longKey(k)] = v
	}
	t.Capacity = a.resources()
	if _, ok := t.Capacity[res.Pods]; !ok {
		t.Capacity[res.Pods] = 110
	}
	labels[cpuKey] = strconv.FormatInt(t.Capacity[res.CPU]/1000, 10)
	labels[memoryKey] = strconv.FormatInt(t.Capacity[res.Memory]>>20, 10)
	zones := a.list("zones")
	if zones == nil {
		zones = []string{"a", "b", "c"}
	}
	out := a.list("out")
	for _, way := range []struct{ capacityType, arg string }{{catalog.OnDemand, "price"}, {catalog.Spot, "spot"}} {
		text := a.text(way.arg, "")
		if text == "" {
			continue
		}
		price, err := parsePrice(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", way.arg, err)
		}
		for _, z := range zones {
			o := catalog.Offering{Zone: z, CapacityType: way.capacityType, Price: price, Available: true}
			if err := partition(t, o, a.text("partitions", "0"), out); err != nil {
				return nil, err
			}
		}
	}
	var err error
	if t.AttachLimits, err = parseList(a.list("attach")); err != nil {
		return nil, err
	}
	t.Addresses = int64(a.number("addresses", 0))
	if err := reserve(t, a.list("reserved")); err != nil {
		return nil, err
	}
	finish(t, labels)
	return t, nil
}

// partition adds an offering for each of so many partitions of a placement group, or the one offering if there are none.
// What is out is "zone/capacity-type", or "zone/capacity-type/partition".
func partition(t *catalog.Type, o catalog.Offering, partitions string, out []string) error {
	n, err := strconv.ParseInt(partitions, 10, 32)
	if err != nil || n < 0 {
		return fmt.Errorf("partitions=%s: want a number", partitions)
	}
	all := []int32{0}
	for i := range int32(n) {
		all = append(all[:i], i+1)
	}
	for _, o.Partition = range all {
		o.Available, o.Unavailable = true, ""
		way := o.Zone + "/" + o.CapacityType
		if slices.Contains(out, way) || slices.Contains(out, way+"/"+catalog.PartitionLabel(o.Partition)) {
			o.Available, o.Unavailable = false, "insufficient capacity"
		}
		t.Offerings = append(t.Offerings, o)
	}
	return nil
}

// reserve adds what is reserved of the type: "zone:reservation:instances", then ":default", ":capacity-block" or
// ":interruptible" where the kind matters.
func reserve(t *catalog.Type, items []string) error {
	for _, item := range items {
		zone, rest, _ := strings.Cut(item, ":")
		id, count, ok := strings.Cut(rest, ":")
		count, kind, _ := strings.Cut(count, ":")
		n, err := strconv.Atoi(count)
		if !ok || err != nil || !slices.Contains([]string{"", "default", "capacity-block", "interruptible"}, kind) {
			return fmt.Errorf("reserved %q: want zone:reservation:instances or zone:reservation:instances:kind", item)
		}
		o := catalog.Offering{Zone: zone, CapacityType: catalog.Reserved, ReservationID: id, ReservationType: kind, Reservable: n, Available: n > 0}
		if kind == "interruptible" {
			o.ReservationType, o.Interruptible = "default", true
		}
		t.Offerings = append(t.Offerings, o)
	}
	return nil
}

// finish sorts offerings and turns labels into requirements, zones and capacity types included.
func finish(t *catalog.Type, labels map[string]string) {
	slices.SortFunc(t.Offerings, func(x, y catalog.Offering) int {
		return cmp.Or(cmp.Compare(x.Zone, y.Zone), cmp.Compare(x.CapacityType, y.CapacityType), cmp.Compare(x.ReservationID, y.ReservationID), cmp.Compare(x.Partition, y.Partition))
	})
	var zones, ways []string
	for _, o := range t.Offerings {
		zones, ways = append(zones, o.Zone), append(ways, o.CapacityType)
	}
	slices.Sort(ways)
	in := func(k string, v ...string) {
		t.Requirements = append(t.Requirements, requirement.Term{Key: k, Operator: requirement.In, Values: v})
	}
	for k, v := range labels {
		in(k, v)
	}
	if len(zones) > 0 {
		in(requirement.Zone, slices.Compact(zones)...)
		in(requirement.CapacityType, slices.Compact(ways)...)
	}
	slices.SortFunc(t.Requirements, func(x, y requirement.Term) int { return cmp.Compare(x.Key, y.Key) })
}

// catalog defines a catalog by a generator or from the EC2 facts.
//
// Example: catalog ec2 region=us-east-1 families=m7i,c7i
func (e *Env) catalog(a *args, _ []string) (string, error) {
	name := a.text("name", "default")
	var err error
	switch kind := a.word(); kind {
	case "generated":
		e.catalogs[name] = GenerateTypes(a.number("n", 400), uint64(a.number("seed", 1)))
	case "ec2":
		e.catalogs[name], err = EC2Types(a.text("region", "us-east-1"), a.list("families"), a.list("sizes"))
	default:
		return "", fmt.Errorf("is generated or ec2, not %q", kind)
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d types\n", len(e.catalogs[name])), nil
}

// GenerateTypes makes n types that grow evenly: type i has i cpu, 2i GiB of memory and room for 10i pods, costs in
// proportion on demand and about a third of it on spot, differently by zone. Seed 0 gives every zone the same price.
func GenerateTypes(n int, seed uint64) []*catalog.Type {
	rng := rand.New(rand.NewPCG(seed, 1))
	var out []*catalog.Type
	for i := 1; i <= n; i++ {
		t := &catalog.Type{
			Name:     fmt.Sprintf("gen-%d", i),
			Capacity: res.List{res.CPU: int64(i) * 1000, res.Memory: int64(i) << 31, res.Pods: int64(i) * 10, res.EphemeralStorage: 20 << 30},
			Overhead: res.List{res.CPU: 100, res.Memory: 10 << 20},
		}
		price := catalog.MicroUSD(i) * 45_000
		for _, zone := range []string{"test-zone-1", "test-zone-2", "test-zone-3"} {
			spot := price * 7 / 10
			if seed != 0 {
				spot = price * catalog.MicroUSD(28+rng.IntN(12)) / 100
			}
			t.Offerings = append(t.Offerings,
				catalog.Offering{Zone: zone, CapacityType: catalog.OnDemand, Price: price, Available: true},
				catalog.Offering{Zone: zone, CapacityType: catalog.Spot, Price: spot, Available: true})
		}
		arch := []string{"amd64", "arm64"}[i%2]
		finish(t, map[string]string{requirement.Arch: arch, requirement.OS: "linux", requirement.InstanceType: t.Name,
			cpuKey: strconv.Itoa(i), memoryKey: strconv.Itoa(i * 2048), familyKey: "gen"})
		out = append(out, t)
	}
	return out
}

// EC2Types makes types of the embedded EC2 facts: those of the families (all when none are named) and sizes that are
// offered in the region.
//
// The overhead follows what kubelet reserves on EKS images: 6 % of the first core, 1 % of the second, half a percent of
// the next two and a quarter of the rest; 255 MiB and 11 MiB a pod, and 100 MiB before pods are evicted.
func EC2Types(region string, families, sizes []string) ([]*catalog.Type, error) {
	facts, err := ec2facts.Load()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(facts.Regions(), region) {
		return nil, fmt.Errorf("no region %q", region)
	}
	prices := facts.OnDemand(region).Prices
	offered, _ := facts.Offerings(region)
	var out []*catalog.Type
	for i := range facts.Types {
		f := &facts.Types[i]
		family, size := ec2facts.SplitName(f.Name)
		if (len(families) > 0 && !slices.Contains(families, family)) || (len(sizes) > 0 && !slices.Contains(sizes, size)) {
			continue
		}
		if t := ec2Type(facts, f, region, offered[f.Name], prices); t != nil {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("region %s offers none of these types", region)
	}
	return out, nil
}

func ec2Type(facts *ec2facts.Facts, f *ec2facts.Type, region string, zones []string, prices map[string]ec2facts.Price) *catalog.Type {
	family, size := ec2facts.SplitName(f.Name)
	memory := f.GuestMemoryMiB
	if memory == 0 {
		memory = f.MemoryMiB * 925 / 1000
	}
	t := &catalog.Type{Name: f.Name, Capacity: res.List{res.CPU: int64(f.VCPUs) * 1000, res.Memory: int64(memory) << 20,
		res.EphemeralStorage: 20 << 30, res.Pods: int64(f.EKSMaxPods)}}
	if f.GPU.Count > 0 && strings.EqualFold(f.GPU.Maker, "nvidia") {
		t.Capacity["nvidia.com/gpu"] = int64(f.GPU.Count)
	}
	t.Overhead = res.List{res.CPU: reservedCPU(f.VCPUs), res.Memory: int64(255+11*f.EKSMaxPods+100) << 20}
	for _, zone := range zones {
		if p, ok := prices[f.Name]; ok {
			t.Offerings = append(t.Offerings, catalog.Offering{Zone: zone, CapacityType: catalog.OnDemand, Price: catalog.MicroUSD(p.MicroUSD), Available: true})
		}
		if p, ok := facts.Spot(region, zone, f.Name); ok {
			t.Offerings = append(t.Offerings, catalog.Offering{Zone: zone, CapacityType: catalog.Spot, Price: catalog.MicroUSD(p.MicroUSD), Available: true})
		}
	}
	if len(t.Offerings) == 0 || f.EKSMaxPods == 0 || f.LastSeen != "" {
		return nil
	}
	arch := "amd64"
	if slices.Contains(f.Architectures, "arm64") {
		arch = "arm64"
	}
	labels := map[string]string{requirement.Arch: arch, requirement.OS: "linux", requirement.InstanceType: f.Name,
		requirement.Region: region, familyKey: family, sizeKey: size, categoryKey: strings.TrimRight(family[:1], "0123456789"),
		cpuKey: strconv.Itoa(f.VCPUs), memoryKey: strconv.Itoa(f.MemoryMiB)}
	if f.GPU.Count > 0 {
		labels[gpuCountKey] = strconv.Itoa(f.GPU.Count)
	}
	finish(t, labels)
	return t
}

// reservedCPU is what kubelet keeps of the cores, in millicores.
func reservedCPU(cores int) int64 {
	tenths := 0
	for i := range cores {
		switch {
		case i == 0:
			tenths += 600
		case i == 1:
			tenths += 100
		case i < 4:
			tenths += 50
		default:
			tenths += 25
		}
	}
	return int64((tenths + 9) / 10)
}
