package verify

import (
	"fmt"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// Moves lists what is wrong with the decision as an answer to the problem; none means that its moves are allowed, that
// all pods have a place once they are carried out together, and that the bill is lower whatever the launch chooses.
func Moves(p *disrupt.Problem, d *disrupt.Decision) []Violation {
	c := newMoveChecker(p, d)
	c.mayGo()
	c.budgets()
	for i := range d.Moves {
		c.money(&d.Moves[i])
	}
	c.places()
	c.everyNodeOnce()
	return c.found
}

func newMoveChecker(p *disrupt.Problem, d *disrupt.Decision) *moveChecker {
	c := &moveChecker{p: p, d: d, nodes: map[string]*cluster.Node{}, given: map[string]*disrupt.Node{}, pools: map[string]*disrupt.Pool{},
		going: map[string]int{}}
	for _, n := range p.Cluster.Nodes {
		c.nodes[n.Name] = n
	}
	for i := range p.Nodes {
		c.given[p.Nodes[i].Name] = &p.Nodes[i]
	}
	for i := range p.Pools {
		c.pools[p.Pools[i].Name] = &p.Pools[i]
	}
	for i := range d.Moves {
		for _, name := range d.Moves[i].Nodes {
			c.going[name]++
		}
	}
	return c
}

type moveChecker struct {
	p     *disrupt.Problem
	d     *disrupt.Decision
	nodes map[string]*cluster.Node
	given map[string]*disrupt.Node
	pools map[string]*disrupt.Pool
	going map[string]int
	found []Violation
}

func (c *moveChecker) report(rule, where, format string, args ...any) {
	c.found = append(c.found, Violation{rule, where, fmt.Sprintf(format, args...)})
}

func (c *moveChecker) mayGo() {
	for i := range c.d.Moves {
		m := &c.d.Moves[i]
		if len(m.Nodes) == 0 {
			c.report("move", "move", "lets no node go")
		}
		for _, name := range m.Nodes {
			n, in := c.nodes[name], c.given[name]
			if n == nil || in == nil {
				c.report("node", name, "is not a managed node")
				continue
			}
			pool := c.pools[n.Pool]
			switch {
			case c.going[name] > 1:
				c.report("node", name, "goes %d times", c.going[name])
			case len(in.Blocks) > 0:
				c.report("blocked", name, "must not go: %s", in.Blocks[0].Text())
			case n.Deleting:
				c.report("node", name, "is being deleted already")
			case pool == nil:
				c.report("pool", name, "its pool %q is not known", n.Pool)
			case pool.Static:
				c.report("pool", name, "pool %s is static", n.Pool)
			case pool.Policy == disrupt.WhenEmpty && m.Cause == disrupt.Underutilized:
				c.report("policy", name, "pool %s only lets empty nodes go", n.Pool)
			case m.Cause == disrupt.Empty && slices.ContainsFunc(n.Pods, counts):
				c.report("policy", name, "is not empty")
			}
		}
	}
}

func counts(pod *cluster.Pod) bool { return !pod.Daemon && !pod.Mirror && !pod.Terminating }

// cost is the disruption of evicting the pod, one for a usual one.
func (c *moveChecker) cost(pod *cluster.Pod) float64 {
	x := 1 + float64(float64(c.p.DeletionCosts[pod.Namespace+"/"+pod.Name])/(1<<27)) + float64(float64(pod.Class.Priority)/(1<<25))
	return min(max(x, 0), 10)
}

func (c *moveChecker) budgets() {
	gone := map[string]int{}
	for i := range c.d.Moves {
		m := &c.d.Moves[i]
		for _, name := range m.Nodes {
			if n := c.nodes[name]; n != nil {
				gone[n.Pool]++
			}
		}
		for _, pool := range c.p.Pools {
			most, limited := pool.Allowed[m.Cause]
			mine := slices.ContainsFunc(m.Nodes, func(name string) bool { return c.nodes[name] != nil && c.nodes[name].Pool == pool.Name })
			if limited && mine && gone[pool.Name] > most {
				c.report("budget", pool.Name, "%d nodes go, %d may for %s", gone[pool.Name], most, m.Cause)
			}
		}
	}
}

// money checks the move's prices, the rules about spot, and the policy Balanced.
func (c *moveChecker) money(m *disrupt.Move) {
	where := fmt.Sprint(m.Nodes)
	old := catalog.MicroUSD(0)
	offSpot, classOf := map[string]bool{}, map[cluster.PodRef]string{} // classes with pods that come from a node that is not spot
	for _, name := range m.Nodes {
		if n := c.nodes[name]; n != nil {
			old += c.price(n)
			for _, pod := range n.Pods {
				if counts(pod) { // the others are moved nowhere
					classOf[pod.PodRef] = pod.Class.ID
					offSpot[pod.Class.ID] = offSpot[pod.Class.ID] || n.CapacityType != catalog.Spot
				}
			}
		}
	}
	best, worst := catalog.MicroUSD(0), catalog.MicroUSD(0)
	for i := range m.NewNodes {
		nn := &m.NewNodes[i]
		cheapest, dearest, spot := c.priceRange(nn)
		best += cheapest
		worst += dearest
		if !spot || slices.ContainsFunc(nn.Pods, func(pod cluster.PodRef) bool { return offSpot[classOf[pod]] }) {
			continue
		}
		least := c.p.Options.MinSpotTypes
		if least == 0 {
			least = 15
		}
		switch {
		case !c.p.Options.SpotToSpot:
			c.report("spot", where, "spot is replaced by spot, which is off")
		case len(m.Nodes) == 1 && len(nn.Types) < least:
			c.report("spot", where, "%d types for a single spot node, %d are asked", len(nn.Types), least)
		}
	}
	c.sums(m, old, best, worst)
	if len(m.NewNodes) > 0 && worst >= old {
		c.report("price", where, "may cost %s instead of %s", c.p.Cluster.Options.Currency.Amount(worst), c.p.Cluster.Options.Currency.Amount(old))
	}
	c.balanced(m, old, old-best)
}

func (c *moveChecker) sums(m *disrupt.Move, old, best, worst catalog.MicroUSD) {
	if m.Old != old || m.Saving != old-best || m.Certain != old-worst {
		c.report("price", fmt.Sprint(m.Nodes), "costs %s now, %s to %s then; the move says %s, saves %s to %s", c.p.Cluster.Options.Currency.Amount(old), c.p.Cluster.Options.Currency.Amount(best),
			c.p.Cluster.Options.Currency.Amount(worst), c.p.Cluster.Options.Currency.Amount(m.Old), c.p.Cluster.Options.Currency.Amount(m.Certain), c.p.Cluster.Options.Currency.Amount(m.Saving))
	}
}

func (c *moveChecker) balanced(m *disrupt.Move, old, saving catalog.MicroUSD) {
	if m.Cause == disrupt.Empty {
		return
	}
	for _, pool := range c.p.Pools {
		if pool.Policy != disrupt.Balanced {
			continue
		}
		var price, cost, allPrice, allCost float64
		for _, n := range c.p.Cluster.Nodes {
			if n.Pool != pool.Name || c.given[n.Name] == nil || n.Deleting {
				continue
			}
			own := 1.0
			for _, pod := range n.Pods {
				if counts(pod) {
					own += c.cost(pod)
				}
			}
			allPrice, allCost = allPrice+float64(c.price(n)), allCost+own
			if slices.Contains(m.Nodes, n.Name) {
				price, cost = price+float64(c.price(n)), cost+own
			}
		}
		if cost == 0 || old == 0 || allPrice == 0 {
			continue
		}
		if score := float64(saving) * price / float64(old) / allPrice / (cost / allCost); score < 0.4999 {
			c.report("policy", fmt.Sprint(m.Nodes), "its score for pool %s is %.3f, at least 0.5 is asked", pool.Name, score)
		}
	}
}

// price of a running node with its upkeep; 0 when it is not known.
func (c *moveChecker) price(n *cluster.Node) catalog.MicroUSD {
	if n.Price > 0 {
		return n.Price + c.p.Cluster.Options.Upkeep
	}
	return 0
}

// priceRange is what the node costs, its upkeep included, in the cheapest and in the dearest way to come to be, and whether it may be spot.
func (c *moveChecker) priceRange(nn *plan.NewNode) (cheapest, dearest catalog.MicroUSD, spot bool) {
	cheapest = -1
	for _, pool := range c.p.Cluster.Pools {
		if pool.Name != nn.Pool {
			continue
		}
		h := &host{launched: nn, pool: pool}
		for _, choice := range nn.Types {
			t := typeNamed(pool, choice.Name)
			if t == nil {
				continue
			}
			for _, o := range t.Offerings {
				if !o.Available || possible(h, t, o) == nil || o.CapacityType == catalog.Reserved && o.Reservable == 0 {
					continue
				}
				if cheapest < 0 || o.Price < cheapest {
					cheapest = o.Price
				}
				dearest = max(dearest, o.Price)
				spot = spot || o.CapacityType == catalog.Spot
			}
		}
	}
	return max(cheapest, 0) + c.p.Cluster.Options.Upkeep, dearest + c.p.Cluster.Options.Upkeep, spot
}

// places checks that every pod of the nodes that go has a place, all moves taken together.
func (c *moveChecker) places() {
	after := *c.p.Cluster
	after.Nodes, after.Pending = nil, nil
	out := &plan.Plan{}
	byNode := map[string]int{}
	for i := range c.d.Moves {
		m := &c.d.Moves[i]
		out.NewNodes = append(out.NewNodes, m.NewNodes...)
		for j := range m.NewNodes {
			out.Price += m.NewNodes[j].Price
		}
		for _, pl := range m.Placements {
			if c.going[pl.Node] > 0 {
				c.report("node", pl.Node, "goes, and takes pods")
			}
			if n := c.nodes[pl.Node]; n != nil && !n.Initialized && n.Claim != "" {
				c.report("node", pl.Node, "takes pods and is not initialized")
			}
			at, known := byNode[pl.Node]
			if !known {
				at = len(out.Placements)
				byNode[pl.Node] = at
				out.Placements = append(out.Placements, plan.Placement{Node: pl.Node})
			}
			out.Placements[at].Pods = append(out.Placements[at].Pods, pl.Pods...)
		}
	}
	waits := map[cluster.PodRef]bool{}
	for _, pod := range c.p.Cluster.Pending {
		waits[pod.PodRef] = true
	}
	for _, n := range c.p.Cluster.Nodes {
		if c.going[n.Name] == 0 {
			if n.Deleting && slices.ContainsFunc(n.Pods, func(pod *cluster.Pod) bool { return waits[pod.PodRef] }) {
				drained := *n // of pods that wait for another node
				drained.Pods = slices.DeleteFunc(slices.Clone(n.Pods), func(pod *cluster.Pod) bool { return waits[pod.PodRef] })
				n = &drained
			}
			after.Nodes = append(after.Nodes, n)
			continue
		}
		for _, pod := range n.Pods {
			if counts(pod) {
				after.Pending = append(after.Pending, pod)
			}
		}
	}
	c.found = append(c.found, Check(&after, out)...)
}

func (c *moveChecker) everyNodeOnce() {
	kept := map[string]bool{}
	for _, k := range c.d.Kept {
		kept[k.Node] = true
		if len(k.Reasons) == 0 {
			c.report("reasons", k.Node, "stays without a reason")
		}
	}
	for name := range c.given {
		n := c.nodes[name]
		if n == nil || n.Deleting {
			continue
		}
		if kept[name] == (c.going[name] > 0) {
			c.report("node", name, "goes %d times, stays: %v", c.going[name], kept[name])
		}
	}
	c.bill()
}

// bill checks what the decision says about the managed nodes together.
func (c *moveChecker) bill() {
	before, saving := catalog.MicroUSD(0), catalog.MicroUSD(0)
	for name := range c.given {
		if n := c.nodes[name]; n != nil && !n.Deleting {
			before += c.price(n)
		}
	}
	for i := range c.d.Moves {
		saving += c.d.Moves[i].Saving
	}
	if c.d.Before != before || c.d.After != before-saving {
		c.report("price", "decision", "the nodes cost %s, and the moves save %s; it says %s and %s", c.p.Cluster.Options.Currency.Amount(before), c.p.Cluster.Options.Currency.Amount(saving),
			c.p.Cluster.Options.Currency.Amount(c.d.Before), c.p.Cluster.Options.Currency.Amount(c.d.After))
	}
}
