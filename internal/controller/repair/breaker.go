package repair

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// share is the part of its nodes, in percent, that a pool may replace for being unhealthy: where more are, it is rather
// what tells of them, or what they all depend on, that does not work (Karpenter v1 API).
const share = 20

// count is how many nodes there are, how many of them are unhealthy, and how many of those are being replaced.
type count struct{ nodes, unhealthy, going int }

// ward is a NodePool with its zones, or all nodes of the cluster.
type ward struct {
	name  string
	all   count
	zones map[string]*count
}

func (w *ward) add(zone string, unhealthy, going bool) {
	if w.zones == nil {
		w.zones = map[string]*count{}
	}
	z := w.zones[zone]
	if z == nil {
		z = &count{}
		w.zones[zone] = z
	}
	for _, c := range []*count{&w.all, z} {
		c.nodes++
		if unhealthy {
			c.unhealthy++
			if going {
				c.going++
			}
		}
	}
}

// Most is how many of so many nodes may be replaced for being unhealthy; it rounds up (Karpenter v1 API).
func Most(nodes int) int { return (nodes*share + 99) / 100 }

// sound reports whether what is wrong in a zone is a fault of single nodes. It does not round up: a zone of one node that
// is unhealthy says nothing of zones.
func (c *count) sound() bool { return c.unhealthy*100 <= c.nodes*share }

// admit decides whether one more unhealthy node of a zone may be replaced, and counts it; where not, why says so. One that
// is going is counted already.
//
// A pool with few enough unhealthy nodes replaces all of them. In one that has more, each zone is judged by itself: what
// is wrong in a sound zone is replaced; and where one zone alone is not sound, the fault is that zone's, and its nodes are
// replaced a share at a time, as node controllers evict from a zone that is lost while the others are well. Where more
// than one zone is not sound nothing in them is touched.
func (w *ward) admit(zone string, going bool) (ok bool, why string) {
	z := w.zones[zone]
	if w.all.unhealthy <= Most(w.all.nodes) || z.sound() {
		return true, ""
	}
	var ill []string
	for _, name := range slices.Sorted(maps.Keys(w.zones)) {
		if !w.zones[name].sound() {
			ill = append(ill, fmt.Sprintf("%d of %d in %s", w.zones[name].unhealthy, w.zones[name].nodes, cmp.Or(name, "no zone")))
		}
	}
	state := fmt.Sprintf("%d of the %d nodes of %s are unhealthy (%s), more than %d%%", w.all.unhealthy, w.all.nodes, w.name, strings.Join(ill, ", "), share)
	if len(ill) > 1 || len(w.zones) == 1 {
		return false, state + ": rather a fault of what they share than of the nodes; none of these is replaced until fewer are"
	}
	if !going && z.going >= Most(z.nodes) {
		return false, fmt.Sprintf("%s, all of that in one zone: its nodes are replaced %d at a time, and as many are under way", state, Most(z.nodes))
	}
	if !going {
		z.going++
	}
	return true, ""
}
