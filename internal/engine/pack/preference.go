package pack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// preference is one preference of a class: something that is asked for, but never a reason to leave a pod without a node. A
// preference that is honoured is treated like a demand.
type preference struct {
	kind plan.PreferenceKind
	at   int // in the class's list of that kind
	host bool
}

// maxWishes is how many preferences of one class are looked at; more than a handful is a mistake.
const maxPreferences = 64

// honoured is a set of preferences by their position.
type honoured uint64

func (h honoured) has(i int) bool                   { return h&(1<<i) != 0 }
func (h honoured) without(i int) honoured           { return h &^ (1 << i) }
func everyPreference(all []preference) (h honoured) { return 1<<len(all) - 1 }

// preferencesOf lists the preferences of a class in the order in which they are given up: pod affinity, pod anti-affinity and
// node affinity, each heaviest first, then spreads. A preference to stay off nodes that ask to be avoided comes last.
//
// Source: the order in which the Karpenter v1 API relaxes preferences.
func preferencesOf(c *cluster.Class) []preference {
	var out []preference
	add := func(kind plan.PreferenceKind, weights []int, hosts []bool) {
		order := make([]int, len(weights))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weights[b], weights[a]) })
		for _, i := range order {
			if weights[i] > 0 && len(out) < maxPreferences-1 {
				out = append(out, preference{kind, i, hosts != nil && hosts[i]})
			}
		}
	}
	for _, k := range []plan.PreferenceKind{plan.PreferTogether, plan.PreferApart} {
		terms := c.PodAffinity
		if k == plan.PreferApart {
			terms = c.AntiAffinity
		}
		weights, hosts := make([]int, len(terms)), make([]bool, len(terms))
		for i, t := range terms {
			weights[i], hosts[i] = t.Weight, requirement.Normalize(t.Key) == requirement.Hostname
		}
		add(k, weights, hosts)
	}
	weights := make([]int, len(c.Preferred))
	for i, w := range c.Preferred {
		weights[i] = w.Weight
	}
	add(plan.PreferNode, weights, nil)
	weights = make([]int, len(c.Spreads))
	hosts := make([]bool, len(c.Spreads))
	for i, sp := range c.Spreads {
		if sp.Soft && sp.MaxSkew > 0 {
			weights[i], hosts[i] = 1, requirement.Normalize(sp.Key) == requirement.Hostname
		}
	}
	add(plan.PreferSpread, weights, hosts)
	return append(out, preference{kind: plan.PreferTaint})
}

// honours reports whether the class treats the preference of that kind and place in its list as a demand.
func (c *class) honours(kind plan.PreferenceKind, at int) bool {
	for i, w := range c.preferences {
		if w.kind == kind && w.at == at {
			return c.honoured.has(i)
		}
	}
	return false
}

func (c *class) honoursSpread(at int) bool { return c.honours(plan.PreferSpread, at) }

// honourNode narrows the alternatives of the class by the preferred node affinity that it honours. They stay out of
// strict: a preference does not change which domains count.
func (s *solver) honourNode(c *class) {
	for i, w := range c.preferences {
		if w.kind != plan.PreferNode || !c.honoured.has(i) {
			continue
		}
		r, err := s.vocab.Parse(c.src.Preferred[w.at].Terms)
		if err != nil {
			continue // a preference that can't be read
		}
		if c.demanded == nil {
			c.demanded = c.alts
		}
		alts := make([]requirement.Requirements, len(c.alts))
		for j := range c.alts {
			alts[j] = c.alts[j].And(r)
		}
		c.alts, c.altIDs = alts, nil
	}
}

// demanding is the class without the preferred node affinity that it honours: what it prefers leaves no pod behind, so it is no reason.
func (c *class) demanding() *class {
	if c.demanded == nil {
		return c
	}
	out := *c
	out.alts, out.altIDs, out.items, out.root, out.domains = c.demanded, nil, nil, nil, nil
	return &out
}

// judge says how taints stand to the class: one that does not preference to stay off nodes that ask to be avoided bears them.
func (c *class) judge(taints []cluster.Taint) taintVerdict {
	v := judgeTaints(taints, c.src.Tolerations)
	if v == avoids && c.bearsAvoided {
		return bears
	}
	return v
}

// tier is a part of a class's pods with the preferences that are honoured for it.
type tier struct {
	pods     int // of the class, in their order; the last tier has the rest
	honoured honoured
	// remaining holds the preferences that were not given up; only some of them may count at a time.
	remaining honoured
}

// tiers splits classes in the parts that the choice names, so that each is a class of its own.
func (s *solver) tiers(classes []*class) []*class {
	var out []*class
	for _, c := range classes {
		wanted := s.choice[c.src.ID]
		if wanted == nil {
			out = append(out, c)
			continue
		}
		from := 0
		for i, t := range wanted.tiers {
			to := from + t.pods
			if i == len(wanted.tiers)-1 {
				to = len(c.pods)
			}
			if to > from {
				part := *c
				part.tier, part.pods = i, c.pods[from:to]
				part.preferences, part.honoured, part.bearsAvoided = wanted.preferences, t.honoured, wanted.bearsAvoided(t)
				out = append(out, &part)
			}
			from = to
		}
	}
	return out
}

func (w *preferring) bearsAvoided(t tier) bool {
	return w.taints && !t.honoured.has(len(w.preferences)-1)
}

// preferenceText says in short what a preference asks for.
func preferenceText(c *cluster.Class, w preference) (key, want string) {
	switch w.kind {
	case plan.PreferTogether:
		t := c.PodAffinity[w.at]
		return t.Key, "pods that match " + selectionText(t.Selector)
	case plan.PreferApart:
		t := c.AntiAffinity[w.at]
		return t.Key, "pods that match " + selectionText(t.Selector)
	case plan.PreferNode:
		terms := c.Preferred[w.at].Terms
		parts := make([]string, len(terms))
		for i, t := range terms {
			parts[i] = t.String()
		}
		return terms[0].Key, strings.Join(parts, " and ")
	case plan.PreferSpread:
		sp := c.Spreads[w.at]
		return sp.Key, fmt.Sprintf("maxSkew %d", sp.MaxSkew)
	}
	return "", ""
}

func selectionText(s *cluster.Selector) string {
	if s == nil {
		return "nothing"
	}
	parts := make([]string, len(s.Terms))
	for i, t := range s.Terms {
		parts[i] = t.String()
	}
	return strings.Join(parts, " and ")
}

// preferring is a class with preferences, and what was decided of them.
type preferring struct {
	src         *cluster.Class
	id          string
	pods        int
	such        cluster.PodRef
	preferences []preference
	// taints: the last preference is to stay off nodes that ask to be avoided. Otherwise that is not for this choice to decide.
	taints   bool
	tiers    []tier
	declined map[int]plan.Preference
}

// choice is what was decided of preferences, by class ID. Classes without preferences are not in it.
type choice map[string]*preferring

func choiceOf(all []*preferring) choice {
	out := choice{}
	for _, w := range all {
		out[w.id] = w
	}
	return out
}

// declined are the preferences that the choice does not honour, by class.
func (c choice) declined() []plan.Preference {
	var out []plan.Preference
	for _, id := range sortedKeys(c) {
		w := c[id]
		for at := range w.preferences {
			if d, ok := w.declined[at]; ok {
				out = append(out, d)
			}
		}
	}
	return out
}
