package pack

import (
	"cmp"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/cuttingstock"
	"github.com/kerf-sh/kerf/internal/engine/lp"
)

// round makes drafts of the program's solution: as many new nodes of each filling as it wants whole, then those that are
// mostly needed. What is left is a smaller program, which is solved anew, until it wants nothing more than half; the rest
// is packed by itself. False if something found no place.
func (k *packer) round(m *cutting, r *cuttingstock.Solution, lots []*itemType, work *int64) ([]*draft, bool) {
	const mostRounds = 8
	var out []*draft
	for range mostRounds {
		launched := k.openWhole(m, r)
		if len(launched) == 0 {
			launched = k.openParts(m, r)
		}
		out = append(out, launched...)
		if !m.reduce() {
			return out, true
		}
		if len(launched) == 0 || *work <= 0 {
			break
		}
		next := m.solve(r.Found, work)
		if next == nil {
			break
		}
		r = next
		m.appraise(r, lots)
	}
	out = append(out, k.openParts(m, r)...)
	rest, ok := k.packRest(lots, m.typesOf(r))
	return append(out, rest...), ok
}

func (k *packer) openWhole(m *cutting, r *cuttingstock.Solution) []*draft {
	var out []*draft
	for i, x := range r.Amount {
		for ; x >= 1-1e-6; x-- {
			d := k.open(m, &r.Patterns[i], 0.9)
			if d == nil {
				break
			}
			out = append(out, d)
		}
	}
	return out
}

func (k *packer) openParts(m *cutting, r *cuttingstock.Solution) []*draft {
	var out []*draft
	order := make([]int, len(r.Amount))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(r.Amount[b], r.Amount[a]), cmp.Compare(a, b)) })
	for _, i := range order {
		for {
			d := k.open(m, &r.Patterns[i], 0.985)
			if d == nil {
				break
			}
			out = append(out, d)
		}
	}
	return out
}

// open takes pods for a draft of the column's filling; nil if they are worth less than that part of its price.
func (k *packer) open(m *cutting, col *lp.Column, least float64) *draft {
	d := k.follow(m, col)
	if d == nil || d.worth < least*float64(d.price) {
		return nil
	}
	d = d.clone()
	d.take()
	return d
}

// packRest packs what is left of the item types, the worthiest first.
func (k *packer) packRest(lots []*itemType, kinds []int) ([]*draft, bool) {
	return k.packAll(byWorth(lots), kinds, true)
}

// reduce makes what is left of the item types the demand; false if nothing is.
func (m *cutting) reduce() bool {
	any := false
	for i, r := range m.Rows {
		r.Demand = 0
		for _, l := range m.lots[i] {
			r.Demand += float64(l.left)
		}
		any = any || r.Demand > 0
	}
	return any
}

// appraise gives item types the worth that the program found.
func (m *cutting) appraise(r *cuttingstock.Solution, lots []*itemType) {
	for _, l := range lots {
		if worth := r.Worth[l.row]; worth > 0 {
			l.value = worth * l.sizeIn(m.Rows[l.row])
		}
	}
}

// typesOf are the types that the solution uses.
func (m *cutting) typesOf(r *cuttingstock.Solution) []int {
	var out []int
	for i := range r.Patterns {
		if t := m.Bins[r.Patterns[i].Of].Of; !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// follow fills a draft as a pattern says, with pods of its rows' item types.
func (k *packer) follow(m *cutting, col *lp.Column) *draft {
	t := m.Bins[col.Of].Of
	d := k.start(t)
	for _, p := range col.Parts {
		k.putRow(d, m.lots[p.Row], t, int(p.Amount+0.5))
	}
	if !k.settle(d, t) {
		return nil
	}
	return d
}

// putRow adds pods of a row's item types, those first of which most are left, so that all item types last until the end and
// constraints among them leave a choice.
func (k *packer) putRow(d *draft, lots []*itemType, t, want int) {
	k.tried = k.tried[:0]
	for want > 0 {
		var next *itemType
		for _, l := range lots {
			if l.left > 0 && (next == nil || l.left > next.left) && !slices.Contains(k.tried, l) {
				next = l
			}
		}
		k.work += int64(len(lots) / 2)
		if next == nil {
			break
		}
		k.tried = append(k.tried, next)
		want -= k.put(d, next, t, min(want, next.left))
	}
}
