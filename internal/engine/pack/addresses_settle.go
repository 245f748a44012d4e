package pack

import (
	"cmp"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// addressUse is where a new node that is not bound to a zone by its pool takes addresses.
type addressUse struct {
	m *newNode
	// zones in which it may be launched; those of which the subnets are known come first, in the order of their names.
	zones []zoneNeed
	free  int // how many further zones there are
}

// zoneNeed is what a new node takes in a zone.
type zoneNeed struct {
	zone  string
	room  room
	takes int64
	held  *subnet // nil: none
}

// settleAddresses counts what the launched new nodes take of subnets, and has new nodes leave zones that are full. It returns
// the zones that are short even so, sorted.
//
// Cost: one look at each new node and the ways in which it may be launched.
func (s *solver) settleAddresses() []string {
	if s.subnets == nil {
		return nil
	}
	var short []string
	rooms := map[*pool]map[string]room{}
	var lodgings []*addressUse
	for _, m := range s.newNodes {
		if m.pool.room != nil {
			if m.subnet.left < 0 {
				short = append(short, s.settled(m.shape, s.vocab.Key(requirement.Zone)))
			}
			continue
		}
		if rooms[m.pool] == nil {
			rooms[m.pool] = s.roomsOf(m.pool.src)
		}
		if l := m.addressUse(rooms[m.pool]); len(l.zones) > 0 {
			lodgings = append(lodgings, l)
		}
	}
	slices.SortStableFunc(lodgings, func(a, b *addressUse) int { return cmp.Compare(a.choices(), b.choices()) })
	for i, l := range lodgings {
		if !s.takeAddresses(l) && !s.makeRoom(lodgings[:i], l) {
			for _, w := range l.zones {
				short = append(short, w.zone)
			}
		}
	}
	slices.Sort(short)
	return slices.Compact(short)
}

func (l *addressUse) choices() int { return len(l.zones) + l.free }

// addressUse finds where the new node may be launched.
func (m *newNode) addressUse(rooms map[string]room) *addressUse {
	l := &addressUse{m: m}
	seen := map[string]bool{}
	for _, at := range m.shape.cells {
		cell := &m.pool.cat.Cells[at] // sorted by zone
		if !m.types.Intersects(cell.Available) {
			continue
		}
		room := rooms[cell.Zone]
		if room == nil {
			if !seen[cell.Zone] {
				seen[cell.Zone] = true
				l.free++
			}
			continue
		}
		if n := len(l.zones); n == 0 || l.zones[n-1].zone != cell.Zone {
			l.zones = append(l.zones, zoneNeed{zone: cell.Zone, room: room, takes: 1})
		}
		w := &l.zones[len(l.zones)-1]
		for t := range m.types.Each {
			if cell.Available.Has(t) {
				w.takes = max(w.takes, takes(m.pool.cat.Types[t]))
			}
		}
	}
	return l
}

// takeAddresses has the new node take its addresses in all zones that have them, and leave the others. False, and nothing is taken,
// if that is none.
func (s *solver) takeAddresses(l *addressUse) bool {
	var full []string
	for i := range l.zones {
		w := &l.zones[i]
		if x := w.room.roomiest(); x.left >= w.takes {
			x.take(w.takes)
			w.held = x
		} else {
			full = append(full, w.zone)
		}
	}
	if len(full) == 0 || len(full) < l.choices() && s.leave(l.m, full) {
		l.zones = slices.DeleteFunc(l.zones, func(w zoneNeed) bool { return w.held == nil })
		return true
	}
	for i := range l.zones {
		if w := &l.zones[i]; w.held != nil {
			w.held.take(-w.takes)
			w.held = nil
		}
	}
	return false
}

// makeRoom has new nodes that have another choice leave a zone, until there are the addresses that l takes there.
func (s *solver) makeRoom(others []*addressUse, l *addressUse) bool {
	for i := range l.zones {
		w := &l.zones[i]
		for _, o := range others {
			if w.room.roomiest().left >= w.takes {
				break
			}
			s.vacate(o, w)
		}
		x := w.room.roomiest()
		if x.left < w.takes {
			continue
		}
		var rest []string
		for _, other := range l.zones {
			if other.zone != w.zone {
				rest = append(rest, other.zone)
			}
		}
		if len(rest) > 0 && !s.leave(l.m, rest) {
			continue
		}
		x.take(w.takes)
		w.held = x
		l.zones = []zoneNeed{*w}
		return true
	}
	return false
}

// vacate has the new node leave the zone, if it holds addresses there that are wanted and has another choice.
func (s *solver) vacate(o *addressUse, want *zoneNeed) {
	if o.choices() < 2 {
		return
	}
	at := slices.IndexFunc(o.zones, func(w zoneNeed) bool { return w.zone == want.zone && slices.Contains(want.room, w.held) })
	if at < 0 || !s.leave(o.m, []string{want.zone}) {
		return
	}
	o.zones[at].held.take(-o.zones[at].takes)
	o.zones = slices.Delete(o.zones, at, at+1)
}

// leave binds the new node to zones other than these. False, and nothing is changed, if that would leave it too few choices
// or change what spreads count.
func (s *solver) leave(m *newNode, zones []string) bool {
	sh := s.and(m.shape, s.reqID(s.vocab.Without(requirement.Zone, zones...)))
	if sh == nil || !s.countsTheSame(m, sh) || s.leavesTooFew(m, sh) {
		return false
	}
	types := m.types.Clone()
	types.And(sh.types)
	m.pool.refund(m)
	types.And(m.pool.affordable)
	if types.Any() {
		m.shape, m.types = sh, types
		m.best = sh.cheapest(types)
		m.price = sh.price[m.best]
	}
	m.pool.charge(m)
	return types.Any()
}
