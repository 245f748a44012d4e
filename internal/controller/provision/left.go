package provision

import (
	"cmp"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// leftOut are pods of parts of a plan that are not carried out. They are told of and counted like those for which the solver has no place,
// or the loop would take them for pods on which nothing was decided yet.
type leftOut struct {
	problem *pack.Problem
	class   map[cluster.PodRef]string // of all that are pending; nil until somebody is left out
	at      map[leftKey]int           // where in list
	list    []plan.Unplaced
}

// leftKey is what pods that are told of together have in common.
type leftKey struct {
	class string
	why   plan.Reason
}

func newLeftOut(problem *pack.Problem) *leftOut {
	return &leftOut{problem: problem, at: map[leftKey]int{}}
}

// add leaves out pods, for a reason without words of its own.
func (l *leftOut) add(pods []cluster.PodRef, why plan.Reason) {
	if l.class == nil {
		l.class = make(map[cluster.PodRef]string, len(l.problem.Pending))
		for _, p := range l.problem.Pending {
			if p.Class != nil {
				l.class[p.PodRef] = p.Class.ID
			}
		}
	}
	for _, ref := range pods {
		key := leftKey{l.class[ref], why}
		at, known := l.at[key]
		if !known {
			at = len(l.list)
			l.at[key], l.list = at, append(l.list, plan.Unplaced{ClassID: key.class, Reasons: []plan.Reason{why}})
		}
		l.list[at].Pods = append(l.list[at].Pods, ref)
	}
}

// unplaced tells of them, class by class. Nobody may be added afterwards.
func (l *leftOut) unplaced() []plan.Unplaced {
	slices.SortStableFunc(l.list, func(a, b plan.Unplaced) int { return cmp.Compare(a.ClassID, b.ClassID) })
	return l.list
}

// leftOutOf are those of a plan that is carried out.
func leftOutOf(p *plan.Plan) []plan.Unplaced {
	var out []plan.Unplaced
	for _, u := range p.Unplaced {
		if len(u.Reasons) == 1 && (u.Reasons[0].Code == plan.AskedAgain || u.Reasons[0].Code == plan.CheckFailed) {
			out = append(out, u)
		}
	}
	return out
}
