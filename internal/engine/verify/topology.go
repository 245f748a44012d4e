package verify

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// topology checks the constraints of every placed pod against where all pods are in the end. A constraint that holds
// then held at the best order of binding as well.
func (c *checker) topology() {
	c.affinity()
	for _, h := range c.hosts {
		for _, pod := range h.first {
			for i, sp := range pod.Class.Spreads {
				if !sp.Soft && sp.MaxSkew > 0 {
					c.spread(h, pod, i)
				}
			}
			for i, t := range pod.Class.AntiAffinity {
				if t.Weight == 0 {
					c.apart(h, pod, i)
				}
			}
		}
		for _, pod := range h.running {
			for i, t := range pod.Class.AntiAffinity {
				if t.Weight == 0 && pod.InCompany() {
					c.apartFromRunning(h, pod, i)
				}
			}
		}
	}
}

// selected are the pods on the host that count for anti-affinity of the class.
func (c *checker) selected(h *host, class *cluster.Class, namespaces []string, sel *cluster.Selector) []*cluster.Pod {
	var out []*cluster.Pod
	for _, pod := range slices.Concat(h.running, h.placed) {
		if counted(pod, class, namespaces, sel) {
			out = append(out, pod)
		}
	}
	return out
}

func counted(pod *cluster.Pod, class *cluster.Class, namespaces []string, sel *cluster.Selector) bool {
	return slices.Contains(namespaces, pod.Namespace) && pod.InCompany() && class.Counts(pod.Class) && sel.Matches(pod.Class.Labels)
}

func namespacesOf(pod *cluster.Pod, t cluster.PodAffinity) []string {
	if len(t.Namespaces) == 0 {
		return []string{pod.Namespace}
	}
	return t.Namespaces
}

// apart looks at the pods in the host's domain one by one only where there are some that must not be there. A node to launch that is not
// settled on a domain may come to be in each that it leaves, and there it must be apart as well.
func (c *checker) apart(h *host, pod *cluster.Pod, i int) {
	t := pod.Class.AntiAffinity[i]
	col, own := c.column(t.Key), 0
	if counted(pod, pod.Class, namespacesOf(pod, t), t.Selector) {
		own = 1
	}
	all := c.spots(pod, i).all
	if !slices.ContainsFunc(col.may[h.at], func(d int) bool { return all[d] > own }) {
		return
	}
	for _, other := range c.hosts {
		if !col.meet(h, other) {
			continue
		}
		for _, x := range c.selected(other, pod.Class, namespacesOf(pod, t), t.Selector) {
			if x != pod {
				c.report("anti-affinity", h.name, "%s must be kept apart from %s by %s", pod, x, t.Key)
			}
		}
	}
}

func (c *checker) apartFromRunning(h *host, pod *cluster.Pod, i int) {
	t := pod.Class.AntiAffinity[i]
	col, placed := c.column(t.Key), c.spots(pod, i).placed
	if !slices.ContainsFunc(col.may[h.at], func(d int) bool { return placed[d] > 0 }) {
		return
	}
	for _, other := range c.hosts {
		if !col.meet(h, other) {
			continue
		}
		for _, x := range c.selected(other, pod.Class, namespacesOf(pod, t), t.Selector) {
			if slices.Contains(other.placed, x) {
				c.report("anti-affinity", h.name, "running %s must be kept apart from %s by %s", pod, x, t.Key)
			}
		}
	}
}
