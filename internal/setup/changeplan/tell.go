package changeplan

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// tell fills the report.
func (l *look) tell(ctx context.Context) {
	l.judgeNodes()
	moves, kept := l.roll(ctx)
	l.place(moves, kept)
	l.takeTurns(moves)
	l.order()
	l.report.Changes, l.report.Gaps = l.changes, l.gaps
}

// judgeNodes says of every claim whether it rolls, and why, or why not.
func (l *look) judgeNodes() {
	byClaim := map[string]*cluster.Node{}
	for _, n := range l.now.snapshot.Nodes {
		if n.Claim != "" {
			byClaim[n.Claim] = n
		}
	}
	standing := l.seen.state.DisruptionConstraints()
	for _, claim := range l.seen.claims {
		n := Node{Claim: claim.Name, Name: cmp.Or(claim.Status.NodeName, claim.Name), Pool: claim.Labels[karpv1.NodePoolLabelKey]}
		unit := byClaim[claim.Name]
		if unit != nil {
			n.Name, n.InstanceType, n.Zone, n.CapacityType = unit.Name, unit.InstanceType, unit.Zone, unit.CapacityType
		}
		n.Going = !claim.DeletionTimestamp.IsZero() || unit != nil && unit.Deleting
		if !n.Going { // one that goes by itself is not replaced for the change
			n.Causes = l.causes(claim, l.then)
		}
		n.Rolls = len(n.Causes) > 0
		n.Already = n.Rolls && len(l.causes(claim, l.now)) > 0
		switch {
		case n.Rolls:
			for _, r := range l.seen.blocksOf(claim, unit, standing) {
				n.Blocks = append(n.Blocks, r.Text())
			}
		case n.Going:
			n.Stays = "it is being deleted"
		default:
			n.Stays = l.stays(claim)
		}
		l.report.Nodes = append(l.report.Nodes, n)
	}
}

// stays says why a node is not replaced.
func (l *look) stays(claim *karpv1.NodeClaim) string {
	pool := claim.Labels[karpv1.NodePoolLabelKey]
	switch {
	case l.then.pools[pool] == nil:
		return fmt.Sprintf("its NodePool %s is not there", pool)
	case !claim.StatusConditions().IsTrue(karpv1.ConditionTypeLaunched):
		return "it is not launched yet, and is compared once it is"
	}
	touched := slices.ContainsFunc(l.changes, func(c Change) bool {
		return c.Kind == KindPool && c.Name == pool || c.Kind == KindClass && c.Name == claim.Spec.NodeClassRef.Name
	})
	if len(l.causes(claim, l.now)) > 0 {
		return "it is drifted as things are, and the change puts that right"
	}
	if touched {
		return "nothing that it was made from differs: of what changes, no field decides that, and it has what its class selects"
	}
	return "nothing that it was made from changes"
}

// roll finds the replacements of the nodes that roll and may. Nodes of static pools are left out.
func (l *look) roll(ctx context.Context) (moves []disrupt.Move, kept map[string]disrupt.Reason) {
	before, after := l.problem(ctx, l.now), l.problem(ctx, l.then)
	l.price(before.Nodes)
	// A node costs what it did, even if its class does not sell it any more.
	prices := map[string]catalog.MicroUSD{}
	for _, n := range before.Nodes {
		prices[n.Name] = n.Price
	}
	for i, n := range after.Nodes {
		if n.Price == 0 && prices[n.Name] > 0 {
			with := *n
			with.Price = prices[n.Name]
			after.Nodes[i] = &with
		}
	}
	l.limits = map[string]string{}
	for _, p := range after.Pools {
		if p.NotReady != "" {
			l.note(p.Name).NotReady = p.NotReady
		}
		l.limits[p.Name] = full(p)
	}
	p := &disrupt.Problem{Cluster: after}
	for name, pool := range l.then.pools {
		p.Pools = append(p.Pools, disrupt.Pool{Name: name, Policy: disrupt.WhenEmptyOrUnderutilized, Static: pool.IsStatic()})
	}
	slices.SortFunc(p.Pools, func(a, b disrupt.Pool) int { return cmp.Compare(a.Name, b.Name) })
	var due []string
	for i := range l.report.Nodes {
		n := &l.report.Nodes[i]
		given := disrupt.Node{Name: n.Name}
		for _, b := range n.Blocks {
			given.Blocks = append(given.Blocks, disrupt.Reason{Code: disrupt.Other, Detail: b})
		}
		p.Nodes = append(p.Nodes, given)
		if pool := l.then.pools[n.Pool]; n.Rolls && len(n.Blocks) == 0 && pool != nil && !pool.IsStatic() {
			due = append(due, n.Name)
		}
	}
	d := disrupt.Replace(p, disrupt.Drifted, l.urgency(due))
	kept = map[string]disrupt.Reason{}
	for _, k := range d.Kept {
		if len(k.Reasons) > 0 {
			kept[k.Node] = k.Reasons[0]
		}
	}
	return d.Moves, kept
}

// price writes down what nodes cost, those of static pools too, which no decision on pods knows of.
func (l *look) price(nodes []*cluster.Node) {
	var pools []*cluster.Pool
	for _, name := range slices.Sorted(maps.Keys(l.now.pools)) {
		if class := l.now.classOf(name); class != nil {
			types := l.now.types[class.Name]
			p := &cluster.Pool{Name: name}
			for _, t := range slices.Sorted(maps.Keys(types)) {
				p.Types = append(p.Types, types[t])
			}
			pools = append(pools, p)
		}
	}
	var pricer cluster.Pricer
	prices := map[string]catalog.MicroUSD{}
	for _, n := range pricer.Apply(nodes, pools) {
		prices[n.Name] = n.Price
	}
	for i := range l.report.Nodes {
		n := &l.report.Nodes[i]
		n.Price = cmp.Or(n.Price, prices[n.Name])
	}
}

// urgency orders nodes as the controller does: those that have been drifted for longest first.
func (l *look) urgency(due []string) []string {
	since := map[string]time.Time{}
	for _, c := range l.seen.claims {
		at := l.Now
		if d := c.StatusConditions().Get(karpv1.ConditionTypeDrifted); d.IsTrue() {
			at = d.LastTransitionTime.Time
		}
		since[cmp.Or(c.Status.NodeName, c.Name)] = at
	}
	slices.SortFunc(due, func(a, b string) int { return cmp.Or(since[a].Compare(since[b]), cmp.Compare(a, b)) })
	return due
}

// place writes down by what the nodes are replaced, and why some are not.
func (l *look) place(moves []disrupt.Move, kept map[string]disrupt.Reason) {
	byName := map[string]*Node{}
	for i := range l.report.Nodes {
		byName[l.report.Nodes[i].Name] = &l.report.Nodes[i]
	}
	for i := range moves {
		m := &moves[i]
		for j, name := range m.Nodes {
			n := byName[name]
			if n == nil {
				continue
			}
			n.With = slices.DeleteFunc(slices.Clone(m.Nodes), func(o string) bool { return o == name })
			if j > 0 {
				continue // told with the first
			}
			for k := range m.NewNodes {
				x := &m.NewNodes[k]
				t := x.Types[0]
				n.New = append(n.New, NewInstance{Pool: x.Pool, InstanceType: t.Name, Zone: t.Zone, CapacityType: t.CapacityType, Price: x.Price, Others: len(x.Types) - 1, Pods: len(x.Pods)})
			}
			for _, p := range m.Placements {
				n.To = append(n.To, Target{Node: p.Node, Pods: len(p.Pods)})
			}
		}
	}
	for name, r := range kept {
		if n := byName[name]; n != nil && n.Rolls && len(n.Blocks) == 0 {
			n.Blocks = append(n.Blocks, r.Text())
			if why := l.limits[n.Pool]; why != "" && r.Code == disrupt.PodHasNoPlace {
				n.Blocks = append(n.Blocks, why)
			}
		}
	}
}

// full says which limit of a pool leaves no room for any of its types; empty when all do.
func full(p *cluster.Pool) string {
	for _, name := range slices.Sorted(maps.Keys(p.Limits)) {
		least, used := int64(math.MaxInt64), p.Used[name]
		for _, t := range p.Types {
			least = min(least, t.Capacity[name])
		}
		if name == res.Nodes {
			least = 1
		}
		if used+least > p.Limits[name] {
			return fmt.Sprintf("NodePool %s has no room for a replacement beside it: its limit of %s is used up", p.Name, name)
		}
	}
	return ""
}

// note is the part of the report on a pool.
func (l *look) note(pool string) *Pool {
	for i := range l.report.Pools {
		if l.report.Pools[i].Name == pool {
			return &l.report.Pools[i]
		}
	}
	l.report.Pools = append(l.report.Pools, Pool{Name: pool})
	return &l.report.Pools[len(l.report.Pools)-1]
}

// order puts the nodes as a reader wants them.
func (l *look) order() {
	rank := func(n *Node) int {
		switch {
		case n.Turn != nil:
			return 0
		case n.Rolls:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(l.report.Nodes, func(a, b Node) int {
		if by := cmp.Or(cmp.Compare(rank(&a), rank(&b)), strings.Compare(a.Pool, b.Pool)); by != 0 {
			return by
		}
		if a.Turn != nil {
			return cmp.Or(cmp.Compare(a.Turn.Start, b.Turn.Start), strings.Compare(a.Name, b.Name))
		}
		return strings.Compare(a.Name, b.Name)
	})
	slices.SortFunc(l.report.Pools, func(a, b Pool) int { return strings.Compare(a.Name, b.Name) })
}
