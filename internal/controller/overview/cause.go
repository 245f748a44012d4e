package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	karpenterv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// One cause shows in several places: a broken EC2NodeClass makes its NodePools not ready, and their pods wait. Readers are shown
// the cause, and in it what follows from it.

// Kinds of objects that are causes.
const (
	kindAWS   = "AWS"
	kindEC2   = "EC2" // refuses what it is asked for; object is the scope of a Closure
	kindClass = "EC2NodeClass"
	kindPool  = "NodePool"
	kindClaim = "NodeClaim"
)

// object is what a problem is about. Names of AWS services are in small letters.
type object struct{ kind, name string }

func (p *Problem) about() object {
	if p.Kind == kindAWS {
		return object{p.Kind, strings.ToLower(p.Object)}
	}
	return object{p.Kind, p.Object}
}

// found are problems with the objects whose problems may be their causes, the likeliest first.
type found struct {
	all    []Problem
	causes [][]object
}

func (f *found) add(p Problem, causes ...object) {
	f.all, f.causes = append(f.all, p), append(f.causes, causes)
}

func (f *found) addAll(all []Problem) {
	for i := range all {
		f.add(all[i])
	}
}

// shortage is the cause of pods that wait for capacity which EC2 does not have. No other problem is about it.
var shortage = object{kindEC2, scopeOffering}

// known are those of the objects that a problem is about already.
func (f *found) known(objects []object) (out []object) {
	for _, o := range objects {
		if slices.ContainsFunc(f.all, func(p Problem) bool { return p.stops() && p.about() == o }) {
			out = append(out, o)
		}
	}
	return out
}

// stops reports whether other things go wrong because of a problem. A limit that is near stops nothing yet, nor do warnings about
// conditions.
func (p *Problem) stops() bool {
	return p.Code != LimitReached && (p.Level == Bad || p.Code == NotAskedOfEC2)
}

// joined puts each problem into its cause, where that is a problem too, and sorts by level. Causes of causes are followed to
// the last one.
func (f *found) joined() []Problem {
	at, same := map[object]int{}, map[object]int{}
	for i := range f.all {
		p := &f.all[i]
		if _, ok := at[p.about()]; !ok && p.stops() {
			at[p.about()] = i
		}
		if _, ok := same[p.about()]; !ok && p.Code == NotTrue {
			same[p.about()] = i
		}
	}
	cause := func(i int) (int, bool) {
		if first, ok := same[f.all[i].about()]; ok && first != i && f.all[i].Code == NotTrue {
			return first, true // of several conditions of an object, the first is what the others wait for
		}
		for _, o := range f.causes[i] {
			if c, ok := at[o]; ok && c != i {
				return c, true
			}
		}
		return 0, false
	}
	out := make([]Problem, 0, len(f.all))
	place := map[int]int{} // of roots in out
	for i := range f.all {
		if _, follows := cause(i); !follows {
			place[i] = len(out)
			out = append(out, f.all[i])
		}
	}
	for i := range f.all {
		root, follows := cause(i)
		if !follows {
			continue
		}
		for next, more := root, true; more; next, more = cause(next) {
			root = next // kinds only ever follow from kinds of a lower layer, so that this ends
		}
		p, next := &out[place[root]], f.all[i]
		switch {
		case next.Code == NotTrue && next.about() == p.about():
			continue // as a rule it only says that it waits for the first
		case next.Kind == kindPool && p.Kind == kindClass:
			// The condition of the pool repeats what is wrong with its class.
			next.Code, next.Title, next.Text = PoolNotReady, "NodePool "+next.Object+" can't launch nodes", ""
		}
		p.Follows = append(p.Follows, next)
		if next.Level == Bad {
			p.Level = Bad // with what follows from it, it is that bad
		}
	}
	slices.SortStableFunc(out, func(a, b Problem) int { return cmp.Compare(a.rank(), b.rank()) })
	for i := range out { // what pods suffer comes first
		slices.SortStableFunc(out[i].Follows, func(a, b Problem) int {
			return cmp.Or(cmp.Compare(a.rank(), b.rank()), first(b.Code == NoNodeComing)-first(a.Code == NoNodeComing))
		})
	}
	return out
}

func first(is bool) int {
	if is {
		return 1
	}
	return 0
}

// causesOf says what may be why a condition is not true.
func causesOf(t Trouble) []object {
	switch {
	case t.Kind == kindPool && (t.Condition == karpenterv1.ConditionTypeNodeClassReady || t.Condition == karpenterv1.ConditionTypeReady):
		return []object{{kindClass, t.Class}}
	case t.Kind == kindClaim && t.Condition == karpenterv1.ConditionTypeLaunched:
		return []object{{kindClass, t.Class}, {kindAWS, "ec2"}}
	}
	return nil
}

// stuck is why pods of a class found no place in the last decision.
type stuck struct {
	why      string
	notReady []string       // pools that they might run on and that can't launch
	pools    []string       // that they might run on and for which EC2 has no capacity
	refused  []plan.Refusal // of what they might run on
	act      string         // what to do where the pods are too large for a pool; empty for another reason
}

func stuckBy(u *plan.Unplaced) (out stuck) {
	var said []string
	for _, c := range plan.Summary(u.Reasons) {
		said = append(said, c.Text)
	}
	out.why = strings.Join(said[:min(len(said), clauses)], "; ")
	for _, r := range u.Reasons {
		switch r.Code {
		case plan.PoolNotReady:
			out.notReady = append(out.notReady, r.Pool)
		case plan.TooLarge:
			if out.act == "" && r.Pool != "" && r.Nearest != "" {
				out.act = fmt.Sprintf("let NodePool %s allow larger instance types than %s, if there are any, or lower the pods' %s request", r.Pool, r.Nearest, r.Resource)
			}
		case plan.NoOffering:
			out.pools, out.refused = append(out.pools, r.Pool), append(out.refused, r.Refused.All()...)
		}
	}
	return out
}

// stops reports whether it is for this closure that offerings are refused. One of subnets, zones or classes has no capacity type: it is
// for all.
func (c Closure) stops(r plan.Refusal) bool {
	return c.Reason == r.Why && (c.CapacityType == "" || c.CapacityType == r.CapacityType)
}

// causes are the objects that may be why: a pool that can't launch, what EC2 refuses, and, while no decision says why, that EC2
// does not answer.
func (s stuck) causes(closures []Closure, why string) (out []object) {
	for _, pool := range s.notReady {
		out = append(out, object{kindPool, pool})
	}
	for _, c := range closures {
		if slices.ContainsFunc(s.refused, c.stops) {
			out = append(out, object{kindEC2, c.Scope})
		}
	}
	if why == "" {
		out = append(out, object{kindAWS, "ec2"})
	}
	return out
}

// short are the closures of types in zones for which the pods have no place. While no decision says why, it may be any.
func (s stuck) short(closures []Closure, why string) (out []Closure) {
	for _, c := range closures {
		if c.Scope == scopeOffering && (why == "" || slices.ContainsFunc(s.refused, c.stops)) {
			out = append(out, c)
		}
	}
	return out
}
