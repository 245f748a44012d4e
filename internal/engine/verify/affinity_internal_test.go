package verify

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// The order is looked for once more the plain way: every pod that waits is compared with all that are there, at each step.

type plainArrival struct {
	host  *host
	class *cluster.Class
	terms []cluster.PodAffinity
}

// plainOrder returns what can't be bound. Of several that may be the first of their kind, the one at start goes first.
// Binding one never hinders another of those that find company, so that going on
// until none is left that can be bound is enough.
func (c *checker) plainOrder(freeFirst bool, start int) []plainArrival {
	there := map[*host][]*cluster.Pod{}
	free := map[*host][]*cluster.Pod{}
	var waiting []plainArrival
	for _, h := range c.hosts {
		there[h] = append(there[h], h.running...)
		for i, class := range h.classes {
			if terms := required(class); len(terms) > 0 {
				waiting = append(waiting, plainArrival{h, class, terms})
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
		return c.plainBind(waiting, there)
	}
	waiting = c.plainBind(waiting, there)
	come()
	return c.plainBind(waiting, there)
}

// plainBind lets those that may be the first of their kind go before the others, because they can't any more when one of
// their kind is anywhere.
func (c *checker) plainBind(waiting []plainArrival, there map[*host][]*cluster.Pod) []plainArrival {
	next := func() int {
		found := -1
		for i, a := range waiting {
			ok, first := c.plainlyMeets(a, there)
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

// plainlyMeets reports whether for each term a pod that matches all terms is in the same domain; or no such pod is
// anywhere, and the pod, as the first of them, matches its own terms.
func (c *checker) plainlyMeets(a plainArrival, there map[*host][]*cluster.Pod) (ok, first bool) {
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
			return x.InCompany() && a.class.Counts(x.Class) && plainlyMatches(a, x.Class, x.Namespace)
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
		first = plainlyMatches(a, a.class, a.class.Namespace)
		return first, first
	}
	return !slices.Contains(found, false), false
}

func plainlyMatches(a plainArrival, class *cluster.Class, namespace string) bool {
	for _, t := range a.terms {
		if !slices.Contains(namespacesOf(&cluster.Pod{PodRef: cluster.PodRef{Namespace: a.class.Namespace}}, t), namespace) || !t.Selector.Matches(class.Labels) {
			return false
		}
	}
	return true
}

func drawAffine(t *rapid.T) *cluster.Class {
	app := rapid.SampledFrom([]string{"web", "db", "job"})
	c := &cluster.Class{Namespace: rapid.SampledFrom([]string{"a", "a", "a", "b"}).Draw(t, "namespace"), Labels: map[string]string{"app": app.Draw(t, "app")},
		Requests: res.List{res.CPU: int64(rapid.IntRange(1, 9).Draw(t, "cpu"))}, Virtual: rapid.IntRange(0, 15).Draw(t, "virtual") == 0}
	for range rapid.SampledFrom([]int{0, 1, 1, 2, 2}).Draw(t, "terms") {
		term := cluster.PodAffinity{Key: rapid.SampledFrom([]string{requirement.Zone, requirement.Hostname, "rack"}).Draw(t, "key"),
			Selector: &cluster.Selector{Terms: []requirement.Term{{Key: "app", Operator: requirement.In, Values: []string{app.Draw(t, "with")}}}}}
		if rapid.Bool().Draw(t, "elsewhere") {
			term.Namespaces = []string{"a", "b"}
		}
		c.PodAffinity = append(c.PodAffinity, term)
	}
	if len(c.PodAffinity) == 2 && rapid.Bool().Draw(t, "of the same") {
		c.PodAffinity[1].Selector = c.PodAffinity[0].Selector
	}
	c.ID = c.Hash()
	return c
}

func TestTheOrderOfBindingIsThatOfComparingEveryPod(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, out := &pack.Problem{}, &plan.Plan{}
		var classes []*cluster.Class
		for range rapid.IntRange(1, 6).Draw(t, "classes") {
			classes = append(classes, drawAffine(t))
		}
		serial := 0
		pod := func() *cluster.Pod {
			serial++
			c := rapid.SampledFrom(classes).Draw(t, "class")
			return &cluster.Pod{Class: c, PodRef: cluster.PodRef{Namespace: c.Namespace, Name: fmt.Sprint(serial)}}
		}
		for i := range rapid.IntRange(2, 8).Draw(t, "nodes") {
			n := &cluster.Node{Name: fmt.Sprintf("n%d", i), Initialized: true, Labels: map[string]string{}}
			for _, key := range []string{requirement.Zone, "rack"} {
				if v := rapid.SampledFrom([]int{0, 1, 1, 1, 2, 2}).Draw(t, key); v > 0 {
					n.Labels[key] = fmt.Sprint(v)
				}
			}
			for range rapid.IntRange(0, 1).Draw(t, "running") {
				x := pod()
				x.Terminating = rapid.IntRange(0, 3).Draw(t, "going") == 0
				x.Lingers = x.Terminating && rapid.Bool().Draw(t, "lingers")
				n.Pods = append(n.Pods, x)
			}
			pl := plan.Placement{Node: n.Name}
			for range rapid.IntRange(0, 3).Draw(t, "placed") {
				x := pod()
				p.Pending = append(p.Pending, x)
				pl.Pods = append(pl.Pods, x.PodRef)
			}
			p.Nodes, out.Placements = append(p.Nodes, n), append(out.Placements, pl)
		}
		c := newChecker(p, out)
		c.collect()
		o := c.newOrder()
		if len(o.waiting) == 0 {
			return
		}
		for _, freeFirst := range []bool{true, false} {
			for start := range 3 {
				var got, want []string
				for _, a := range o.bind(freeFirst, start) {
					got = append(got, a.host.name+" "+a.class.ID)
				}
				for _, a := range c.plainOrder(freeFirst, start) {
					want = append(want, a.host.name+" "+a.class.ID)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("left over, from %d, others first %t:\n%s", start, freeFirst, diff)
				}
			}
		}
	})
}

// A long chain, in which each pod waits for the one before, on many hosts: comparing every pod with every other takes
// minutes.
func TestALongChainOfAffinityIsFollowed(t *testing.T) {
	const n = 3000
	p, out := &pack.Problem{}, &plan.Plan{}
	app := func(i int) string { return fmt.Sprintf("app-%d", i%100) }
	classes := map[string]*cluster.Class{}
	for i := range 100 {
		c := &cluster.Class{Namespace: "a", Labels: map[string]string{"app": app(i)}}
		for _, k := range []int{i, i - 1} {
			if k >= 0 && i > 0 {
				c.PodAffinity = []cluster.PodAffinity{{Key: requirement.Zone, Selector: &cluster.Selector{Terms: []requirement.Term{{Key: "app", Operator: requirement.In, Values: []string{app(k)}}}}}}
			}
		}
		c.ID = c.Hash()
		classes[app(i)] = c
	}
	for i := range n {
		node := &cluster.Node{Name: fmt.Sprintf("n%d", i), Initialized: true, Labels: map[string]string{requirement.Zone: "z"}}
		x := &cluster.Pod{Class: classes[app(n-1-i)], PodRef: cluster.PodRef{Namespace: "a", Name: fmt.Sprint(i)}}
		p.Nodes, p.Pending = append(p.Nodes, node), append(p.Pending, x)
		out.Placements = append(out.Placements, plan.Placement{Node: node.Name, Pods: []cluster.PodRef{x.PodRef}})
	}
	c := newChecker(p, out)
	c.collect()
	c.affinity()
	if len(c.found) > 0 {
		t.Errorf("%d pods found no company, the first: %s", len(c.found), c.found[0])
	}
	// The first of the chain ends up in another zone.
	for i, node := range p.Nodes {
		if p.Pending[i].Class == classes[app(0)] {
			node.Labels[requirement.Zone] = "y"
		}
	}
	c = newChecker(p, out)
	c.collect()
	c.affinity()
	if len(c.found) != n-n/100 {
		t.Errorf("%d pods found no company, want all but the %d that need none", len(c.found), n/100)
	}
}
