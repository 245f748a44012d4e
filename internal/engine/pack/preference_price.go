package pack

import (
	"math"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// DefaultPreferenceShare is what the preferences of a class may cost, as a share of what its pods cost on the new nodes
// that suit them best.
const DefaultPreferenceShare = 0.02

// machineToll is what a new node costs besides its price, when it is weighed whether a preference is worth more new nodes:
// its disk above all. It is not part of any price that a plan states.
//
// Source: 20 GiB of gp3 at $0.08 per GiB and month, us-east-1, 2026.
const nodeToll catalog.MicroUSD = 2_200

// toll is what of machineToll the upkeep in the prices does not count already.
func (o *Options) toll() catalog.MicroUSD { return max(0, nodeToll-o.Upkeep) }

// fewNodes is how many new nodes more a class may have for its preferences, whatever their price, besides a share of all.
const fewNodes = 3

// mostTrials bounds how often a problem is solved to find out what preferences cost.
const mostTrials = 8

// pricePreferences solves without any preferences, then with them, and declines those that cost more than they may until the rest pays.
func (k *memory) pricePreferences(p *Problem, all []*preferring) *solver {
	c := choiceOf(all)
	for _, w := range all {
		w.tiers = []tier{{}}
	}
	base := k.place(p, c, nil)
	ledger := newLedger(p, base)
	for _, w := range all {
		w.tiers = []tier{{honoured: ledger.promising(base, w)}}
	}
	best := base
	for i := range mostTrials {
		if !slices.ContainsFunc(all, func(w *preferring) bool { return w.tiers[0].honoured != 0 }) {
			break
		}
		trial := k.place(p, c, nil)
		if !ledger.declineCostly(trial, all, i >= mostTrials/2) {
			best = trial
			break
		}
	}
	if best == base {
		ledger.declineRest(all)
	}
	return best
}

// ledger compares what classes cost with and without their preferences.
type ledger struct {
	base     *solver
	share    float64
	cost     map[string]float64 // by class ID, nano-USD per hour, with tolls
	price    map[string]float64 // the same without
	nodes    map[string]float64
	most     float64 // new nodes that a class may have more because of its preferences
	unplaced map[string]int
	allowed  map[string]float64
}

func newLedger(p *Problem, base *solver) *ledger {
	l := &ledger{base: base, share: p.Options.PreferenceShare, cost: base.costs(p.Options.toll()), price: base.costs(0), nodes: base.nodesByClass(), unplaced: base.missing(), allowed: map[string]float64{}}
	if l.share == 0 {
		l.share = DefaultPreferenceShare
	}
	l.most = fewNodes + float64(l.share*float64(len(base.newNodes)))
	for _, c := range base.classes {
		if len(c.preferences) > 0 && c.broken == "" {
			l.allowed[c.src.ID] = l.share * float64(base.fair(c)) * float64(len(c.pods)-c.unplaced())
		}
	}
	return l
}

// fair is what one pod of the class costs on the new node that suits it best, in nano-USD per hour; 0 when none can be
// launched.
func (s *solver) fair(c *class) int64 {
	it := s.newItem(c, 0, "", 0)
	for _, p := range s.pools {
		if v := s.view(it, p); v.shape != nil {
			return v.worth
		}
	}
	return 0
}

// costs divides the price of every new node, and the toll, among its pods by what they are worth.
func (s *solver) costs(toll catalog.MicroUSD) map[string]float64 {
	out := map[string]float64{}
	s.divide(func(class string, m *newNode, share float64) {
		out[class] += float64(share * float64(m.price+toll) * 1000)
	})
	return out
}

// divide tells for each new node what share of it each class has.
func (s *solver) divide(each func(class string, m *newNode, share float64)) {
	for _, m := range s.newNodes {
		sum := 0.0
		for _, q := range m.parts {
			sum += float64(float64(q.item.on[m.pool.rank].worth) * float64(q.n))
		}
		for _, q := range m.parts {
			share := 1 / float64(len(m.parts))
			if sum > 0 {
				share = float64(q.item.on[m.pool.rank].worth) * float64(q.n) / sum
			}
			each(q.item.class.src.ID, m, share)
		}
	}
}

// new nodes divides the new nodes among their pods by what they are worth.
func (s *solver) nodesByClass() map[string]float64 {
	out := map[string]float64{}
	s.divide(func(class string, _ *newNode, share float64) { out[class] += share })
	return out
}

func (s *solver) missing() map[string]int {
	out := map[string]int{}
	for _, c := range s.classes {
		if n := c.unplaced(); n > 0 {
			out[c.src.ID] += n
		}
	}
	return out
}

// bill is what the new nodes cost, tolls included.
func (s *solver) bill(toll catalog.MicroUSD) catalog.MicroUSD {
	sum := catalog.MicroUSD(0)
	for _, m := range s.newNodes {
		sum += m.price + toll
	}
	return sum
}

// promising are the preferences that are worth a trial: those that are certain to cost more than allowed are declined here.
func (l *ledger) promising(base *solver, w *preferring) honoured {
	i := slices.IndexFunc(base.classes, func(c *class) bool { return c.src.ID == w.id })
	if i < 0 || base.classes[i].broken != "" || base.classes[i].unplaced() == len(base.classes[i].pods) {
		return 0
	}
	c := base.classes[i]
	h := everyPreference(w.preferences)
	for at, x := range w.preferences {
		if !x.host {
			continue
		}
		if least, price, instances := base.leastExtra(c, x); float64(least) > l.allowed[w.id] || float64(instances) > l.most {
			h = h.without(at)
			l.decline(w, at, catalog.MicroUSD(max(0, price)/1000), true, false)
		}
	}
	if w.taints && !base.canAvoid(c) {
		w.taints, w.preferences = false, w.preferences[:len(w.preferences)-1]
		h &= everyPreference(w.preferences)
	}
	return base.compatible(c, w, h)
}

// leastExtra bounds from below, in nano-USD per hour, what it adds to the bill that no node takes more pods of the class
// than the preference allows: with tolls, and the price alone; and how many new nodes.
func (s *solver) leastExtra(c *class, w preference) (extra, price int64, instances int) {
	per := 0
	switch {
	case w.kind == plan.PreferApart && c.src.AntiAffinity[w.at].Selects(c.src, c.src):
		per = 1
	case w.kind == plan.PreferSpread && c.src.Spreads[w.at].Selector.Matches(c.src.Labels):
		per = c.src.Spreads[w.at].MaxSkew
	}
	if per == 0 {
		return 0, 0, 0
	}
	it := s.newItem(c, 0, "", 0)
	hosts := (len(c.pods) - c.unplaced() + per - 1) / per
	for _, n := range s.nodes {
		if hosts == 0 {
			return 0, 0, 0
		}
		if s.fitsKind(it, n) != barred && c.req.Fits(s.schema.Vector(n.src.Allocatable)) {
			hosts--
		}
	}
	cheapest := int64(math.MaxInt64)
	for _, p := range s.pools {
		v := s.view(it, p)
		if v.shape == nil {
			continue
		}
		for _, t := range v.shape.order {
			if c.req.Fits(p.net[t]) {
				cheapest = min(cheapest, int64(v.shape.price[t])*1000)
				break
			}
		}
	}
	if cheapest == math.MaxInt64 || cheapest > 0 && int64(hosts) > math.MaxInt64/cheapest {
		return 0, 0, 0
	}
	price = int64(hosts)*cheapest - int64(s.bill(0))*1000
	instances = hosts - len(s.newNodes)
	return price + int64(s.p.Options.toll())*1000*int64(instances), price, instances
}

// canAvoid reports whether anything takes the class that does not ask to be avoided.
func (s *solver) canAvoid(c *class) bool {
	it := s.newItem(c, 0, "", 0)
	return slices.ContainsFunc(s.pools, func(p *pool) bool {
		return judgeTaints(p.src.Taints, c.src.Tolerations) == bears && s.view(it, p).shape != nil
	}) || slices.ContainsFunc(s.nodes, func(n *node) bool {
		return judgeTaints(n.src.Taints, c.src.Tolerations) == bears && s.fitsKind(it, n) != barred
	})
}

// compatible leaves out preferred node affinity that can't be had together with heavier terms, or at all.
func (s *solver) compatible(c *class, w *preferring, h honoured) honoured {
	probe := *c
	probe.preferences, probe.honoured = w.preferences, 0
	for at, x := range w.preferences {
		if x.kind != plan.PreferNode || !h.has(at) {
			continue
		}
		next := probe
		next.honoured = 1 << at
		s.honourNode(&next)
		it := s.newItem(&next, 0, "", 0)
		reachable := slices.ContainsFunc(s.pools, func(p *pool) bool { return s.view(it, p).shape != nil }) ||
			slices.ContainsFunc(s.nodes, func(n *node) bool { return s.fitsKind(it, n) != barred })
		if !reachable {
			h = h.without(at)
			continue
		}
		probe = next
	}
	return h
}

func (l *ledger) decline(w *preferring, at int, cost catalog.MicroUSD, atLeast, blocked bool) {
	key, want := preferenceText(w.src, w.preferences[at])
	w.declined[at] = plan.Preference{ClassID: w.id, Kind: w.preferences[at].kind, Key: key, Want: want, Pods: w.pods, Such: w.such,
		Cost: cost, AtLeast: atLeast, Blocked: blocked}
	for i := range w.tiers {
		w.tiers[i].honoured = w.tiers[i].honoured.without(at)
	}
}

// declineCostly takes preferences off the classes that the trial leaves unplaced or that cost more than they may. It is false
// when there is nothing to take: the trial is good. Classes share new nodes, so that one with a costly preference makes others
// dear as well; unless all is asked for, only the worst are taken now and the others tried again.
func (l *ledger) declineCostly(trial *solver, all []*preferring, everything bool) bool {
	costs, prices, instances, missing := trial.costs(trial.p.Options.toll()), trial.costs(0), trial.nodesByClass(), trial.missing()
	ratio := make([]float64, len(all)) // of what honouring costs to what it may; above 1 is too much
	allowed, worst, dearest := 0.0, 0.0, -1
	for i, w := range all {
		if w.tiers[0].honoured == 0 {
			continue
		}
		allowed += l.allowed[w.id]
		ratio[i] = max((costs[w.id]-l.cost[w.id])/(l.allowed[w.id]+slack), (instances[w.id]-l.nodes[w.id])/l.most)
		if missing[w.id] > l.unplaced[w.id] {
			ratio[i] = math.Inf(1)
		}
		if dearest < 0 || ratio[i] > worst {
			worst, dearest = ratio[i], i
		}
	}
	if dearest < 0 {
		return false
	}
	if worst > 1 {
		for i, w := range all {
			if ratio[i] > 1 && (everything || ratio[i] >= worst/2) {
				extra := max(0, prices[w.id]-l.price[w.id])
				l.decline(w, w.costliest(w.tiers[0].honoured), catalog.MicroUSD(extra/1000), false, math.IsInf(ratio[i], 1))
			}
		}
		return true
	}
	// Each class is within its share, but others may have had to give way.
	more := float64(trial.bill(trial.p.Options.toll())-l.base.bill(trial.p.Options.toll())) * 1000
	blocked := total(missing) > total(l.unplaced)
	if !blocked && more <= allowed+slack {
		return false
	}
	w := all[dearest]
	l.decline(w, w.costliest(w.tiers[0].honoured), max(0, trial.bill(0)-l.base.bill(0)), false, blocked)
	return true
}

// slack is the rounding that is left out of account, in nano-USD per hour.
const slack = 1000

func total(m map[string]int) int {
	sum := 0
	for _, n := range m {
		sum += n
	}
	return sum
}

// costliest is the preference that is likeliest to cost: one by host, or else the one that is given up first.
func (w *preferring) costliest(h honoured) int {
	first := -1
	for i, x := range w.preferences {
		if !h.has(i) {
			continue
		}
		if x.host {
			return i
		}
		if first < 0 {
			first = i
		}
	}
	return first
}

// declineRest is for preferences that were still in trial when the trials came to an end.
func (l *ledger) declineRest(all []*preferring) {
	for _, w := range all {
		for at := range w.preferences {
			if w.tiers[0].honoured.has(at) {
				l.decline(w, at, 0, true, false)
			}
		}
	}
}
