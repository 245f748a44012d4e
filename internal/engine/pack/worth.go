package pack

import (
	"cmp"
	"math"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/res"
)

// worthKey is a new node's choices and what a pod asks for; that decides what the pod is worth there.
type worthKey struct {
	shape *shape
	size  int
}

type worthOf struct {
	nano  int64
	found bool
}

// fairWorth is what one pod costs on the new node on which it is cheapest, were the new node filled with its like.
func (s *solver) fairWorth(sh *shape, it *podGroup) (int64, bool) {
	if len(it.class.src.HostPorts) > 0 {
		return sh.fairWorth(s.lead, it)
	}
	at := worthKey{sh, s.sizeOf(it.class)}
	w, known := s.worths[at]
	if !known {
		w.nano, w.found = sh.fairWorth(s.lead, it)
		s.worths[at] = w
	}
	return w.nano, w.found
}

func (sh *shape) fairWorth(lead [2]int, it *podGroup) (int64, bool) {
	best, found := int64(math.MaxInt64), false
	req := it.class.req
	amount, by := sh.scarcer(lead, req)
	for i, t := range by.order {
		// The rest cost at least as much for this amount alone; the margin is for rounding.
		if found && amount*by.unit[i]*(1-1e-9) > float64(best) {
			break
		}
		net := sh.pool.net[t]
		if !req.Fits(net) || portsConflict(it.class.src.HostPorts, sh.pool.burdens[sh.pool.burdenOf[t]].ports) {
			continue
		}
		share, per := 0.0, sh.pool.perNet[t]
		for r, x := range req {
			share = max(share, float64(x)*per[r])
		}
		worth := int64(math.Ceil(share * float64(max(0, sh.price[t])) * 1000))
		if worth < best {
			best, found = worth, true
		}
	}
	return max(best, 1), found
}

// ladder is a shape's types by what a unit of a resource costs on them, in nano-USD per hour.
type ladder struct {
	order []int
	unit  []float64
}

// scarcer is the ladder of that of cpu and memory which the pod has to pay more for, and how much of it the pod asks for.
func (sh *shape) scarcer(lead [2]int, req res.Vector) (float64, *ladder) {
	if sh.ladders[0].order == nil {
		for i, r := range lead {
			sh.ladders[i] = sh.ladderOf(r)
		}
	}
	if len(sh.order) == 0 {
		return 0, &sh.ladders[0]
	}
	cpu, memory := float64(max(0, req[lead[0]])), float64(max(0, req[lead[1]]))
	if memory*sh.ladders[1].unit[0] > cpu*sh.ladders[0].unit[0] {
		return memory, &sh.ladders[1]
	}
	return cpu, &sh.ladders[0]
}

func (sh *shape) ladderOf(r int) ladder {
	cost := func(t int) float64 { return sh.pool.perNet[t][r] * float64(max(0, sh.price[t])) * 1000 }
	l := ladder{order: append(make([]int, 0, len(sh.order)), sh.order...), unit: make([]float64, len(sh.order))}
	slices.SortFunc(l.order, func(a, b int) int { return cmp.Or(cmp.Compare(cost(a), cost(b)), cmp.Compare(a, b)) })
	for i, t := range l.order {
		l.unit[i] = cost(t)
	}
	return l
}
