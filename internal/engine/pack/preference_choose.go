package pack

import (
	"cmp"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// choosePreferences places the pods under the problem's policy for preferences, and says in the solution's choice which
// count as demands.
//
//	ignore           they are dropped
//	share below 0    they are demands, given up one by one for the pods that find no place: the literal Respect
//	any other share  they are honoured as long as that costs no more than the share; what costs more is declined and told
func (k *memory) choosePreferences(p *Problem) *solver {
	if p.Options.IgnorePreferences {
		return k.place(p, nil, nil)
	}
	priced := p.Options.PreferenceShare >= 0
	w := findPreferences(p, priced)
	switch {
	case len(w) == 0:
		return k.place(p, nil, nil)
	case priced:
		return k.pricePreferences(p, w)
	}
	return k.relaxPreferences(p, w)
}

// findPreferences lists the classes that have preferences, by ID. Taints count only where preferences have a price; otherwise they are
// avoided until nothing else is left.
func findPreferences(p *Problem, taints bool) []*preferring {
	byID := map[string]*preferring{}
	known := map[*cluster.Class]*preferring{}
	var avoided [][]cluster.Taint
	if taints {
		avoided = avoidedTaints(p)
	}
	for _, pod := range p.Pending {
		if pod.Class == nil || pod.Class.Unplaceable != "" {
			continue
		}
		w, seen := known[pod.Class]
		if !seen {
			w = preferringClassOf(pod.Class, avoided)
			if w != nil && byID[w.id] != nil {
				w = byID[w.id]
			}
			if w != nil {
				byID[w.id] = w
			}
			known[pod.Class] = w
		}
		if w == nil {
			continue
		}
		w.pods++
		if w.pods == 1 || cmp.Or(cmp.Compare(pod.Namespace, w.such.Namespace), cmp.Compare(pod.Name, w.such.Name), cmp.Compare(pod.UID, w.such.UID)) < 0 {
			w.such = pod.PodRef
		}
	}
	out := make([]*preferring, 0, len(byID))
	for _, id := range sortedKeys(byID) {
		out = append(out, byID[id])
	}
	return out
}

// preferringClassOf is nil for a class without preferences.
func preferringClassOf(c *cluster.Class, avoided [][]cluster.Taint) *preferring {
	w := &preferring{src: c, preferences: preferencesOf(c), declined: map[int]plan.Preference{}}
	w.taints = slices.ContainsFunc(avoided, func(x []cluster.Taint) bool { return judgeTaints(x, c.Tolerations) == avoids })
	if !w.taints {
		w.preferences = w.preferences[:len(w.preferences)-1]
	}
	if len(w.preferences) == 0 {
		return nil
	}
	if w.id = c.ID; w.id == "" {
		w.id = c.Hash()
	}
	return w
}

// avoidedTaints are the lists of taints, of pools and nodes, that ask to be avoided.
func avoidedTaints(p *Problem) [][]cluster.Taint {
	var out [][]cluster.Taint
	add := func(taints []cluster.Taint) {
		asks := slices.ContainsFunc(taints, func(x cluster.Taint) bool { return x.Effect == cluster.PreferNoSchedule })
		if asks && !slices.ContainsFunc(out, func(x []cluster.Taint) bool { return slices.Equal(x, taints) }) {
			out = append(out, taints)
		}
	}
	for _, x := range p.Pools {
		add(x.Taints)
	}
	for _, x := range p.Nodes {
		add(x.Taints)
	}
	return out
}
