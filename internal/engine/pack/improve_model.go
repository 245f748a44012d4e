package pack

import (
	"cmp"
	"math"
	"strconv"

	"github.com/kerf-sh/kerf/internal/engine/cuttingstock"
	"github.com/kerf-sh/kerf/internal/engine/lp"

	"github.com/kerf-sh/kerf/internal/engine/res"
)

// cutting is a pool's free pods and what could carry them, as the linear program sees them.
type cutting struct {
	cuttingstock.Problem
	pool *pool
	// lots are, by row, the item types whose pods it stands for.
	lots [][]*itemType
	// places holds, by access class, the shapes of new nodes that its pods may be on.
	places [][]*shape
}

// The linear program is kept small: beyond maxRows, rows that look much the same become one.
const maxRows = 192

// nodesPerRow is how many new nodes there are for each row, at least, where the program pays although hosts take only so many of
// some pods. Its solution has parts of about as many nodes as it has rows. Parts of nodes that are full of small pods round
// well; with a few pods on each, the search alone finds cheaper plans in the same time unless whole nodes are far more.
//
// Source: go test -run '^$' -bench Price -benchtime 1x ./internal/engine/bound.
const nodesPerRow = 3

// newModel makes the finest model that is small enough; nil if there is none, or if it would not pay.
func (s *solver) newModel(p *pool, lots []*itemType, instances int) *cutting {
	groups := bindingGroups(lots, instances)
	for level := range steps {
		m := &cutting{pool: p}
		if !s.makeRows(m, lots, level, groups) {
			continue
		}
		if len(m.Caps) > 0 && instances < nodesPerRow*len(m.Rows) {
			return nil
		}
		if s.makeKinds(m); len(m.Bins) == 0 {
			return nil
		}
		return m
	}
	return nil
}

// steps is in how many steps amounts double within which they count as one, by level; 0: only equal ones do.
var steps = [...]int{0, 0, 8, 4, 2, 1}

func (s *solver) makeRows(m *cutting, lots []*itemType, level int, groups map[*itemType]*hostGroup) bool {
	accessOf, groupOf, rowOf, sizeOf := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	for _, l := range lots {
		shapes := s.placesOf(m.pool, l.item, level > 0)
		name := placesKey(shapes)
		access, ok := accessOf[name]
		if !ok {
			access = len(m.places)
			if access == cuttingstock.MostAccesses {
				return false
			}
			accessOf[name] = access
			m.places = append(m.places, shapes)
		}
		group := -1
		if g, capped := groups[l]; capped {
			if group, ok = groupOf[g.name]; !ok {
				group = len(m.Caps)
				groupOf[g.name] = group
				m.Caps = append(m.Caps, g.most)
			}
		}
		size := strconv.Itoa(group) + "," + sizeKey(l.item.class.req, steps[level])
		key := strconv.Itoa(access) + "," + size
		at, ok := rowOf[key]
		if !ok {
			at = len(m.Rows)
			if at == maxRows {
				return false
			}
			rowOf[key] = at
			if _, known := sizeOf[size]; !known {
				sizeOf[size] = len(sizeOf)
			}
			m.Rows = append(m.Rows, &cuttingstock.Row{Req: make([]float64, len(l.item.class.req)), Access: access, Group: group, Size: sizeOf[size]})
			m.lots = append(m.lots, nil)
		}
		l.row = at
		m.add(at, l)
	}
	m.Sizes, m.Accesses = len(sizeOf), len(m.places)
	return true
}

// add makes the pods of an item type part of a row.
func (m *cutting) add(row int, l *itemType) {
	r, n := m.Rows[row], float64(l.total)
	for i, x := range l.item.class.req {
		r.Req[i] = (float64(r.Req[i]*r.Demand) + float64(float64(x)*n)) / (r.Demand + n)
	}
	r.Demand += n
	m.lots[row] = append(m.lots[row], l)
}

// solve solves the program at what pods cost now.
func (m *cutting) solve(found *lp.Stock, work *int64) *cuttingstock.Solution {
	for i, r := range m.Rows {
		r.Cost = costOf(m.lots[i])
	}
	return m.Solve(found, work)
}

// placesOf are the shapes of new nodes for the item, one for each alternative; without its pin if loose.
func (s *solver) placesOf(p *pool, it *podGroup, loose bool) []*shape {
	alts := it.alts
	if loose && it.pin != "" {
		alts = nil
		for _, r := range it.class.alts {
			alts = append(alts, s.reqID(r))
		}
	}
	var out []*shape
	for _, alt := range alts {
		if sh := s.and(p.base, alt); sh != nil {
			out = append(out, sh)
		}
	}
	return out
}

func placesKey(shapes []*shape) string {
	b := make([]byte, 0, 16)
	for _, sh := range shapes {
		b = append(strconv.AppendInt(b, int64(sh.id), 36), ' ')
	}
	return string(b)
}

// sizeKey is equal for requests that no resource sets more than a step apart; 0 steps means equal ones.
func sizeKey(req res.Vector, steps int) string {
	b := make([]byte, 0, 32)
	for _, x := range req {
		if steps > 0 && x > 0 {
			part, power := math.Frexp(float64(x)) // from a half to one, exactly
			x = int64(power*steps) + int64((2*part-1)*float64(steps))
		}
		b = append(strconv.AppendInt(b, x, 36), ' ')
	}
	return string(b)
}

// hostGroup is pods of which a new node takes only so many.
type hostGroup struct {
	name   string
	most   int
	pods   int
	forced int
}

// bindingGroups finds, by lot, the constraint by host that forces the most new nodes, as far as it is many compared with
// how many there are anyway.
func bindingGroups(lots []*itemType, instances int) map[*itemType]*hostGroup {
	all := map[string]*hostGroup{}
	each := func(l *itemType, visit func(name string, most int)) {
		c := l.item.class
		for i := range c.topo.host {
			switch d := &c.topo.host[i]; {
			case d.group.kind == repelling && d.self:
				visit("g"+strconv.Itoa(d.group.id), 1)
			case d.group.kind == spreading && d.self:
				visit("g"+strconv.Itoa(d.group.id), d.maxSkew)
			}
		}
		for _, port := range c.src.HostPorts {
			visit("p"+strconv.Itoa(int(port.Port)), 1)
		}
	}
	for _, l := range lots {
		each(l, func(name string, most int) {
			g := all[name]
			if g == nil {
				g = &hostGroup{name: name, most: most}
				all[name] = g
			}
			g.most = min(g.most, most)
			g.pods += l.total
			g.forced = g.pods / g.most
		})
	}
	out := map[*itemType]*hostGroup{}
	for _, l := range lots {
		each(l, func(name string, _ int) {
			g := all[name]
			if 4*g.forced < instances {
				return
			}
			if was := out[l]; was == nil || cmp.Or(cmp.Compare(g.forced, was.forced), cmp.Compare(was.name, g.name)) > 0 {
				out[l] = g
			}
		})
	}
	return out
}

// patternsOf are the different fillings of drafts, as columns.
func (m *cutting) patternsOf(drafts []*draft) *lp.Stock {
	out := &lp.Stock{}
	n := make([]float64, len(m.Rows))
	seen := map[string]bool{}
	kindOf := map[int]int{}
	for i := len(m.Bins) - 1; i >= 0; i-- {
		kindOf[m.Bins[i].Of] = i
	}
	for _, d := range drafts {
		clear(n)
		for _, q := range d.loads {
			n[q.lot.row] += float64(q.n)
		}
		kind, ok := kindOf[d.best]
		if !ok {
			continue // another type is better at the same price
		}
		c := lp.Column{Of: kind, Price: float64(d.price)}
		key := strconv.AppendInt(nil, int64(kind), 36)
		for i, x := range n {
			if x > 0 {
				c.Parts = append(c.Parts, lp.Share{Row: i, Amount: x})
				key = strconv.AppendInt(append(key, ' '), int64(i), 36)
				key = strconv.AppendInt(append(key, '*'), int64(x), 36)
			}
		}
		if !seen[string(key)] {
			seen[string(key)] = true
			out.Add(c)
		}
	}
	return out
}
