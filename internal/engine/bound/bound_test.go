package bound_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/bound"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

const dollar = 1_000_000

// typ is a type with so many cores and GiB, at one price in zone a on demand.
func typ(name string, cores, gib int64, price catalog.MicroUSD, more ...catalog.Offering) *catalog.Type {
	t := &catalog.Type{Name: name, Capacity: res.List{res.CPU: cores * 1000, res.Memory: gib << 30, res.Pods: 100}}
	t.Offerings = append([]catalog.Offering{{Zone: "a", CapacityType: catalog.OnDemand, Price: price, Available: true}}, more...)
	var zones, ways []string
	for _, o := range t.Offerings {
		zones, ways = append(zones, o.Zone), append(ways, o.CapacityType)
	}
	t.Requirements = []requirement.Term{in(requirement.InstanceType, name), in(requirement.Arch, "amd64"),
		in(requirement.Zone, zones...), in(requirement.CapacityType, ways...)}
	return t
}

func class(cpu, gib int64, change ...func(*cluster.Class)) *cluster.Class {
	c := &cluster.Class{Namespace: "ns", Labels: map[string]string{"app": "web"},
		Requests: res.List{res.CPU: cpu, res.Memory: gib << 30, res.Pods: 1}}
	for _, f := range change {
		f(c)
	}
	c.ID = c.Hash()
	return c
}

func pods(n int, c *cluster.Class) []*cluster.Pod {
	var out []*cluster.Pod
	for i := range n {
		name := fmt.Sprintf("%s-%d", c.ID, i)
		out = append(out, &cluster.Pod{PodRef: cluster.PodRef{Namespace: "ns", Name: name, UID: name}, Class: c})
	}
	return out
}

func problem(types []*catalog.Type, pending ...[]*cluster.Pod) *pack.Problem {
	return &pack.Problem{Now: time.Unix(1, 0), Options: pack.Options{WellKnown: scenario.WellKnown()},
		Pending: slices.Concat(pending...), Pools: []*cluster.Pool{{Name: "default", Types: types}}}
}

func apart(c *cluster.Class) {
	c.AntiAffinity = []cluster.PodAffinity{{Key: requirement.Hostname, Namespaces: []string{"ns"},
		Selector: &cluster.Selector{Terms: []requirement.Term{in("app", "web")}}}}
}

func spread(skew int) func(*cluster.Class) {
	return func(c *cluster.Class) {
		c.Spreads = []cluster.Spread{{Key: requirement.Hostname, MaxSkew: skew, Selector: &cluster.Selector{Terms: []requirement.Term{in("app", "web")}}}}
	}
}

// inZones sells the type in two more zones, at the same price.
func inZones(t *catalog.Type) *catalog.Type {
	other := *t
	other.Offerings = []catalog.Offering{t.Offerings[0], t.Offerings[0], t.Offerings[0]}
	other.Offerings[1].Zone, other.Offerings[2].Zone = "b", "c"
	other.Requirements = append(slices.Clone(t.Requirements[:2:2]), in(requirement.Zone, "a", "b", "c"), t.Requirements[3])
	return &other
}

func overZones(c *cluster.Class) {
	c.Spreads = []cluster.Spread{{Key: requirement.Zone, MaxSkew: 1, Selector: &cluster.Selector{Terms: []requirement.Term{in("app", "web")}}}}
}

func node(name string, cores, gib int64, change ...func(*cluster.Node)) *cluster.Node {
	n := &cluster.Node{Name: name, Initialized: true, Used: res.List{}, Allocatable: res.List{res.CPU: cores * 1000, res.Memory: gib << 30, res.Pods: 100},
		Labels: map[string]string{requirement.Zone: "a", requirement.Hostname: name, requirement.Arch: "amd64"}}
	for _, f := range change {
		f(n)
	}
	return n
}

func TestBoundsWorkedOutByHand(t *testing.T) {
	large := typ("large", 4, 16, dollar)
	cases := map[string]struct {
		make func() *pack.Problem
		// cut is what is proven with instances that can be launched in part, want the bound.
		cut, want catalog.MicroUSD
	}{
		"ten cores on instances of four at a dollar cost two and a half": {
			func() *pack.Problem { return problem([]*catalog.Type{large}, pods(10, class(1000, 1))) }, 2_500_000, 3 * dollar},
		"a pod that leaves a quarter of the instance unused pays for it": {
			func() *pack.Problem { return problem([]*catalog.Type{large}, pods(10, class(3000, 1))) }, 10 * dollar, 10 * dollar},
		"two large pods, or one and two small ones, fill an instance": {
			// Cut at will they would need 26 cores, six and a half instances. Whole: five instances for one large and two small
			// ones, and two and a half for the large ones that are left.
			func() *pack.Problem {
				return problem([]*catalog.Type{large}, pods(10, class(1500, 1)), pods(10, class(1100, 1)))
			}, 7_500_000, 8 * dollar},
		"pods of much memory and pods of many cores share instances": {
			func() *pack.Problem {
				return problem([]*catalog.Type{large}, pods(10, class(1000, 0)), pods(10, class(0, 4)))
			}, 2_500_000, 3 * dollar},
		"the instance that is cheaper per core is launched": {
			func() *pack.Problem {
				return problem([]*catalog.Type{large, typ("huge", 8, 32, 1_600_000)}, pods(40, class(1000, 1)))
			}, 8 * dollar, 8 * dollar},
		"a single pod can't pay for a part of a larger instance only": {
			func() *pack.Problem {
				return problem([]*catalog.Type{large, typ("huge", 64, 256, 10*dollar)}, pods(1, class(1000, 1)))
			}, dollar, dollar},
		"pods that must be on demand pay the price on demand": {
			func() *pack.Problem {
				ty := typ("large", 4, 16, dollar, catalog.Offering{Zone: "a", CapacityType: catalog.Spot, Price: dollar / 4, Available: true})
				return problem([]*catalog.Type{ty}, pods(4, class(1000, 1)),
					pods(4, class(1000, 1, func(c *cluster.Class) {
						c.Selector = []requirement.Term{in(requirement.CapacityType, catalog.OnDemand)}
					})))
			}, 1_250_000, 1_250_000},
		"a volume keeps pods in the zone that is dearer": {
			func() *pack.Problem {
				ty := typ("large", 4, 16, dollar, catalog.Offering{Zone: "b", CapacityType: catalog.OnDemand, Price: 2 * dollar, Available: true})
				return problem([]*catalog.Type{ty}, pods(4, class(1000, 1, func(c *cluster.Class) {
					c.Volumes = [][]requirement.Term{{in(requirement.Zone, "b")}}
				})))
			}, 2 * dollar, 2 * dollar},
		"an offering that can't be had is not counted on": {
			func() *pack.Problem {
				ty := typ("large", 4, 16, dollar, catalog.Offering{Zone: "b", CapacityType: catalog.OnDemand, Price: dollar / 2})
				return problem([]*catalog.Type{ty}, pods(4, class(1000, 1)))
			}, dollar, dollar},
		"pods that repel each other take an instance each": {
			func() *pack.Problem { return problem([]*catalog.Type{large}, pods(5, class(100, 1, apart))) }, 5 * dollar, 5 * dollar},
		"classes that repel each other take an instance each": {
			func() *pack.Problem {
				return problem([]*catalog.Type{large}, pods(5, class(100, 1, apart)), pods(3, class(200, 1, apart)))
			}, 8 * dollar, 8 * dollar},
		"pods spread over hosts by a skew of two go two to an instance": {
			func() *pack.Problem { return problem([]*catalog.Type{large}, pods(5, class(100, 1, spread(2)))) }, 2_500_000, 3 * dollar},
		"pods with one host port take an instance each": {
			func() *pack.Problem {
				port := func(c *cluster.Class) { c.HostPorts = []cluster.HostPort{{Port: 80, Protocol: "TCP"}} }
				return problem([]*catalog.Type{large}, pods(2, class(100, 1, port)), pods(2, class(200, 1, port)))
			}, 4 * dollar, 4 * dollar},
		"existing nodes serve for free": {
			func() *pack.Problem {
				p := problem([]*catalog.Type{large}, pods(10, class(1000, 1)))
				p.Nodes = []*cluster.Node{node("one", 4, 16), node("two", 2, 16)}
				return p
			}, dollar, dollar},
		"what runs on existing nodes takes room": {
			func() *pack.Problem {
				p := problem([]*catalog.Type{large}, pods(10, class(1000, 1)))
				p.Nodes = []*cluster.Node{node("one", 4, 16, func(n *cluster.Node) { n.Used = res.List{res.CPU: 2500} })}
				return p
			}, 2_250_000, 2_250_000},
		"a hundred nodes are taken together": {
			func() *pack.Problem {
				p := problem([]*catalog.Type{large}, pods(150, class(1000, 1)))
				for i := range 100 {
					p.Nodes = append(p.Nodes, node(fmt.Sprint("node-", i), 1, 4))
				}
				return p
			}, 12_500_000, 12_500_000},
		"nodes of one name count each": {
			func() *pack.Problem {
				p := problem([]*catalog.Type{large}, pods(10, class(1000, 1)))
				p.Nodes = []*cluster.Node{node("one", 4, 16), node("one", 2, 16)}
				return p
			}, dollar, dollar},
		"a node in flight may still become what a pod wants": {
			func() *pack.Problem {
				p := problem([]*catalog.Type{large}, pods(8, class(1000, 1, func(c *cluster.Class) {
					c.Selector = []requirement.Term{in(requirement.Zone, "a")}
				})))
				p.Nodes = []*cluster.Node{node("one", 4, 16, func(n *cluster.Node) {
					n.Labels = map[string]string{}
					n.Requirements = []requirement.Term{in(requirement.Zone, "a", "b")}
				})}
				return p
			}, dollar, dollar},
		"nodes that are going away serve nobody": {
			func() *pack.Problem {
				p := problem([]*catalog.Type{large}, pods(10, class(1000, 1)))
				p.Nodes = []*cluster.Node{node("one", 4, 16, func(n *cluster.Node) { n.Deleting = true })}
				return p
			}, 2_500_000, 3 * dollar},
		"nor do those that are marked to go": {
			func() *pack.Problem {
				p := problem([]*catalog.Type{large}, pods(10, class(1000, 1)))
				p.Nodes = []*cluster.Node{node("one", 4, 16, func(n *cluster.Node) { n.Leaving = true })}
				return p
			}, 2_500_000, 3 * dollar},
		"a tainted node serves nobody who does not bear it": {
			func() *pack.Problem {
				p := problem([]*catalog.Type{large}, pods(10, class(1000, 1)))
				p.Nodes = []*cluster.Node{node("one", 4, 16, func(n *cluster.Node) { n.Taints = []cluster.Taint{{Key: "x", Effect: cluster.NoSchedule}} })}
				return p
			}, 2_500_000, 3 * dollar},
		"pods don't join a node where their like runs, if they repel each other": {
			func() *pack.Problem {
				p := problem([]*catalog.Type{large}, pods(5, class(100, 1, apart)))
				busy := func(n *cluster.Node) {
					n.Pods = []*cluster.Pod{{PodRef: cluster.PodRef{Namespace: "ns", Name: "old"}, Class: class(100, 1)}}
				}
				p.Nodes = []*cluster.Node{node("busy", 4, 16, busy), node("idle", 4, 16)}
				return p
			}, 4 * dollar, 4 * dollar},
		"daemons take room on every instance": {
			func() *pack.Problem {
				p := problem([]*catalog.Type{large}, pods(12, class(1000, 1)))
				p.Daemons = []cluster.Daemon{{Name: "agent", Class: class(500, 0)}}
				return p
			}, 4 * dollar, 4 * dollar},
		"daemons of another architecture take none": {
			func() *pack.Problem {
				p := problem([]*catalog.Type{large}, pods(12, class(1000, 1)))
				p.Daemons = []cluster.Daemon{{Name: "agent", Class: class(500, 0, func(c *cluster.Class) {
					c.Selector = []requirement.Term{in(requirement.Arch, "arm64")}
				})}}
				return p
			}, 3 * dollar, 3 * dollar},
		"a reservation serves as many instances as it holds": {
			func() *pack.Problem {
				ty := typ("large", 4, 16, dollar, catalog.Offering{Zone: "a", CapacityType: catalog.Reserved, ReservationID: "cr-1", Price: 0, Available: true, Reservable: 2})
				return problem([]*catalog.Type{ty}, pods(20, class(1000, 1)))
			}, 3 * dollar, 3 * dollar},
		"pools share a reservation": {
			func() *pack.Problem {
				ty := typ("large", 4, 16, dollar, catalog.Offering{Zone: "a", CapacityType: catalog.Reserved, ReservationID: "cr-1", Price: 100_000, Available: true, Reservable: 2})
				p := problem([]*catalog.Type{ty}, pods(20, class(1000, 1)))
				p.Pools = append(p.Pools, &cluster.Pool{Name: "other", Types: []*catalog.Type{ty}})
				return p
			}, 3_200_000, 3_200_000},
		"the order of weights is given up": {
			func() *pack.Problem {
				p := problem([]*catalog.Type{large}, pods(8, class(1000, 1)))
				p.Pools[0].Weight = 10
				p.Pools = append(p.Pools, &cluster.Pool{Name: "cheap", Types: []*catalog.Type{typ("thrifty", 4, 16, dollar/2)}})
				return p
			}, dollar, dollar},
		"a pool that is not ready sells nothing": {
			func() *pack.Problem {
				p := problem([]*catalog.Type{large}, pods(8, class(1000, 1)))
				p.Pools = append(p.Pools, &cluster.Pool{Name: "cheap", NotReady: "no subnets", Types: []*catalog.Type{typ("thrifty", 4, 16, dollar/2)}})
				return p
			}, 2 * dollar, 2 * dollar},
		"pods that find no place count for nothing": {
			func() *pack.Problem {
				return problem([]*catalog.Type{large}, pods(8, class(1000, 1)), pods(8, class(5000, 1)))
			}, 2 * dollar, 2 * dollar},
		"three pods that must be in three zones need three instances": {
			func() *pack.Problem {
				return problem([]*catalog.Type{inZones(large)}, pods(3, class(1000, 1, overZones)))
			}, 3 * dollar, 3 * dollar},
		"the dearest zone gets no more pods than it must": {
			func() *pack.Problem {
				ty := inZones(large)
				ty.Offerings[2].Price = 5 * dollar
				return problem([]*catalog.Type{ty}, pods(8, class(4000, 1, overZones)))
			}, 16 * dollar, 16 * dollar},
		"a pod goes to the zone that has the fewest of its like": {
			func() *pack.Problem {
				ty := inZones(large)
				ty.Offerings[2].Price = 5 * dollar
				p := problem([]*catalog.Type{ty}, pods(1, class(1000, 1, overZones)))
				for _, z := range []string{"a", "b"} {
					p.Nodes = append(p.Nodes, node("in-"+z, 1, 1, func(n *cluster.Node) {
						n.Labels[requirement.Zone] = z
						n.Used = res.List{res.CPU: 1000}
						n.Pods = []*cluster.Pod{{PodRef: cluster.PodRef{Namespace: "ns", Name: z}, Class: class(1000, 1)}}
					}))
				}
				return p
			}, 5 * dollar, 5 * dollar},
		"a spread that counts other pods is given up": {
			func() *pack.Problem {
				other := class(500, 1)
				return problem([]*catalog.Type{inZones(large)}, pods(3, class(1000, 1, overZones)), pods(1, other))
			}, dollar, dollar},
		"instances that cost nothing leave nothing to bound": {
			func() *pack.Problem {
				return problem([]*catalog.Type{large, typ("gift", 4, 16, 0)}, pods(8, class(1000, 1)))
			}, 0, 0},
		"no pods cost nothing": {func() *pack.Problem { return problem([]*catalog.Type{large}) }, 0, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := tc.make()
			out := pack.Solve(p)
			r := bound.Lower(p, out, bound.Budget{})
			// The certificate may fall short by a millionth, for rounding.
			if r.Bound > tc.want || r.Bound < tc.want-tc.want/500_000 {
				t.Errorf("bound %d, want %d\n%+v", r.Bound, tc.want, r)
			}
			cut := *r.Certificate
			cut.Whole = 0
			if got, err := bound.Check(p, &cut); err != nil || got > tc.cut || got < tc.cut-tc.cut/500_000 {
				t.Errorf("with instances launched in part %d, %v, want %d", got, err, tc.cut)
			}
			// A plan may count on more instances of a reservation than it holds; the bound does not.
			if r.Bound > out.Price && !strings.Contains(name, "reservation") {
				t.Errorf("the plan costs %d, less than the bound %d", out.Price, r.Bound)
			}
			if !r.Converged || r.Open > 1e-3 {
				t.Errorf("open %f, stopped: %s", r.Open, r.Stopped)
			}
			if got, err := bound.Check(p, r.Certificate); err != nil || got != r.Bound {
				t.Errorf("the checker says %d, %v", got, err)
			}
		})
	}
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func shuffled(p *pack.Problem, pl *plan.Plan, seed uint64) (*pack.Problem, *plan.Plan) {
	rng := rand.New(rand.NewPCG(seed, 3))
	q, out := *p, *pl
	q.Nodes, q.Pending, q.Pools, q.Daemons = slices.Clone(p.Nodes), slices.Clone(p.Pending), slices.Clone(p.Pools), slices.Clone(p.Daemons)
	rng.Shuffle(len(q.Nodes), func(i, j int) { q.Nodes[i], q.Nodes[j] = q.Nodes[j], q.Nodes[i] })
	rng.Shuffle(len(q.Pending), func(i, j int) { q.Pending[i], q.Pending[j] = q.Pending[j], q.Pending[i] })
	rng.Shuffle(len(q.Pools), func(i, j int) { q.Pools[i], q.Pools[j] = q.Pools[j], q.Pools[i] })
	for i, pool := range q.Pools {
		other := *pool
		other.Types = slices.Clone(pool.Types)
		rng.Shuffle(len(other.Types), func(i, j int) { other.Types[i], other.Types[j] = other.Types[j], other.Types[i] })
		q.Pools[i] = &other
	}
	out.NewNodes = slices.Clone(pl.NewNodes)
	rng.Shuffle(len(out.NewNodes), func(i, j int) { out.NewNodes[i], out.NewNodes[j] = out.NewNodes[j], out.NewNodes[i] })
	return &q, &out
}

func TestSameProblemSameBoundWhateverTheOrder(t *testing.T) {
	types := ec2Types(t)
	zoned := problem(types)
	for i, n := range []int{5, 3, 7, 1, 4} {
		c := class(int64(300+700*i), int64(1+i), overZones)
		c.Labels["app"] = fmt.Sprint("app-", i)
		c.Spreads[0].Selector.Terms[0].Values[0] = c.Labels["app"]
		c.ID = c.Hash()
		zoned.Pending = append(zoned.Pending, pods(n, c)...)
	}
	for name, p := range map[string]*pack.Problem{"mix": mix(600, families, types, 3), "generic": scenario.Generate(300, 60, 2), "zones": zoned} {
		t.Run(name, func(t *testing.T) {
			out := pack.Solve(p)
			want := asJSON(t, bound.Lower(p, out, bound.Budget{Work: 200_000_000}))
			if got := asJSON(t, bound.Lower(p, out, bound.Budget{Work: 200_000_000})); got != want {
				t.Error("a second run gives another bound")
			}
			for seed := range uint64(3) {
				q, same := shuffled(p, out, seed)
				if got := asJSON(t, bound.Lower(q, same, bound.Budget{Work: 200_000_000})); got != want {
					t.Errorf("seed %d: shuffled input gives another bound:\n%s\n%s", seed, want, got)
				}
			}
		})
	}
}

func TestABudgetEndsTheSearchWithAProof(t *testing.T) {
	p := mix(3000, families, ec2Types(t), 5)
	out := pack.Solve(p)
	full := bound.Lower(p, out, bound.Budget{})
	last := catalog.MicroUSD(-1)
	for _, work := range []int64{1, 100_000, 1_000_000, 10_000_000} {
		r := bound.Lower(p, out, bound.Budget{Work: work})
		if r.Work.Steps > work+20_000_000 {
			t.Errorf("budget %d: %d steps", work, r.Work.Steps)
		}
		if !r.Converged && r.Stopped == "" {
			t.Errorf("budget %d: does not say why it stopped", work)
		}
		if got, err := bound.Check(p, r.Certificate); err != nil || got != r.Bound {
			t.Errorf("budget %d: the checker says %d, %v, not %d", work, got, err, r.Bound)
		}
		if r.Bound > full.Bound+full.Bound/1000 || r.Bound < last {
			t.Errorf("budget %d proves %d, without it %d, with a smaller one %d", work, r.Bound, full.Bound, last)
		}
		last = r.Bound
	}
}

func TestManyClassesAreRoundedAndStillProven(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	p := problem(ec2Types(t))
	for range 2000 {
		p.Pending = append(p.Pending, pods(1+rng.IntN(3), class(100+int64(rng.IntN(7000)), 1+int64(rng.IntN(30))))...)
	}
	out := pack.Solve(p)
	r := bound.Lower(p, out, bound.Budget{})
	if !r.Work.Rounded || r.Work.Rows > 600 || r.Bound > out.Price || r.Bound < out.Price*8/10 {
		t.Errorf("bound %d of a plan at %d: %+v %s", r.Bound, out.Price, r.Work, r.Stopped)
	}
}

func TestTamperedCertificatesAreRefused(t *testing.T) {
	p := problem([]*catalog.Type{typ("large", 4, 16, dollar)}, pods(10, class(1000, 1)), pods(4, class(500, 6)))
	p.Nodes = []*cluster.Node{node("one", 2, 16)}
	out := pack.Solve(p)
	good := bound.Lower(p, out, bound.Budget{})
	cases := map[string]func(*bound.Certificate){
		"a value too high":           func(c *bound.Certificate) { c.Rows[0].Value += c.Rows[0].Value / 100 },
		"a value below zero":         func(c *bound.Certificate) { c.Rows[0].Value = -1 },
		"more pods than are":         func(c *bound.Certificate) { c.Rows[0].Count++ },
		"no pods":                    func(c *bound.Certificate) { c.Rows[0].Count = 0 },
		"whole instances below zero": func(c *bound.Certificate) { c.Whole = -1 },
		"values by zone of pods without a spread": func(c *bound.Certificate) {
			c.Rows[0].Value, c.Rows[0].Zones = 0, map[string]int64{"a": c.Rows[0].Value}
		},
		"a class twice":         func(c *bound.Certificate) { c.Rows = append(c.Rows, c.Rows[0]) },
		"a class that is not":   func(c *bound.Certificate) { c.Rows[0].Class = "other" },
		"weights below zero":    func(c *bound.Certificate) { c.Weights[0][res.CPU] = -1 },
		"weights of no meaning": func(c *bound.Certificate) { c.Weights[0]["gpu"] = 1 },
	}
	for name, tamper := range cases {
		t.Run(name, func(t *testing.T) {
			var c bound.Certificate
			if err := json.Unmarshal([]byte(asJSON(t, good.Certificate)), &c); err != nil {
				t.Fatal(err)
			}
			if got, err := bound.Check(p, &c); err != nil || got != good.Bound {
				t.Fatalf("read back, it proves %d, %v", got, err)
			}
			tamper(&c)
			if got, err := bound.Check(p, &c); err == nil {
				t.Errorf("accepted, as a proof of %d", got)
			}
		})
	}
	if _, err := bound.Check(p, nil); err == nil {
		t.Error("no certificate is accepted")
	}
}

func TestTamperedValuesByZoneAreRefused(t *testing.T) {
	make := func() *pack.Problem {
		return problem([]*catalog.Type{inZones(typ("large", 4, 16, dollar))}, pods(4, class(3000, 1, overZones)))
	}
	good := bound.Lower(make(), pack.Solve(make()), bound.Budget{})
	if good.Bound != 4*dollar || len(good.Certificate.Rows) != 1 || len(good.Certificate.Rows[0].Zones) != 3 {
		t.Fatalf("bound %d, rows %+v", good.Bound, good.Certificate.Rows)
	}
	for name, tamper := range map[string]func(*pack.Problem, *bound.Certificate){
		"a value too high":        func(_ *pack.Problem, c *bound.Certificate) { c.Rows[0].Zones["b"] += dollar * 10 },
		"a value below zero":      func(_ *pack.Problem, c *bound.Certificate) { c.Rows[0].Zones["b"] = -1 },
		"a zone that is not":      func(_ *pack.Problem, c *bound.Certificate) { c.Rows[0].Zones["d"] = 1 },
		"two kinds of values":     func(_ *pack.Problem, c *bound.Certificate) { c.Rows[0].Value = 1 },
		"a soft spread":           func(p *pack.Problem, _ *bound.Certificate) { p.Pending[0].Class.Spreads[0].Soft = true },
		"a spread over racks":     func(p *pack.Problem, _ *bound.Certificate) { p.Pending[0].Class.Spreads[0].Key = "rack" },
		"a spread of others":      func(p *pack.Problem, _ *bound.Certificate) { p.Pending[0].Class.Labels["app"] = "db" },
		"others that are counted": func(p *pack.Problem, _ *bound.Certificate) { p.Pending = append(p.Pending, pods(1, class(100, 1))...) },
		"a node without a settled zone": func(p *pack.Problem, _ *bound.Certificate) {
			p.Nodes = []*cluster.Node{node("one", 4, 16, func(n *cluster.Node) {
				n.Labels = map[string]string{}
				n.Requirements = []requirement.Term{in(requirement.Zone, "a", "b")}
			})}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var c bound.Certificate
			if err := json.Unmarshal([]byte(asJSON(t, good.Certificate)), &c); err != nil {
				t.Fatal(err)
			}
			p := make()
			tamper(p, &c)
			if got, err := bound.Check(p, &c); err == nil {
				t.Errorf("accepted, as a proof of %d", got)
			}
		})
	}
}

func TestWaysToFillAreSearchedWhereWeightsDoNotDo(t *testing.T) {
	p := problem([]*catalog.Type{typ("large", 4, 16, dollar)}, pods(10, class(1500, 1)), pods(10, class(1100, 1)))
	// One large pod and two small ones fit, or two large ones, or three small ones: worth 0.99 at most. Cut at will, two
	// large ones and most of a small one would be worth 1.145.
	c := &bound.Certificate{Weights: []bound.Weights{{res.CPU: 250_000 << 20}},
		Rows: []bound.Row{{Class: p.Pending[0].Class.ID, Count: 10, Value: 450_000_000}, {Class: p.Pending[10].Class.ID, Count: 10, Value: 270_000_000}}}
	if got, err := bound.Check(p, c); err != nil || got != 7_200_000 {
		t.Errorf("got %d, %v", got, err)
	}
	c.Rows[1].Value = 276_000_000
	if got, err := bound.Check(p, c); err == nil {
		t.Errorf("accepted, as a proof of %d", got)
	}
}

func TestABoundForManyPoolsAndNodesIsProven(t *testing.T) {
	types, err := scenario.EC2Types("us-east-1", []string{"m7i", "c7g", "r7a"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, all := vast(types, 120, 8, 150)
	r := bound.Lower(p, all, bound.Budget{})
	if got, err := bound.Check(p, r.Certificate); err != nil || got != r.Bound || r.Bound < 50*dollar {
		t.Errorf("bound %d; the checker says %d, %v\n%+v", r.Bound, got, err, r.Work)
	}
	if r.Price != 0 || r.Gap != -1 {
		t.Errorf("price %d, gap %f of a plan without a price", r.Price, r.Gap)
	}
}

func TestOddInputGivesABoundNotAPanic(t *testing.T) {
	good := class(1000, 1)
	negative := class(-1000, 1)
	cases := map[string]func(p *pack.Problem, out *plan.Plan){
		"pods without a class":    func(p *pack.Problem, _ *plan.Plan) { p.Pending[0].Class = nil },
		"a plan of unknown pods":  func(_ *pack.Problem, out *plan.Plan) { out.NewNodes[0].Pods[0].Name = "other" },
		"requests below zero":     func(p *pack.Problem, _ *plan.Plan) { p.Pending[0].Class = negative },
		"daemons without a class": func(p *pack.Problem, _ *plan.Plan) { p.Daemons = []cluster.Daemon{{Name: "x"}} },
		"no pools":                func(p *pack.Problem, _ *plan.Plan) { p.Pools = nil },
		"a pool without types":    func(p *pack.Problem, _ *plan.Plan) { p.Pools[0].Types = nil },
		"a type listed twice":     func(p *pack.Problem, _ *plan.Plan) { p.Pools[0].Types = append(p.Pools[0].Types, p.Pools[0].Types[0]) },
		"a pool that does not parse": func(p *pack.Problem, _ *plan.Plan) {
			p.Pools[0].Requirements = []requirement.Term{{Key: "k", Operator: "?"}}
		},
		"a price below zero":     func(p *pack.Problem, _ *plan.Plan) { p.Pools[0].Types[0].Offerings[0].Price = -1 },
		"a price beyond measure": func(p *pack.Problem, _ *plan.Plan) { p.Pools[0].Types[0].Offerings[0].Price = 1 << 62 },
		"room beyond measure":    func(p *pack.Problem, _ *plan.Plan) { p.Pools[0].Types[0].Capacity[res.Memory] = 1<<63 - 1 },
		"an overdrawn node": func(p *pack.Problem, _ *plan.Plan) {
			p.Nodes = []*cluster.Node{node("one", 1, 1, func(n *cluster.Node) { n.Used = res.List{res.CPU: 5000, res.Pods: 200} })}
		},
		"a node with pods without a class": func(p *pack.Problem, _ *plan.Plan) {
			p.Nodes = []*cluster.Node{node("one", 1, 1, func(n *cluster.Node) { n.Used, n.Pods = nil, []*cluster.Pod{{}} })}
		},
	}
	for name, spoil := range cases {
		t.Run(name, func(t *testing.T) {
			p := problem([]*catalog.Type{typ("large", 4, 16, dollar)}, pods(4, good), pods(4, class(500, 2)))
			out := pack.Solve(p)
			spoil(p, out)
			r := bound.Lower(p, out, bound.Budget{})
			if r.Certificate == nil || r.Bound < 0 {
				t.Fatalf("%+v", r)
			}
			if got, err := bound.Check(p, r.Certificate); err != nil || got != r.Bound {
				t.Errorf("bound %d; the checker says %d, %v", r.Bound, got, err)
			}
		})
	}
}

func TestLossesTellWhereTheGapComesFrom(t *testing.T) {
	p := mix(400, families, ec2Types(t), 9)
	out := pack.Solve(p)
	r := bound.Lower(p, out, bound.Budget{})
	sum := catalog.MicroUSD(0)
	for i, x := range bound.Losses(p, out, r.Certificate) {
		if x < 0 {
			t.Errorf("node %d of type %s is worth more than it costs, by %d", i, out.NewNodes[i].Types[0].Name, -x)
		}
		sum += x
	}
	if gap := out.Price - r.Bound; sum < gap-10 || sum > gap+catalog.MicroUSD(len(out.NewNodes))+10 {
		t.Errorf("the losses add up to %d, the gap is %d", sum, gap)
	}
}
