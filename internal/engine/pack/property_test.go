package pack_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/engine/verify"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

var (
	zones  = []string{"a", "b", "c"}
	teams  = []string{"red", "blue"}
	apps   = []string{"web", "db", "job"}
	arches = []string{"amd64", "arm64"}
)

func in(key string, values ...string) requirement.Term {
	return requirement.Term{Key: key, Operator: requirement.In, Values: values}
}

func drawType(t *rapid.T, i int) *catalog.Type {
	cpu := int64(rapid.IntRange(1, 6).Draw(t, "cpu"))
	ty := &catalog.Type{Name: fmt.Sprintf("type-%d", i), Capacity: res.List{res.CPU: cpu * 1000, res.Memory: cpu << 31, res.Pods: cpu * 4},
		Overhead: res.List{res.CPU: 100}}
	if rapid.Bool().Draw(t, "attaches") {
		ty.AttachLimits = res.List{"ebs": int64(rapid.IntRange(1, 4).Draw(t, "attach"))}
	}
	price := catalog.MicroUSD(cpu*100_000 + int64(rapid.IntRange(0, 40_000).Draw(t, "extra")))
	for _, z := range zones {
		if rapid.IntRange(0, 4).Draw(t, "offered") == 0 {
			continue
		}
		ty.Offerings = append(ty.Offerings,
			catalog.Offering{Zone: z, CapacityType: catalog.OnDemand, Price: price, Available: rapid.IntRange(0, 4).Draw(t, "available") > 0},
			catalog.Offering{Zone: z, CapacityType: catalog.Spot, Price: price / 3, Available: rapid.Bool().Draw(t, "spot")})
	}
	for i := range ty.Offerings {
		if o := &ty.Offerings[i]; !o.Available && rapid.Bool().Draw(t, "short") {
			o.Unavailable, o.Opens = "insufficient capacity", time.Unix(60, 0)
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "reserved") == 0 {
		n := rapid.IntRange(0, 2).Draw(t, "reservable")
		ty.Offerings = append(ty.Offerings, catalog.Offering{Zone: rapid.SampledFrom(zones).Draw(t, "zone"), CapacityType: catalog.Reserved,
			ReservationID: fmt.Sprintf("cr-%d", i), Reservable: n, Available: n > 0})
	}
	ty.Requirements = []requirement.Term{in(requirement.Arch, rapid.SampledFrom(arches).Draw(t, "arch")), in(requirement.InstanceType, ty.Name),
		in(requirement.Zone, zones...), in(requirement.CapacityType, catalog.OnDemand, catalog.Reserved, catalog.Spot)}
	return ty
}

func drawSelector(t *rapid.T) *cluster.Selector {
	return &cluster.Selector{Terms: []requirement.Term{in("app", rapid.SampledFrom(apps).Draw(t, "selected"))}}
}

func drawClass(t *rapid.T, topology bool) *cluster.Class {
	c := &cluster.Class{Namespace: "ns", Labels: map[string]string{"app": rapid.SampledFrom(apps).Draw(t, "app")},
		Requests: res.List{res.CPU: int64(rapid.IntRange(1, 30).Draw(t, "cpu")) * 100, res.Memory: int64(rapid.IntRange(1, 30).Draw(t, "memory")) << 28, res.Pods: 1},
		Priority: int32(rapid.IntRange(0, 1).Draw(t, "priority"))}
	maybe := func(label string, f func()) {
		if rapid.IntRange(0, 4).Draw(t, label) == 0 {
			f()
		}
	}
	maybe("arch", func() {
		c.Selector = append(c.Selector, in(requirement.Arch, rapid.SampledFrom(arches).Draw(t, "arch")))
	})
	maybe("zone", func() {
		c.Affinity = append(c.Affinity, []requirement.Term{{Key: requirement.Zone, Operator: requirement.NotIn, Values: []string{rapid.SampledFrom(zones).Draw(t, "zone")}}},
			[]requirement.Term{in(requirement.CapacityType, catalog.OnDemand)})
	})
	maybe("team", func() { c.Selector = append(c.Selector, in("team", rapid.SampledFrom(teams).Draw(t, "team"))) })
	maybe("tolerates", func() { c.Tolerations = append(c.Tolerations, cluster.Toleration{Key: "special", Exists: true}) })
	maybe("port", func() { c.HostPorts = append(c.HostPorts, cluster.HostPort{Port: 80, Protocol: "TCP"}) })
	maybe("volume", func() {
		c.Volumes = [][]requirement.Term{{in(requirement.Zone, rapid.SampledFrom(zones).Draw(t, "zone"))}}
	})
	if topology {
		drawTopology(t, c)
	}
	maybe("attach", func() { c.Attach = res.List{"ebs": int64(rapid.IntRange(1, 2).Draw(t, "volumes"))} })
	maybe("shared", func() {
		c.Shared = []cluster.SharedVolume{{Driver: "ebs", Volume: rapid.SampledFrom(apps).Draw(t, "volume")}}
	})
	drawPreferences(t, c)
	c.ID = c.Hash()
	return c
}

func drawTopology(t *rapid.T, c *cluster.Class) {
	key := rapid.SampledFrom([]string{requirement.Zone, requirement.Hostname, requirement.CapacityType}).Draw(t, "key")
	own := &cluster.Selector{Terms: []requirement.Term{in("app", c.Labels["app"])}}
	term := cluster.PodAffinity{Key: key, Namespaces: []string{"ns"}, Selector: own}
	switch rapid.IntRange(0, 10).Draw(t, "topology") {
	case 7: // two keys, one of which some nodes lack
		c.Spreads = append(c.Spreads, cluster.Spread{Key: "team", MaxSkew: 1, Selector: own}, cluster.Spread{Key: requirement.Zone, MaxSkew: 2, Selector: own})
	case 8:
		c.Spreads = append(c.Spreads, cluster.Spread{Key: rapid.SampledFrom([]string{"team", key}).Draw(t, "custom"), MaxSkew: 1, Selector: drawSelector(t),
			IgnoreAffinity: rapid.Bool().Draw(t, "affinity"), HonorTaints: rapid.Bool().Draw(t, "taints"), MinDomains: rapid.IntRange(0, 2).Draw(t, "domains")})
	case 9: // apart from one, with another
		term.Selector = drawSelector(t)
		other := cluster.PodAffinity{Key: rapid.SampledFrom([]string{requirement.Zone, "team"}).Draw(t, "with"), Namespaces: []string{"ns"}, Selector: drawSelector(t)}
		c.AntiAffinity, c.PodAffinity = append(c.AntiAffinity, term), append(c.PodAffinity, other)
	case 0:
		c.Spreads = append(c.Spreads, cluster.Spread{Key: key, MaxSkew: rapid.IntRange(1, 2).Draw(t, "skew"), Selector: own,
			MinDomains: rapid.IntRange(0, 3).Draw(t, "domains")})
	case 1:
		c.AntiAffinity = append(c.AntiAffinity, term)
	case 2:
		c.PodAffinity = append(c.PodAffinity, term)
	case 3:
		term.Selector = drawSelector(t)
		c.AntiAffinity = append(c.AntiAffinity, term)
	case 4:
		c.Spreads = append(c.Spreads, cluster.Spread{Key: requirement.Hostname, MaxSkew: 1, Selector: own},
			cluster.Spread{Key: requirement.Zone, MaxSkew: 1, Selector: own})
	}
}

func drawPreferences(t *rapid.T, c *cluster.Class) {
	key := rapid.SampledFrom([]string{requirement.Zone, requirement.Hostname, requirement.CapacityType}).Draw(t, "wishKey")
	own := &cluster.Selector{Terms: []requirement.Term{in("app", c.Labels["app"])}}
	term := cluster.PodAffinity{Key: key, Namespaces: []string{"ns"}, Selector: own, Weight: rapid.IntRange(1, 100).Draw(t, "weight")}
	switch rapid.IntRange(0, 8).Draw(t, "preference") {
	case 0:
		c.Spreads = append(c.Spreads, cluster.Spread{Key: key, MaxSkew: rapid.IntRange(1, 2).Draw(t, "skew"), Selector: own, Soft: true})
	case 1:
		c.AntiAffinity = append(c.AntiAffinity, term)
	case 2:
		c.PodAffinity = append(c.PodAffinity, term)
	case 3:
		term.Selector = drawSelector(t)
		c.AntiAffinity = append(c.AntiAffinity, term)
		fallthrough
	case 4:
		c.Preferred = []cluster.WeightedTerms{{Weight: 2, Terms: []requirement.Term{in(requirement.Arch, "arm64")}},
			{Weight: 1, Terms: []requirement.Term{in(requirement.Zone, rapid.SampledFrom(zones).Draw(t, "zone"))}}}
	}
}

// revised is the class as another revision of its workload has it: the constraints are the same ones.
func revised(t *rapid.T, c *cluster.Class) *cluster.Class {
	next := *c
	next.Labels, next.Requests = maps.Clone(c.Labels), c.Requests.Clone()
	next.Labels["revision"], next.Requests[res.CPU] = "2", int64(rapid.IntRange(1, 30).Draw(t, "cpu"))*100
	next.ID = next.Hash()
	return &next
}

func drawProblem(t *rapid.T, topology bool) *pack.Problem {
	p := &pack.Problem{Now: time.Unix(1, 0), Options: pack.Options{WellKnown: scenario.WellKnown()}}
	p.Options.PreferenceShare = rapid.SampledFrom([]float64{0, 0, 0.5, -1}).Draw(t, "share")
	p.Options.IgnorePreferences = rapid.IntRange(0, 4).Draw(t, "policy") == 0
	p.Options.Upkeep = rapid.SampledFrom([]catalog.MicroUSD{0, 0, 2_200, 50_000}).Draw(t, "upkeep")
	p.Options.PriceGuard = rapid.SampledFrom([]int64{0, 0, 1, 2}).Draw(t, "guard")
	var types []*catalog.Type
	for i := range rapid.IntRange(1, 5).Draw(t, "types") {
		types = append(types, drawType(t, i))
	}
	for i := range rapid.IntRange(1, 2).Draw(t, "pools") {
		pool := &cluster.Pool{Name: fmt.Sprintf("pool-%d", i), Weight: rapid.IntRange(0, 1).Draw(t, "weight"), Types: types}
		if rapid.Bool().Draw(t, "teams") {
			pool.Requirements = append(pool.Requirements, in("team", teams...))
		}
		if rapid.IntRange(0, 3).Draw(t, "tainted") == 0 {
			pool.Taints = []cluster.Taint{{Key: "special", Effect: rapid.SampledFrom([]cluster.Effect{cluster.NoSchedule, cluster.PreferNoSchedule}).Draw(t, "effect")}}
		}
		if rapid.IntRange(0, 3).Draw(t, "limited") == 0 {
			pool.Limits = res.List{res.CPU: int64(rapid.IntRange(1, 12).Draw(t, "limit")) * 1000, res.Nodes: int64(rapid.IntRange(1, 4).Draw(t, "nodes"))}
		}
		if rapid.IntRange(0, 4).Draw(t, "varied") == 0 {
			key := rapid.SampledFrom([]string{requirement.Zone, requirement.CapacityType, requirement.InstanceType, requirement.Arch}).Draw(t, "values of")
			pool.Requirements = append(pool.Requirements, requirement.Term{Key: key, Operator: requirement.Exists, MinValues: rapid.IntRange(1, 3).Draw(t, "least")})
			p.Options.MinValuesBestEffort = rapid.Bool().Draw(t, "best effort")
		}
		p.Pools = append(p.Pools, pool)
	}
	if rapid.Bool().Draw(t, "daemon") {
		p.Daemons = append(p.Daemons, cluster.Daemon{Name: "ns/agent", Class: &cluster.Class{ID: "agent", Requests: res.List{res.CPU: 200, res.Pods: 1},
			Affinity: [][]requirement.Term{{in(requirement.Arch, "s390x")}, {in(requirement.Arch, "arm64")}}}})
	}
	var classes []*cluster.Class
	for range rapid.IntRange(1, 5).Draw(t, "classes") {
		c := drawClass(t, topology)
		if rapid.IntRange(0, 5).Draw(t, "virtual") == 0 {
			c.Virtual, c.Priority = true, math.MinInt32
			c.ID = c.Hash()
		}
		classes = append(classes, c)
		if len(c.Spreads) > 0 && rapid.Bool().Draw(t, "revised") {
			classes = append(classes, revised(t, c))
		}
	}
	drawNodes(t, p, classes, topology)
	n := 0
	for _, c := range classes {
		for range rapid.IntRange(1, 5).Draw(t, "count") {
			n++
			name := fmt.Sprintf("pod-%d", n)
			p.Pending = append(p.Pending, &cluster.Pod{PodRef: cluster.PodRef{Namespace: "ns", Name: name, UID: name}, Class: c, CreatedAt: time.Unix(int64(n%3), 0)})
		}
	}
	return p
}

func drawNodes(t *rapid.T, p *pack.Problem, classes []*cluster.Class, topology bool) {
	for i := range rapid.IntRange(0, 3).Draw(t, "existing") {
		name := fmt.Sprintf("node-%d", i)
		n := &cluster.Node{Name: name, Initialized: true, Allocatable: res.List{res.CPU: 3000, res.Memory: 8 << 30, res.Pods: 10}, Used: res.List{},
			Labels: map[string]string{requirement.Zone: rapid.SampledFrom(zones).Draw(t, "zone"), requirement.Arch: "amd64", requirement.CapacityType: catalog.OnDemand,
				requirement.Hostname: name, "team": rapid.SampledFrom(teams).Draw(t, "team")}}
		if rapid.IntRange(0, 3).Draw(t, "teamless") == 0 {
			delete(n.Labels, "team")
		}
		if rapid.Bool().Draw(t, "attaches") {
			n.AttachLimits = res.List{"ebs": int64(rapid.IntRange(1, 4).Draw(t, "attach"))}
		}
		if rapid.Bool().Draw(t, "busy") {
			// A running pod has no demands that could be broken before we begin.
			plain := &cluster.Class{Namespace: "ns", Labels: classes[0].Labels, Requests: res.List{res.CPU: 500, res.Pods: 1}}
			if rapid.Bool().Draw(t, "repels") {
				key := rapid.SampledFrom([]string{requirement.Hostname, requirement.Zone, requirement.CapacityType, "team"}).Draw(t, "from")
				plain.AntiAffinity = []cluster.PodAffinity{{Key: key, Namespaces: []string{"ns"}, Selector: drawSelector(t)}}
				if rapid.IntRange(0, 2).Draw(t, "the revision") == 0 {
					plain.AntiAffinity[0].Selector.Terms = append(plain.AntiAffinity[0].Selector.Terms, in("revision", "2"))
				}
			}
			plain.Attach = classes[0].Attach
			plain.ID = plain.Hash()
			old := &cluster.Pod{PodRef: cluster.PodRef{Namespace: "ns", Name: "old-" + name}, Class: plain, Node: name}
			if rapid.IntRange(0, 3).Draw(t, "ends") == 0 {
				old.Terminating, old.Lingers = true, rapid.Bool().Draw(t, "lingers")
			}
			n.Pods = []*cluster.Pod{old}
			n.Used = plain.Requests.Clone()
		}
		n.Leaving = rapid.IntRange(0, 5).Draw(t, "leaving") == 0
		if rapid.IntRange(0, 5).Draw(t, "deleting") == 0 {
			n.Deleting = true
			for _, old := range n.Pods {
				switch x := rapid.IntRange(0, 3).Draw(t, "displaced"); {
				case x == 0:
					old.Mirror = true
				case x == 1 && topology: // it may bear anti-affinity
					old.Terminating, old.Lingers = false, false
					p.Pending = append(p.Pending, old)
				}
			}
		}
		p.Nodes = append(p.Nodes, n)
	}
}

func bytesOf(t interface{ Fatal(...any) }, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestPlansAreFeasible(t *testing.T) {
	for _, topology := range []bool{false, true} {
		t.Run(fmt.Sprintf("topology=%v", topology), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := drawProblem(t, topology)
				before := bytesOf(t, p)
				out := pack.Solve(p)
				for _, v := range verify.Check(p, out) {
					t.Fatalf("%s\n%s", v, out)
				}
				if bytesOf(t, p) != before {
					t.Fatal("the problem was changed")
				}
			})
		})
	}
}

func shuffled(p *pack.Problem, seed uint64) *pack.Problem {
	rng := rand.New(rand.NewPCG(seed, 3))
	q := *p
	q.Nodes, q.Pending, q.Pools = slices.Clone(p.Nodes), slices.Clone(p.Pending), slices.Clone(p.Pools)
	q.Daemons, q.Options.WellKnown = slices.Clone(p.Daemons), slices.Clone(p.Options.WellKnown)
	rng.Shuffle(len(q.Nodes), func(i, j int) { q.Nodes[i], q.Nodes[j] = q.Nodes[j], q.Nodes[i] })
	rng.Shuffle(len(q.Pending), func(i, j int) { q.Pending[i], q.Pending[j] = q.Pending[j], q.Pending[i] })
	rng.Shuffle(len(q.Pools), func(i, j int) { q.Pools[i], q.Pools[j] = q.Pools[j], q.Pools[i] })
	rng.Shuffle(len(q.Options.WellKnown), func(i, j int) {
		q.Options.WellKnown[i], q.Options.WellKnown[j] = q.Options.WellKnown[j], q.Options.WellKnown[i]
	})
	for i, pool := range q.Pools {
		other := *pool
		other.Types = slices.Clone(pool.Types)
		rng.Shuffle(len(other.Types), func(i, j int) { other.Types[i], other.Types[j] = other.Types[j], other.Types[i] })
		q.Pools[i] = &other
	}
	return &q
}

func TestSameProblemSamePlanWhateverTheOrder(t *testing.T) {
	check := func(t interface{ Fatal(...any) }, p *pack.Problem, seed uint64) {
		want := bytesOf(t, pack.Solve(p))
		if again := bytesOf(t, pack.Solve(p)); again != want {
			t.Fatal("a second run gives another plan")
		}
		if got := bytesOf(t, pack.Solve(shuffled(p, seed))); got != want {
			t.Fatal("shuffled input gives another plan:\n" + want + "\n" + got)
		}
	}
	rapid.Check(t, func(t *rapid.T) { check(t, drawProblem(t, true), rapid.Uint64().Draw(t, "seed")) })
	for _, procs := range []int{1, 2} {
		before := runtime.GOMAXPROCS(procs)
		check(t, scenario.Generate(300, 100, 1), uint64(procs))
		runtime.GOMAXPROCS(before)
	}
}

// makeEndless takes away what may run out: limits and reservations; and what lets pods wait for a better time.
func makeEndless(p *pack.Problem) {
	p.Options.PriceGuard = 0
	for _, pool := range p.Pools {
		pool.Limits = nil
		for _, ty := range pool.Types {
			ty.Offerings = slices.DeleteFunc(ty.Offerings, func(o catalog.Offering) bool { return o.CapacityType == catalog.Reserved })
		}
	}
}

func TestNothingIsLeftToDoAfterAPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, false)
		makeEndless(p)
		out := pack.Solve(p)
		left := *p
		left.Pending = nil
		unplaced := map[cluster.PodRef]bool{}
		for _, u := range out.Unplaced {
			for _, ref := range u.Pods {
				unplaced[ref] = true
			}
		}
		for _, pod := range p.Pending {
			if unplaced[pod.PodRef] {
				left.Pending = append(left.Pending, pod)
			}
		}
		if again := pack.Solve(&left); len(again.NewNodes) > 0 {
			t.Fatalf("pods that were given up can be placed:\n%s", again)
		}
	})
}
