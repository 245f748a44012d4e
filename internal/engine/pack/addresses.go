package pack

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// A subnet has so many addresses, and each new node takes some of them. As a rule there are far more than a plan needs. So
// a problem is solved without a look at them, and only then it is counted what the new nodes take: one that may be launched
// in several zones in each of them, so that the plan holds whichever it will be. New nodes that may go elsewhere leave the
// zones that are full.
//
// Where that is not enough, the problem is solved again, and addresses are counted as it is solved: a pool becomes a part
// for each zone that is short, with a limit of its own, and one for all other zones. New nodes of the former are bound to
// the zone by their requirements, those of the latter keep out of it.

// zoneCare says how addresses in a zone are taken care of.
type zoneCare int

const (
	tallied zoneCare = iota + 1 // as the problem is solved
	closed                      // nothing is launched there
)

// zonesAreShort notes the zones in which a solution found too few addresses. It is false when there are none.
func (l *learned) zonesAreShort(zones []string) bool {
	for _, zone := range zones {
		if l.zones == nil {
			l.zones = map[string]zoneCare{}
		}
		l.zones[zone] = min(l.zones[zone]+1, closed)
	}
	return len(zones) > 0
}

// subnet is what is left of a subnet. Pools share it.
type subnet struct {
	id    string
	left  int64
	parts []*pool // whose new nodes go there and nowhere else

	journal *journal // of the solver
	noted   noted
}

// take takes addresses of the subnet, or gives them back where n is below zero.
func (x *subnet) take(n int64) {
	x.journal.subnet(x)
	x.left -= n
}

// takes is how many addresses a new node of the type takes.
func takes(t *catalog.Type) int64 { return max(1, t.Addresses) }

// compileSubnets finds what is left of each subnet: the least that anyone says of it, less what is on its way already. A
// node that may still be launched in several zones takes its addresses in each.
func (s *solver) compileSubnets() {
	for _, p := range s.p.Pools {
		for _, x := range p.Subnets {
			if s.subnets == nil {
				s.subnets = map[string]*subnet{}
			}
			if known := s.subnets[x.ID]; known != nil {
				known.left = min(known.left, x.Free)
			} else {
				s.subnets[x.ID] = &subnet{id: x.ID, left: x.Free, journal: s.journal}
			}
		}
	}
	if s.subnets == nil {
		return
	}
	pools := map[string]*cluster.Pool{}
	for _, p := range s.p.Pools {
		pools[p.Name] = p
	}
	nodes := slices.DeleteFunc(slices.Clone(s.p.Nodes), func(n *cluster.Node) bool { return n.Launched || n.Deleting || pools[n.Pool] == nil })
	slices.SortFunc(nodes, func(a, b *cluster.Node) int { return strings.Compare(a.Name, b.Name) })
	for _, n := range nodes {
		labels, most := s.labelsOf(n), int64(1)
		if set, ok := labels.Get(s.vocab.Key(requirement.InstanceType)); ok {
			for _, t := range pools[n.Pool].Types {
				if takes(t) > most && set.Has(t.Name) {
					most = takes(t)
				}
			}
		}
		set, bound := labels.Get(s.vocab.Key(requirement.Zone))
		for zone, room := range s.roomsOf(pools[n.Pool]) {
			if !bound || set.Has(zone) {
				room.roomiest().take(most)
			}
		}
	}
}

// room is the subnets of a pool in one zone.
type room []*subnet

// roomsOf are the subnets of the pool by zone.
func (s *solver) roomsOf(p *cluster.Pool) map[string]room {
	out := map[string]room{}
	for _, x := range p.Subnets {
		out[x.Zone] = append(out[x.Zone], s.subnets[x.ID])
	}
	return out
}

// roomiest is the subnet with the most addresses left, the first by ID of several.
func (r room) roomiest() *subnet {
	return slices.MaxFunc(r, func(a, b *subnet) int {
		return cmp.Or(cmp.Compare(a.left, b.left), strings.Compare(b.id, a.id))
	})
}

// splitPool adds the parts of a pool that has zones in which addresses are counted: one for each of them, and one for all
// other zones, which comes first because it has no end. False if the pool has none.
func (s *solver) splitPool(src *cluster.Pool, cat *catalog.Catalog, err error) bool {
	rooms := s.roomsOf(src)
	zones := slices.DeleteFunc(sortedKeys(rooms), func(zone string) bool { return s.memory.learned.zones[zone] == 0 })
	if len(zones) == 0 {
		return false
	}
	add := func(only requirement.Requirements) *pool {
		p := &pool{src: src, cat: cat, upkeep: s.p.Options.Upkeep, shapes: map[int]*shape{}, wellKnown: s.isWellKnown, only: only}
		p.fault = s.compilePool(p)
		s.memory.worked.Pools++
		if err != nil {
			p.fault = err.Error()
		}
		s.begin(p, src, len(s.pools))
		return p
	}
	whole := add(requirement.Requirements{})
	rest := add(s.vocab.Without(requirement.Zone, zones...))
	rest.whole = whole
	parts := []*pool{rest}
	s.pools = append(s.pools, rest)
	for _, zone := range zones {
		if s.memory.learned.zones[zone] == closed {
			continue
		}
		p := add(s.vocab.Only(requirement.Zone, zone))
		p.room = rooms[zone]
		for _, x := range p.room {
			x.parts = append(x.parts, p)
		}
		p.refreshAffordable()
		parts = append(parts, p)
		s.pools = append(s.pools, p)
	}
	for _, p := range parts {
		p.siblings = slices.DeleteFunc(append(slices.Clone(parts), whole), func(q *pool) bool { return q == p })
	}
	return true
}

// chargeAddresses takes what the new node may take of a subnet, the one that it had before if that still has room.
func (p *pool) chargeAddresses(m *newNode) {
	if p.room == nil {
		return
	}
	m.addresses = 1
	for t := range m.types.Each {
		m.addresses = max(m.addresses, takes(p.cat.Types[t]))
	}
	if m.subnet == nil || m.subnet.left < m.addresses {
		m.subnet = p.room.roomiest()
	}
	m.subnet.take(m.addresses)
	m.subnet.refresh(p)
}

func (p *pool) refundAddresses(m *newNode) {
	if p.room == nil {
		return
	}
	m.subnet.take(-m.addresses)
	m.subnet.refresh(p)
}

// dropThirsty takes the types out of the affordable that take more addresses than any subnet of the part has left.
func (p *pool) dropThirsty() {
	most := p.room.roomiest().left
	for t := range p.cat.All().Each {
		if takes(p.cat.Types[t]) > most {
			p.affordable.Remove(t)
		}
	}
}

// dropThirstier takes out the types that take more addresses than any of those for which addresses were counted.
func (p *pool) dropThirstier(types, counted catalog.TypeSet) {
	most := int64(1)
	for t := range counted.Each {
		most = max(most, takes(p.cat.Types[t]))
	}
	for t := range p.cat.All().Each {
		if takes(p.cat.Types[t]) > most {
			types.Remove(t)
		}
	}
}

// refresh tells all others that launch in the subnet what they can have there.
func (x *subnet) refresh(but *pool) {
	for _, p := range x.parts {
		if p != but {
			p.refreshAffordable()
		}
	}
}

// share tells the other parts of the pool what is left of its limits.
func (p *pool) share() {
	for _, q := range p.siblings {
		q.journal.pool(q)
		copy(q.limited, p.limited)
		q.nodesLeft = p.nodesLeft
		q.refreshAffordable()
	}
}
