package overview

import (
	"maps"
	"reflect"
	"slices"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

const (
	// freshFor is for how long a look serves all who ask: several readers cost as much as one.
	freshFor = time.Second
	// staleAfter is after which time what others know is asked for again though the cluster is the same.
	staleAfter = 10 * time.Second
)

// goneMost bounds the names of nodes that are remembered as gone.
const goneMost = 10_000

// known is a node as it was last served. What is shown of it is made anew only when it has changed.
type known struct {
	from *cluster.Node
	at   int    // where it stands among the nodes
	seen uint64 // the last look that found it

	blocker *blocker       // nil where nothing blocks its removal
	waiting []*cluster.Pod // that are to come once it is ready
	state   State
	price   catalog.MicroUSD
	kept    disrupt.Kept // by the last decision; without reasons where it says nothing of the node
	said    uint64       // the last decision that named it
	version uint64
	shown   *Node
}

// look is what the controller knew when somebody last asked.
type look struct {
	snapshot *cluster.Snapshot
	decision *disrupt.Decision
	terms    *terms
	at       time.Time

	serial, decisions uint64 // of looks, and of decisions that were taken in

	nodes  []*known // in the order of the snapshot
	spare  []*known // room for the next look's
	sums   sums
	coming []*known // nodes that pods wait for
	going  []*known // nodes on their way out
	unwell []*known // nodes that may be a problem

	pools     []Pool
	bill      Bill
	blocked   []Blocked
	blockedAt uint64 // the version in which it was first so

	interrupted []Interruption
}

// look takes in what the controller knows now.
//
// Cost: a comparison of pointers for each node; more only for those that have changed, and for all when prices or the decision have.
func (o *Overview) look() {
	now := o.from.Now()
	s := &o.seen
	age := now.Sub(s.at)
	if s.snapshot != nil && age >= 0 && age < freshFor {
		return
	}
	snapshot, t := o.from.Snapshot(), o.terms.newest()
	var d *disrupt.Decision
	if o.from.Decision != nil {
		d = o.from.Decision()
	}
	if o.decides.IsZero() && (d != nil || o.from.Decision == nil) {
		o.decides = now
	}
	if snapshot == s.snapshot && d == s.decision && t == s.terms && age >= 0 && age < staleAfter {
		return
	}
	next := o.version + 1
	c := comparison{o: o, terms: t, next: next, renumbered: o.classes.refit(snapshot), repriced: s.terms == nil || t.prices != s.terms.prices}
	if c.renumbered {
		o.forgot = next // numbers of classes mean others now
	}
	c.compare(snapshot)
	if d != s.decision || c.added {
		o.decided(d, next, now)
		c.changed = true
	}
	if len(o.gone) > goneMost {
		o.gone, o.forgot = map[string]uint64{}, next
	}
	if c.changed || s.passes(now) {
		o.version = next
		s.sort()
		if now := blocked(s.nodes, now); !reflect.DeepEqual(now, s.blocked) {
			s.blocked, s.blockedAt = now, next
		}
	}
	s.snapshot, s.decision, s.terms, s.at = snapshot, d, t, now
	s.pools, s.bill = s.sums.byPool(t.pools), s.sums.bill
	if d != nil {
		s.bill.Planned, s.bill.Worth = d.After, max(0, d.After-d.Spare)
	}
	if o.from.Usual != nil {
		s.bill.Dear = dear(s.nodes, o.from.Usual())
	}
	if o.from.Interrupted != nil {
		s.interrupted = o.from.Interrupted(snapshot)
	}
}

// comparison takes the nodes of a snapshot in.
type comparison struct {
	o     *Overview
	terms *terms
	next  uint64 // the version in which what has changed is served
	// renumbered is set where all must be shown anew, repriced where all prices have to be looked up.
	renumbered, repriced bool

	changed, added bool
}

func (c *comparison) compare(snapshot *cluster.Snapshot) {
	o, s := c.o, &c.o.seen
	s.serial++
	old, nodes := s.nodes, s.spare[:0]
	here, found := 0, 0 // where the walk through the old nodes stands, and how many of them were found again
	for i, n := range snapshot.Nodes {
		var k *known
		if here < len(old) && (old[here].from == n || old[here].from.Name == n.Name) {
			k = old[here]
		} else {
			k = o.nodes[n.Name]
		}
		if k == nil || k.seen == s.serial {
			k = &known{}
			o.nodes[n.Name] = k
			delete(o.gone, n.Name)
			c.added = true
		} else {
			here, found = max(here, k.at+1), found+1
		}
		if k.from != n || c.repriced || c.renumbered {
			c.take(k, n)
		}
		k.at, k.seen = i, s.serial
		nodes = append(nodes, k)
	}
	if found < len(old) {
		for _, k := range old {
			if k.seen != s.serial {
				o.drop(k)
				o.gone[k.from.Name] = c.next
			}
		}
		c.changed = true
	}
	clear(old)
	s.nodes, s.spare = nodes, old
}

// take takes in the newest version of a node.
func (c *comparison) take(k *known, n *cluster.Node) {
	o := c.o
	price := c.terms.price(n)
	if last := o.priced[n.Claim]; price == 0 && last != nil {
		price = last.price
	}
	if k.from == n && price == k.price && !c.renumbered {
		return
	}
	if k.from != nil {
		o.seen.sums.count(k, -1)
	}
	k.from, k.price, k.version, k.waiting = n, price, c.next, toCome(n)
	k.shown, k.state = o.show(k), stateOf(n)
	o.seen.sums.count(k, 1)
	if n.Claim != "" && price > 0 {
		o.priced[n.Claim] = k
	}
	c.changed = true
}

// drop forgets a node that is gone.
func (o *Overview) drop(k *known) {
	o.seen.sums.count(k, -1)
	if o.nodes[k.from.Name] == k {
		delete(o.nodes, k.from.Name)
	}
	if o.priced[k.from.Claim] == k {
		delete(o.priced, k.from.Claim)
	}
}

// decided takes in what the last decision says of the nodes.
func (o *Overview) decided(d *disrupt.Decision, next uint64, now time.Time) {
	s := &o.seen
	s.decisions++
	if d != nil {
		for i := range d.Kept {
			if k := o.nodes[d.Kept[i].Node]; k != nil {
				k.said = s.decisions
				k.hold(d.Kept[i], next)
				k.blocker = k.blocker.after(d.Kept[i], s.at, now)
			}
		}
	}
	for _, k := range s.nodes {
		if k.said != s.decisions {
			k.hold(disrupt.Kept{}, next)
			k.blocker = nil
		}
	}
}

// hold takes in what keeps a node.
func (k *known) hold(by disrupt.Kept, next uint64) {
	same := sameHold(k.kept, by)
	k.kept = by
	if same {
		return
	}
	shown := *k.shown
	shown.Hold = holdOf(by)
	k.shown, k.version = &shown, next
}

// sameHold leaves out how much time is left of something, or every node would be another one each second.
func sameHold(a, b disrupt.Kept) bool {
	if a.Saves != b.Saves || len(a.Reasons) == 0 != (len(b.Reasons) == 0) {
		return false
	}
	return len(a.Reasons) == 0 || a.Reasons[0].Code == b.Reasons[0].Code && a.Reasons[0].Pod == b.Reasons[0].Pod && a.Reasons[0].Want == b.Reasons[0].Want
}

// sort makes the lists of nodes of a kind.
func (s *look) sort() {
	s.coming, s.going, s.unwell = s.coming[:0], s.going[:0], s.unwell[:0]
	for _, k := range s.nodes {
		if len(k.waiting) > 0 {
			s.coming = append(s.coming, k)
		}
		switch k.state {
		case Joining, Starting, NotReady:
			s.unwell = append(s.unwell, k)
		case Leaving, Draining:
			s.going = append(s.going, k)
		case Launching, Ready:
		}
	}
}

// sums are what the nodes add up to, kept up by those that change.
type sums struct {
	bill  Bill
	nodes int // that Kerf launched
	pods  int // on nodes
	pools map[string]*poolSum
}

type poolSum struct {
	all, nodes int // of the pool; that Kerf launched
	price      catalog.MicroUSD
	used       res.List // against the pool's limits
}

// count adds a node, or takes it away where by is -1.
func (s *sums) count(k *known, by int) {
	n, price := k.from, k.price*catalog.MicroUSD(by)
	s.pods += by * (len(n.Pods) - expected(n))
	if n.Pool != "" || n.Claim != "" {
		s.ofPool(n.Pool, func(p *poolSum) {
			p.all += by
			if !n.Deleting {
				for name, amount := range n.Capacity {
					p.used[name] += int64(by) * amount
				}
				p.used[res.Nodes] += int64(by)
			}
			if n.Claim != "" {
				p.nodes, p.price = p.nodes+by, p.price+price
			}
		})
	}
	if n.Claim == "" {
		return
	}
	s.nodes += by
	s.bill.Running += price
	switch n.CapacityType {
	case catalog.Spot:
		s.bill.Spot += by
	case catalog.Reserved:
		s.bill.Reserved += by
	case catalog.OnDemand:
		s.bill.OnDemand += by
	}
	if k.price == 0 && n.Launched && n.CapacityType != catalog.Reserved {
		s.bill.Unpriced += by
	}
}

func (s *sums) ofPool(name string, change func(*poolSum)) {
	p := s.pools[name]
	if p == nil {
		if s.pools == nil {
			s.pools = map[string]*poolSum{}
		}
		p = &poolSum{used: res.List{}}
		s.pools[name] = p
	}
	change(p)
	if p.all == 0 {
		delete(s.pools, name)
	}
}

// byPool are the pools, and after them those of nodes whose pool is gone.
func (s *sums) byPool(pools []*cluster.Pool) []Pool {
	out, listed := []Pool{}, map[string]bool{}
	for _, pool := range pools {
		listed[pool.Name] = true
		shown := Pool{Name: pool.Name, Class: pool.Labels[awsv1.LabelNodeClass], NotReady: pool.NotReady}
		sum := s.pools[pool.Name]
		if sum == nil {
			sum = &poolSum{}
		}
		shown.Nodes, shown.Price = sum.nodes, sum.price
		for resource, limit := range pool.Limits {
			if shown.Limits == nil {
				shown.Limits, shown.Used = map[string]int64{}, map[string]int64{}
			}
			shown.Limits[resource], shown.Used[resource] = limit, sum.used[resource]
		}
		out = append(out, shown)
	}
	for _, name := range slices.Sorted(maps.Keys(s.pools)) {
		if sum := s.pools[name]; !listed[name] && sum.nodes > 0 {
			out = append(out, Pool{Name: name, Nodes: sum.nodes, Price: sum.price})
		}
	}
	return out
}
