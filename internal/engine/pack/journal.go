package pack

import (
	"maps"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// journal is what an open fork has changed: each object as it was before its first change. Whoever changes an object that
// outlives a fork notes it first; undo then puts all of them back. The solver of a plan has no journal, and notes cost it
// one comparison.
//
// TestAForkLeavesNothingBehind holds that nothing is missing here.
type journal struct {
	fork   int // number of the open fork; 0: none is open, and nothing is noted
	opened int // how many there were

	nodes        []notedNode
	groups       []notedGroup
	domains      []notedDomain
	pools        []notedPool
	reservations []notedReservation
	subnets      []notedSubnet
	// items are those that the fork lends pods to; without a fork they have none.
	items []*podGroup
}

// noted is the number of the fork that noted an object last.
type noted int

// first reports whether a fork is open that has not noted the object, and marks it.
func (j *journal) first(n *noted) bool {
	if j == nil || j.fork == 0 || int(*n) == j.fork {
		return false
	}
	*n = noted(j.fork)
	return true
}

type notedNode struct {
	node *node
	was  node
}

type notedGroup struct {
	group          *group
	counts, owners map[string]int
	total          int
}

// notedDomain is a node that left a domain which is there only while it has nodes.
type notedDomain struct {
	of     *ephemeralDomains
	domain string
	ended  bool // it was the last
}

type notedPool struct {
	pool       *pool
	limited    []limit
	nodesLeft  int64
	affordable catalog.TypeSet
}

type notedReservation struct {
	reservation *reservation
	left        int
}

type notedSubnet struct {
	subnet *subnet
	left   int64
}

// item notes an item that is asked about or lent pods.
func (j *journal) item(it *podGroup) {
	if j.first(&it.noted) {
		j.items = append(j.items, it)
	}
}

// node notes the room of a node and what is placed there.
func (j *journal) node(n *node) {
	if j.first(&n.noted) {
		was := *n
		was.room, was.host, was.ports = n.room.Clone(), n.host.clone(), slices.Clip(n.ports)
		j.nodes = append(j.nodes, notedNode{n, was})
	}
}

// group notes what a group counts.
func (j *journal) group(g *group) {
	if j.first(&g.noted) {
		j.groups = append(j.groups, notedGroup{g, maps.Clone(g.counts), maps.Clone(g.owners), g.total})
	}
}

// pool notes what is left of a pool's limits.
func (j *journal) pool(p *pool) {
	if j.first(&p.noted) {
		// What is affordable is made anew for each change, so that the set as it is now stays.
		j.pools = append(j.pools, notedPool{p, slices.Clone(p.limited), p.nodesLeft, p.affordable})
	}
}

// reservation notes what is left of a reservation.
func (j *journal) reservation(r *reservation) {
	if j.first(&r.noted) {
		j.reservations = append(j.reservations, notedReservation{r, r.left})
	}
}

// subnet notes how many addresses are left.
func (j *journal) subnet(x *subnet) {
	if j.first(&x.noted) {
		j.subnets = append(j.subnets, notedSubnet{x, x.left})
	}
}

// leave takes a node off the domain, which ends with its last node.
func (j *journal) leave(l *ephemeralDomains, domain string) {
	l.nodes[domain]--
	ended := l.nodes[domain] == 0
	j.domains = append(j.domains, notedDomain{l, domain, ended})
	if ended {
		delete(l.group.present, domain)
		l.group.listed = nil
	}
}

// open begins a fork.
func (j *journal) open() {
	j.opened++
	j.fork = j.opened
}

// keep ends the fork and leaves everything as it is now.
func (j *journal) keep() {
	for _, x := range j.nodes {
		x.node.placed = nil
	}
	for _, it := range j.items {
		it.empty()
	}
	clear(j.items)
	clear(j.nodes)
	clear(j.groups)
	clear(j.pools)
	j.fork, j.nodes, j.groups, j.domains = 0, j.nodes[:0], j.groups[:0], j.domains[:0]
	j.pools, j.reservations, j.subnets, j.items = j.pools[:0], j.reservations[:0], j.subnets[:0], j.items[:0]
}

// undo ends the fork and puts back all that it changed.
func (j *journal) undo() {
	for i := range j.nodes {
		*j.nodes[i].node = j.nodes[i].was
	}
	for _, x := range j.groups {
		x.group.counts, x.group.owners, x.group.total = x.counts, x.owners, x.total
	}
	for _, x := range j.domains {
		if x.of.nodes[x.domain]++; x.ended {
			x.of.group.present[x.domain], x.of.group.listed = true, nil
		}
	}
	for _, x := range j.pools {
		x.pool.limited, x.pool.nodesLeft, x.pool.affordable = x.limited, x.nodesLeft, x.affordable
	}
	for _, x := range j.reservations {
		x.reservation.left = x.left
	}
	for _, x := range j.subnets {
		x.subnet.left = x.left
	}
	j.keep()
}
