package overlay

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/api/karpenter/v1alpha1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// evaluated is a NodePool with what its instances could be.
type evaluated struct {
	labels map[string]string
	types  []*catalog.Type
}

// verdict is what is said of an overlay; no reason means that it is in use.
type verdict struct{ reason, message string }

// judge sorts out overlays that make no sense and, of those of equal weight that change the same thing, all but the one
// whose name comes last. It remembers what it found of each type, so that what did not change costs nothing.
//
// Concurrency: not safe.
type judge struct {
	overlays []catalog.Overlay // sorted; all that follows holds for these
	pools    map[string]*poolDisputes
	examined int // types that were looked at, for tests
}

// poolDisputes are the groups of overlays that contradict each other on the types of a pool.
type poolDisputes struct {
	labels map[string]string
	types  []*catalog.Type
	of     map[*catalog.Type][]string // the groups of each type, by key
	groups map[string][]int           // by key
}

// of returns the overlays in use, and a verdict for each of list.
func (j *judge) of(list []v1alpha1.NodeOverlay, pools map[string]evaluated) ([]catalog.Overlay, []verdict) {
	verdicts := make([]verdict, len(list))
	at := map[string]int{}
	var sensible []catalog.Overlay
	for i := range list {
		at[list[i].Name] = i
		if list[i].DeletionTimestamp != nil {
			continue
		}
		o, err := intake.Overlay(&list[i])
		if err != nil {
			verdicts[i] = verdict{v1alpha1.ReasonRuntimeValidation, err.Error()}
			continue
		}
		sensible = append(sensible, o)
	}
	catalog.SortOverlays(sensible)
	j.look(sensible, pools)
	disputes := j.disputes()
	var used []catalog.Overlay
	for i := range sensible {
		o := &sensible[i]
		if d := first(disputes[i]); d != nil {
			verdicts[at[o.Name]] = verdict{v1alpha1.ReasonConflict, fmt.Sprintf(
				"NodeOverlay %q has the same weight (%d) and changes the price of the same offerings, or the same resources, of NodePool %q; "+
					"this one is not used: give one of the two another spec.weight, or requirements that do not overlap", sensible[d.user].Name, o.Weight, d.pool)}
			continue
		}
		used = append(used, *o)
		for _, d := range disputes[i] {
			d.user = i
		}
	}
	return used, verdicts
}

// look finds the groups anew of all types that it has not seen with these overlays.
func (j *judge) look(overlays []catalog.Overlay, pools map[string]evaluated) {
	if !reflect.DeepEqual(j.overlays, overlays) {
		j.overlays, j.pools = overlays, nil
	}
	next := make(map[string]*poolDisputes, len(pools))
	for name, p := range pools {
		last := j.pools[name]
		if last != nil && !maps.Equal(last.labels, p.labels) {
			last = nil
		}
		if last != nil && slices.Equal(last.types, p.types) {
			next[name] = last
			continue
		}
		now := &poolDisputes{labels: p.labels, types: p.types, of: make(map[*catalog.Type][]string, len(p.types)), groups: map[string][]int{}}
		for _, t := range p.types {
			if last != nil {
				if keys, seen := last.of[t]; seen {
					now.of[t] = keys
					for _, k := range keys {
						now.groups[k] = last.groups[k]
					}
					continue
				}
			}
			j.examined++
			var keys []string
			for _, group := range t.Disputes(overlays, p.labels) {
				k := fmt.Sprint(group)
				keys, now.groups[k] = append(keys, k), group
			}
			now.of[t] = keys
		}
		next[name] = now
	}
	j.pools = next
}

// dispute is a group of overlays of which one may be used.
type dispute struct {
	pool string // one in which they contradict each other, the first by name
	user int    // the one that is used, -1 while none is
}

// disputes are the groups that each overlay is in.
func (j *judge) disputes() map[int][]*dispute {
	out, known := map[int][]*dispute{}, map[string]bool{}
	for _, pool := range slices.SortedFunc(maps.Keys(j.pools), strings.Compare) {
		for k, group := range j.pools[pool].groups {
			if known[k] {
				continue
			}
			known[k] = true
			d := &dispute{pool, -1}
			for _, i := range group {
				out[i] = append(out[i], d)
			}
		}
	}
	return out
}

// first is, of the disputes that another overlay is used in, that with the first of these; nil when there is none.
func first(list []*dispute) *dispute {
	var out *dispute
	for _, d := range list {
		if d.user >= 0 && (out == nil || d.user < out.user || d.user == out.user && d.pool < out.pool) {
			out = d
		}
	}
	return out
}
