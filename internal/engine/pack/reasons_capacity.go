package pack

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// typesReason narrows types key by key, in name order, and stops at the key that empties it. When that key alone would
// leave types, the reason names the other demand that it conflicts with.
func (s *solver) typesReason(p *pool, reqs requirement.Requirements, types catalog.TypeSet) (plan.Reason, bool) {
	all := types.Clone()
	for _, name := range s.keysOf(reqs) {
		k := s.vocab.Key(name)
		set, _ := reqs.Get(k)
		before := types.Clone()
		p.cat.KeepMatchingKey(types, k, set, p.defines)
		if types.Any() {
			continue
		}
		r := plan.Reason{Code: plan.NoTypeMatches, Key: name, Want: setText(set), Types: before.Count()}
		alone := all.Clone()
		p.cat.KeepMatchingKey(alone, k, set, p.defines)
		if alone.Any() {
			r.Detail, r.Types = s.conflict(p, reqs, all, k)
			return r, true
		}
		if values := set.Values(); !set.Complement() && len(values) == 1 {
			r.Nearest = requirement.Nearest(values[0], p.cat.Values(before, k))
		}
		return r, true
	}
	if !types.Any() {
		return plan.Reason{Code: plan.NoTypeMatches, Key: requirement.InstanceType, Want: "any instance type"}, true
	}
	return plan.Reason{}, false
}

// conflict finds one demand that, with the one on key k, leaves no type, and counts the types that it leaves by itself.
func (s *solver) conflict(p *pool, reqs requirement.Requirements, all catalog.TypeSet, k requirement.Key) (demand string, types int) {
	mine, _ := reqs.Get(k)
	for _, name := range s.keysOf(reqs) {
		other := s.vocab.Key(name)
		if other == k {
			continue
		}
		set, _ := reqs.Get(other)
		left := all.Clone()
		p.cat.KeepMatchingKey(left, other, set, p.defines)
		n := left.Count()
		p.cat.KeepMatchingKey(left, k, mine, p.defines)
		if !left.Any() {
			return setText(set), n
		}
	}
	return "all its other demands", all.Count()
}

func (s *solver) keysOf(reqs requirement.Requirements) []string {
	var names []string
	for k := range reqs.All {
		names = append(names, s.vocab.Name(k))
	}
	slices.Sort(names)
	return names
}

// cellReason names the requirement on where and how to launch that no type meets.
func (s *solver) cellReason(p *pool, reqs requirement.Requirements, types catalog.TypeSet) plan.Reason {
	for _, name := range catalog.CellKeys() {
		k, ok := s.vocab.Lookup(name)
		set, asked := reqs.Get(k)
		if !ok || !asked {
			continue
		}
		var known []string
		met := false
		for i := range p.cat.Cells {
			if v, ok := p.cat.Cells[i].Label(k); ok {
				known = append(known, v)
				met = met || set.Has(v)
			}
		}
		if met {
			continue
		}
		r := plan.Reason{Code: plan.NoTypeMatches, Key: name, Want: setText(set), Types: types.Count()}
		if values := set.Values(); !set.Complement() && len(values) == 1 {
			r.Nearest = requirement.Nearest(values[0], known)
		}
		return r
	}
	return plan.Reason{Code: plan.NoOffering, Types: types.Count(), Detail: "not sold in this zone and capacity type"}
}

// sizeReason drops the types that are too small, resource by resource; the one that leaves none is the reason.
func (s *solver) sizeReason(c *class, p *pool, types catalog.TypeSet) (plan.Reason, bool) {
	if len(c.src.HostPorts) > 0 {
		before := types.Clone()
		for i := range p.burdens {
			if portsConflict(c.src.HostPorts, p.burdens[i].ports) {
				types.AndNot(p.burdens[i].types)
			}
		}
		if !types.Any() {
			return plan.Reason{Code: plan.HostPortTaken, Key: c.src.HostPorts[0].String(), Types: before.Count(), Detail: s.choosyDaemon(c, p)}, true
		}
	}
	for r, x := range c.req {
		if x <= 0 {
			continue
		}
		before := types.Clone()
		for t := range before.Each {
			if p.net[t][r] < x {
				types[t>>6] &^= 1 << (t & 63)
			}
		}
		if types.Any() {
			continue
		}
		return s.tooLarge(p, before, r, x), true
	}
	return plan.Reason{}, false
}

// tooLarge reports the type that comes closest, with its daemons counted on the asking side.
func (s *solver) tooLarge(p *pool, types catalog.TypeSet, r int, x int64) plan.Reason {
	name := s.schema.Name(r)
	best := -1
	for t := range types.Each {
		if best < 0 || p.net[t][r] > p.net[best][r] {
			best = t
		}
	}
	reason := plan.Reason{Code: plan.TooLarge, Resource: name, Types: types.Count(), Want: res.Format(name, x)}
	if best < 0 || p.cat.Allocatable[best][r] <= 0 {
		reason.Have = "0"
		return reason
	}
	reason.Want = res.Format(name, x+p.burdens[p.burdenOf[best]].req[r])
	reason.Have = res.Format(name, p.cat.Allocatable[best][r])
	reason.Nearest = p.cat.Types[best].Name
	return reason
}

// whyUnavailable collects the words that the offerings give, and what they stand for.
func (s *solver) whyUnavailable(p *pool, reqs requirement.Requirements, types catalog.TypeSet) (text string, refused plan.Refusals) {
	type way struct {
		zone, capacityType, reservation string
		partition                       int32
	}
	allowed := map[way]bool{}
	for _, at := range p.cat.CellsMatching(reqs) {
		cell := &p.cat.Cells[at]
		allowed[way{cell.Zone, cell.CapacityType, cell.ReservationID, cell.Partition}] = true
	}
	words, short, seen := map[string]bool{}, []sold{}, map[plan.Refusal]bool{}
	for t := range types.Each {
		for _, o := range p.cat.Types[t].Offerings {
			if !allowed[way{o.Zone, o.CapacityType, o.ReservationID, o.Partition}] || o.Available {
				continue
			}
			if o.Unavailable != "" {
				seen[plan.Refusal{CapacityType: o.CapacityType, Why: o.Unavailable}] = true
			}
			if o.Short() {
				short = append(short, sold{p.cat.Types[t].Name, o})
			} else if o.Unavailable != "" {
				words[o.Unavailable] = true
			}
		}
	}
	if len(words) > 1 || len(short) > 0 {
		delete(words, catalog.WithoutSubnet) // how the class is, and no news, where something else is in the way
	}
	text = shortText(short)
	for _, w := range sortedKeys(words) {
		if text != "" {
			text += ", "
		}
		text += w
	}
	return text, plan.RefusalsOf(slices.Collect(maps.Keys(seen)))
}

// sold is an offering with the name of its type.
type sold struct {
	name string
	catalog.Offering
}

// shortText says what EC2 is short of, the cheapest first, and when it is asked for again; empty for nothing.
func shortText(short []sold) string {
	if len(short) == 0 {
		return ""
	}
	slices.SortFunc(short, func(a, b sold) int {
		return cmp.Or(cmp.Compare(a.Price, b.Price), cmp.Compare(a.name, b.name), cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.CapacityType, b.CapacityType))
	})
	first := short[0].Opens
	for _, o := range short {
		if o.Opens.Before(first) {
			first = o.Opens
		}
	}
	text := fmt.Sprintf("EC2 is short of %s %s in %s", short[0].CapacityType, short[0].name, short[0].Zone)
	if more := len(short) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + ", next try at " + clock(first)
}

func clock(t time.Time) string { return t.UTC().Format(time.TimeOnly) + " UTC" }
