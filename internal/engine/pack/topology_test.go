package pack_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/engine/verify"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// sold is a type of so many millicores that can be launched on demand in the zones.
func sold(name string, milli int64, price catalog.MicroUSD, in ...string) *catalog.Type {
	t := &catalog.Type{Name: name, Capacity: res.List{res.CPU: milli, res.Memory: milli << 22, res.Pods: 50}, Requirements: []requirement.Term{
		{Key: requirement.InstanceType, Operator: requirement.In, Values: []string{name}},
		{Key: requirement.Arch, Operator: requirement.In, Values: []string{"amd64"}},
	}}
	for _, zone := range in {
		t.Offerings = append(t.Offerings, catalog.Offering{Zone: zone, CapacityType: catalog.OnDemand, Price: price, Available: true})
	}
	return t
}

// app is a class of pods of an application that ask for so many millicores.
func app(name string, milli int64, change func(*cluster.Class)) *cluster.Class {
	c := &cluster.Class{Namespace: "ns", Labels: map[string]string{"app": name}, Requests: res.List{res.CPU: milli, res.Pods: 1}}
	if change != nil {
		change(c)
	}
	c.ID = c.Hash()
	return c
}

func someOf(c *cluster.Class, name string, n int) []*cluster.Pod {
	var out []*cluster.Pod
	for i := range n {
		ref := cluster.PodRef{Namespace: "ns", Name: fmt.Sprintf("%s-%d", name, i), UID: fmt.Sprintf("%s-%d", name, i)}
		out = append(out, &cluster.Pod{PodRef: ref, Class: c})
	}
	return out
}

// standing is a node with the pods, of which so many millicores may be used.
func standing(name, zone string, milli int64, pods ...*cluster.Pod) *cluster.Node {
	for _, pod := range pods {
		pod.Node = name
	}
	return &cluster.Node{Name: name, Launched: true, Registered: true, Initialized: true, Ready: true, Zone: zone, Pods: pods,
		Labels:      map[string]string{requirement.Zone: zone, requirement.Hostname: name},
		Allocatable: res.List{res.CPU: milli, res.Memory: 1 << 40, res.Pods: 50}}
}

// solved is the plan for a problem, which the second opinion must find feasible.
func solved(t *testing.T, p *pack.Problem) *plan.Plan {
	t.Helper()
	p.Options.WellKnown = scenario.WellKnown()
	out := pack.Solve(p)
	for _, v := range verify.Check(p, out) {
		t.Errorf("%s\n%s", v, out)
	}
	return out
}

// waiting is how many pods a plan leaves.
func waiting(p *plan.Plan) int {
	n := 0
	for _, u := range p.Unplaced {
		n += len(u.Pods)
	}
	return n
}

// A zone that a running pod keeps one class out of counts for the spread that the class shares with others: pods of the others are there.
func TestASpreadLooksAtNodesThatARunningPodKeepsSomeOut(t *testing.T) {
	for salt := range 4 { // the order of classes
		member := func(name string) *cluster.Class {
			return app(name, 1000, func(c *cluster.Class) {
				c.Labels["tier"], c.Labels["salt"] = "t", fmt.Sprint(salt)
				c.Spreads = []cluster.Spread{{Key: requirement.Zone, MaxSkew: 1, Selector: &cluster.Selector{Terms: []requirement.Term{in("tier", "t")}}}}
			})
		}
		guard := app("guard", 100, func(c *cluster.Class) {
			c.AntiAffinity = []cluster.PodAffinity{{Key: requirement.Zone, Selector: named("kept-out")}}
		})
		p := &pack.Problem{Nodes: []*cluster.Node{standing("n1", "a", 9000, someOf(guard, "guard", 1)...), standing("n2", "b", 9000)},
			Pending: append(someOf(member("kept-out"), "kept-out", 1), someOf(member("free"), "free", 5)...)}
		if out := solved(t, p); waiting(out) > 0 {
			t.Errorf("pods wait that both zones have room for:\n%s", out)
		}
	}
}

// Pods that run on a node that is being deleted count for affinity and anti-affinity until they have ended, as for kube-scheduler.
func TestPodsOnNodesThatGoCountForAffinity(t *testing.T) {
	apart := app("db", 1000, func(c *cluster.Class) {
		c.AntiAffinity = []cluster.PodAffinity{{Key: requirement.Zone, Selector: named("db")}}
	})
	together := func(key string) *cluster.Class {
		return app("cache", 1000, func(c *cluster.Class) {
			c.PodAffinity = []cluster.PodAffinity{{Key: key, Selector: named("cache")}}
		})
	}
	for name, test := range map[string]struct {
		class  *cluster.Class
		change func(*cluster.Pod)
		stays  string // zone of another pod of the class
		zone   string // of the new node; none for a pod that waits
	}{
		"apart from a pod that lingers":         {apart, func(p *cluster.Pod) { p.Terminating, p.Lingers = true, true }, "b", "c"},
		"apart from a static pod":               {apart, func(p *cluster.Pod) { p.Mirror = true }, "b", "c"},
		"apart from a pod that ends":            {apart, func(p *cluster.Pod) { p.Terminating = true }, "b", "a"},
		"with a pod that lingers in the zone":   {together(requirement.Zone), func(p *cluster.Pod) { p.Terminating, p.Lingers = true, true }, "", "a"},
		"with a pod that lingers on the node":   {together(requirement.Hostname), func(p *cluster.Pod) { p.Terminating, p.Lingers = true, true }, "", ""},
		"with a pod that ends on the node":      {together(requirement.Hostname), func(p *cluster.Pod) { p.Terminating = true }, "", "c"},
		"with a pod that ends in a dearer zone": {together(requirement.Zone), func(p *cluster.Pod) { p.Terminating = true }, "", "c"},
	} {
		t.Run(name, func(t *testing.T) {
			old := someOf(test.class, "old", 1)
			test.change(old[0])
			going := standing("going", "a", 4000, old...)
			going.Deleting = true
			types := sold("t", 4000, 100, "a", "b", "c")
			if test.class != apart {
				types.Offerings[2].Price = 90
			}
			p := &pack.Problem{Pools: []*cluster.Pool{{Name: "p", Types: []*catalog.Type{types}}}, Nodes: []*cluster.Node{going}, Pending: someOf(test.class, "new", 1)}
			if test.stays != "" {
				p.Nodes = append(p.Nodes, standing("stays", test.stays, 1000, someOf(test.class, "other", 1)...))
			}
			out := solved(t, p)
			got := ""
			for _, n := range out.NewNodes {
				got += n.Types[0].Zone
			}
			if got != test.zone || waiting(out) > 0 != (test.zone == "") {
				t.Errorf("launched in %q, want %q:\n%s", got, test.zone, out)
			}
			p.Pending = append(p.Pending, old...) // which is to be placed anew: it does not count where it is
			solved(t, p)
		})
	}
}

// A node whose zone is open, because its NodePool asks for several, may add a zone to those that a spread is measured over.
func TestASpreadHeedsNodesThatMayBeInAnotherZone(t *testing.T) {
	arch := func(t *catalog.Type, name string) *catalog.Type {
		t.Requirements[1].Values = []string{name}
		return t
	}
	for name, test := range map[string]struct {
		key   string
		types []*catalog.Type
		arch  []requirement.Term
	}{
		"any zone":       {requirement.Zone, []*catalog.Type{sold("t", 2000, 100, "c", "d")}, nil},
		"counted or not": {requirement.Arch, []*catalog.Type{arch(sold("arm", 2000, 110, "c"), "arm64"), sold("amd", 2000, 100, "c")}, []requirement.Term{in(requirement.Arch, "arm64")}},
	} {
		t.Run(name, func(t *testing.T) {
			wide := &cluster.Pool{Name: "wide", Taints: []cluster.Taint{{Key: "wide", Effect: cluster.NoSchedule}}, Types: test.types,
				Requirements: []requirement.Term{{Key: test.key, Operator: requirement.Exists, MinValues: 2}}}
			one := &cluster.Pool{Name: "one", Types: []*catalog.Type{arch(sold("u", 1200, 100, "b"), "arm64")}}
			even := app("even", 1000, func(c *cluster.Class) {
				c.Spreads = []cluster.Spread{{Key: requirement.Zone, MaxSkew: 1, Selector: named("even")}}
				c.Selector = test.arch
			})
			other := app("other", 1000, func(c *cluster.Class) {
				c.Tolerations = []cluster.Toleration{{Key: "wide", Exists: true}}
				c.Selector = []requirement.Term{in(requirement.NodePool, "wide")}
			})
			p := &pack.Problem{Pools: []*cluster.Pool{wide, one}, Pending: append(someOf(even, "even", 2), someOf(other, "other", 1)...)}
			out := solved(t, p)
			if waiting(out) != 1 {
				t.Fatalf("%d pods wait, want the second of those that spread: it has no zone where the first one's like are even\n%s", waiting(out), out)
			}
			// With both in zone b the scheduler refuses the second, should the other node come to be in another zone.
			for i := range out.NewNodes {
				if m := &out.NewNodes[i]; m.Pool == "one" {
					again := *m
					again.Pods, out.Unplaced = out.Unplaced[0].Pods, nil
					out.NewNodes, out.Price = append(out.NewNodes, again), out.Price+again.Price
					break
				}
			}
			if !slices.ContainsFunc(verify.Check(p, out), func(v verify.Violation) bool { return v.Rule == "spread" }) {
				t.Errorf("the second opinion finds nothing wrong with\n%s", out)
			}
		})
	}
}

// An empty node may come any time to be measured from, unless what a pool has left, such as a reservation, is not for the pods.
func TestAReservationForOthersAddsNoHostToASpread(t *testing.T) {
	for arch, waits := range map[string]int{"arm64": 0, "amd64": 1} {
		reserved := sold("r", 200, 0)
		reserved.Requirements[1].Values = []string{arch}
		reserved.Offerings = []catalog.Offering{{Zone: "a", CapacityType: catalog.Reserved, ReservationID: "cr-1", Reservable: 1, Available: true}}
		even := app("even", 500, func(c *cluster.Class) {
			c.Selector = []requirement.Term{in(requirement.Arch, "amd64")}
			c.Spreads = []cluster.Spread{{Key: requirement.Hostname, MaxSkew: 1, Selector: named("even")}}
		})
		n := standing("n", "a", 4000, someOf(even, "old", 1)...)
		n.Labels[requirement.Arch] = "amd64"
		p := &pack.Problem{Nodes: []*cluster.Node{n}, Pools: []*cluster.Pool{{Name: "p", Types: []*catalog.Type{reserved}}}, Pending: someOf(even, "new", 1)}
		if out := solved(t, p); waiting(out) != waits {
			t.Errorf("a reservation of %s: %d pods wait, want %d\n%s", arch, waiting(out), waits, out)
		}
	}
}
