package pack_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/verify"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// drawSubnets gives pools subnets with few addresses, some of them shared, types that take several, and new nodes on their
// way.
func drawSubnets(t *rapid.T, p *pack.Problem) {
	var all []cluster.Subnet
	for _, z := range zones {
		for i := range rapid.IntRange(0, 2).Draw(t, "subnets") {
			all = append(all, cluster.Subnet{ID: fmt.Sprintf("%s%d", z, i), Zone: z, Free: int64(rapid.IntRange(0, 4).Draw(t, "free"))})
		}
	}
	for _, pool := range p.Pools {
		for _, x := range all {
			if rapid.IntRange(0, 3).Draw(t, "selected") > 0 {
				pool.Subnets = append(pool.Subnets, x)
			}
		}
	}
	for _, ty := range p.Pools[0].Types {
		ty.Addresses = int64(rapid.SampledFrom([]int{0, 0, 0, 2, 3}).Draw(t, "addresses"))
	}
	for _, n := range p.Nodes {
		if rapid.IntRange(0, 2).Draw(t, "in flight") == 0 {
			n.Initialized, n.Claim, n.Pool = false, n.Name, p.Pools[0].Name
		} else {
			n.Launched, n.Registered = true, true
		}
	}
}

// asked is what a new node takes of one of some subnets.
type asked struct {
	subnets []string
	takes   int64
}

// lodged reports whether all find their addresses, trying every way.
func lodged(left map[string]int64, all []asked) bool {
	if len(all) == 0 {
		return true
	}
	for _, id := range all[0].subnets {
		if left[id] >= all[0].takes {
			left[id] -= all[0].takes
			ok := lodged(left, all[1:])
			left[id] += all[0].takes
			if ok {
				return true
			}
		}
	}
	return false
}

// taken is what new nodes to launch may take in a zone, each wherever it may be launched there, by the words of the plan.
func taken(p *pack.Problem, out *plan.Plan, zone string) []asked {
	var all []asked
	for _, nn := range out.NewNodes {
		pool := p.Pools[slices.IndexFunc(p.Pools, func(x *cluster.Pool) bool { return x.Name == nn.Pool })]
		takes := int64(0)
		for _, ty := range pool.Types {
			listed := slices.ContainsFunc(nn.Types, func(c plan.TypeChoice) bool { return c.Name == ty.Name })
			for _, o := range ty.Offerings {
				allowed := !slices.ContainsFunc(nn.Requirements, func(r requirement.Term) bool {
					return r.Key == requirement.Zone && (r.Operator == requirement.In) != slices.Contains(r.Values, o.Zone) ||
						r.Key == requirement.CapacityType && (r.Operator == requirement.In) != slices.Contains(r.Values, o.CapacityType)
				})
				if listed && o.Zone == zone && o.Available && allowed {
					takes = max(takes, 1, ty.Addresses)
				}
			}
		}
		a := asked{takes: takes}
		for _, x := range pool.Subnets {
			if x.Zone == zone {
				a.subnets = append(a.subnets, x.ID)
			}
		}
		if takes > 0 && a.subnets != nil {
			all = append(all, a)
		}
	}
	return all
}

func TestNoPlanTakesMoreAddressesThanThereAre(t *testing.T) {
	bound, kept := 0, pack.NewEngine()
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, rapid.Bool().Draw(t, "topology"))
		drawSubnets(t, p)
		out := pack.Solve(p)
		for _, v := range verify.Check(p, out) {
			t.Fatalf("%s\n%s", v, out)
		}
		for _, zone := range zones {
			left := map[string]int64{}
			for _, pool := range p.Pools {
				for _, x := range pool.Subnets {
					left[x.ID] = x.Free
				}
			}
			if all := taken(p, out, zone); !lodged(left, all) {
				t.Fatalf("zone %s: instances take %v of %v\n%s", zone, all, left, out)
			}
		}
		if got, want := bytesOf(t, pack.Solve(shuffled(p, rapid.Uint64().Draw(t, "seed")))), bytesOf(t, out); got != want {
			t.Fatalf("shuffled input gives another plan:\n%s\n%s", want, got)
		}
		if got, want := bytesOf(t, kept.Solve(p)), bytesOf(t, out); got != want {
			t.Fatalf("an engine that solved others before gives another plan:\n%s\n%s", want, got)
		}
		if slices.ContainsFunc(out.Unplaced, func(u plan.Unplaced) bool {
			return slices.ContainsFunc(u.Reasons, func(r plan.Reason) bool { return r.Code == plan.NoAddresses })
		}) {
			bound++
		}
	})
	if bound == 0 {
		t.Error("addresses never ran short")
	}
}

// Where there are enough of them, addresses change nothing, and cost no second solution.
func TestAmpleAddressesChangeNothing(t *testing.T) {
	for seed := range uint64(3) {
		p := scenario.Generate(600, 100, seed)
		want := bytesOf(t, pack.Solve(p))
		for _, pool := range p.Pools {
			for _, ty := range pool.Types {
				for _, o := range ty.Offerings {
					if !slices.ContainsFunc(pool.Subnets, func(x cluster.Subnet) bool { return x.Zone == o.Zone }) {
						pool.Subnets = append(pool.Subnets, cluster.Subnet{ID: "subnet-" + o.Zone, Zone: o.Zone, Free: 600})
					}
				}
			}
		}
		e := pack.NewEngine()
		if got := bytesOf(t, e.Solve(p)); got != want {
			t.Errorf("seed %d: another plan:\n%s\n%s", seed, want, got)
		}
		if n := e.Worked().Pools; n != len(p.Pools) {
			t.Errorf("seed %d: %d pools were compiled, there are %d", seed, n, len(p.Pools))
		}
	}
}

// Three hundred new nodes that may go anywhere fill three zones of a hundred addresses each, to the last.
func TestInstancesWithAChoiceMakeRoomForOthers(t *testing.T) {
	p := scenario.Generate(1, 100, 1)
	class := &cluster.Class{Namespace: "ns", Labels: map[string]string{"app": "x"}, Requests: p.Pending[0].Class.Requests,
		AntiAffinity: []cluster.PodAffinity{{Key: requirement.Hostname, Namespaces: []string{"ns"}, Selector: &cluster.Selector{Terms: []requirement.Term{in("app", "x")}}}}}
	class.ID = class.Hash()
	p.Pending, p.Pools = nil, p.Pools[:1]
	for i := range 300 {
		p.Pending = append(p.Pending, &cluster.Pod{PodRef: cluster.PodRef{Namespace: "ns", Name: fmt.Sprint(i)}, Class: class})
	}
	found := map[string]bool{}
	for _, ty := range p.Pools[0].Types {
		for _, o := range ty.Offerings {
			found[o.Zone] = true
		}
	}
	for z := range found {
		p.Pools[0].Subnets = append(p.Pools[0].Subnets, cluster.Subnet{ID: z, Zone: z, Free: 300 / int64(len(found))})
	}
	slices.SortFunc(p.Pools[0].Subnets, func(a, b cluster.Subnet) int { return int(a.ID[len(a.ID)-1]) - int(b.ID[len(b.ID)-1]) })
	e := pack.NewEngine()
	out := e.Solve(p)
	if len(out.NewNodes) != 300 {
		t.Errorf("%d nodes for 300 pods that must be apart: %v", len(out.NewNodes), out.Unplaced)
	}
	if n := e.Worked().Pools; n != 1 {
		t.Errorf("%d pools were compiled: the problem was solved more than once", n)
	}
	for _, v := range verify.Check(p, out) {
		t.Error(v)
	}
}
