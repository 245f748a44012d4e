package verify

import (
	"maps"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// checkLaunched tries every listed type in every way that it may be launched.
func (c *checker) checkLaunched(h *host) {
	if len(h.launched.Types) == 0 {
		c.report("types", h.name, "lists no type")
	}
	want := res.List{}
	for _, pod := range h.placed {
		want.Add(pod.Class.Requests)
	}
	var demanding []*cluster.Pod // one of each class that demands something of labels
	for _, pod := range h.first {
		if c.text(pod.Class).demands > 0 {
			demanding = append(demanding, pod)
		}
	}
	last := catalog.MicroUSD(-1)
	for _, choice := range h.launched.Types {
		if choice.Price < last {
			c.report("types", h.name, "%s is listed after a dearer type", choice.Name)
		}
		last = choice.Price
		t := c.typeOf(h.pool, choice.Name)
		if t == nil {
			c.report("types", h.name, "pool %s has no type %s", h.pool.Name, choice.Name)
			continue
		}
		p := c.launch(h.kind, t)
		c.carries(h, p, want)
		c.attachments(h, t.Name, t.AttachLimits)
		c.offered(h, p, choice, demanding)
	}
	c.minValues(h)
}

func typeNamed(pool *cluster.Pool, name string) *catalog.Type {
	for _, t := range pool.Types {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// carries checks that the pods and the daemons fit on the type, whichever offering is launched.
func (c *checker) carries(h *host, p *launch, pods res.List) {
	for _, d := range p.daemons {
		if len(d.Class.HostPorts) == 0 {
			continue
		}
		for _, pod := range h.first {
			for _, a := range pod.Class.HostPorts {
				for _, b := range d.Class.HostPorts {
					if a.Conflicts(b) {
						c.report("ports", h.name, "%s and daemon %s both take %d", pod, d.Name, a.Port)
					}
				}
			}
		}
	}
	fits := true
	for k, x := range pods {
		x += p.reserve[k]
		fits = fits && (x <= p.allocatable[k] || x <= 0)
	}
	for k, x := range p.reserve {
		x += pods[k]
		fits = fits && (x <= p.allocatable[k] || x <= 0)
	}
	if fits {
		return
	}
	want := pods.Clone()
	want.Add(p.reserve)
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if x := want[k]; x > p.allocatable[k] && x > 0 {
			c.report("resources", h.name, "%s has %s %s, pods and daemons ask for %s", p.t.Name, res.Format(k, p.allocatable[k]), k, res.Format(k, x))
		}
	}
}

// offered checks that the type can be launched within the requirements, that every such launch suits every pod, and that
// the price is that of the cheapest.
func (c *checker) offered(h *host, p *launch, choice plan.TypeChoice, demanding []*cluster.Pod) {
	if slices.ContainsFunc(demanding, func(pod *cluster.Pod) bool { return !p.suits(pod.Class, c.text(pod.Class).demands) }) {
		for i, node := range p.states {
			o := &p.t.Offerings[i]
			if node == nil || !canLaunch(o) {
				continue
			}
			for _, pod := range demanding {
				if !matchesAny(pod.Class, node, true) {
					c.report("labels", h.name, "%s launched as %s in %s does not satisfy what %s demands", p.t.Name, o.CapacityType, o.Zone, pod)
				}
			}
		}
	}
	switch {
	case p.best == nil:
		c.report("offering", h.name, "%s can't be launched within the requirements", p.t.Name)
	case p.best.Price != choice.Price:
		c.report("price", h.name, "%s costs %s, not %s", p.t.Name, c.p.Options.Currency.Amount(p.best.Price), c.p.Options.Currency.Amount(choice.Price))
	}
}

func (c *checker) minValues(h *host) {
	if c.p.Options.MinValuesBestEffort {
		return
	}
	for _, term := range h.pool.Requirements {
		if term.MinValues == 0 {
			continue
		}
		key, seen := requirement.Normalize(term.Key), map[string]bool{}
		for _, t := range h.kind.types {
			for i, node := range c.launch(h.kind, t).states {
				if node == nil || !t.Offerings[i].Available {
					continue
				}
				for _, x := range node[key].values {
					seen[x] = true
				}
			}
		}
		if len(seen) < term.MinValues {
			c.report("minValues", h.name, "%d values of %s, not %d", len(seen), term.Key, term.MinValues)
		}
	}
}
