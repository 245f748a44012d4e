package landing

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/requirement"
)

// column is the domain of each seat by one label; -1 where a seat does not have it.
type column struct {
	byHost bool
	of     []int
	n      int
}

func (b *Board) column(key string) *column {
	key = requirement.Normalize(key)
	if c := b.columns[key]; c != nil {
		return c
	}
	c := &column{of: make([]int, len(b.seats)), byHost: key == requirement.Hostname}
	ids := map[string]int{}
	for i, s := range b.seats {
		value, has := s.labels[key]
		if !has {
			c.of[i] = -1
			continue
		}
		id, known := ids[value]
		if !known {
			id = len(ids)
			ids[value] = id
		}
		c.of[i] = id
	}
	c.n = len(ids)
	b.columns[key] = c
	return c
}

// tally counts, by domain, the pods that a constraint speaks of, or those that bear one.
type tally struct {
	id     int
	column *column
	counts func(*cluster.Class) bool
	// looksAt says on which seats pods are counted, and of which seats the domains are measured; nil: all.
	looksAt []bool
	// measured tallies keep which domains are there.
	measured bool
	pods     []int
	total    int
}

// demandKind is what a demand asks of a domain.
type demandKind int

const (
	evenly   demandKind = iota // no more than skew above the least
	together                   // some of the pods are there
	apart                      // none of the pods is there
)

type demand struct {
	kind       demandKind
	tally      *tally
	skew       int
	minDomains int
	// self says that the demand's pods include the one that bears it.
	self bool
}

// relate finds what binds the kinds that look for a place to others.
func (b *Board) relate() {
	for _, v := range b.pending {
		v.kind.looks = true
	}
	for id := range b.leavers {
		for _, v := range b.leavers[id] {
			v.kind.looks = true
		}
	}
	known := map[string]*tally{}
	intern := func(name string, t *tally) *tally {
		if old := known[name]; old != nil {
			return old
		}
		t.id = len(b.tallies)
		known[name] = t
		b.tallies = append(b.tallies, t)
		return t
	}
	for _, k := range b.kinds {
		if k.looks {
			b.spreads(k, intern)
			b.affinity(k, intern)
		}
	}
	b.guards(intern)
	for _, t := range b.tallies {
		t.pods = make([]int, t.column.n)
		for _, k := range b.kinds {
			if !t.counts(k.class) {
				continue
			}
			k.counted = append(k.counted, t)
			for _, p := range k.at {
				if d := t.column.of[p.seat]; d >= 0 && t.on(p.seat) {
					t.pods[d] += p.n
					t.total += p.n
				}
			}
		}
	}
	for _, k := range b.kinds {
		if k.looks {
			for i := range k.demands {
				k.demands[i].self = k.demands[i].tally.counts(k.class)
			}
		}
	}
}

func (t *tally) on(seat int) bool { return t.looksAt == nil || t.looksAt[seat] }

// spreads makes the demands of hard spread constraints. Only nodes with the labels of all of them are looked at, and those
// that the class's node affinity and, if asked for, its tolerations allow.
func (b *Board) spreads(k *kind, intern func(string, *tally) *tally) {
	c := k.class
	var hard []cluster.Spread
	for _, sp := range c.Spreads {
		if !sp.Soft && sp.MaxSkew > 0 {
			hard = append(hard, sp)
		}
	}
	for _, sp := range hard {
		looks := make([]bool, len(b.seats))
		for i, s := range b.seats {
			looks[i] = !slices.ContainsFunc(hard, func(o cluster.Spread) bool { return b.column(o.Key).of[i] < 0 })
			if looks[i] && !sp.IgnoreAffinity {
				looks[i] = meetsAll(c.Selector, s.labels) && meetsAny(c.Affinity, s.labels)
			}
			if looks[i] && sp.HonorTaints {
				_, bad := cluster.Untolerated(s.node.Taints, c.Tolerations, cluster.NoSchedule, cluster.NoExecute)
				looks[i] = !bad
			}
		}
		sel, spaces := sp.Selector, []string{c.Namespace}
		t := &tally{column: b.column(sp.Key), looksAt: looks, measured: true, counts: func(o *cluster.Class) bool { return selects(c, o, spaces, sel) }}
		name := "evenly|" + strconv.Itoa(k.id) + "|" + key(sp.Key, spaces, sel)
		k.demands = append(k.demands, demand{kind: evenly, tally: intern(name, t), skew: sp.MaxSkew, minDomains: sp.MinDomains})
	}
}

// affinity makes the demands of required pod affinity and anti-affinity. The terms of affinity speak of the pods that
// match all of them.
func (b *Board) affinity(k *kind, intern func(string, *tally) *tally) {
	c := k.class
	all := func(o *cluster.Class) bool {
		return !slices.ContainsFunc(c.PodAffinity, func(t cluster.PodAffinity) bool {
			return t.Weight == 0 && !selects(c, o, spacesOf(c, t), t.Selector)
		})
	}
	for _, t := range c.PodAffinity {
		if t.Weight == 0 {
			name := "together|" + strconv.Itoa(k.id) + "|" + t.Key
			k.demands = append(k.demands, demand{kind: together, tally: intern(name, &tally{column: b.column(t.Key), counts: all})})
		}
	}
	for _, t := range c.AntiAffinity {
		if t.Weight == 0 {
			spaces := spacesOf(c, t)
			name := "apart|" + key(t.Key, spaces, t.Selector)
			k.demands = append(k.demands, demand{kind: apart, tally: intern(name, &tally{column: b.column(t.Key),
				counts: func(o *cluster.Class) bool { return selects(c, o, spaces, t.Selector) }})})
		}
	}
}

// guards makes demands of the anti-affinity of others: where those are, a pod that they speak of can't go.
func (b *Board) guards(intern func(string, *tally) *tally) {
	type guard struct {
		of      *cluster.Class
		term    cluster.PodAffinity
		bearers map[*cluster.Class]bool
	}
	known, names := map[string]*guard{}, []string{}
	for _, k := range b.kinds {
		for _, t := range k.class.AntiAffinity {
			if t.Weight != 0 || len(k.at) == 0 && !k.looks {
				continue
			}
			name := key(t.Key, spacesOf(k.class, t), t.Selector)
			if known[name] == nil {
				known[name] = &guard{k.class, t, map[*cluster.Class]bool{}}
				names = append(names, name)
			}
			known[name].bearers[k.class] = true
		}
	}
	for _, name := range names {
		g := known[name]
		for _, k := range b.kinds {
			if k.looks && selects(g.of, k.class, spacesOf(g.of, g.term), g.term.Selector) {
				t := intern("guard|"+name, &tally{column: b.column(g.term.Key), counts: func(o *cluster.Class) bool { return g.bearers[o] }})
				k.demands = append(k.demands, demand{kind: apart, tally: t})
			}
		}
	}
}

func selects(c, o *cluster.Class, spaces []string, sel *cluster.Selector) bool {
	return c.Counts(o) && slices.Contains(spaces, o.Namespace) && sel.Matches(o.Labels)
}

func spacesOf(c *cluster.Class, t cluster.PodAffinity) []string {
	if len(t.Namespaces) == 0 {
		return []string{c.Namespace}
	}
	return t.Namespaces
}

func key(topology string, spaces []string, sel *cluster.Selector) string {
	text, _ := json.Marshal(sel) // strings only: can't fail
	return requirement.Normalize(topology) + "|" + strings.Join(spaces, ",") + "|" + string(text)
}
