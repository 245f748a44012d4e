package world

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
)

// facts is the part of the catalogue that concerns the world's region, made once and only read afterwards.
type facts struct {
	all      *ec2facts.Facts
	region   string
	names    []string // of offered types, sorted
	types    map[string]*ec2facts.Type
	zones    map[string]map[string]bool // type → zone names
	onDemand map[string]int64           // micro units of the currency per hour
	currency string
	guest    map[string]int64 // MiB
}

// newFacts takes a region's part out of the catalogue; only, if not empty, lists the types to keep.
func newFacts(all *ec2facts.Facts, region string, only []string) *facts {
	f := &facts{
		all: all, region: region, types: map[string]*ec2facts.Type{}, zones: map[string]map[string]bool{},
		onDemand: map[string]int64{}, guest: map[string]int64{},
	}
	offerings, _ := all.Offerings(region)
	for name, zones := range offerings {
		t, ok := all.Type(name)
		if !ok || len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		f.types[name] = t
		f.zones[name] = map[string]bool{}
		for _, z := range zones {
			f.zones[name][z] = true
		}
	}
	f.names = slices.Sorted(maps.Keys(f.types))
	table := all.OnDemand(region)
	f.currency = table.Currency
	for name, p := range table.Prices {
		if f.types[name] != nil {
			f.onDemand[name] = p.MicroUSD
		}
	}
	for _, name := range f.names {
		f.guest[name] = guestMemory(all, f.types[name])
	}
	return f
}

// guestMemory returns what a Linux guest sees on a type. Where nobody measured, the type loses the same share as the
// measured type of the same architecture whose memory is nearest.
func guestMemory(all *ec2facts.Facts, t *ec2facts.Type) int64 {
	if t.GuestMemoryMiB > 0 {
		return int64(t.GuestMemoryMiB)
	}
	var near *ec2facts.Type
	for i := range all.Types {
		o := &all.Types[i]
		if o.GuestMemoryMiB == 0 || o.BareMetal != t.BareMetal || archOf(o) != archOf(t) {
			continue
		}
		if near == nil || distance(o, t) < distance(near, t) {
			near = o
		}
	}
	if near == nil {
		return int64(t.MemoryMiB) * 965 / 1000
	}
	return int64(t.MemoryMiB) * int64(near.GuestMemoryMiB) / int64(near.MemoryMiB)
}

func distance(a, b *ec2facts.Type) int { return max(a.MemoryMiB-b.MemoryMiB, b.MemoryMiB-a.MemoryMiB) }

// archOf is the architecture that images for a type have.
func archOf(t *ec2facts.Type) string {
	for _, a := range t.Architectures {
		if a == "x86_64" || a == "arm64" {
			return a
		}
	}
	return cmp.Or(strings.Join(t.Architectures, ","), "x86_64")
}

// Types returns the types that the region offers, by name. They must not be changed.
func (w *World) Types() []*ec2facts.Type {
	out := make([]*ec2facts.Type, len(w.ec2.facts.names))
	for i, n := range w.ec2.facts.names {
		out[i] = w.ec2.facts.types[n]
	}
	return out
}

// Type returns one type that the region offers.
func (w *World) Type(name string) (*ec2facts.Type, bool) {
	t, ok := w.ec2.facts.types[name]
	return t, ok
}

// Offered tells whether a zone has a type.
func (w *World) Offered(instanceType, zone string) bool { return w.ec2.facts.zones[instanceType][zone] }

// OnDemandPrice returns the Linux price of a type in micro units of Currency per hour.
func (w *World) OnDemandPrice(instanceType string) (int64, bool) {
	p, ok := w.ec2.facts.onDemand[instanceType]
	return p, ok
}

// Currency returns the currency of the region's prices: USD or CNY.
func (w *World) Currency() string { return w.ec2.facts.currency }

// GuestMemoryMiB returns the memory that a Linux guest sees on a type, 0 for an unknown type.
func (w *World) GuestMemoryMiB(instanceType string) int64 { return w.ec2.facts.guest[instanceType] }

// accelerated tells whether a type has devices that make it scarce.
func accelerated(t *ec2facts.Type) bool {
	return t.GPU.Name != "" || t.Neuron.Devices+t.Inference.Count+t.FPGA.Count+t.Media.Count > 0
}

// QuotaClass is the group of families that share a vCPU quota: Standard, F, G, P, Inf, Trn, X, U, DL, HPC.
func QuotaClass(instanceType string) string {
	family, _, _ := strings.Cut(instanceType, ".")
	letters := strings.TrimRight(family[:firstDigit(family)], "-")
	switch {
	case letters == "u":
		return "U"
	case letters == "inf":
		return "Inf"
	case letters == "trn":
		return "Trn"
	case letters == "hpc":
		return "HPC"
	case letters == "dl":
		return "DL"
	case letters == "g", letters == "gr", letters == "vt":
		return "G"
	case letters == "p", letters == "f", letters == "x":
		return strings.ToUpper(letters)
	}
	return "Standard"
}

func firstDigit(s string) int {
	if i := strings.IndexAny(s, "0123456789"); i > 0 {
		return i
	}
	return len(s)
}
