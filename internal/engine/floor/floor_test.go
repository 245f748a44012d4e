package floor_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/bound"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/floor"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// running is a cluster in which each of some pods has a node of its own.
func running(pods int, price catalog.MicroUSD, change func(*cluster.Class)) *pack.Problem {
	p := &pack.Problem{Pools: []*cluster.Pool{{Name: "default", Types: scenario.GenerateTypes(20, 1)}}}
	class := &cluster.Class{Namespace: "shop", Labels: map[string]string{"app": "web"}, Requests: res.List{res.CPU: 300, res.Memory: 256 << 20, res.Pods: 1}}
	change(class)
	class.ID = class.Hash()
	for i := range pods {
		name := fmt.Sprintf("n%d", i)
		p.Nodes = append(p.Nodes, &cluster.Node{
			Name: name, Claim: name, Pool: "default", Launched: true, Price: price, Allocatable: res.List{res.CPU: 4000, res.Memory: 8 << 30, res.Pods: 20}, Used: class.Requests,
			Pods: []*cluster.Pod{{PodRef: cluster.PodRef{Namespace: "shop", Name: name, UID: name}, Class: class, Node: name}},
		})
	}
	return p
}

func TestTheFloorIsBelowWhatRunsAndSaysWhatConstraintsCost(t *testing.T) {
	const pods, price = 8, 1_000_000
	free := floor.Of(running(pods, price, func(*cluster.Class) {}), 0)
	if least := floor.Least(running(pods, price, func(*cluster.Class) {}), bound.Budget{}); least.Bound != free.Bound || least.Running != free.Running || least.Pods != free.Pods {
		t.Errorf("least is %+v, the floor %+v", least, free)
	}
	if free.Pods != pods || free.Running != pods*price || free.Bound <= 0 || free.Bound > free.Running || len(free.Constraints) != 0 {
		t.Fatalf("pods that ask for nothing: %+v", free)
	}
	apart := floor.Of(running(pods, price, func(c *cluster.Class) {
		c.AntiAffinity = []cluster.PodAffinity{{Key: requirement.Hostname, Selector: &cluster.Selector{}, Namespaces: []string{"shop"}}}
	}), 0)
	if apart.Bound <= free.Bound || apart.Bound > apart.Running {
		t.Errorf("pods that keep apart can't cost less than %d, the others not less than %d", apart.Bound, free.Bound)
	}
	want := []floor.Constraint{{Kind: floor.Apart, Costs: apart.Bound - free.Bound, Workloads: 1, Named: []string{"shop/web"}}}
	if !reflect.DeepEqual(apart.Constraints, want) {
		t.Errorf("what keeps them apart is said to cost %+v, and they differ by %d", apart.Constraints, apart.Bound-free.Bound)
	}
}

// What runs may be what EC2 has no more of: after an interruption its pool counts as empty. The floor stays where it was.
func TestAShortageDoesNotRaiseTheFloor(t *testing.T) {
	p := running(8, 1_000_000, func(*cluster.Class) {})
	before := floor.Least(p, bound.Budget{}).Bound
	for _, kind := range p.Pools[0].Types {
		for j := range kind.Offerings {
			o := &kind.Offerings[j]
			if o.CapacityType == catalog.Spot {
				o.Available, o.Unavailable, o.ForNow = false, "the instance was taken back", true
			}
		}
	}
	if got := floor.Least(p, bound.Budget{}).Bound; got != before {
		t.Errorf("the floor is %d without spot capacity, and was %d", got, before)
	}
	for _, kind := range p.Pools[0].Types {
		for j := range kind.Offerings {
			o := &kind.Offerings[j]
			if o.CapacityType == catalog.Spot {
				o.Unavailable, o.ForNow = "no subnet in zone", false
			}
		}
	}
	if got := floor.Least(p, bound.Budget{}).Bound; got <= before {
		t.Errorf("the floor is %d where spot can't be launched at all, and %d with it", got, before)
	}
}

// What the nodes hold of a reservation is there for their pods, used up or not.
func TestAReservationThatIsUsedUpCarriesItsPods(t *testing.T) {
	const token = 10
	p := running(8, token, func(*cluster.Class) {})
	kind := p.Pools[0].Types[0]
	kind.Offerings = append(kind.Offerings, catalog.Offering{
		Zone: kind.Offerings[0].Zone, ZoneID: kind.Offerings[0].ZoneID, CapacityType: catalog.Reserved, ReservationID: "cr-1", Price: token, Unavailable: "the capacity reservation is used up",
	})
	for _, n := range p.Nodes {
		n.InstanceType, n.Zone, n.CapacityType, n.Labels = kind.Name, kind.Offerings[0].Zone, catalog.Reserved, map[string]string{requirement.ReservationID: "cr-1"}
	}
	if f := floor.Least(p, bound.Budget{}); f.Bound > f.Running || f.Bound == 0 {
		t.Errorf("the floor is %d, and the nodes cost %d", f.Bound, f.Running)
	}
	if n := kind.Offerings[len(kind.Offerings)-1].Reservable; n != 0 {
		t.Errorf("the catalog's reservation holds %d now", n)
	}
}

// Of many workloads those with the most pods are named.
func TestTheLargestWorkloadsAreNamed(t *testing.T) {
	p := running(10, 1_000_000, func(c *cluster.Class) {
		c.AntiAffinity = []cluster.PodAffinity{{Key: requirement.Hostname, Selector: &cluster.Selector{}, Namespaces: []string{"shop"}}}
	})
	for i, n := range p.Nodes {
		class := *n.Pods[0].Class
		class.Labels = map[string]string{"app": []string{"a", "b", "b", "c", "c", "c", "d", "d", "d", "d"}[i]}
		class.ID = class.Hash()
		n.Pods[0].Class = &class
	}
	c := floor.Of(p, 0).Constraints
	if len(c) != 1 || c[0].Workloads != 4 || !reflect.DeepEqual(c[0].Named, []string{"shop/d", "shop/c", "shop/b"}) {
		t.Errorf("%+v", c)
	}
}

// What is no pod of Kerf's nodes counts for nothing: pods that wait, daemons, pods that end, nodes that others launched, and nodes of which no
// instance is launched yet.
func TestOnlyPodsThatRunOnNodesOfKerfCount(t *testing.T) {
	p := running(5, 1_000_000, func(*cluster.Class) {})
	p.Nodes[4].Launched, p.Nodes[4].Price = false, 0
	p.Nodes[0].Pods[0].Daemon = true
	p.Nodes[1].Pods[0].Terminating = true
	p.Nodes[2].Claim = ""
	p.Pending = []*cluster.Pod{{PodRef: cluster.PodRef{Namespace: "shop", Name: "waits", UID: "waits"}, Class: p.Nodes[3].Pods[0].Class}}
	if f := floor.Of(p, 0); f.Pods != 1 || f.Running != 3_000_000 {
		t.Errorf("%+v, want the one pod of n3, and the price of three nodes", f)
	}
}
