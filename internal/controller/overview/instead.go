package overview

import (
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// Where a capacity type can't be had, pods may run on the other one. What keeps them from it are terms of the pods or of their NodePools.

// want is a pod of a class that waits, and the pools that would launch for it if EC2 had the capacity.
type want struct {
	pod   *cluster.Pod // nil where it is not known
	pools []string
}

// instead is what to change so that pods that wait for a capacity type may run on the other one: what binds them, on the pods and on
// the pools. It is empty where nothing binds them, or the other one can't be had either.
func (b *behind) instead(short string, wants []want, closures []Closure) string {
	other := map[string]string{catalog.Spot: catalog.OnDemand, catalog.OnDemand: catalog.Spot}[short]
	if other == "" || slices.ContainsFunc(closures, func(c Closure) bool {
		return c.CapacityType == other && c.Scope != scopeOffering && c.Scope != scopePolicy
	}) {
		return ""
	}
	var acts []string
	add := func(act string) {
		if !slices.Contains(acts, act) && len(acts) < clauses {
			acts = append(acts, act)
		}
	}
	for _, w := range wants {
		if w.pod == nil {
			continue
		}
		for _, text := range demands(w.pod.Class, other) {
			add("take " + text + " off " + w.pod.Namespace + "/" + w.pod.Workload())
		}
		for _, p := range b.pools {
			if slices.Contains(w.pools, p.Name) && slices.ContainsFunc(p.Requirements, func(t requirement.Term) bool { return excludes(t, other) }) {
				add("allow " + other + " in NodePool " + p.Name)
			}
		}
	}
	if len(acts) == 0 {
		return ""
	}
	out := strings.Join(acts, " and ") + ", so that " + other + " nodes can be launched"
	if other == catalog.Spot {
		out += ", if these pods may be interrupted"
	}
	return out
}

// demands are the terms of pods without which they might run on a capacity type.
func demands(c *cluster.Class, capacityType string) (out []string) {
	for _, t := range c.Selector {
		if excludes(t, capacityType) {
			out = append(out, "nodeSelector "+t.String())
		}
	}
	first := ""
	for _, terms := range c.Affinity {
		at := slices.IndexFunc(terms, func(t requirement.Term) bool { return excludes(t, capacityType) })
		if at < 0 {
			return out // one of the alternatives allows it
		}
		if first == "" {
			first = "nodeAffinity " + terms[at].String()
		}
	}
	if first != "" {
		out = append(out, first)
	}
	return out
}

// excludes reports whether a term is about capacity types and does not allow one.
func excludes(t requirement.Term, capacityType string) bool {
	if requirement.Normalize(t.Key) != requirement.CapacityType {
		return false
	}
	switch t.Operator {
	case requirement.In:
		return !slices.Contains(t.Values, capacityType)
	case requirement.NotIn:
		return slices.Contains(t.Values, capacityType)
	case requirement.DoesNotExist:
		return true
	default:
		return false
	}
}

// pending finds waiting pods by the number of their class.
func (o *Overview) pending() func(class int) *cluster.Pod {
	var byID map[string]*cluster.Pod // made once somebody asks: most of the time nobody does
	return func(class int) *cluster.Pod {
		if byID == nil {
			byID = map[string]*cluster.Pod{}
			for _, pod := range o.seen.snapshot.Pending {
				byID[pod.Class.ID] = pod
			}
		}
		return byID[o.classes.id(class)]
	}
}
