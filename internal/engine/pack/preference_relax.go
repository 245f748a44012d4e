package pack

import "github.com/kerf-sh/kerf/internal/engine/plan"

// relaxPreferences treats every preference as a demand and gives them up one by one for pods that find no place.
func (k *memory) relaxPreferences(p *Problem, all []*preferring) *solver {
	c := choiceOf(all)
	for _, w := range all {
		w.tiers = []tier{w.level(everyPreference(w.preferences))}
	}
	for {
		s := k.place(p, c, nil)
		if !s.giveUp() {
			return s
		}
	}
}

// level is a tier for which the remaining preferences have not been given up. Of preferred node affinity only the heaviest
// term counts.
func (w *preferring) level(remaining honoured) tier {
	t := tier{remaining: remaining, honoured: remaining}
	first := true
	for i, x := range w.preferences {
		if x.kind == plan.PreferNode && remaining.has(i) {
			if !first {
				t.honoured = t.honoured.without(i)
			}
			first = false
		}
	}
	return t
}

// giveUp splits off the pods that found no place, with one preference less. It is false when there are none that have preferences
// left. It can't go on for ever: each time some pods have fewer preferences.
func (s *solver) giveUp() bool {
	left := map[string][]int{} // by class: how many pods each tier has left
	for _, c := range s.classes {
		if w := s.choice[c.src.ID]; w != nil {
			if left[w.id] == nil {
				left[w.id] = make([]int, len(w.tiers))
			}
			left[w.id][c.tier] = c.unplaced()
		}
	}
	changed := false
	for _, id := range sortedKeys(left) {
		w := s.choice[id]
		var tiers []tier
		rest := w.pods
		for i, t := range w.tiers {
			if i == len(w.tiers)-1 {
				t.pods = rest
			}
			rest -= t.pods
			n := left[id][i]
			if n == 0 || t.remaining == 0 {
				tiers = append(tiers, t)
				continue
			}
			changed = true
			next := w.level(t.remaining & (t.remaining - 1)) // without the first of them
			next.pods, t.pods = n, t.pods-n
			tiers = append(tiers, t, next)
		}
		w.tiers = joinTiers(tiers)
	}
	return changed
}

// joinTiers drops tiers without pods and joins neighbours with the same preferences.
func joinTiers(tiers []tier) []tier {
	var out []tier
	for _, t := range tiers {
		if last := len(out) - 1; last >= 0 && out[last].remaining == t.remaining {
			out[last].pods += t.pods
		} else if t.pods > 0 {
			out = append(out, t)
		}
	}
	return out
}

// unplaced is how many pods of the class have no place yet.
func (c *class) unplaced() int {
	n := len(c.pods)
	for _, it := range c.items {
		n -= it.total - it.left
	}
	return n
}
