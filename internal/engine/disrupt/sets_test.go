package disrupt_test

import (
	"fmt"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// crowd is a cluster of small nodes with one pod each. Lone pods keep away from each other, so that none of their nodes can
// go; the last four nodes, of free pods, merge into two medium ones.
type crowd struct {
	lone     int
	loneZone string
	// cpu of the i-th lone pod in thousandths.
	cpu func(i int) int64
	// shy free pods keep away from pods that are not there.
	shy bool
}

func (c crowd) problem(allowed int) *disrupt.Problem {
	ways := func(price catalog.MicroUSD) []way {
		return []way{{"a", catalog.OnDemand, price}, {"b", catalog.OnDemand, price}}
	}
	types := []*catalog.Type{typeOf("small", 2, ways(100_000)...), typeOf("medium", 4, ways(150_000)...)}
	var nodes []*cluster.Node
	add := func(name, zone, app string, cpu int64, flees string) {
		class := &cluster.Class{Namespace: "ns", Labels: map[string]string{"app": app}, Requests: res.List{res.CPU: cpu, res.Pods: 1},
			Selector: []requirement.Term{in(requirement.Zone, zone)}}
		if flees != "" {
			class.AntiAffinity = []cluster.PodAffinity{{Key: requirement.Hostname, Namespaces: []string{"ns"},
				Selector: &cluster.Selector{Terms: []requirement.Term{in("app", flees)}}}}
		}
		class.ID = class.Hash()
		pod := &cluster.Pod{PodRef: cluster.PodRef{Namespace: "ns", Name: "p-" + name, UID: name}, Class: class, Node: name}
		nodes = append(nodes, &cluster.Node{Name: name, Claim: name, Pool: "default", Zone: zone, CapacityType: catalog.OnDemand,
			InstanceType: "small", Price: 100_000, Initialized: true, Labels: map[string]string{requirement.Hostname: name, requirement.Zone: zone},
			Allocatable: res.List{res.CPU: 2000, res.Memory: 4 << 30, res.Pods: 50}, Pods: []*cluster.Pod{pod}})
	}
	for i := range c.lone {
		add(fmt.Sprintf("a-%04d", i), c.loneZone, "lone", c.cpu(i), "lone")
	}
	for i := range 4 {
		add(fmt.Sprintf("z-%d", i), "b", "free", 1900, map[bool]string{true: "nobody"}[c.shy])
	}
	p := anyway(&pack.Problem{Nodes: nodes, Pools: []*cluster.Pool{{Name: "default", Types: types}}, Options: pack.Options{WellKnown: scenario.WellKnown()}})
	p.Pools[0].Allowed = map[disrupt.Cause]int{disrupt.Underutilized: allowed}
	return p
}

func alike(int) int64 { return 1900 }

// varied makes every node another kind, half of them less used than those of the free pods and half of them more.
func varied(i int) int64 { return 1800 + int64(i*37)%190 }

// below makes every node less used than those of the free pods.
func below(i int) int64 { return 1500 + int64(i)%390 }

func TestWhatCanNotGoDoesNotHideWhatCan(t *testing.T) {
	for name, c := range map[string]crowd{
		"nodes that are alike in another zone":   {lone: 400, loneZone: "a", cpu: alike},
		"nodes that are alike in the same zone":  {lone: 400, loneZone: "b", cpu: alike},
		"nodes of all kinds in another zone":     {lone: 200, loneZone: "a", cpu: varied},
		"nodes of all kinds in the same zone":    {lone: 200, loneZone: "b", cpu: varied},
		"nodes that are all less used":           {lone: 200, loneZone: "b", cpu: below},
		"nodes that are alike, by the same rule": {lone: 400, loneZone: "b", cpu: alike, shy: true},
	} {
		t.Run(name, func(t *testing.T) {
			for budget, allowed := range map[string]int{"ten nodes": 10, "ten percent": (c.lone + 4) / 10} {
				p := c.problem(allowed)
				d := disrupt.Decide(p)
				for decisions := 1; len(d.Moves) == 0 && d.Next > 0 && decisions < 50; decisions++ {
					p.Options.Start = d.Next
					d = disrupt.Decide(p)
				}
				if d.Before-d.After < 100_000 {
					t.Errorf("a budget of %s: saves %d by %d moves", budget, d.Before-d.After, len(d.Moves))
				}
			}
		})
	}
}

// Where no node may go, no decision is made only to give other sets their turn.
func TestNodesThatNoBudgetLetsGoHaveNoTurn(t *testing.T) {
	if d := disrupt.Decide(crowd{lone: 200, loneZone: "b", cpu: below}.problem(0)); d.Next != 0 {
		t.Errorf("goes on with %d though no node may go", d.Next)
	}
}

// Nodes that are alike but for their zone lead nowhere once for each zone, not once for each change of zones in the line.
func TestZonesDoNotHideWhatCanGo(t *testing.T) {
	p := crowd{lone: 400, loneZone: "b", cpu: alike}.problem(10)
	for i, n := range p.Cluster.Nodes[:400] {
		if i%2 == 0 {
			n.Zone, n.Labels[requirement.Zone] = "a", "a"
			class := *n.Pods[0].Class
			class.Selector = []requirement.Term{in(requirement.Zone, "a")}
			class.ID = ""
			class.ID = class.Hash()
			n.Pods[0].Class = &class
		}
	}
	d, decisions := disrupt.Decide(p), 1
	for ; len(d.Moves) == 0 && d.Next > 0 && decisions <= 10; decisions++ {
		p.Options.Start = d.Next
		d = disrupt.Decide(p)
	}
	if d.Before-d.After < 100_000 {
		t.Errorf("after %d decisions it saves %d by %d moves", decisions, d.Before-d.After, len(d.Moves))
	}
}

func TestWhatIsBrokenOffIsGoneOnWith(t *testing.T) {
	p := crowd{lone: 380, loneZone: "b", cpu: below, shy: true}.problem(10)
	d := disrupt.Decide(p)
	if len(d.Moves) > 0 || d.Next == 0 {
		t.Fatalf("%d moves, next %d: the case is to be one in which the search breaks off", len(d.Moves), d.Next)
	}
	for decisions := 0; len(d.Moves) == 0; decisions++ {
		if d.Next <= p.Options.Start || decisions > 100 {
			t.Fatalf("goes on with %d after %d, and nothing was found", d.Next, p.Options.Start)
		}
		p.Options.Start = d.Next
		d = disrupt.Decide(p)
	}
	if d.Before-d.After != 100_000 {
		t.Errorf("saves %d", d.Before-d.After)
	}
	if again := disrupt.Decide(p); d.Next != p.Options.Start || len(again.Moves) != len(d.Moves) {
		t.Errorf("goes on with %d after a set was found from %d", d.Next, p.Options.Start)
	}
}

// New spot nodes may not replace spot nodes without the feature gate: there is nothing to be asked of sets of them.
func TestSetsOfSpotNodesAreGrownWhereSpotMayReplaceThem(t *testing.T) {
	for gate, want := range map[bool]int{true: 1, false: 0} {
		p := crowd{lone: 0}.problem(10)
		for _, n := range p.Cluster.Nodes {
			n.CapacityType = catalog.Spot
		}
		for _, typ := range p.Cluster.Pools[0].Types {
			for i := range typ.Offerings {
				typ.Offerings[i].CapacityType = catalog.Spot
			}
		}
		p.Options.SpotToSpot, p.Options.MinSpotTypes = gate, 1
		if d := disrupt.Decide(p); min(1, len(d.Moves)) != want {
			t.Errorf("spot to spot %v: %d moves", gate, len(d.Moves))
		}
	}
}
