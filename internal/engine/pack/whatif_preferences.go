package pack

import (
	"cmp"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// Declined are the preferences for nodes that pods have where they are and would not have any more by the last answer,
// sorted by class; and what they may cost, by the share of Options.PreferenceShare. A share below 0 means any price: then
// forbidden is true if there are any. Cost is left to the caller.
func (w *WhatIf) Declined() (declined []plan.Preference, worth catalog.MicroUSD, forbidden bool) {
	f, o := w.fork, &w.s.p.Options
	if f == nil || o.IgnorePreferences {
		return nil, 0, false
	}
	share := o.PreferenceShare
	if share == 0 {
		share = DefaultPreferenceShare
	}
	sum := 0.0
	for _, m := range f.displaced {
		for at, term := range m.class.src.Preferred {
			r, err := w.s.vocab.Parse(term.Terms)
			if err != nil || term.Weight <= 0 || len(term.Terms) == 0 {
				continue
			}
			lost := w.honouredBefore(f, m, r) - w.honouredAfter(f, m, r)
			if lost <= 0 {
				continue
			}
			key, want := preferenceText(m.class.src, preference{kind: plan.PreferNode, at: at})
			declined = append(declined, plan.Preference{ClassID: m.class.src.ID, Kind: plan.PreferNode, Key: key, Want: want, Pods: lost, Such: firstOf(m.pods)})
			sum += float64(max(0, share) * m.floor * float64(lost))
		}
	}
	slices.SortStableFunc(declined, func(a, b plan.Preference) int { return cmp.Compare(a.ClassID, b.ClassID) })
	return declined, catalog.MicroUSD(sum), share < 0 && len(declined) > 0
}

func firstOf(pods []*cluster.Pod) cluster.PodRef {
	return slices.MinFunc(pods, func(a, b *cluster.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	}).PodRef
}

// honouredBefore counts the pods of the class that leave a node that satisfies what they prefer.
func (w *WhatIf) honouredBefore(f *fork, m *displacedClass, r requirement.Requirements) int {
	sum := 0
	for _, id := range f.away {
		for _, h := range w.holds[id] {
			if h.mover == m && w.s.nodes[id].satisfies(w.s, r) {
				sum += len(h.pods)
			}
		}
	}
	return sum
}

// honouredAfter counts the pods of the class that would come to where that is satisfied for certain.
func (w *WhatIf) honouredAfter(f *fork, m *displacedClass, r requirement.Requirements) int {
	sum := 0
	count := func(parts []part) {
		for _, q := range parts {
			if q.item.class == m.class {
				sum += q.n
			}
		}
	}
	for _, t := range w.s.journal.nodes {
		if t.node.satisfies(w.s, r) {
			count(t.node.placed)
		}
	}
	for _, b := range w.s.newNodes {
		if w.s.surely(b, r) {
			count(b.parts)
		}
	}
	return sum
}

// surely reports whether the new node satisfies r whatever the launch makes of it.
func (s *solver) surely(m *newNode, r requirement.Requirements) bool {
	sh := s.and(m.shape, s.reqID(r))
	if sh == nil || len(sh.cells) != len(m.shape.cells) {
		return false
	}
	for t := range m.types.Each {
		if !sh.types.Has(t) {
			return false
		}
	}
	return true
}
