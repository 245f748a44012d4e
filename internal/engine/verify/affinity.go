package verify

import (
	"container/heap"
	"maps"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// arrival is the placed pods of one class on one host, which come with required pod affinity.
type arrival struct {
	host  *host
	class *cluster.Class
	need  *need
	mine  []string // the host's domain, by term of the need
	lost  bool     // the host has no domain for some term
}

// need is the required pod affinity of a class.
type need struct {
	class *cluster.Class
	terms []cluster.PodAffinity
	self  bool // the class's own pods are what it asks for
}

// company is how many pods a need finds, of those that are there.
type company struct {
	anywhere bool             // in a domain of any of the terms
	in       []map[string]int // by term and domain
}

// affinity looks for an order in which the placed pods can be bound one after the other, so that each finds the pods
// that it must be with when its turn comes. Those without such a demand may come first, or last: a pod that must be with
// its like may be the first of them only as long as there is none.
//
// Cost: each order takes time in proportion to the arrivals and to the domains in which pods are found for the first
// time; only pods with a need are looked at again and again.
func (c *checker) affinity() {
	o := c.newOrder()
	if len(o.waiting) == 0 {
		return
	}
	left := o.bind(true, 0)
	for start := 0; len(left) > 0 && start < mostStarts; start++ {
		if other := o.bind(false, start); len(other) < len(left) {
			left = other
		}
	}
	for _, a := range left {
		c.report("affinity", a.host.name, "pods of class %s with labels %v find no pod that they must be with", a.class.ID, a.class.Labels)
	}
}

// mostStarts is how many pods are tried as the first of all.
const mostStarts = 64

// order looks for orders of binding.
type order struct {
	c       *checker
	waiting []*arrival
	needs   []*need
	// running and free is what each need finds of the pods that run, and of those also that are placed without a need.
	running, free map[*need]*company
	// by lists who waits for a first pod in a domain.
	by   map[place][]*arrival
	whom map[wanted][]*need
}

// place is a domain of a term of a need.
type place struct {
	need   *need
	term   int
	domain string
}

// wanted is what decides which needs ask for a pod.
type wanted struct {
	class     *cluster.Class
	namespace string
}

func (c *checker) newOrder() *order {
	o := &order{c: c, by: map[place][]*arrival{}, whom: map[wanted][]*need{}}
	needOf := map[*cluster.Class]*need{}
	for _, h := range c.hosts {
		for _, class := range h.classes {
			n, known := needOf[class]
			if !known {
				if terms := required(class); len(terms) > 0 {
					n = &need{class: class, terms: terms}
					n.self = n.asksFor(class, class.Namespace)
					o.needs = append(o.needs, n)
				}
				needOf[class] = n
			}
			if n != nil {
				o.waiting = append(o.waiting, o.arrivalOf(h, n))
			}
		}
	}
	if len(o.waiting) == 0 {
		return o
	}
	o.running = map[*need]*company{}
	for _, n := range o.needs {
		o.running[n] = n.alone()
	}
	for _, h := range c.hosts {
		seen := map[wanted]bool{} // one pod of a class is as good as many
		for _, x := range h.running {
			if w := (wanted{x.Class, x.Namespace}); x.Class != nil && x.InCompany() && !seen[w] {
				seen[w] = true
				o.come(h, w, o.running, nil)
			}
		}
	}
	o.free = copied(o.running)
	for _, h := range c.hosts {
		for i, class := range h.classes {
			if needOf[class] == nil {
				o.come(h, wanted{class, h.first[i].Namespace}, o.free, nil)
			}
		}
	}
	return o
}

func (o *order) arrivalOf(h *host, n *need) *arrival {
	a := &arrival{host: h, class: n.class, need: n, mine: make([]string, len(n.terms))}
	for i, t := range n.terms {
		d, ok := o.c.domain(h, t.Key)
		a.mine[i], a.lost = d, a.lost || !ok
	}
	if !a.lost {
		for i, d := range a.mine {
			at := place{n, i, d}
			o.by[at] = append(o.by[at], a)
		}
	}
	return a
}

func (n *need) alone() *company {
	x := &company{in: make([]map[string]int, len(n.terms))}
	for i := range x.in {
		x.in[i] = map[string]int{}
	}
	return x
}

func copied(all map[*need]*company) map[*need]*company {
	out := make(map[*need]*company, len(all))
	for n, x := range all {
		y := &company{anywhere: x.anywhere}
		for _, in := range x.in {
			y.in = append(y.in, maps.Clone(in))
		}
		out[n] = y
	}
	return out
}

// come counts a pod on a host, and names the places in which it is the first that is asked for.
func (o *order) come(h *host, w wanted, there map[*need]*company, first func(place)) {
	needs, known := o.whom[w]
	if !known {
		for _, n := range o.needs {
			if n.asksFor(w.class, w.namespace) {
				needs = append(needs, n)
			}
		}
		o.whom[w] = needs
	}
	for _, n := range needs {
		x := there[n]
		for i, t := range n.terms {
			d, ok := o.c.domain(h, t.Key)
			if !ok {
				continue
			}
			x.anywhere = true
			if x.in[i][d]++; x.in[i][d] == 1 && first != nil {
				first(place{n, i, d})
			}
		}
	}
}

// asksFor reports whether pods of the class are what the need asks for: they must match all of its terms.
func (n *need) asksFor(class *cluster.Class, namespace string) bool {
	if !n.class.Counts(class) {
		return false
	}
	for _, t := range n.terms {
		if !slices.Contains(namespacesOf(&cluster.Pod{PodRef: cluster.PodRef{Namespace: n.class.Namespace}}, t), namespace) || !t.Selector.Matches(class.Labels) {
			return false
		}
	}
	return true
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

// meets reports whether for each term a pod that matches all terms is in the same domain; or no such pod is anywhere, and
// the pod, as the first of them, matches its own terms.
func (a *arrival) meets(x *company) (ok, first bool) {
	if a.lost {
		return false, false
	}
	if !x.anywhere {
		return a.need.self, a.need.self
	}
	for i, d := range a.mine {
		if x.in[i][d] == 0 {
			return false, false
		}
	}
	return true, false
}

// bind returns what can't be bound. Of several that may be the first of their kind, the one at start goes first. Binding
// one never hinders another of those that find company, so that going on until none is left that can be bound is enough.
func (o *order) bind(freeFirst bool, start int) []*arrival {
	n := len(o.waiting)
	waiting := slices.Concat(o.waiting[start%n:], o.waiting[:start%n])
	if freeFirst {
		return o.bindAll(waiting, copied(o.free))
	}
	there := copied(o.running)
	waiting = o.bindAll(waiting, there)
	for need, x := range o.free {
		there[need].add(o.running[need], x)
	}
	return o.bindAll(waiting, there)
}

// add counts what y has more than x.
func (c *company) add(x, y *company) {
	c.anywhere = c.anywhere || y.anywhere
	for i := range c.in {
		for d, n := range y.in[i] {
			c.in[i][d] += n - x.in[i][d]
		}
	}
}

// bindAll lets those that may be the first of their kind go before the others, because they can't any more when one of
// their kind is anywhere; apart from that those that come first in the list.
func (o *order) bindAll(waiting []*arrival, there map[*need]*company) []*arrival {
	at := make(map[*arrival]int, len(waiting))
	var firsts, others places
	for i, a := range waiting {
		at[a] = i
		switch ok, first := a.meets(there[a.need]); {
		case first:
			firsts = append(firsts, i)
		case ok:
			others = append(others, i)
		}
	}
	bound := make([]bool, len(waiting))
	look := func(p place) {
		for _, a := range o.by[p] {
			if i, here := at[a]; here && !bound[i] {
				if ok, first := a.meets(there[a.need]); ok && !first {
					heap.Push(&others, i)
				}
			}
		}
	}
	for len(firsts)+len(others) > 0 {
		queue := &firsts
		if len(firsts) == 0 {
			queue = &others
		}
		i := heap.Pop(queue).(int)
		a := waiting[i]
		ok, first := a.meets(there[a.need])
		switch {
		case bound[i] || !ok:
			continue
		case queue == &firsts && !first: // no longer; its turn comes with the others
			heap.Push(&others, i)
			continue
		}
		bound[i] = true
		o.come(a.host, wanted{a.class, a.class.Namespace}, there, look)
	}
	var left []*arrival
	for i, a := range waiting {
		if !bound[i] {
			left = append(left, a)
		}
	}
	return left
}

// places is a heap of places in a list.
type places []int

func (p places) Len() int           { return len(p) }
func (p places) Less(i, j int) bool { return p[i] < p[j] }
func (p places) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }
func (p *places) Push(x any)        { *p = append(*p, x.(int)) }

// Pop takes the last one off, which heap.Pop has made the least.
func (p *places) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}
