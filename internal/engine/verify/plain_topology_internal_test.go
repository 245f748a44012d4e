package verify

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// topology checks the constraints of every placed pod against where all pods are in the end. A constraint that holds
// then held at the best order of binding as well.
func (c *plain) topology() {
	c.affinity()
	for _, h := range c.hosts {
		for _, pod := range h.first {
			for i, sp := range pod.Class.Spreads {
				if !sp.Soft && sp.MaxSkew > 0 {
					c.spread(h, pod, i)
				}
			}
			for _, t := range pod.Class.AntiAffinity {
				if t.Weight == 0 {
					c.apart(h, pod, t)
				}
			}
		}
		for _, pod := range h.running {
			for _, t := range pod.Class.AntiAffinity {
				if t.Weight == 0 && pod.InCompany() {
					c.apartFromRunning(h, pod, t)
				}
			}
		}
	}
}

func (c *plain) domain(h *host, key string) (string, bool) {
	all := c.findDomains(h, requirement.Normalize(key))
	if len(all) != 1 {
		return "", false
	}
	return all[0], true
}

func (c *plain) findDomains(h *host, key string) []string {
	if key == requirement.Hostname {
		if h.node != nil {
			if v, ok := h.node.Labels[requirement.Hostname]; ok {
				return []string{v}
			}
			return []string{hostname(h.node)}
		}
		return []string{h.name}
	}
	if h.node != nil {
		l, ok := c.certain(h.node)[key]
		if !ok || len(l.values) != 1 || l.missing {
			return nil
		}
		return l.values
	}
	values := map[string]bool{}
	for _, choice := range h.launched.Types {
		t := typeNamed(h.pool, choice.Name)
		if t == nil {
			continue
		}
		for _, o := range t.Offerings {
			if s := possible(h, t, o); s != nil && o.Available {
				for _, v := range s[key].values {
					values[v] = true
				}
			}
		}
	}
	return slices.Collect(maps.Keys(values))
}

// selected are the pods on the host that count for a constraint of the class.
func (c *plain) selected(h *host, class *cluster.Class, namespaces []string, sel *cluster.Selector) []*cluster.Pod {
	var out []*cluster.Pod
	for _, pod := range slices.Concat(h.running, h.placed) {
		if slices.Contains(namespaces, pod.Namespace) && pod.InCompany() && class.Counts(pod.Class) && sel.Matches(pod.Class.Labels) {
			out = append(out, pod)
		}
	}
	return out
}

type plainTally struct {
	counts map[string]int
	// early counts the pods that must be there before: placed pods without the constraint may come last.
	early  map[string]int
	mayAdd bool // an empty host, some time; or a domain that a new node may come to be in
}

func (c *plain) spread(h *host, pod *cluster.Pod, i int) {
	sp := pod.Class.Spreads[i]
	mine, ok := c.domain(h, sp.Key)
	if !ok {
		c.report("spread", h.name, "has no settled %s for %s", sp.Key, pod)
		return
	}
	t := c.count(pod, sp)
	least := t.counts[mine]
	for _, n := range t.counts {
		least = min(least, n)
	}
	if len(t.counts) < sp.MinDomains || t.mayAdd {
		least = 0
	}
	if t.early[mine]-least > sp.MaxSkew {
		c.report("spread", h.name, "%s in %s: %d pods there, %d at least elsewhere, maxSkew %d", pod, mine, t.early[mine], least, sp.MaxSkew)
	}
}

func (c *plain) count(pod *cluster.Pod, sp cluster.Spread) *plainTally {
	t := &plainTally{counts: map[string]int{}, early: map[string]int{}}
	for _, other := range c.hosts {
		d, ok := c.domain(other, sp.Key)
		if !ok || !c.looksAt(other, pod, sp) || (other.node == nil && len(other.placed) == 0) {
			continue
		}
		t.counts[d] += 0 // a domain without such pods counts too
		for _, x := range c.selected(other, pod.Class, []string{pod.Namespace}, sp.Selector) {
			if x.Terminating {
				continue
			}
			t.counts[d]++
			if slices.Contains(other.running, x) || plainlyBears(x.Class, pod.Class, sp) {
				t.early[d]++
			}
		}
	}
	t.mayAdd = requirement.Normalize(sp.Key) == requirement.Hostname && c.mayAdd(pod, sp)
	for _, other := range c.hosts {
		if other.launched != nil && len(other.placed) > 0 && c.looksAt(other, pod, sp) {
			for _, d := range c.findDomains(other, requirement.Normalize(sp.Key)) {
				if _, there := t.counts[d]; !there {
					settled := *other.launched
					settled.Requirements = append(slices.Clone(settled.Requirements), requirement.Term{Key: sp.Key, Operator: requirement.In, Values: []string{d}})
					if in := (&host{launched: &settled, pool: other.pool, taints: other.taints}); c.looksAt(in, pod, sp) {
						t.mayAdd = true
					}
				}
			}
		}
	}
	return t
}

// mayAdd reports whether a node that the spread looks at could be launched from any pool: an empty host, some time.
func (c *plain) mayAdd(pod *cluster.Pod, sp cluster.Spread) bool {
	for _, pool := range c.p.Pools {
		if pool.NotReady != "" {
			continue
		}
		nn := &plan.NewNode{Pool: pool.Name, Requirements: pool.Requirements}
		for _, t := range pool.Types {
			nn.Types = append(nn.Types, plan.TypeChoice{Name: t.Name})
		}
		any := &host{name: "any node of " + pool.Name, launched: nn, pool: pool, taints: pool.Taints}
		if c.looksAt(any, pod, sp) {
			return true
		}
	}
	return false
}

// plainlyBears reports whether pods of the class have the same constraint over the same nodes as those of the other. Those with
// a laxer one, or one that looks at fewer nodes, may come later.
func plainlyBears(class, other *cluster.Class, sp cluster.Spread) bool {
	if class == other {
		return true
	}
	if fmt.Sprint(class.Selector, class.Affinity, hardKeys(class)) != fmt.Sprint(other.Selector, other.Affinity, hardKeys(other)) {
		return false
	}
	return slices.ContainsFunc(class.Spreads, func(o cluster.Spread) bool {
		return !o.Soft && requirement.Normalize(o.Key) == requirement.Normalize(sp.Key) && o.MaxSkew == sp.MaxSkew &&
			o.MinDomains == sp.MinDomains && o.HonorTaints == sp.HonorTaints && o.IgnoreAffinity == sp.IgnoreAffinity && fmt.Sprint(o.Selector) == fmt.Sprint(sp.Selector)
	})
}

// looksAt is the node inclusion policy of the constraint.
func (c *plain) looksAt(h *host, pod *cluster.Pod, sp cluster.Spread) bool {
	if h.node != nil && h.node.Deleting {
		return false
	}
	if !c.tolerable(h, pod, sp) || !c.hasKeys(h, pod, sp) {
		return false
	}
	if sp.IgnoreAffinity {
		return true
	}
	return c.suits(h, pod)
}

// hasKeys reports whether the node has the labels of all hard spreads of the pod; others are not looked at by any.
func (c *plain) hasKeys(h *host, pod *cluster.Pod, sp cluster.Spread) bool {
	for _, o := range pod.Class.Spreads {
		if o.Soft || o.MaxSkew <= 0 || requirement.Normalize(o.Key) == requirement.Hostname {
			continue
		}
		t := requirement.Term{Key: o.Key, Operator: requirement.Exists}
		if !c.suits(h, &cluster.Pod{Class: &cluster.Class{Selector: []requirement.Term{t}}}) {
			return false
		}
	}
	return true
}

func (c *plain) tolerable(h *host, pod *cluster.Pod, sp cluster.Spread) bool {
	if sp.HonorTaints {
		for _, t := range h.taints {
			if t.Effect != cluster.PreferNoSchedule && !tolerates(pod.Class, t) {
				return false
			}
		}
	}
	return true
}

// suits reports whether the node may meet the selector and node affinity of the pod.
func (c *plain) suits(h *host, pod *cluster.Pod) bool {
	plain := &cluster.Class{Selector: pod.Class.Selector, Affinity: pod.Class.Affinity}
	if h.node != nil {
		return matchesAny(plain, c.certain(h.node), false)
	}
	for _, choice := range h.launched.Types {
		t := typeNamed(h.pool, choice.Name)
		if t == nil {
			continue
		}
		for _, o := range t.Offerings {
			if s := possible(h, t, o); s != nil && o.Available && matchesAny(plain, s, false) {
				return true
			}
		}
	}
	return false
}

func (c *plain) apart(h *host, pod *cluster.Pod, t cluster.PodAffinity) {
	key := requirement.Normalize(t.Key)
	mine := c.findDomains(h, key)
	for _, other := range c.hosts {
		if !slices.ContainsFunc(c.findDomains(other, key), func(d string) bool { return slices.Contains(mine, d) }) {
			continue
		}
		for _, x := range c.selected(other, pod.Class, namespacesOf(pod, t), t.Selector) {
			if x != pod {
				c.report("anti-affinity", h.name, "%s must be kept apart from %s by %s", pod, x, t.Key)
			}
		}
	}
}

func (c *plain) apartFromRunning(h *host, pod *cluster.Pod, t cluster.PodAffinity) {
	key := requirement.Normalize(t.Key)
	mine := c.findDomains(h, key)
	for _, other := range c.hosts {
		if !slices.ContainsFunc(c.findDomains(other, key), func(d string) bool { return slices.Contains(mine, d) }) {
			continue
		}
		for _, x := range c.selected(other, pod.Class, namespacesOf(pod, t), t.Selector) {
			if slices.Contains(other.placed, x) {
				c.report("anti-affinity", h.name, "running %s must be kept apart from %s by %s", pod, x, t.Key)
			}
		}
	}
}
