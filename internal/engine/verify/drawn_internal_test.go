package verify

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

var drawnKeys = []string{requirement.Zone, requirement.Zone, requirement.Hostname, requirement.CapacityType, "rack"}

type drawn struct{ *rapid.T }

func (t drawn) upTo(n int) int { return rapid.IntRange(0, n).Draw(t.T, "n") }

func (t drawn) chance(one int) bool { return t.upTo(one-1) == 0 }

func (t drawn) of(s ...string) string { return rapid.SampledFrom(s).Draw(t.T, "of") }

func has(key string, values ...string) requirement.Term {
	return requirement.Term{Key: key, Operator: requirement.In, Values: values}
}

// term is a demand of some label, in different words.
func (t drawn) term() requirement.Term {
	x := requirement.Term{Operator: rapid.SampledFrom([]requirement.Operator{requirement.In, requirement.In, requirement.NotIn, requirement.Exists, requirement.DoesNotExist}).Draw(t.T, "operator")}
	switch t.upTo(4) {
	case 0:
		x.Key, x.Values = requirement.Zone, []string{t.of("a", "b"), t.of("b", "c")}
	case 1:
		x.Key, x.Values = requirement.CapacityType, []string{t.of(catalog.OnDemand, catalog.Spot)}
	case 2:
		x.Key, x.Values = "rack", []string{t.of("r1", "r2", "")}
	case 3:
		x.Key, x.Values = requirement.Hostname, []string{t.of("n0", "n1")}
	default:
		x = requirement.Term{Key: "size", Operator: rapid.SampledFrom([]requirement.Operator{requirement.Gt, requirement.Lt, requirement.Gte}).Draw(t.T, "bound"), Values: []string{t.of("1", "2", "3")}}
	}
	if x.Operator == requirement.Exists || x.Operator == requirement.DoesNotExist {
		x.Values = nil
	}
	return x
}

func (t drawn) selector() *cluster.Selector {
	if t.chance(12) {
		return nil
	}
	s := &cluster.Selector{}
	for range t.upTo(2) {
		s.Terms = append(s.Terms, rapid.SampledFrom([]requirement.Term{has("app", "web"), has("app", "web", "db"), has("app", "db", "db"), has("tier", "x"),
			{Key: "tier", Operator: requirement.Exists}, {Key: "app", Operator: requirement.NotIn, Values: []string{"job"}}}).Draw(t.T, "selects"))
	}
	return s
}

func (t drawn) taint() cluster.Taint {
	return cluster.Taint{Key: t.of("blue", "red"), Effect: rapid.SampledFrom([]cluster.Effect{cluster.NoSchedule, cluster.NoSchedule, cluster.PreferNoSchedule}).Draw(t.T, "effect")}
}

func (t drawn) class() *cluster.Class {
	c := &cluster.Class{Namespace: t.of("ns", "ns", "ns", "other"), Labels: map[string]string{"app": t.of("web", "db", "job")},
		Requests: res.List{res.CPU: int64(t.upTo(20)) * 100, res.Pods: 1}, Virtual: t.chance(15)}
	if t.chance(3) {
		c.Labels["tier"] = t.of("x", "y")
	}
	for range t.upTo(3) / 2 {
		c.Selector = append(c.Selector, t.term())
	}
	for range t.upTo(4) / 2 {
		c.Affinity = append(c.Affinity, []requirement.Term{t.term()})
	}
	if t.chance(6) {
		c.Volumes = [][]requirement.Term{{t.term()}}
	}
	if t.chance(3) {
		c.Tolerations = append(c.Tolerations, cluster.Toleration{Key: t.of("blue", "red"), Exists: true})
	}
	if t.chance(6) {
		c.HostPorts = []cluster.HostPort{{Port: 80, Protocol: "TCP"}}
	}
	if t.chance(6) {
		c.Attach, c.Shared = res.List{"ebs": 1}, []cluster.SharedVolume{{Driver: "efs", Volume: t.of("v", "w")}}
	}
	for range t.upTo(2) {
		c.Spreads = append(c.Spreads, cluster.Spread{Key: rapid.SampledFrom(drawnKeys).Draw(t.T, "key"), MaxSkew: 1 + t.upTo(1), MinDomains: t.upTo(6) / 3,
			Selector: t.selector(), Soft: t.chance(6), HonorTaints: t.chance(2), IgnoreAffinity: t.chance(3)})
	}
	affine := func() cluster.PodAffinity {
		x := cluster.PodAffinity{Key: rapid.SampledFrom(drawnKeys).Draw(t.T, "key"), Selector: t.selector(), Weight: t.upTo(5) / 5}
		if t.chance(3) {
			x.Namespaces = []string{"ns", "other"}
		}
		return x
	}
	for range t.upTo(4) / 3 {
		c.PodAffinity = append(c.PodAffinity, affine())
	}
	for range t.upTo(4) / 2 {
		c.AntiAffinity = append(c.AntiAffinity, affine())
	}
	c.ID = c.Hash()
	return c
}

func (t drawn) types() []*catalog.Type {
	var out []*catalog.Type
	for i := range 1 + t.upTo(3) {
		ty := &catalog.Type{Name: fmt.Sprintf("type-%d", i), Capacity: res.List{res.CPU: 1000 * int64(i+1), res.Pods: 10}, AttachLimits: res.List{"ebs": 1, "efs": 1},
			Requirements: []requirement.Term{has("size", fmt.Sprint(i+1)), has(requirement.Zone, "a", "b", "c")}}
		for _, zone := range []string{"a", "b", "c"}[:1+t.upTo(2)] {
			ty.Offerings = append(ty.Offerings,
				catalog.Offering{Zone: zone, CapacityType: catalog.OnDemand, Price: catalog.MicroUSD(1000 * (i + 1)), Available: !t.chance(5)},
				catalog.Offering{Zone: zone, CapacityType: catalog.Spot, Price: catalog.MicroUSD(300 * (i + 1)), Available: !t.chance(5)})
		}
		if t.chance(3) {
			ty.Offerings = append(ty.Offerings, catalog.Offering{Zone: "a", CapacityType: catalog.Reserved, ReservationID: "cr", Reservable: t.upTo(1), Available: true})
		}
		out = append(out, ty)
	}
	return out
}

func (t drawn) pool(i int) *cluster.Pool {
	p := &cluster.Pool{Name: fmt.Sprintf("pool-%d", i), Types: t.types(), Limits: res.List{}, Used: res.List{res.CPU: 1000}}
	for range t.upTo(2) / 2 {
		p.Requirements = append(p.Requirements, t.term())
	}
	if t.chance(4) {
		p.Requirements = append(p.Requirements, requirement.Term{Key: "size", Operator: requirement.Exists, MinValues: 2})
	}
	if t.chance(3) {
		p.Labels = map[string]string{"rack": t.of("r1", "r2", "")}
	}
	if t.chance(3) {
		p.Taints = []cluster.Taint{t.taint()}
	}
	if t.chance(4) {
		p.Limits = res.List{res.CPU: 3000, res.Nodes: 2}
	}
	if t.chance(10) {
		p.NotReady = "no class"
	}
	return p
}

func (t drawn) problem() *pack.Problem {
	p := &pack.Problem{}
	for i := range 1 + t.upTo(1) {
		p.Pools = append(p.Pools, t.pool(i))
	}
	var classes []*cluster.Class
	for range 1 + t.upTo(4) {
		classes = append(classes, t.class())
	}
	serial := 0
	pod := func() *cluster.Pod {
		serial++
		c := rapid.SampledFrom(classes).Draw(t.T, "class")
		x := &cluster.Pod{Class: c, PodRef: cluster.PodRef{Namespace: c.Namespace, Name: fmt.Sprint(serial)}, Terminating: t.chance(8)}
		x.Lingers = x.Terminating && t.chance(2)
		return x
	}
	if t.chance(3) {
		d := t.class()
		d.Tolerations = []cluster.Toleration{{Exists: true}}
		p.Daemons = []cluster.Daemon{{Name: "d", Class: d}}
	}
	for i := range t.upTo(3) {
		n := &cluster.Node{Name: fmt.Sprintf("n%d", i), Initialized: true, Allocatable: res.List{res.CPU: 4000, res.Pods: 10}, Deleting: t.chance(10),
			Labels: map[string]string{requirement.CapacityType: catalog.Spot, "size": "2"}, AttachLimits: res.List{"ebs": 1}}
		if !t.chance(8) {
			n.Labels[requirement.Zone] = t.of("a", "b", "c")
		}
		if t.chance(3) {
			n.Labels["rack"] = t.of("r1", "r2", "")
		}
		if t.chance(4) {
			n.Requirements = []requirement.Term{t.term()}
		}
		if t.chance(4) {
			n.Taints = []cluster.Taint{t.taint()}
		}
		for range t.upTo(3) {
			n.Pods = append(n.Pods, pod())
		}
		p.Nodes = append(p.Nodes, n)
	}
	for range 1 + t.upTo(8) {
		x := pod()
		x.Terminating, x.Lingers = false, false
		p.Pending = append(p.Pending, x)
	}
	return p
}

// anyPlan puts the pods wherever chance has it.
func (t drawn) anyPlan(p *pack.Problem) *plan.Plan {
	out := &plan.Plan{}
	refs := map[int][]cluster.PodRef{}
	for _, pod := range p.Pending {
		at := t.upTo(len(p.Nodes) + 4)
		refs[at] = append(refs[at], pod.PodRef)
	}
	for i := range len(p.Nodes) + 4 {
		switch {
		case len(refs[i]) == 0:
		case i < len(p.Nodes):
			out.Placements = append(out.Placements, plan.Placement{Node: p.Nodes[i].Name, Pods: refs[i]})
		default:
			out.NewNodes = append(out.NewNodes, t.newNode(p, refs[i]))
			out.Price += out.NewNodes[len(out.NewNodes)-1].Price
		}
	}
	if len(refs[len(p.Nodes)+4]) > 0 {
		out.Unplaced = []plan.Unplaced{{Pods: refs[len(p.Nodes)+4]}}
	}
	return out
}

func (t drawn) newNode(p *pack.Problem, refs []cluster.PodRef) plan.NewNode {
	pool := rapid.SampledFrom(p.Pools).Draw(t.T, "pool")
	nn := plan.NewNode{Pool: pool.Name, Pods: refs}
	for range t.upTo(2) {
		nn.Requirements = append(nn.Requirements, t.term())
	}
	for i, ty := range pool.Types {
		if !t.chance(4) {
			nn.Types = append(nn.Types, plan.TypeChoice{Name: ty.Name, Price: catalog.MicroUSD(rapid.SampledFrom([]int{300, 1000}).Draw(t.T, "price") * (i + 1))})
		}
	}
	if len(nn.Types) > 0 {
		nn.Price = nn.Types[0].Price
	}
	return nn
}

// spoil changes something in the plan.
func (t drawn) spoil(p *pack.Problem, out *plan.Plan) {
	nodes := len(out.NewNodes)
	for i := range out.NewNodes {
		out.NewNodes[i].Types = slices.Clone(out.NewNodes[i].Types) // nodes share lists
	}
	switch what := t.upTo(5); {
	case nodes > 1 && what == 0: // pods change places
		a, b := &out.NewNodes[t.upTo(nodes-1)], &out.NewNodes[t.upTo(nodes-1)]
		a.Pods, b.Pods = b.Pods, a.Pods
	case nodes > 0 && what == 1:
		out.NewNodes[t.upTo(nodes-1)] = t.newNode(p, out.NewNodes[0].Pods)
	case nodes > 0 && what == 2:
		x := &out.NewNodes[t.upTo(nodes-1)]
		x.Requirements = append(slices.Clone(x.Requirements), t.term())
	case nodes > 0 && len(p.Nodes) > 0 && what == 3:
		out.Placements = append(out.Placements, plan.Placement{Node: p.Nodes[0].Name, Pods: out.NewNodes[0].Pods})
		out.NewNodes = out.NewNodes[1:]
	case nodes > 0 && what == 4:
		out.NewNodes[0].Types[0].Price++
	}
}

// What is remembered, counted by selector and looked at once for all that is equal comes to the same as looking at
// everything: word for word, in the same order.
func TestTheCheckSaysWhatThePlainOneSays(t *testing.T) {
	rules := map[string]int{}
	rapid.Check(t, func(r *rapid.T) {
		t := drawn{r}
		p := t.problem()
		var out *plan.Plan
		if t.chance(2) {
			out = t.anyPlan(p)
		} else {
			out = pack.Solve(p)
			t.spoil(p, out)
		}
		got, want := Check(p, out), plainCheck(p, out)
		for _, v := range got {
			rules[v.Rule]++
		}
		if diff := cmp.Diff(want, got); diff != "" {
			r.Fatalf("the plain check on the left:\n%s\n%s", diff, out)
		}
	})
	t.Log("violations seen, by rule: ", rules)
	for _, rule := range []string{"affinity", "anti-affinity", "labels", "limits", "minValues", "node", "offering", "ports", "price", "reservation", "resources", "spread", "taints", "types", "volumes"} {
		if rules[rule] == 0 && !testing.Short() {
			t.Errorf("no plan was seen that breaks the rule %q", rule)
		}
	}
}
