package offering

import (
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/aws/instancetype"
	"github.com/kerf-sh/kerf/internal/aws/network"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// Update is Assemble where only what is said of the named types has changed since old was assembled, and neither the
// class's subnets nor the list of types: those types are made anew, all others are shared with old. old stays as it is,
// and so does everything that was read from it. shapes are sorted by name; names that are not among them are passed over.
//
// Cost: a copy of one pointer per type, and the work on the types that changed.
func Update(old []*catalog.Type, shapes []instancetype.Shape, in Input, changed []string) []*catalog.Type {
	if len(changed) == 0 {
		return old
	}
	zones := in.zones(network.Demand{})
	out := slices.Clone(old)
	for _, name := range changed {
		i, found := slices.BinarySearchFunc(shapes, name, func(s instancetype.Shape, name string) int { return strings.Compare(s.Type.Name, name) })
		if found {
			_, t := in.assemble(nil, &shapes[i], zones)
			out[i] = &t
		}
	}
	return out
}

// Changed lists the types of which something was closed or opened since an earlier snapshot, sorted. It is false when
// more than single pools was: a subnet, a quota, a whole capacity type, or a placement group.
//
// Cost: in proportion to what is closed.
func (s *Snapshot) Changed(since *Snapshot) ([]string, bool) {
	if s == since || s.Generation == since.Generation {
		return nil, true
	}
	if !sameReasons(s.quotas, since.quotas) || !sameReasons(s.subnets, since.subnets) || !sameReasons(s.capacityTypes, since.capacityTypes) ||
		!sameReasons(s.zones, since.zones) || !sameReasons(s.groups, since.groups) {
		return nil, false
	}
	var out []string
	for _, pair := range [2][2]map[Pool]unavailability{{s.pools, since.pools}, {since.pools, s.pools}} {
		for p, c := range pair[0] {
			if other, ok := pair[1][p]; !ok || other.reason != c.reason || !other.until.Equal(c.until) {
				out = append(out, p.InstanceType)
			}
		}
	}
	for _, pair := range [2][2]map[Pool]bool{{s.retried, since.retried}, {since.retried, s.retried}} {
		for p := range pair[0] {
			if !pair[1][p] {
				out = append(out, p.InstanceType)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), true
}

// sameReasons reports whether the same things are closed for the same reasons. Until when does not matter.
func sameReasons[K comparable](a, b map[K]unavailability) bool {
	if len(a) != len(b) {
		return false
	}
	for k, c := range a {
		if d, ok := b[k]; !ok || d.reason != c.reason || d.minVCPUs != c.minVCPUs {
			return false
		}
	}
	return true
}
