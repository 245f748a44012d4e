package verify

import (
	"fmt"
	"slices"

	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/requirement"
)

// topology checks the constraints of every placed pod against where all pods are in the end. A constraint that holds
// then held at the best order of binding as well.
func (c *checker) topology() {
	for _, h := range c.hosts {
		for _, pod := range h.first {
			for _, sp := range pod.Class.Spreads {
				if !sp.Soft && sp.MaxSkew > 0 {
					c.spread(h, pod, sp)
				}
			}
			for _, t := range pod.Class.PodAffinity {
				if t.Weight == 0 {
					c.affinity(h, pod, t)
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
				if t.Weight == 0 && !pod.Terminating {
					c.apartFromRunning(h, pod, t)
				}
			}
		}
	}
}

type domainKey struct {
	host, key string
}

type domainAnswer struct {
	value string
	ok    bool
}

// domain is the value of a topology key on the host; false when it is missing or not settled.
func (c *checker) domain(h *host, key string) (string, bool) {
	at := domainKey{h.name, requirement.Normalize(key)}
	a, known := c.domains[at]
	if !known {
		a.value, a.ok = c.findDomain(h, at.key)
		c.domains[at] = a
	}
	return a.value, a.ok
}

func (c *checker) findDomain(h *host, key string) (string, bool) {
	if key == requirement.Hostname {
		if h.node != nil {
			if v, ok := h.node.Labels[requirement.Hostname]; ok {
				return v, true
			}
			return hostname(h.node), true
		}
		return h.name, true
	}
	if h.node != nil {
		l, ok := c.certain(h.node)[key]
		if !ok || len(l.values) != 1 || l.missing {
			return "", false
		}
		return l.values[0], true
	}
	values := map[string]bool{}
	for _, choice := range h.bought.Types {
		t := typeNamed(h.pool, choice.Name)
		if t == nil {
			continue
		}
		for _, o := range t.Offerings {
			if s := c.possible(h, t, o); s != nil && o.Available {
				for _, v := range s[key].values {
					values[v] = true
				}
			}
		}
	}
	if len(values) != 1 {
		return "", false
	}
	for v := range values {
		return v, true
	}
	return "", false
}

func (c *checker) selected(h *host, namespaces []string, sel *cluster.Selector) []*cluster.Pod {
	var out []*cluster.Pod
	for _, pod := range slices.Concat(h.running, h.placed) {
		if slices.Contains(namespaces, pod.Namespace) && !pod.Terminating && sel.Matches(pod.Class.Labels) {
			out = append(out, pod)
		}
	}
	return out
}

func (c *checker) spread(h *host, pod *cluster.Pod, sp cluster.Spread) {
	mine, ok := c.domain(h, sp.Key)
	if !ok {
		c.report("spread", h.name, "has no settled %s for %s", sp.Key, pod)
		return
	}
	counts := map[string]int{}
	early := 0 // of those in mine, the ones that must be there before: placed pods without the constraint may come last
	for _, other := range c.hosts {
		d, ok := c.domain(other, sp.Key)
		if !ok || !c.looksAt(other, pod, sp) || (other.node == nil && len(other.placed) == 0) {
			continue
		}
		counts[d] += 0 // a domain without such pods counts too
		for _, x := range c.selected(other, []string{pod.Namespace}, sp.Selector) {
			counts[d]++
			if d == mine && (slices.Contains(other.running, x) || bears(x.Class, pod.Class, sp)) {
				early++
			}
		}
	}
	least := counts[mine]
	for _, n := range counts {
		least = min(least, n)
	}
	if len(counts) < sp.MinDomains || requirement.Normalize(sp.Key) == requirement.Hostname {
		least = 0
	}
	if early-least > sp.MaxSkew {
		c.report("spread", h.name, "%s in %s: %d pods there, %d at least elsewhere, maxSkew %d", pod, mine, early, least, sp.MaxSkew)
	}
}

// bears reports whether pods of the class have the same constraint over the same nodes as those of the other. Those with
// a laxer one, or one that looks at fewer nodes, may come later.
func bears(class, other *cluster.Class, sp cluster.Spread) bool {
	if class == other {
		return true
	}
	if fmt.Sprint(class.Selector, class.Affinity) != fmt.Sprint(other.Selector, other.Affinity) {
		return false
	}
	return slices.ContainsFunc(class.Spreads, func(o cluster.Spread) bool {
		return !o.Soft && requirement.Normalize(o.Key) == requirement.Normalize(sp.Key) && o.MaxSkew == sp.MaxSkew &&
			o.MinDomains == sp.MinDomains && fmt.Sprint(o.Selector) == fmt.Sprint(sp.Selector)
	})
}

// looksAt is the node inclusion policy of the constraint.
func (c *checker) looksAt(h *host, pod *cluster.Pod, sp cluster.Spread) bool {
	if h.node != nil && h.node.Deleting {
		return false
	}
	if !c.tolerable(h, pod, sp) {
		return false
	}
	if sp.IgnoreAffinity {
		return true
	}
	key := matchKey{pod.Class, h.name}
	ok, known := c.matches[key]
	if !known {
		ok = c.suits(h, pod)
		c.matches[key] = ok
	}
	return ok
}

func (c *checker) tolerable(h *host, pod *cluster.Pod, sp cluster.Spread) bool {
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
func (c *checker) suits(h *host, pod *cluster.Pod) bool {
	plain := &cluster.Class{Selector: pod.Class.Selector, Affinity: pod.Class.Affinity}
	if h.node != nil {
		return matchesAny(plain, c.certain(h.node), false)
	}
	for _, choice := range h.bought.Types {
		t := typeNamed(h.pool, choice.Name)
		if t == nil {
			continue
		}
		for _, o := range t.Offerings {
			if s := c.possible(h, t, o); s != nil && o.Available && matchesAny(plain, s, false) {
				return true
			}
		}
	}
	return false
}

func namespacesOf(pod *cluster.Pod, t cluster.PodAffinity) []string {
	if len(t.Namespaces) == 0 {
		return []string{pod.Namespace}
	}
	return t.Namespaces
}

// affinity demands that a pod that was there without needing others, running or placed, is in the same domain; or that
// the pod selects itself and no pod like it is anywhere else, so that it may be the first.
func (c *checker) affinity(h *host, pod *cluster.Pod, t cluster.PodAffinity) {
	mine, ok := c.domain(h, t.Key)
	if !ok {
		c.report("affinity", h.name, "has no settled %s for %s", t.Key, pod)
		return
	}
	ns := namespacesOf(pod, t)
	anchors, followers, running := map[string]int{}, map[string]int{}, 0
	for _, other := range c.hosts {
		d, ok := c.domain(other, t.Key)
		if !ok {
			continue
		}
		for _, x := range c.selected(other, ns, t.Selector) {
			switch {
			case slices.Contains(other.running, x):
				anchors[d]++
				running++
			case needs(x.Class, t.Key):
				followers[d]++
			default: // may come at any time
				anchors[d]++
			}
		}
	}
	if anchors[mine] > 0 {
		return
	}
	first := slices.Contains(ns, pod.Namespace) && t.Selector.Matches(pod.Class.Labels) && running == 0
	for d := range followers {
		first = first && (d == mine || anchors[d] > 0)
	}
	if !first {
		c.report("affinity", h.name, "%s finds no pod that it must be with in %s", pod, mine)
	}
}

// needs reports whether pods of the class must be with others by the key.
func needs(class *cluster.Class, key string) bool {
	return slices.ContainsFunc(class.PodAffinity, func(t cluster.PodAffinity) bool {
		return t.Weight == 0 && requirement.Normalize(t.Key) == requirement.Normalize(key)
	})
}

func (c *checker) apart(h *host, pod *cluster.Pod, t cluster.PodAffinity) {
	mine, ok := c.domain(h, t.Key)
	if !ok {
		return
	}
	for _, other := range c.hosts {
		if d, ok := c.domain(other, t.Key); !ok || d != mine {
			continue
		}
		for _, x := range c.selected(other, namespacesOf(pod, t), t.Selector) {
			if x != pod {
				c.report("anti-affinity", h.name, "%s must be kept apart from %s by %s", pod, x, t.Key)
			}
		}
	}
}

func (c *checker) apartFromRunning(h *host, pod *cluster.Pod, t cluster.PodAffinity) {
	mine, ok := c.domain(h, t.Key)
	if !ok {
		return
	}
	for _, other := range c.hosts {
		if d, ok := c.domain(other, t.Key); !ok || d != mine {
			continue
		}
		for _, x := range c.selected(other, namespacesOf(pod, t), t.Selector) {
			if slices.Contains(other.placed, x) {
				c.report("anti-affinity", h.name, "running %s must be kept apart from %s by %s", pod, x, t.Key)
			}
		}
	}
}
