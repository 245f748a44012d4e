package pack

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// kindTable numbers nodes that look the same to every class: equal labels, as far as anything asks for them, and equal
// taints.
type kindTable struct {
	asked  []requirement.Key
	looks  map[string]int
	values map[string]int // of labels that are not settled on one value
	steps  map[kindStep]int
	of     map[int]int // kind, by the last step
	sample []*keptNode // by kind: one that is, or was, of it
	ready  bool
}

// kindStep goes from what nodes have in common in all keys so far to what they have in common in one more.
type kindStep struct {
	from  int
	value int
}

// manyKinds is how many kinds are put up with for the sake of keys that nothing asks for at present.
const manyKinds = 512

func newKindTable() kindTable {
	return kindTable{looks: map[string]int{}, values: map[string]int{}}
}

// lookOf numbers what tells nodes apart besides labels.
func (t *kindTable) lookOf(n *node) int {
	key := ""
	if n.open {
		key = "?"
	}
	if n.src.Leaving {
		key += "!"
	}
	for _, x := range n.src.Taints {
		key += "\x00" + x.String()
	}
	id, ok := t.looks[key]
	if !ok {
		id = len(t.looks)
		t.looks[key] = id
	}
	return id
}

// classify sees to it that nodes of one kind agree in all of the keys. It reports whether the kinds are others than
// before. Keys that were asked for earlier are kept as long as there are few kinds, so that it is not done over and over.
func (g *nodeBase) classify(keys []requirement.Key) bool {
	t := &g.kinds
	stale := !t.ready || len(t.sample) > manyKinds+2*len(g.order) || slices.ContainsFunc(keys, func(k requirement.Key) bool {
		_, known := slices.BinarySearch(t.asked, k)
		return !known
	})
	if !stale && (len(t.sample) <= manyKinds || len(keys) == len(t.asked)) {
		return false
	}
	if len(t.sample) <= manyKinds {
		t.asked = slices.Concat(t.asked, keys)
		slices.Sort(t.asked)
		t.asked = slices.Compact(t.asked)
		g.renumber()
		if len(t.sample) <= manyKinds || len(keys) == len(t.asked) {
			return true
		}
	}
	t.asked = slices.Clone(keys)
	g.renumber()
	return true
}

func (g *nodeBase) renumber() {
	t := &g.kinds
	t.ready, t.steps, t.of, t.values, t.sample = true, map[kindStep]int{}, map[int]int{}, map[string]int{}, nil
	g.runs.forgetKinds()
	clear(t.looks)
	for _, k := range g.order {
		k.look = t.lookOf(&k.node)
		k.node.kind = t.kindOf(k)
	}
	g.worked.Kinds += len(g.order)
}

// kindOf is the kind of the node.
func (t *kindTable) kindOf(k *keptNode) int {
	if !t.ready {
		return 0
	}
	at := -1 - k.look
	for _, key := range t.asked {
		step := kindStep{from: at, value: t.valueOf(&k.node, key)}
		next, ok := t.steps[step]
		if !ok {
			next = len(t.steps)
			t.steps[step] = next
		}
		at = next
	}
	kind, ok := t.of[at]
	if !ok {
		kind = len(t.sample)
		t.of[at] = kind
		t.sample = append(t.sample, k)
	}
	return kind
}

// valueOf numbers what is known of the node's label: 0 when nothing is.
func (t *kindTable) valueOf(n *node, key requirement.Key) int {
	set, ok := n.labels.Get(key)
	if !ok {
		return 0
	}
	if id, ok := set.SingleID(); ok && set.MinValues() == 0 {
		return 1 + int(id)
	}
	text := requirement.Requirements{}.With(set).CacheKey()
	id, ok := t.values[text]
	if !ok {
		id = len(t.values)
		t.values[text] = id
	}
	return -1 - id
}

// numberKinds groups nodes by what classes can see of their labels and taints, so that a class is compared with each
// kind once.
func (s *solver) numberKinds() {
	asked := map[requirement.Key]bool{}
	ask := func(r requirement.Requirements) {
		for k := range r.All {
			asked[k] = true
		}
	}
	for _, c := range s.classes {
		for _, alt := range c.alts {
			ask(alt)
		}
		for _, w := range c.preferences {
			if w.kind == plan.PreferNode {
				for _, t := range c.src.Preferred[w.at].Terms {
					asked[s.vocab.Key(t.Key)] = true
				}
			}
		}
	}
	for _, g := range s.groups {
		if !g.byHost {
			asked[g.keyID] = true // items may be pinned to its domains
		}
		for _, r := range g.filter {
			ask(r)
		}
	}
	keys := make([]requirement.Key, 0, len(asked))
	for k := range asked {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	g := s.ground()
	if g.classify(keys) {
		for i, k := range g.order {
			s.nodes[i].kind = k.node.kind
		}
	}
	s.kinds = len(g.kinds.sample)
}
