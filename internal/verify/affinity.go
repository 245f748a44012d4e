package verify

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/cluster"
)

// arrival is the placed pods of one class on one host, which come with required pod affinity.
type arrival struct {
	host  *host
	class *cluster.Class
	terms []cluster.PodAffinity
}

// affinity looks for an order in which the placed pods can be bound one after the other, so that each finds the pods
// that it must be with when its turn comes. Those without such a demand may come first, or last: a pod that must be with
// its like may be the first of them only as long as there is none.
func (c *checker) affinity() {
	left := c.bindInOrder(true, 0)
	for start := 0; len(left) > 0 && start < mostStarts; start++ {
		if other := c.bindInOrder(false, start); len(other) < len(left) {
			left = other
		}
	}
	for _, a := range left {
		c.report("affinity", a.host.name, "pods of class %s with labels %v find no pod that they must be with", a.class.ID, a.class.Labels)
	}
}

// mostStarts is how many pods are tried as the first of all.
const mostStarts = 64

// bindInOrder returns what can't be bound. Of several that may be the first of their kind, the one at start goes first.
// Binding one never hinders another of those that find company, so that going on
// until none is left that can be bound is enough.
func (c *checker) bindInOrder(freeFirst bool, start int) []arrival {
	there := map[*host][]*cluster.Pod{}
	free := map[*host][]*cluster.Pod{}
	var waiting []arrival
	for _, h := range c.hosts {
		there[h] = append(there[h], h.running...)
		for i, class := range h.classes {
			if terms := required(class); len(terms) > 0 {
				waiting = append(waiting, arrival{h, class, terms})
			} else {
				free[h] = append(free[h], h.first[i])
			}
		}
	}
	if n := len(waiting); n > 0 {
		start %= n
		waiting = slices.Concat(waiting[start:], waiting[:start])
	}
	come := func() {
		for h, pods := range free {
			there[h] = append(there[h], pods...)
		}
	}
	if freeFirst {
		come()
		return c.bind(waiting, there)
	}
	waiting = c.bind(waiting, there)
	come()
	return c.bind(waiting, there)
}

// bind lets those that may be the first of their kind go before the others, because they can't any more when one of
// their kind is anywhere.
func (c *checker) bind(waiting []arrival, there map[*host][]*cluster.Pod) []arrival {
	next := func() int {
		found := -1
		for i, a := range waiting {
			ok, first := c.meetsAffinity(a, there)
			if ok && first {
				return i
			}
			if ok && found < 0 {
				found = i
			}
		}
		return found
	}
	for i := next(); i >= 0; i = next() {
		a := waiting[i]
		there[a.host] = append(there[a.host], &cluster.Pod{PodRef: cluster.PodRef{Namespace: a.class.Namespace}, Class: a.class})
		waiting = slices.Delete(waiting, i, i+1)
	}
	return waiting
}

func required(class *cluster.Class) []cluster.PodAffinity {
	var out []cluster.PodAffinity
	for _, t := range class.PodAffinity {
		if t.Weight == 0 {
			out = append(out, t)
		}
	}
	return out
}

// meetsAffinity reports whether for each term a pod that matches all terms is in the same domain; or no such pod is
// anywhere, and the pod, as the first of them, matches its own terms.
func (c *checker) meetsAffinity(a arrival, there map[*host][]*cluster.Pod) (ok, first bool) {
	anywhere, found := false, make([]bool, len(a.terms))
	mine := make([]string, len(a.terms))
	for i, t := range a.terms {
		d, ok := c.domain(a.host, t.Key)
		if !ok {
			return false, false
		}
		mine[i] = d
	}
	for _, other := range c.hosts {
		if !slices.ContainsFunc(there[other], func(x *cluster.Pod) bool {
			return !x.Terminating && a.class.Counts(x.Class) && matchesAllTerms(a, x.Class, x.Namespace)
		}) {
			continue
		}
		for i, t := range a.terms {
			if d, ok := c.domain(other, t.Key); ok {
				anywhere = true
				found[i] = found[i] || d == mine[i]
			}
		}
	}
	if !anywhere {
		first = matchesAllTerms(a, a.class, a.class.Namespace)
		return first, first
	}
	return !slices.Contains(found, false), false
}

func matchesAllTerms(a arrival, class *cluster.Class, namespace string) bool {
	for _, t := range a.terms {
		if !slices.Contains(namespacesOf(&cluster.Pod{PodRef: cluster.PodRef{Namespace: a.class.Namespace}}, t), namespace) || !t.Selector.Matches(class.Labels) {
			return false
		}
	}
	return true
}
