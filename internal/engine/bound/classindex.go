package bound

import (
	"cmp"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// classIndex finds the classes that a selector matches, of all that are pending or run.
type classIndex struct {
	byLabel map[[3]string][]*presence // by namespace, label and value
	all     map[string][]*presence    // by namespace
}

// presence is a class with the nodes on which its pods run, by place of the node.
type presence struct {
	id      string
	class   *cluster.Class
	pending bool
	spots   map[int]spot
}

// spot counts pods that run: those that are sure to count for a spread, and all of them.
type spot struct{ sure, all int }

func newClassIndex(s *search) *classIndex {
	byClass := map[*cluster.Class]*presence{}
	of := func(c *cluster.Class) *presence {
		if byClass[c] == nil {
			byClass[c] = &presence{id: cmp.Or(c.ID, c.Hash()), class: c, spots: map[int]spot{}}
		}
		return byClass[c]
	}
	for _, pod := range s.p.Pending {
		if pod.Class != nil {
			of(pod.Class).pending = true
		}
	}
	for i, n := range s.nodes() {
		for _, pod := range n.Pods {
			if pod.Class == nil {
				continue
			}
			o := of(pod.Class)
			x := o.spots[i]
			x.all++
			if !pod.Terminating && !s.pending[pod.PodRef] {
				x.sure++
			}
			o.spots[i] = x
		}
	}
	x := &classIndex{byLabel: map[[3]string][]*presence{}, all: map[string][]*presence{}}
	for c, o := range byClass {
		x.all[c.Namespace] = append(x.all[c.Namespace], o)
		for k, v := range c.Labels {
			key := [3]string{c.Namespace, k, v}
			x.byLabel[key] = append(x.byLabel[key], o)
		}
	}
	return x
}

// matching are the classes whose pods a spread of class c with the selector counts.
func (x *classIndex) matching(c *cluster.Class, sel *cluster.Selector) []*presence {
	if sel == nil {
		return nil
	}
	from := x.all[c.Namespace]
	for _, t := range sel.Terms {
		if t.Operator == requirement.In && len(t.Values) == 1 {
			from = x.byLabel[[3]string{c.Namespace, t.Key, t.Values[0]}]
			break
		}
	}
	var out []*presence
	for _, o := range from {
		if c.Counts(o.class) && sel.Matches(o.class.Labels) && !slices.Contains(out, o) {
			out = append(out, o)
		}
	}
	return out
}
