package pack

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/cuttingstock"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// improve packs what topology leaves free anew, pool by pool, and keeps what is cheaper. A linear program over fillings
// of new nodes tells what a pod of each kind is worth and which fillings to launch, unless new nodes are few for it. Its
// rounded solution, or the new nodes as they were if those cost less, is then searched for a few whose pods fit on cheaper ones.
//
// It ends when its work is used up, counted in comparisons of a pod with a new node, so that the same problem gives the
// same plan however fast the computer is. What was not looked at any more is said in the plan's Stats.
func (s *solver) improve(budget int64) {
	if budget <= 0 {
		return
	}
	total := catalog.MicroUSD(0)
	free := make([][]*newNode, len(s.pools))
	for i, p := range s.pools {
		free[i] = s.freeNodes(p)
		for _, m := range free[i] {
			total += m.price
		}
	}
	for i, p := range s.pools {
		if len(free[i]) == 0 {
			continue
		}
		price := catalog.MicroUSD(0)
		for _, m := range free[i] {
			price += m.price
		}
		work := int64(float64(budget) * float64(price) / float64(max(1, total)))
		spent := work
		s.improvePool(p, free[i], &work)
		s.stats.Work += spent - work
		if work <= 0 {
			s.stats.Unimproved += len(free[i])
		}
	}
}

// budget is what the improvement may cost; 0 if there is to be none.
func (s *solver) budget() int64 {
	if s.p.Options.Work == 0 {
		return DefaultWork(len(s.p.Pending))
	}
	return max(0, s.p.Options.Work)
}

// DefaultWork is the budget of a plan for so many pods. It grows with them and stays in the order of the time that the first plan
// takes: twice as much makes plans about 1 % cheaper at most, half as much up to 3 % dearer.
//
// Source: make bench-peer ARGS=-work, and the benchmark Price of engine/bound for the mean of several seeds.
func DefaultWork(pods int) int64 {
	n := int64(pods)
	return min(500_000+20_000*n, 1_000_000+10_000*n, 12_000_000+300*n, 25_000_000)
}

// freeNodes are those whose pods may be moved as far as topology is concerned: nothing on them was counted in a
// domain that another new node need not be in.
func (s *solver) freeNodes(p *pool) []*newNode {
	var out []*newNode
	for _, m := range s.newNodes {
		if m.pool != p || m.sequential || m.gone {
			continue
		}
		if !slices.ContainsFunc(m.parts, func(q part) bool { return !q.item.free() }) {
			out = append(out, m)
		}
	}
	return out
}

// free reports whether pods of the item may go to any new node that satisfies its requirements: domains that matter are
// among those, whoever counts the pods does so on any new node, and each pod takes what it takes by itself.
func (it *podGroup) free() bool {
	c := it.class
	if c.sequential || c.shared != nil {
		return false
	}
	for _, g := range c.topo.wideIn {
		if g != c.topo.share || !c.owns(g) && !g.looksEverywhere() {
			return false
		}
	}
	for _, d := range c.topo.wide {
		if d.group != c.topo.share {
			return false
		}
	}
	return true
}

func (s *solver) improvePool(p *pool, old []*newNode, work *int64) {
	lots := s.lotsOf(p, old)
	for _, m := range old {
		p.refund(m)
	}
	k := newPacker(s, p)
	drafts := k.draftsOf(old, lots)
	revalue(lots, drafts)
	var kinds []int
	if m := s.newModel(p, lots, len(old)); m != nil {
		share := *work / 2
		if len(m.Caps) > 0 {
			share = *work * 9 / 10 // what goes together matters more than how well the last new nodes are filled
		}
		spent := share
		if r := m.solve(m.patternsOf(drafts), &share); r != nil {
			drafts, kinds = k.better(m, r, lots, drafts, &share)
		}
		*work -= spent - share
	}
	*work -= k.work
	k.work = 0
	drafts = k.search(drafts, kinds, work)
	now, was := priceOf(drafts), catalog.MicroUSD(0)
	for _, m := range old {
		was += m.price
	}
	if saves := now < was || now == was && len(drafts) < len(old); !saves || !s.replace(p, old, drafts) {
		for _, m := range old {
			p.charge(m)
		}
	}
}

// better rounds the program's solution, and gives it back if it is cheaper than the drafts, with the types it uses.
func (k *packer) better(m *cutting, r *cuttingstock.Solution, lots []*itemType, drafts []*draft, work *int64) ([]*draft, []int) {
	value := make([]float64, len(lots))
	for i, l := range lots {
		value[i] = l.value
	}
	kinds := m.typesOf(r)
	none := int64(0)
	best, found := drafts, false
	for _, budget := range []*int64{&none, work} {
		if budget == work && *work <= 0 {
			break
		}
		for _, l := range lots {
			l.left = l.total
		}
		m.reduce()
		m.appraise(r, lots)
		if rounded, ok := k.round(m, r, lots, budget); ok && priceOf(rounded) < priceOf(best) {
			best, found = rounded, true
		}
	}
	for i, l := range lots {
		l.left, l.value = 0, value[i]
	}
	if found {
		m.appraise(r, lots)
		revalue(lots, best)
	}
	return best, kinds
}

// revalue sets the worth of pods to what the new nodes that they are on cost, shared out by what they were worth before.
// Pods that always end up on new nodes that are dear for what they carry become worth more.
func revalue(lots []*itemType, drafts []*draft) {
	at := make(map[*itemType]int, len(lots))
	for i, l := range lots {
		at[l] = i
	}
	paid := make([]float64, len(lots))
	for range 4 {
		clear(paid)
		for _, d := range drafts {
			d.appraise()
			f := float64(d.price) / max(d.worth, 1e-9)
			for _, q := range d.loads {
				paid[at[q.lot]] += float64(f * float64(q.lot.value*float64(q.n)))
			}
		}
		for i, l := range lots {
			l.value = max(1, (l.value+paid[i]/float64(l.total))/2)
		}
	}
	for _, d := range drafts {
		d.appraise()
	}
}

// draftsOf are the new nodes as they are, as drafts.
func (k *packer) draftsOf(instances []*newNode, lots []*itemType) []*draft {
	lotOf := map[*podGroup]*itemType{}
	for _, l := range lots {
		for _, q := range l.members {
			lotOf[q.item] = l
		}
	}
	out := make([]*draft, 0, len(instances))
	for _, m := range instances {
		d := &draft{shape: m.shape, used: make([]int64, k.s.schema.Len()), best: m.best, price: m.price}
		d.loads = make([]load, 0, len(m.parts))
		for _, q := range m.parts {
			d.add(k.s, lotOf[q.item], q.n)
		}
		out = append(out, d)
	}
	return out
}

// replace launches the drafts instead of the new nodes, whose charges are taken back already. False, and nothing is changed,
// if limits or the demand for many values forbid it.
func (s *solver) replace(p *pool, old []*newNode, drafts []*draft) bool {
	used := map[*itemType][2]int{} // member, and how many of it are gone
	var fresh []*newNode
	price := catalog.MicroUSD(0)
	for _, d := range drafts {
		m := d.newNode(p, used)
		m.types = m.fits()
		if (p.nodesLeft == 0) || !m.types.Any() || !s.enoughValues(m, old) {
			for _, x := range fresh {
				p.refund(x)
			}
			return false
		}
		m.settleAll()
		p.charge(m)
		price += m.price
		fresh = append(fresh, m)
	}
	was := catalog.MicroUSD(0)
	for _, m := range old {
		was += m.price
	}
	if price > was {
		for _, x := range fresh {
			p.refund(x)
		}
		return false
	}
	for _, m := range old {
		m.gone = true
	}
	s.newNodes = append(slices.DeleteFunc(s.newNodes, func(m *newNode) bool { return m.gone }), fresh...)
	return true
}

// enoughValues reports whether a new node has the choice that its pool demands; with MinValuesBestEffort also whether one of those that
// it would stand in for has not.
func (s *solver) enoughValues(m *newNode, old []*newNode) bool {
	return !m.pool.hasMinValues || !s.hasTooFew(m) || s.p.Options.MinValuesBestEffort && slices.ContainsFunc(old, s.hasTooFew)
}

// newNode makes the draft real, with pods of the item types' members in order.
func (d *draft) newNode(p *pool, used map[*itemType][2]int) *newNode {
	m := &newNode{pool: p, shape: d.shape, used: d.used, ports: d.ports, host: d.host}
	for _, q := range d.loads {
		at := used[q.lot]
		for n := q.n; n > 0; {
			member := q.lot.members[at[0]]
			k := min(n, member.n-at[1])
			m.parts = append(m.parts, part{member.item, k})
			m.worth += member.item.on[p.rank].worth * int64(k)
			n -= k
			if at[1] += k; at[1] == member.n {
				at = [2]int{at[0] + 1, 0}
			}
		}
		used[q.lot] = at
	}
	return m
}
