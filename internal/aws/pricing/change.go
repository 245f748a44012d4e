package pricing

import "slices"

// change is what a table has other than the one before it.
type change struct {
	generation uint64   // of the table that it led to
	types      []string // sorted
	all        bool     // the prices are from another source, so nothing holds
}

// maxChanges bounds how many changes a table remembers. Readers that are farther behind look at everything.
const maxChanges = 32

// Changed lists the types that have another price than in an earlier table of the same book, sorted. It is false when
// that can't be said: the earlier table is too old, or prices come from another source now.
func (t *Table) Changed(since *Table) ([]string, bool) {
	if t.Generation == since.Generation {
		return nil, true
	}
	from, found := slices.BinarySearchFunc(t.changes, since.Generation+1, func(c change, g uint64) int { return int(int64(c.generation - g)) })
	if !found {
		return nil, false
	}
	var out []string
	for _, c := range t.changes[from:] {
		if c.all {
			return nil, false
		}
		out = append(out, c.types...)
	}
	slices.Sort(out)
	return slices.Compact(out), true
}

// follow makes t the successor of last: with the next generation and the change, if there is one. Generations have no
// gaps.
func (t *Table) follow(last *Table) {
	c := change{generation: last.Generation + 1, all: t.OnDemandLive != last.OnDemandLive || t.SpotLive != last.SpotLive}
	if !c.all {
		c.types = append(differing(last.onDemand, t.onDemand), differing(t.onDemand, last.onDemand)...)
		c.types = append(append(c.types, differingIn(last.spot, t.spot)...), differingIn(last.lately, t.lately)...)
		slices.Sort(c.types)
		c.types = slices.Compact(c.types)
	}
	if !c.all && len(c.types) == 0 {
		return
	}
	t.Generation = c.generation
	kept := last.changes
	if len(kept) >= maxChanges {
		kept = kept[len(kept)-maxChanges+1:]
	}
	t.changes = append(slices.Clone(kept), c)
}

// differingIn are the types of which not the same is said in all zones.
func differingIn[V comparable](a, b map[string]map[string]V) (out []string) {
	for zone := range b {
		out = append(out, differing(a[zone], b[zone])...)
	}
	for zone := range a {
		out = append(out, differing(b[zone], a[zone])...)
	}
	return out
}

// differing are the types of which not the same is said in b as in a, of those that b has.
func differing[V comparable](a, b map[string]V) []string {
	var out []string
	for name, price := range b {
		if was, ok := a[name]; !ok || was != price {
			out = append(out, name)
		}
	}
	return out
}
