package disrupt

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kerf-sh/kerf/internal/catalog"
	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/plan"
	"github.com/kerf-sh/kerf/internal/requirement"
	"github.com/kerf-sh/kerf/internal/res"
)

// spareTypes is how many types a spare machine may be at most, and sparePercent how much dearer than the cheapest they are.
const spareTypes, sparePercent = 20, 30

// widen gives a move machines for pods that find no place; false if it would not pay then. The pods leave the places that
// were planned for them, so that what was planned for the others holds as before; where that can't be said of a pod
// because others are bound to where it goes, another of the move gives way.
func (f *follower) widen(m *following, stuck []*cluster.Pod) bool {
	m.tries++
	if !f.mayBuy(m) || !f.setApart(m, stuck) {
		return false
	}
	spares, worst := f.spares(m)
	if len(spares) == 0 {
		return false
	}
	move := m.plain
	move.NewNodes, move.Placements = nil, nil
	for _, nn := range m.plain.NewNodes {
		nn.Requests = nn.Requests.Clone()
		nn.Pods = slices.DeleteFunc(slices.Clone(nn.Pods), func(ref cluster.PodRef) bool {
			if m.apart[ref] {
				for k, x := range f.requests(ref) {
					nn.Requests[k] -= x
				}
			}
			return m.apart[ref]
		})
		move.NewNodes = append(move.NewNodes, nn)
	}
	for _, pl := range m.plain.Placements {
		pods := slices.DeleteFunc(slices.Clone(pl.Pods), func(ref cluster.PodRef) bool { return m.apart[ref] })
		if len(pods) > 0 {
			move.Placements = append(move.Placements, plan.Placement{Node: pl.Node, Pods: pods})
		}
	}
	for i := range spares {
		move.Saving -= spares[i].Price
	}
	move.Certain -= worst
	move.NewNodes = append(move.NewNodes, spares...)
	if !f.pays(m, &move) {
		return false
	}
	move.Why = why(&move) + fmt.Sprintf("; %s of it so that the scheduler finds a place for each of them, wherever it puts the others", plan.Count(len(spares), "machine"))
	m.move = move
	clear(m.coming)
	m.daemons = m.daemons[:len(m.plain.NewNodes)]
	for i := range spares {
		m.daemons = append(m.daemons, f.daemonsOf(&spares[i]))
	}
	return true
}

// mayBuy reports whether machines may be bought for a move at all.
func (f *follower) mayBuy(m *following) bool {
	allSpot := true
	for _, n := range m.nodes {
		if n.price == 0 {
			return false
		}
		allSpot = allSpot && n.spot()
	}
	return !allSpot || f.s.p.Options.SpotToSpot && len(m.nodes) > 1
}

// pays judges a move by the rules about money.
func (f *follower) pays(m *following, move *Move) bool {
	least := f.s.leastSaving(move.Old)
	if len(m.nodes) > 1 {
		least = max(least, move.Old*togetherPercent/100)
	}
	s := f.s
	return move.Certain >= least && move.Certain*100 >= move.Saving*catalog.MicroUSD(s.p.Options.certain()) &&
		s.unbalanced(m.nodes, move.Old, move.Saving).Code == "" && s.notPaidBack(m.nodes, move.Saving, move.Disruption, len(move.NewNodes)).Code == ""
}

// setApart notes the pods, or others in their stead, as those for which room is bought.
func (f *follower) setApart(m *following, stuck []*cluster.Pod) bool {
	left := map[int]int{}
	at := map[cluster.PodRef]int{}
	for i := range m.plain.NewNodes {
		for _, ref := range m.plain.NewNodes[i].Pods {
			at[ref] = i
			if !m.apart[ref] {
				left[i]++
			}
		}
	}
	take := func(pod *cluster.Pod) bool {
		i, bought := at[pod.PodRef]
		if m.apart[pod.PodRef] || bought && left[i] < 2 || !f.board(false).Unbound(pod) {
			return false
		}
		if bought {
			left[i]--
		}
		m.apart[pod.PodRef] = true
		return true
	}
	missing := 0
	if m.tries > 1 {
		missing += 1 << min(m.tries-2, 20) // what was bought was too little: there is room in it still, and not for these
	}
	first := missing
	for _, pod := range stuck {
		if !take(pod) {
			missing++
		}
	}
	for more := true; more && missing > 0; {
		more = false
		for _, n := range m.nodes {
			for _, pod := range f.board(false).Leavers(n.src.Name) {
				if missing > 0 && take(pod) {
					missing--
					more = true
					break // of the next node
				}
			}
		}
	}
	return missing < len(stuck)+first
}

// spares are machines for the pods that are set apart, each with a price that is known within narrow bounds, and what they
// cost together at most.
func (f *follower) spares(m *following) ([]plan.NewNode, catalog.MicroUSD) {
	q := *f.s.p.Cluster
	q.Nodes, q.Pending, q.Pools = nil, nil, nil
	q.Options.Work = -1
	for _, n := range m.nodes {
		for _, pod := range n.src.Pods {
			if m.apart[pod.PodRef] {
				own := *pod
				own.Node = ""
				q.Pending = append(q.Pending, &own)
			}
		}
	}
	for _, pool := range f.s.p.Cluster.Pools {
		if !slices.ContainsFunc(pool.Requirements, func(t requirement.Term) bool { return t.MinValues > 0 }) {
			q.Pools = append(q.Pools, f.taken(pool))
		}
	}
	answer := f.engine.Solve(&q)
	if len(answer.Unplaced) > 0 {
		return nil, 0
	}
	worst := catalog.MicroUSD(0)
	for i := range answer.NewNodes {
		dearest, ok := settlePrice(&answer.NewNodes[i], q.Pools)
		if !ok {
			return nil, 0
		}
		worst += dearest
	}
	return answer.NewNodes, worst
}

// taken is the pool with what the moves take of its limits.
func (f *follower) taken(pool *cluster.Pool) *cluster.Pool {
	if len(pool.Limits) == 0 {
		return pool
	}
	out := *pool
	out.Used = res.List{}
	out.Used.Add(pool.Used)
	for _, m := range f.moves {
		for i := range m.move.NewNodes {
			if nn := &m.move.NewNodes[i]; nn.Pool == pool.Name {
				most := res.List{}
				for _, choice := range nn.Types {
					if t := typeNamed(pool, choice.Name); t != nil {
						for k, x := range t.Capacity {
							most[k] = max(most[k], x)
						}
					}
				}
				most[res.Nodes] = 1
				out.Used.Add(most)
			}
		}
	}
	return &out
}

// settlePrice leaves a new node one zone and one capacity type, and of its types those that cost little more than the
// cheapest there. It returns what the dearest of them costs; false if the node is not bought at a price.
func settlePrice(nn *plan.NewNode, pools []*cluster.Pool) (catalog.MicroUSD, bool) {
	first := nn.Types[0]
	at := slices.IndexFunc(pools, func(p *cluster.Pool) bool { return p.Name == nn.Pool })
	if at < 0 || first.CapacityType == catalog.Reserved || first.Zone == "" {
		return 0, false
	}
	var types []plan.TypeChoice
	dearest := map[string]catalog.MicroUSD{}
	for _, choice := range nn.Types {
		t := typeNamed(pools[at], choice.Name)
		if t == nil {
			continue
		}
		low, high := catalog.MicroUSD(0), catalog.MicroUSD(0)
		for _, o := range t.Offerings {
			if o.Available && o.Zone == first.Zone && o.CapacityType == first.CapacityType {
				high = max(high, o.Price)
				if low == 0 || o.Price < low {
					low = o.Price
				}
			}
		}
		if low > 0 {
			types = append(types, plan.TypeChoice{Name: choice.Name, Price: low, Zone: first.Zone, CapacityType: first.CapacityType})
			dearest[choice.Name] = high
		}
	}
	slices.SortStableFunc(types, func(a, b plan.TypeChoice) int {
		return cmp.Or(cmp.Compare(a.Price, b.Price), cmp.Compare(a.Name, b.Name))
	})
	if len(types) == 0 || types[0].Price != first.Price {
		return 0, false
	}
	most := first.Price + first.Price*sparePercent/100
	end := 0
	worst := catalog.MicroUSD(0)
	for end < len(types) && end < spareTypes && dearest[types[end].Name] <= most {
		worst = max(worst, dearest[types[end].Name])
		end++
	}
	if end == 0 {
		return 0, false
	}
	nn.Types = types[:end]
	pin := func(key, value string) {
		nn.Requirements = slices.DeleteFunc(slices.Clone(nn.Requirements), func(t requirement.Term) bool { return requirement.Normalize(t.Key) == key })
		nn.Requirements = append(nn.Requirements, requirement.Term{Key: key, Operator: requirement.In, Values: []string{value}})
	}
	pin(requirement.Zone, first.Zone)
	pin(requirement.CapacityType, first.CapacityType)
	slices.SortStableFunc(nn.Requirements, func(a, b requirement.Term) int { return cmp.Compare(a.Key, b.Key) })
	return worst, true
}
