package cache

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/reservation"
)

// The scheduler binds as it likes: a pod that was reserved for one instance may take the room on another that was reserved for to
// somebody else. Which reservations can no longer be kept shows as soon as such a pod is bound, long before the scheduler
// refuses the pods that are left, and the room that was freed elsewhere shows with it.

// crowded reports whether an instance's pods, reserved for ones included, ask for more than it has.
func crowded(n *cluster.Node) bool {
	for name, used := range n.Used {
		if used > n.Allocatable[name] {
			return true
		}
	}
	return false
}

// breakUnkeepable ends, on every instance that was found to be crowded, reservations until the rest fits: the largest first,
// so that few are broken. It reports whether it ended any.
func (c *Cache) breakUnkeepable() bool {
	units := c.crowded
	c.crowded = nil
	slices.Sort(units)
	broken := false
	for _, unit := range slices.Compact(units) {
		node := c.units[unit]
		if node == nil {
			continue
		}
		broken = c.breakCrowding(node) || broken
	}
	return broken
}

// breakCrowding ends reservations of the room of one instance until the rest fits.
func (c *Cache) breakCrowding(node *cluster.Node) (broken bool) {
	left := node.Used.Clone()
	for _, e := range c.coming(node.Name) {
		for name, v := range e.pod.Class.Requests {
			left[name] -= v // what it preempts may be on the node still
		}
	}
	for _, p := range largestFirst(node.Pods) {
		if !c.reserved.Has(types.UID(p.UID)) || p.Node == node.Name {
			continue
		}
		if fits(left, node.Allocatable) {
			break
		}
		for name, v := range p.Class.Requests {
			left[name] -= v
		}
		c.breakReservation(types.UID(p.UID))
		broken = true
	}
	return broken
}

func fits(used, allocatable res.List) bool {
	for name, v := range used {
		if v > allocatable[name] {
			return false
		}
	}
	return true
}

// largestFirst orders pods by cpu, then memory, then name.
func largestFirst(pods []*cluster.Pod) []*cluster.Pod {
	out := slices.Clone(pods)
	slices.SortStableFunc(out, func(a, b *cluster.Pod) int {
		return cmp.Or(
			cmp.Compare(b.Class.Requests[res.CPU], a.Class.Requests[res.CPU]),
			cmp.Compare(b.Class.Requests[res.Memory], a.Class.Requests[res.Memory]),
			comparePods(a, b),
		)
	})
	return out
}

// boundElsewhere looks at once whether a pod that was just bound took room that was given room on others. It looks at this
// one instance: the next snapshot makes the others anew.
func (c *Cache) boundElsewhere(node string) {
	if node == "" {
		return
	}
	unit := reservation.OfNode(node)
	if _, dirty := c.dirty[unit]; !dirty {
		return
	}
	if n := c.units[unit]; n == nil || !slices.ContainsFunc(n.Pods, func(p *cluster.Pod) bool { return p.Node != node }) {
		return
	}
	if n := c.buildUnit(unit); n != nil && n.Initialized && crowded(n) {
		c.breakCrowding(n)
	}
}
