package pack

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// podGroup is some pods of a class that have to go to the same kind of place: a class as a whole, or its share for one
// topology domain.
type podGroup struct {
	class *class
	total int
	left  int
	// alts are the alternatives of requirements, the pinned domain included, by number.
	alts []int
	pin  string
	// on holds, by pool, what is known of the item there.
	on []podGroupOnPool
	// pool is the one that the item would be launched for now; nil when there is none.
	pool *pool
	// pools in the order in which the item would go to them, as far as anybody asked: whole tiers of equal weight.
	pools []*pool
	kinds []int8
	// within are nodes among which all are that the item may go to, if they are fewer than all.
	within []*node
	// nodes are those that may still have room for a pod, once pods are placed one by one; nil until then.
	nodes []*node
	hard  hardness
	noted noted
}

// empty leaves the item without pods, as one that no pool is to launch for. Where it would go is asked anew: a reservation
// that was there, or was used up, makes a difference.
func (it *podGroup) empty() { it.left, it.total, it.pool, it.pools = 0, 0, nil, it.pools[:0] }

// podGroupOnPool is the view of an item on a pool.
type podGroupOnPool struct {
	known   bool
	verdict taintVerdict
	// shape of a new node for this item alone; nil when there is none.
	shape *shape
	// worth of one pod in nano-USD per hour: the share of the cheapest new node that it takes.
	worth int64
}

// hardness orders items: what is harder to place comes first.
type hardness struct {
	priority int32
	bound    int // 0: the number of its nodes is forced by topology; 1: not
	choices  int // binary order of magnitude of the types that would do
	worth    int64
}

func (s *solver) view(it *podGroup, p *pool) *podGroupOnPool {
	v := &it.on[p.rank]
	if v.known {
		return v
	}
	v.known = true
	v.verdict = it.class.judge(p.src.Taints)
	if p.broken != "" || v.verdict == barred {
		return v
	}
	for _, alt := range it.alts {
		sh := s.and(p.base, alt)
		if sh == nil {
			continue
		}
		worth, ok := s.fairWorth(sh, it)
		if ok && (v.shape == nil || worth < v.worth) {
			v.shape, v.worth = sh, worth
		}
	}
	return v
}

// mulDiv is a*b/c without overflow in between, rounded up; the largest uint64 if it does not fit.
func mulDiv(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi >= c {
		return math.MaxUint64
	}
	q, r := bits.Div64(hi, lo, c)
	if r > 0 {
		q++
	}
	return q
}

func (s *solver) newItem(c *class, n int, pin string, pinned int) *podGroup {
	it := &podGroup{class: c, total: n, left: n, pin: pin, on: make([]podGroupOnPool, len(s.pools))}
	for _, alt := range s.altsOf(c) {
		if both := s.reqs.and(alt, pinned); both >= 0 {
			it.alts = append(it.alts, both)
		}
	}
	return it
}

func (s *solver) sortItems() {
	for _, it := range s.podGroups {
		it.hard = s.rate(it)
	}
	slices.SortFunc(s.podGroups, func(a, b *podGroup) int {
		return cmp.Or(
			a.class.rank.compare(b.class.rank),
			cmp.Compare(a.hard.bound, b.hard.bound),
			cmp.Compare(a.hard.choices, b.hard.choices),
			cmp.Compare(b.hard.worth, a.hard.worth),
			a.class.pods[0].CreatedAt.Compare(b.class.pods[0].CreatedAt),
			cmp.Compare(a.class.src.ID, b.class.src.ID),
			cmp.Compare(a.class.tier, b.class.tier),
			cmp.Compare(a.pin, b.pin),
		)
	})
}

func (s *solver) rate(it *podGroup) hardness {
	h := hardness{priority: it.class.src.Priority, bound: 1}
	if s.perHost(it.class) > 0 {
		h.bound = 0
	}
	for _, p := range s.pools {
		if v := s.view(it, p); v.shape != nil {
			h.choices = bits.Len(uint(v.shape.types.Count()))
			h.worth = v.worth
			break
		}
	}
	return h
}

// choosePool finds the first pool, by weight and then by price, on which the item can be launched now.
func (s *solver) choosePool(it *podGroup, worst taintVerdict) *pool { return s.poolFrom(it, 0, worst) }

// poolAfter is the next pool after p on which the item can be launched now.
func (s *solver) poolAfter(it *podGroup, p *pool, worst taintVerdict) *pool {
	return s.poolFrom(it, slices.Index(it.pools, p)+1, worst)
}

func (s *solver) poolFrom(it *podGroup, at int, worst taintVerdict) *pool {
	for ; at < len(s.pools); at++ {
		if at == len(it.pools) {
			s.lineUp(it)
		}
		if p := it.pools[at]; s.canLaunch(it, p, worst) {
			return p
		}
	}
	return nil
}

// lineUp adds the pools of the next lower weight to those that the item goes to, the cheapest for it first. Weight is an
// order that users set; between pools that they hold for equal nothing but the price is left to decide.
func (s *solver) lineUp(it *podGroup) {
	from := len(it.pools)
	for _, p := range s.pools[from:] {
		if p.src.Weight != s.pools[from].src.Weight {
			break
		}
		it.pools = append(it.pools, p)
	}
	if len(it.pools) == from+1 {
		return
	}
	cost := make([]int64, len(s.pools))
	for _, p := range it.pools[from:] {
		switch v := s.view(it, p); {
		case s.reservable(it, p, 1): // costs nothing
		case v.shape == nil:
			cost[p.rank] = math.MaxInt64
		default:
			cost[p.rank] = v.worth
		}
	}
	slices.SortStableFunc(it.pools[from:], func(a, b *pool) int { return cmp.Compare(cost[a.rank], cost[b.rank]) })
}

// canLaunch reports whether a new node for the item can be had from the pool now.
func (s *solver) canLaunch(it *podGroup, p *pool, worst taintVerdict) bool {
	v := s.view(it, p)
	if v.verdict > worst {
		return false
	}
	return v.shape != nil && (!p.hasLimits() || s.affords(it, v.shape)) || s.reservable(it, p, 1)
}

// affords reports whether a type that the limits still allow can carry one pod of the item.
func (s *solver) affords(it *podGroup, sh *shape) bool {
	p := sh.pool
	for t := range sh.types.Each {
		if p.affordable.Has(t) && it.class.req.Fits(p.net[t]) {
			return true
		}
	}
	return false
}

// part is some pods of an item on one new node.
type part struct {
	item *podGroup
	n    int
}
