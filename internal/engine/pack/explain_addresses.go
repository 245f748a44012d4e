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

// withoutFullZones has the pool's types sold out in zones of which the subnets have too few addresses for them once the
// plan is carried out. Then there are addresses enough for whoever asks.
func (e *explainer) withoutFullZones(pool *cluster.Pool) {
	if len(pool.Subnets) == 0 {
		return
	}
	s := newSolver(e.p, newMemory())
	s.compileSubnets()
	for i := range e.out.NewNodes {
		s.takePlanned(&e.out.NewNodes[i])
	}
	rooms := s.roomsOf(pool)
	pool.Subnets = nil
	pool.Types = slices.Clone(pool.Types)
	for i, t := range pool.Types {
		full := *t
		full.Offerings = slices.Clone(t.Offerings)
		for j := range full.Offerings {
			o := &full.Offerings[j]
			if room := rooms[o.Zone]; room != nil && o.Available && room.roomiest().left < takes(t) {
				o.Available, o.Unavailable = false, fullZone
			}
		}
		pool.Types[i] = &full
	}
}

// takePlanned takes the addresses of a planned node in every zone in which it may be launched.
func (s *solver) takePlanned(nn *plan.NewNode) {
	at := slices.IndexFunc(s.p.Pools, func(p *cluster.Pool) bool { return p.Name == nn.Pool })
	reqs, err := s.vocab.Parse(settled(nn))
	if at < 0 || err != nil {
		return
	}
	need := map[string]int64{}
	for _, choice := range nn.Types {
		t := typeNamed(s.p.Pools[at], choice.Name)
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
		room.roomiest().left -= need[zone]
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
