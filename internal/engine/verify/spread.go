package verify

import (
	"maps"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// tally is what a spread counts, which is the same for all pods that bear the same one over the same nodes.
type tally struct {
	frame *frame
	// early counts, by domain, the pods that must be there before: placed pods without the constraint may come last.
	early map[int]int
	least int // pods in the domain that has the fewest
}

type tallyKey struct {
	class     *cluster.Class
	namespace string
	spread    int
}

// view is the hosts that a spread looks at.
type view struct {
	looked []bool
	frames map[*column]*frame
	mayAdd bool // an empty host, some time
	asked  bool // whether it may has been looked into
}

// frame is the domains of a key that there are in a view.
type frame struct {
	there []bool
	count int
	// more: a node to launch, which is not settled on a domain, may come to be in one more.
	more bool
}

func (c *checker) spread(h *host, pod *cluster.Pod, i int) {
	sp := pod.Class.Spreads[i]
	col := c.column(sp.Key)
	mine := col.ids[h.at]
	if mine < 0 {
		c.report("spread", h.name, "has no settled %s for %s", sp.Key, pod)
		return
	}
	at := tallyKey{pod.Class, pod.Namespace, i}
	t := c.tallies[at]
	if t == nil {
		t = c.count(pod, i)
		c.tallies[at] = t
	}
	least := t.least
	if !t.frame.there[mine] {
		least = 0
	}
	if t.early[mine]-least > sp.MaxSkew {
		c.report("spread", h.name, "%s in %s: %d pods there, %d at least elsewhere, maxSkew %d", pod, col.names[mine], t.early[mine], least, sp.MaxSkew)
	}
}

// count goes through the pods that the selector finds, not through the hosts.
func (c *checker) count(pod *cluster.Pod, i int) *tally {
	sp, x := pod.Class.Spreads[i], c.text(pod.Class)
	v, viewed := c.view(pod.Class, sp)
	found, chosen := c.everyone().choose(pod.Class, []string{pod.Namespace}, sp.Selector)
	text := strings.Join([]string{viewed, chosen, x.bearing, x.spreads[i]}, "|")
	if t := c.talliesBy[text]; t != nil {
		return t
	}
	col := c.column(sp.Key)
	t := &tally{frame: c.frame(v, col, pod.Class, sp), early: map[int]int{}}
	counts := map[int]int{}
	for _, other := range found {
		bearer := c.bears(other.class, x, i)
		for _, p := range other.at {
			d := col.ids[p.host.at]
			if d < 0 || !v.looked[p.host.at] {
				continue
			}
			counts[d] += p.running + p.placed
			t.early[d] += p.running
			if bearer {
				t.early[d] += p.placed
			}
		}
	}
	if len(counts) == t.frame.count { // otherwise one has none
		first := true
		for _, n := range counts {
			if first || n < t.least {
				t.least, first = n, false
			}
		}
	}
	if t.frame.count < sp.MinDomains || t.frame.more || requirement.Normalize(sp.Key) == requirement.Hostname && c.mayAdd(v, pod, sp) {
		t.least = 0
	}
	c.talliesBy[text] = t
	return t
}

// bears reports whether pods of the class have the same constraint over the same nodes as spread i of the other. Those
// with a laxer one, or one that looks at fewer nodes, may come later.
func (c *checker) bears(class *cluster.Class, other *classText, i int) bool {
	x := c.text(class)
	return x.bearing == other.bearing && slices.Contains(x.spreads, other.spreads[i])
}

// view finds the hosts that the spread looks at. Its text is equal for those that look at the same.
func (c *checker) view(class *cluster.Class, sp cluster.Spread) (*view, string) {
	x := c.text(class)
	var b []byte
	for _, key := range x.hard {
		b = appendText(b, key)
	}
	if sp.HonorTaints {
		b = appendText(append(b, 't'), x.taints)
	}
	if !sp.IgnoreAffinity {
		b = appendNumber(append(b, 's'), x.selection)
	}
	text := string(b)
	v := c.views[text]
	if v != nil {
		return v, text
	}
	v = &view{looked: make([]bool, len(c.hosts)), frames: map[*column]*frame{}}
	byKind := map[*kind]bool{}
	for _, h := range c.hosts {
		if h.node != nil {
			v.looked[h.at] = c.looksAt(h, class, sp)
			continue
		}
		ok, known := byKind[h.kind]
		if !known {
			ok = c.looksAt(h, class, sp)
			byKind[h.kind] = ok
		}
		v.looked[h.at] = ok && len(h.placed) > 0
	}
	c.views[text] = v
	return v, text
}

func (c *checker) frame(v *view, col *column, class *cluster.Class, sp cluster.Spread) *frame {
	f := v.frames[col]
	if f == nil {
		f = &frame{there: make([]bool, len(col.names))}
		for at, looked := range v.looked {
			if d := col.ids[at]; looked && d >= 0 && !f.there[d] {
				f.there[d] = true
				f.count++
			}
		}
		asked := map[*kind]bool{}
		for at, looked := range v.looked {
			if f.more || !looked || len(col.may[at]) < 2 || asked[c.hosts[at].kind] {
				continue
			}
			asked[c.hosts[at].kind] = true
			f.more = slices.ContainsFunc(col.may[at], func(d int) bool { return !f.there[d] && c.mayCount(c.hosts[at], class, sp, col.names[d]) })
		}
		v.frames[col] = f
	}
	return f
}

// mayCount reports whether a node to launch that comes to be in the domain is one that the spread looks at.
func (c *checker) mayCount(h *host, class *cluster.Class, sp cluster.Spread, domain string) bool {
	key, selection := requirement.Normalize(sp.Key), &cluster.Class{}
	if !sp.IgnoreAffinity {
		selection = c.text(class).chooses
	}
	return slices.ContainsFunc(h.kind.types, func(t *catalog.Type) bool {
		for i, s := range c.launch(h.kind, t).states {
			if s != nil && t.Offerings[i].Available && slices.Contains(s[key].values, domain) {
				there := maps.Clone(s)
				there.set(key, domain)
				if matchesAny(selection, there, false) {
					return true
				}
			}
		}
		return false
	})
}

// mayAdd reports whether a node that the spread looks at could be launched from any pool: an empty host, some time.
func (c *checker) mayAdd(v *view, pod *cluster.Pod, sp cluster.Spread) bool {
	if !v.asked {
		v.asked = true
		v.mayAdd = slices.ContainsFunc(c.p.Pools, func(pool *cluster.Pool) bool {
			return pool.NotReady == "" && c.looksAt(c.anyOf(pool), pod.Class, sp)
		})
	}
	return v.mayAdd
}

// anyOf is whatever could be launched from the pool.
func (c *checker) anyOf(pool *cluster.Pool) *host {
	h := c.any[pool]
	if h == nil {
		nn := &plan.NewNode{Pool: pool.Name, Requirements: pool.Requirements}
		for _, t := range pool.Types {
			nn.Types = append(nn.Types, plan.TypeChoice{Name: t.Name})
		}
		h = &host{name: "any node of " + pool.Name, launched: nn, pool: pool, taints: pool.Taints}
		h.kind = c.kindOf(h)
		c.any[pool] = h
	}
	return h
}

// hardKeys are the keys of the class's hard spreads, sorted.
func hardKeys(class *cluster.Class) []string {
	var out []string
	for _, sp := range class.Spreads {
		if !sp.Soft && sp.MaxSkew > 0 {
			out = append(out, requirement.Normalize(sp.Key))
		}
	}
	slices.Sort(out)
	return out
}

// looksAt is the node inclusion policy of the constraint.
func (c *checker) looksAt(h *host, class *cluster.Class, sp cluster.Spread) bool {
	if h.node != nil && h.node.Deleting {
		return false
	}
	return c.tolerable(h, class, sp) && c.hasKeys(h, class) && (sp.IgnoreAffinity || c.suits(h, c.text(class).chooses, c.text(class).selection))
}

// hasKeys reports whether the node has the labels of all hard spreads of the pod; others are not looked at by any.
func (c *checker) hasKeys(h *host, class *cluster.Class) bool {
	for _, key := range c.text(class).hard {
		if key == requirement.Hostname {
			continue
		}
		has := c.exists[key]
		if has == nil {
			has = &cluster.Class{Selector: []requirement.Term{{Key: key, Operator: requirement.Exists}}}
			c.exists[key] = has
		}
		if !c.suits(h, has, c.text(has).selection) {
			return false
		}
	}
	return true
}

func (c *checker) tolerable(h *host, class *cluster.Class, sp cluster.Spread) bool {
	if sp.HonorTaints {
		for _, t := range h.taints {
			if t.Effect != cluster.PreferNoSchedule && !tolerates(class, t) {
				return false
			}
		}
	}
	return true
}

// suits reports whether the node may meet the selection: a selector and node affinity, of that number.
func (c *checker) suits(h *host, selection *cluster.Class, id int) bool {
	if h.node != nil {
		return id == 0 || matchesAny(selection, c.certain(h.node), false)
	}
	return slices.ContainsFunc(h.kind.types, func(t *catalog.Type) bool { return c.launch(h.kind, t).maySuit(selection, id) })
}
