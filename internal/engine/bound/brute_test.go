package bound_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kerf-sh/kerf/internal/engine/bound"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/engine/verify"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

var zones = []string{"a", "b"}

func drawType(t *rapid.T, i int) *catalog.Type {
	cpu := int64(rapid.IntRange(1, 6).Draw(t, "cpu"))
	ty := &catalog.Type{Name: fmt.Sprintf("type-%d", i), Capacity: res.List{res.CPU: cpu * 1000, res.Memory: int64(rapid.IntRange(2, 12).Draw(t, "gib")) << 30, res.Pods: cpu * 3},
		Overhead: res.List{res.CPU: 100}}
	price := catalog.MicroUSD(cpu*100_000 + int64(rapid.IntRange(0, 100_000).Draw(t, "extra")))
	for _, z := range zones {
		ty.Offerings = append(ty.Offerings,
			catalog.Offering{Zone: z, CapacityType: catalog.OnDemand, Price: price, Available: rapid.IntRange(0, 4).Draw(t, "available") > 0},
			catalog.Offering{Zone: z, CapacityType: catalog.Spot, Price: price / catalog.MicroUSD(rapid.IntRange(2, 4).Draw(t, "discount")), Available: rapid.Bool().Draw(t, "spot")})
	}
	ty.Requirements = []requirement.Term{in(requirement.Arch, rapid.SampledFrom([]string{"amd64", "arm64"}).Draw(t, "arch")), in(requirement.InstanceType, ty.Name),
		in(requirement.Zone, zones...), in(requirement.CapacityType, catalog.OnDemand, catalog.Spot)}
	return ty
}

func drawClass(t *rapid.T) *cluster.Class {
	c := class(int64(rapid.IntRange(1, 25).Draw(t, "cpu"))*100, int64(rapid.IntRange(0, 5).Draw(t, "gib")))
	maybe := func(label string, f func()) {
		if rapid.IntRange(0, 3).Draw(t, label) == 0 {
			f()
		}
	}
	maybe("arch", func() { c.Selector = append(c.Selector, in(requirement.Arch, "amd64")) })
	maybe("zone", func() {
		c.Volumes = [][]requirement.Term{{in(requirement.Zone, rapid.SampledFrom(zones).Draw(t, "zone"))}}
	})
	maybe("way", func() {
		c.Affinity = [][]requirement.Term{{in(requirement.CapacityType, catalog.OnDemand)}, {in(requirement.Zone, "b")}}
	})
	maybe("tolerates", func() { c.Tolerations = []cluster.Toleration{{Key: "special", Exists: true}} })
	maybe("port", func() {
		c.HostPorts = []cluster.HostPort{{Port: int32(rapid.IntRange(80, 81).Draw(t, "port")), Protocol: "TCP"}}
	})
	maybe("apart", func() { apart(c) })
	maybe("spread", func() { spread(rapid.IntRange(1, 2).Draw(t, "skew"))(c) })
	c.Labels = map[string]string{"app": rapid.SampledFrom([]string{"web", "db"}).Draw(t, "app")}
	c.ID = ""
	c.ID = c.Hash()
	return c
}

// drawTiny draws a problem that is small enough to try every plan.
func drawTiny(t *rapid.T) *pack.Problem {
	p := &pack.Problem{Now: time.Unix(1, 0), Options: pack.Options{WellKnown: scenario.WellKnown()}}
	var types []*catalog.Type
	for i := range rapid.IntRange(1, 3).Draw(t, "types") {
		types = append(types, drawType(t, i))
	}
	for i := range rapid.IntRange(1, 2).Draw(t, "pools") {
		pool := &cluster.Pool{Name: fmt.Sprintf("pool-%d", i), Weight: i, Types: types}
		if rapid.IntRange(0, 3).Draw(t, "tainted") == 0 {
			pool.Taints = []cluster.Taint{{Key: "special", Effect: cluster.NoSchedule}}
		}
		p.Pools = append(p.Pools, pool)
	}
	if rapid.Bool().Draw(t, "daemon") {
		p.Daemons = append(p.Daemons, cluster.Daemon{Name: "ns/agent", Class: &cluster.Class{ID: "agent", Requests: res.List{res.CPU: 200, res.Pods: 1}}})
	}
	n := 0
	for range rapid.IntRange(1, 3).Draw(t, "classes") {
		c := drawClass(t)
		for range rapid.IntRange(1, 2).Draw(t, "count") {
			name := fmt.Sprintf("pod-%d", n)
			n++
			p.Pending = append(p.Pending, &cluster.Pod{PodRef: cluster.PodRef{Namespace: "ns", Name: name, UID: name}, Class: c})
		}
	}
	if rapid.Bool().Draw(t, "node") {
		p.Nodes = append(p.Nodes, node("one", 2, 4, func(n *cluster.Node) {
			if rapid.Bool().Draw(t, "busy") {
				old := class(500, 1, func(c *cluster.Class) { c.HostPorts = []cluster.HostPort{{Port: 80, Protocol: "TCP"}} })
				n.Pods = []*cluster.Pod{{PodRef: cluster.PodRef{Namespace: "ns", Name: "old", UID: "old"}, Class: old, Node: "one"}}
				n.Used = old.Requests.Clone()
			}
		}))
	}
	return p
}

// cheapest is what it costs at least to serve the pods, found by trying every way to deal them out to instances and the
// independent check of plans as the judge of each instance; -1 when there is none.
func cheapest(p *pack.Problem, pods []*cluster.Pod) catalog.MicroUSD {
	known := map[string]catalog.MicroUSD{}
	price := func(group []*cluster.Pod) catalog.MicroUSD {
		key := ""
		for _, pod := range group {
			key += pod.Name + " "
		}
		if _, ok := known[key]; !ok {
			known[key] = priceOf(p, group)
		}
		return known[key]
	}
	best := catalog.MicroUSD(-1)
	var groups [][]*cluster.Pod
	var deal func(i int)
	deal = func(i int) {
		if i == len(pods) {
			sum := catalog.MicroUSD(0)
			onNode := 0 // the dearest instance whose pods the node can carry is saved
			saved := catalog.MicroUSD(0)
			for _, g := range groups {
				x := price(g)
				if len(p.Nodes) > 0 && fitsNode(p, g) {
					if x < 0 {
						onNode++
						x = 0
					}
					saved = max(saved, x)
				}
				if x < 0 || onNode > 1 {
					return
				}
				sum += x
			}
			if onNode == 0 {
				sum -= saved
			}
			if best < 0 || sum < best {
				best = sum
			}
			return
		}
		for g := range groups {
			groups[g] = append(groups[g], pods[i])
			deal(i + 1)
			groups[g] = groups[g][:len(groups[g])-1]
		}
		groups = append(groups, []*cluster.Pod{pods[i]})
		deal(i + 1)
		groups = groups[:len(groups)-1]
	}
	deal(0)
	return best
}

func alone(p *pack.Problem, group []*cluster.Pod) (*pack.Problem, []cluster.PodRef) {
	q := *p
	q.Pending = group
	var refs []cluster.PodRef
	for _, pod := range group {
		refs = append(refs, pod.PodRef)
	}
	return &q, refs
}

func fitsNode(p *pack.Problem, group []*cluster.Pod) bool {
	q, refs := alone(p, group)
	return len(verify.Check(q, &plan.Plan{Placements: []plan.Placement{{Node: p.Nodes[0].Name, Pods: refs}}})) == 0
}

func priceOf(p *pack.Problem, group []*cluster.Pod) catalog.MicroUSD {
	q, refs := alone(p, group)
	q.Nodes = nil
	best := catalog.MicroUSD(-1)
	for _, pool := range p.Pools {
		for _, t := range pool.Types {
			for _, o := range t.Offerings {
				if best >= 0 && o.Price >= best {
					continue
				}
				out := &plan.Plan{Price: o.Price, NewNodes: []plan.NewNode{{Pool: pool.Name, Price: o.Price, Pods: refs,
					Requirements: []requirement.Term{in(requirement.Zone, o.Zone), in(requirement.CapacityType, o.CapacityType)},
					Types:        []plan.TypeChoice{{Name: t.Name, Price: o.Price, Zone: o.Zone, CapacityType: o.CapacityType}}}}}
				if len(verify.Check(q, out)) == 0 {
					best = o.Price
				}
			}
		}
	}
	return best
}

// servedBy are the pods that the plan places.
func servedBy(p *pack.Problem, out *plan.Plan) []*cluster.Pod {
	left := map[cluster.PodRef]bool{}
	for _, u := range out.Unplaced {
		for _, ref := range u.Pods {
			left[ref] = true
		}
	}
	var pods []*cluster.Pod
	for _, pod := range p.Pending {
		if !left[pod.PodRef] {
			pods = append(pods, pod)
		}
	}
	return pods
}

func TestNoWayToServeThePodsIsCheaperThanTheBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawTiny(t)
		out := pack.Solve(p)
		r := bound.Lower(p, out, bound.Budget{})
		best := cheapest(p, servedBy(p, out))
		if best < 0 {
			t.Fatalf("exhaustive search serves less than the plan\n%s", out)
		}
		if r.Bound > best || best > out.Price {
			t.Fatalf("bound %d, cheapest %d, plan %d\n%s", r.Bound, best, out.Price, out)
		}
		if got, err := bound.Check(p, r.Certificate); err != nil || got != r.Bound {
			t.Fatalf("the checker says %d, %v, not %d", got, err, r.Bound)
		}
	})
}

// Whatever is written into a certificate, the checker must not accept more than the truth.
func TestTheCheckerNeverAcceptsMoreThanTheCheapest(t *testing.T) {
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		p := drawTiny(t)
		out := pack.Solve(p)
		c := bound.Lower(p, out, bound.Budget{}).Certificate
		for i := range c.Rows {
			c.Rows[i].Value += c.Rows[i].Value * int64(rapid.IntRange(-30, 30).Draw(t, "change")) / 100
		}
		got, err := bound.Check(p, c)
		if err != nil {
			return
		}
		accepted++
		if best := cheapest(p, servedBy(p, out)); got > best {
			t.Fatalf("accepted as a proof of %d, where %d will do\n%s", got, best, out)
		}
	})
	if accepted == 0 {
		t.Error("no changed certificate was accepted: the test shows nothing")
	}
}
