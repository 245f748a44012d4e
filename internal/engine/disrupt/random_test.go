package disrupt_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/engine/verify"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

var (
	zones = []string{"a", "b", "c"}
	apps  = []string{"web", "db", "job"}
)

func in(key string, values ...string) requirement.Term {
	return requirement.Term{Key: key, Operator: requirement.In, Values: values}
}

func drawTypes(t *rapid.T) []*catalog.Type {
	var out []*catalog.Type
	for i := range rapid.IntRange(1, 6).Draw(t, "types") {
		cpu := int64(rapid.IntRange(1, 8).Draw(t, "cpu"))
		ty := &catalog.Type{Name: fmt.Sprintf("type-%d", i), Overhead: res.List{res.CPU: 100},
			Capacity: res.List{res.CPU: cpu * 1000, res.Memory: cpu << 31, res.Pods: cpu * 6}}
		price := catalog.MicroUSD(cpu*100_000 + int64(rapid.IntRange(0, 40_000).Draw(t, "extra")))
		for _, z := range zones {
			od := price + catalog.MicroUSD(rapid.IntRange(0, 3).Draw(t, "more"))*10_000
			ty.Offerings = append(ty.Offerings,
				catalog.Offering{Zone: z, CapacityType: catalog.OnDemand, Price: od, Available: rapid.IntRange(0, 5).Draw(t, "available") > 0},
				catalog.Offering{Zone: z, CapacityType: catalog.Spot, Price: od / 3, Available: rapid.Bool().Draw(t, "spot")})
		}
		if n := rapid.IntRange(-3, 2).Draw(t, "reservable"); n > 0 {
			ty.Offerings = append(ty.Offerings, catalog.Offering{Zone: "a", CapacityType: catalog.Reserved, ReservationID: fmt.Sprintf("cr-%d", i), Reservable: n, Available: true})
		}
		arch := rapid.SampledFrom([]string{"amd64", "arm64"}).Draw(t, "arch")
		ty.Requirements = []requirement.Term{in(requirement.Arch, arch), in(requirement.InstanceType, ty.Name),
			in(requirement.Zone, zones...), in(requirement.CapacityType, catalog.OnDemand, catalog.Spot, catalog.Reserved)}
		out = append(out, ty)
	}
	return out
}

func drawClass(t *rapid.T, topology bool) *cluster.Class {
	c := &cluster.Class{Namespace: "ns", Labels: map[string]string{"app": rapid.SampledFrom(apps).Draw(t, "app")},
		Requests: res.List{res.CPU: int64(rapid.IntRange(1, 20).Draw(t, "cpu")) * 100,
			res.Memory: int64(rapid.IntRange(1, 20).Draw(t, "memory")) << 28, res.Pods: 1},
		Priority: int32(rapid.IntRange(-1, 1).Draw(t, "priority")) << 25}
	maybe := func(label string, f func()) {
		if rapid.IntRange(0, 4).Draw(t, label) == 0 {
			f()
		}
	}
	maybe("zoned", func() {
		c.Selector = append(c.Selector, in(requirement.Zone, rapid.SampledFrom(zones).Draw(t, "zone")))
	})
	maybe("on demand", func() { c.Selector = append(c.Selector, in(requirement.CapacityType, catalog.OnDemand)) })
	maybe("tolerates", func() { c.Tolerations = append(c.Tolerations, cluster.Toleration{Key: "special", Exists: true}) })
	maybe("port", func() { c.HostPorts = append(c.HostPorts, cluster.HostPort{Port: 80, Protocol: "TCP"}) })
	if topology {
		drawTopology(t, c)
	}
	c.ID = c.Hash()
	return c
}

func drawTopology(t *rapid.T, c *cluster.Class) {
	key := rapid.SampledFrom([]string{requirement.Zone, requirement.Hostname, requirement.CapacityType}).Draw(t, "key")
	term := cluster.PodAffinity{Key: key, Namespaces: []string{"ns"}, Selector: &cluster.Selector{Terms: []requirement.Term{in("app", c.Labels["app"])}}}
	switch rapid.IntRange(0, 7).Draw(t, "topology") {
	case 0:
		c.Spreads = append(c.Spreads, cluster.Spread{Key: key, MaxSkew: rapid.IntRange(1, 2).Draw(t, "skew"), Selector: term.Selector,
			MinDomains: rapid.IntRange(0, 3).Draw(t, "domains")})
	case 1:
		c.AntiAffinity = append(c.AntiAffinity, term)
	case 2:
		c.PodAffinity = append(c.PodAffinity, term)
	case 3:
		term.Selector = &cluster.Selector{Terms: []requirement.Term{in("app", rapid.SampledFrom(apps).Draw(t, "other"))}}
		c.AntiAffinity = append(c.AntiAffinity, term)
	}
}

// drawCluster plans some pods on an empty cluster, carries the plan out, and lets some of the pods end.
func drawCluster(t *rapid.T, topology bool) *pack.Problem {
	p := &pack.Problem{Now: scenario.Start, Options: pack.Options{WellKnown: scenario.WellKnown(), Upkeep: rapid.SampledFrom([]catalog.MicroUSD{0, 0, 2_200, 50_000}).Draw(t, "upkeep")}}
	types := drawTypes(t)
	for i := range rapid.IntRange(1, 2).Draw(t, "pools") {
		pool := &cluster.Pool{Name: fmt.Sprintf("pool-%d", i), Weight: rapid.IntRange(0, 1).Draw(t, "weight"), Types: types}
		if rapid.IntRange(0, 3).Draw(t, "tainted") == 0 {
			pool.Taints = []cluster.Taint{{Key: "special", Effect: rapid.SampledFrom([]cluster.Effect{cluster.NoSchedule, cluster.PreferNoSchedule}).Draw(t, "effect")}}
		}
		if rapid.IntRange(0, 3).Draw(t, "limited") == 0 {
			pool.Limits = res.List{res.CPU: int64(rapid.IntRange(10, 60).Draw(t, "limit")) * 1000, res.Nodes: int64(rapid.IntRange(4, 12).Draw(t, "nodes"))}
		}
		p.Pools = append(p.Pools, pool)
	}
	if rapid.Bool().Draw(t, "daemon") {
		p.Daemons = append(p.Daemons, cluster.Daemon{Name: "ns/agent", Class: &cluster.Class{ID: "agent", Requests: res.List{res.CPU: 100, res.Pods: 1}}})
	}
	serial := 0
	add := func(c *cluster.Class, n int) {
		for range n {
			serial++
			name := fmt.Sprintf("pod-%d", serial)
			p.Pending = append(p.Pending, &cluster.Pod{PodRef: cluster.PodRef{Namespace: "ns", Name: name, UID: name}, Class: c, CreatedAt: time.Unix(int64(serial%3), 0)})
		}
	}
	var classes []*cluster.Class
	for range rapid.IntRange(1, 6).Draw(t, "classes") {
		c := drawClass(t, topology)
		classes = append(classes, c)
		add(c, rapid.IntRange(1, 6).Draw(t, "count"))
	}
	e := scenario.New()
	e.Problem = p
	if _, err := e.Run("apply", ""); err != nil {
		t.Fatal(err)
	}
	p.Pending = nil
	for _, n := range p.Nodes {
		n.Pods = slices.DeleteFunc(n.Pods, func(pod *cluster.Pod) bool {
			if rapid.IntRange(0, 2).Draw(t, "ends") > 0 {
				return false
			}
			for k, x := range pod.Class.Requests {
				n.Used[k] -= x
			}
			return true
		})
		if rapid.IntRange(0, 4).Draw(t, "dear") == 0 {
			n.Price += 200_000
		}
		if rapid.IntRange(0, 5).Draw(t, "deleting") == 0 {
			n.Deleting = true
			for _, pod := range n.Pods {
				if rapid.Bool().Draw(t, "displaced") {
					p.Pending = append(p.Pending, pod)
				} else {
					pod.Terminating, pod.Lingers = true, rapid.Bool().Draw(t, "lingers")
				}
			}
		}
	}
	if rapid.Bool().Draw(t, "pending") {
		add(classes[0], 1)
	}
	return p
}

func drawProblem(t *rapid.T) *disrupt.Problem {
	p := &disrupt.Problem{Cluster: drawCluster(t, true), DeletionCosts: map[string]int32{}, Options: disrupt.Options{
		SpotToSpot: rapid.Bool().Draw(t, "spot to spot"), MinSpotTypes: rapid.IntRange(1, 3).Draw(t, "types")}}
	if rapid.Bool().Draw(t, "priced") {
		p.Options.PodPrice, p.Options.NodePrice, p.Options.Overlap = 100, 1_000, time.Minute
	}
	for _, n := range p.Cluster.Nodes {
		own := disrupt.Node{Name: n.Name}
		if rapid.IntRange(0, 5).Draw(t, "blocked") == 0 {
			own.Blocks = []disrupt.Reason{{Code: disrupt.DoNotDisrupt}}
		}
		p.Nodes = append(p.Nodes, own)
		for _, pod := range n.Pods {
			if rapid.IntRange(0, 9).Draw(t, "cheap") == 0 {
				p.DeletionCosts[pod.PodRef.String()] = -1 << 28
			}
		}
	}
	for _, pool := range p.Cluster.Pools {
		if rapid.IntRange(0, 2).Draw(t, "subnets") == 0 {
			pool.Subnets = []cluster.Subnet{{ID: "subnet-a", Zone: "a", Free: int64(rapid.IntRange(0, 3).Draw(t, "free"))}}
		}
		own := disrupt.Pool{Name: pool.Name, Static: rapid.IntRange(0, 9).Draw(t, "static") == 0, Policy: rapid.SampledFrom([]disrupt.Policy{
			disrupt.WhenEmpty, disrupt.WhenEmptyOrUnderutilized, disrupt.WhenEmptyOrUnderutilized, disrupt.Balanced}).Draw(t, "policy")}
		if rapid.IntRange(0, 2).Draw(t, "budgeted") == 0 {
			own.Allowed = map[disrupt.Cause]int{disrupt.Empty: rapid.IntRange(0, 4).Draw(t, "empty"), disrupt.Underutilized: rapid.IntRange(0, 4).Draw(t, "under")}
		}
		p.Pools = append(p.Pools, own)
	}
	return p
}

func bytesOf(t interface{ Fatal(...any) }, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestDecisionsSurviveTheSecondOpinion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		before := bytesOf(t, p)
		d := disrupt.Decide(p)
		for _, v := range verify.Moves(p, d) {
			t.Fatalf("%s\n%s", v, d)
		}
		if bytesOf(t, p) != before {
			t.Fatal("the problem was changed")
		}
	})
}

func TestAnyNumberOfMovesFromTheFrontIsFeasible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		d := disrupt.Decide(p)
		for n := range d.Moves {
			part := *d
			part.Moves = d.Moves[:n]
			for _, v := range verify.Moves(p, &part) {
				if v.Rule != "node" && v.Where != "decision" { // what stays is said for all moves together
					t.Fatalf("the first %d moves: %s\n%s", n, v, d)
				}
			}
		}
	})
}

func TestRoundsEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		for round := 0; ; round++ {
			d := disrupt.Decide(p)
			if len(d.Moves) == 0 {
				return
			}
			if round == 50 {
				t.Fatalf("no end\n%s", d)
			}
			for i := range d.Moves {
				if m := &d.Moves[i]; m.Certain <= 0 && m.Old > 0 {
					t.Fatalf("the bill may not shrink\n%s", d)
				}
			}
			next := *p
			next.Cluster = scenario.CarryOut(p.Cluster, d)
			next.Nodes = nil
			for _, n := range next.Cluster.Nodes {
				next.Nodes = append(next.Nodes, disrupt.Node{Name: n.Name})
			}
			p = &next
		}
	})
}

func shuffled(p *disrupt.Problem, seed uint64) *disrupt.Problem {
	rng := rand.New(rand.NewPCG(seed, 6))
	q, c := *p, *p.Cluster
	q.Cluster = &c
	c.Nodes, c.Pending, c.Pools = slices.Clone(c.Nodes), slices.Clone(c.Pending), slices.Clone(c.Pools)
	q.Nodes, q.Pools = slices.Clone(p.Nodes), slices.Clone(p.Pools)
	rng.Shuffle(len(c.Nodes), func(i, j int) { c.Nodes[i], c.Nodes[j] = c.Nodes[j], c.Nodes[i] })
	rng.Shuffle(len(c.Pools), func(i, j int) { c.Pools[i], c.Pools[j] = c.Pools[j], c.Pools[i] })
	rng.Shuffle(len(q.Nodes), func(i, j int) { q.Nodes[i], q.Nodes[j] = q.Nodes[j], q.Nodes[i] })
	rng.Shuffle(len(q.Pools), func(i, j int) { q.Pools[i], q.Pools[j] = q.Pools[j], q.Pools[i] })
	for i, n := range c.Nodes {
		own := *n
		own.Pods = slices.Clone(n.Pods)
		rng.Shuffle(len(own.Pods), func(i, j int) { own.Pods[i], own.Pods[j] = own.Pods[j], own.Pods[i] })
		c.Nodes[i] = &own
	}
	for i, pool := range c.Pools {
		own := *pool
		own.Types = slices.Clone(pool.Types)
		rng.Shuffle(len(own.Types), func(i, j int) { own.Types[i], own.Types[j] = own.Types[j], own.Types[i] })
		c.Pools[i] = &own
	}
	return &q
}

func TestSameProblemSameDecisionWhateverTheOrder(t *testing.T) {
	check := func(t interface{ Fatal(...any) }, p *disrupt.Problem, seed uint64) {
		want := bytesOf(t, disrupt.Decide(p))
		if got := bytesOf(t, disrupt.Decide(shuffled(p, seed))); got != want {
			t.Fatal("shuffled input gives another decision:\n" + cmp.Diff(want, got))
		}
	}
	rapid.Check(t, func(t *rapid.T) { check(t, drawProblem(t), rapid.Uint64().Draw(t, "seed")) })
	for _, procs := range []int{1, 2} {
		before := runtime.GOMAXPROCS(procs)
		check(t, anyway(fragmented(t, scenario.Fragmentation{Nodes: 60, Pods: 8, Percent: 30, Spot: true, Topology: true, Seed: 5})), uint64(procs))
		runtime.GOMAXPROCS(before)
	}
}
