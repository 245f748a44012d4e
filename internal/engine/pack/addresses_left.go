package pack

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// fullZone is why nothing can be had in a zone once a plan is carried out.
const fullZone = "no free addresses in the zone's subnets"

// AddressesLeft are the pool's types, sold out in zones of which the subnets have too few addresses for them once the plan
// is carried out. p and out are only read, and so are the pool's types.
func AddressesLeft(p *Problem, out *plan.Plan, pool *cluster.Pool) []*catalog.Type {
	s := newSolver(p, newMemory())
	s.compileSubnets()
	for i := range out.NewNodes {
		s.takePlanned(&out.NewNodes[i])
	}
	rooms := s.roomsOf(pool)
	types := slices.Clone(pool.Types)
	for i, t := range types {
		left := *t
		left.Offerings = slices.Clone(t.Offerings)
		for j := range left.Offerings {
			o := &left.Offerings[j]
			if room := rooms[o.Zone]; room != nil && o.Available && room.roomiest().left < takes(t) {
				o.Available, o.Unavailable = false, fullZone
			}
		}
		types[i] = &left
	}
	return types
}

// takePlanned takes the addresses of a planned node in every zone in which it may be launched.
func (s *solver) takePlanned(nn *plan.NewNode) {
	at := slices.IndexFunc(s.p.Pools, func(p *cluster.Pool) bool { return p.Name == nn.Pool })
	reqs, err := s.vocab.Parse(nn.LaunchTerms())
	if at < 0 || err != nil {
		return
	}
	need := map[string]int64{}
	for _, choice := range nn.Types {
		t := s.p.Pools[at].TypeNamed(choice.Name)
		if t == nil {
			continue
		}
		for j := range t.Offerings {
			if o := &t.Offerings[j]; o.Available && s.permits(reqs, o) {
				need[o.Zone] = max(need[o.Zone], takes(t))
			}
		}
	}
	for zone, room := range s.roomsOf(s.p.Pools[at]) {
		room.roomiest().take(need[zone])
	}
}

// permits reports whether the requirements leave the offering's zone and capacity type.
func (s *solver) permits(reqs requirement.Requirements, o *catalog.Offering) bool {
	for key, value := range map[string]string{requirement.Zone: o.Zone, requirement.CapacityType: o.CapacityType} {
		if set, ok := reqs.Get(s.vocab.Key(key)); ok && !set.Has(value) {
			return false
		}
	}
	return true
}
