package verify

import (
	"maps"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// plain is the check the long way: it remembers nothing, tries every listed type of every node in every way that it may
// be launched, and compares every pod with all on every host.
type plain struct{ *checker }

func plainCheck(p *pack.Problem, out *plan.Plan) []Violation {
	c := &plain{newChecker(p, out)}
	c.collect()
	c.everyPodOnce()
	for _, h := range c.hosts {
		if h.node != nil {
			c.checkHost(h)
			continue
		}
		c.suited(h)
		c.checkBought(h)
	}
	c.limits()
	c.reservations(c.reservationOf)
	c.topology()
	c.price()
	return c.found
}

// checkBought tries every listed type in every way that it may be launched.
func (c *plain) checkBought(h *host) {
	if len(h.launched.Types) == 0 {
		c.report("types", h.name, "lists no type")
	}
	last := catalog.MicroUSD(-1)
	for _, choice := range h.launched.Types {
		if choice.Price < last {
			c.report("types", h.name, "%s is listed after a dearer type", choice.Name)
		}
		last = choice.Price
		t := typeNamed(h.pool, choice.Name)
		if t == nil {
			c.report("types", h.name, "pool %s has no type %s", h.pool.Name, choice.Name)
			continue
		}
		c.carries(h, t)
		c.attachments(h, t.Name, t.AttachLimits)
		c.offered(h, t, choice)
	}
	c.minValues(h)
}

// carries checks that the pods and the daemons fit on the type, whichever offering is launched.
func (c *plain) carries(h *host, t *catalog.Type) {
	want := res.List{}
	for _, pod := range h.placed {
		want.Add(pod.Class.Requests)
	}
	for _, d := range c.p.Daemons {
		if !c.daemonRuns(d, h.taints) {
			continue
		}
		runs := slices.ContainsFunc(t.Offerings, func(o catalog.Offering) bool {
			node := possible(h, t, o)
			return node != nil && matchesAny(d.Class, node, false)
		})
		if !runs {
			continue
		}
		want.Add(d.Class.Requests)
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
	have := t.Allocatable()
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if x := want[k]; x > have[k] && x > 0 {
			c.report("resources", h.name, "%s has %s %s, pods and daemons ask for %s", t.Name, res.Format(k, have[k]), k, res.Format(k, x))
		}
	}
}

// offered checks that the type can be launched within the requirements, that every such launch suits every pod, and that
// the price is that of the cheapest.
func (c *plain) offered(h *host, t *catalog.Type, choice plan.TypeChoice) {
	cheapest := catalog.MicroUSD(-1)
	for _, o := range t.Offerings {
		if !o.Available || (o.CapacityType == catalog.Reserved && o.Reservable == 0) {
			continue
		}
		node := possible(h, t, o)
		if node == nil {
			continue
		}
		for _, pod := range h.first {
			if !matchesAny(pod.Class, node, true) {
				c.report("labels", h.name, "%s launched as %s in %s does not satisfy what %s demands", t.Name, o.CapacityType, o.Zone, pod)
			}
		}
		if cheapest < 0 || o.Price < cheapest {
			cheapest = o.Price
		}
	}
	switch {
	case cheapest < 0:
		c.report("offering", h.name, "%s can't be launched within the requirements", t.Name)
	case cheapest != choice.Price:
		c.report("price", h.name, "%s costs %s, not %s", t.Name, c.p.Options.Currency.Amount(cheapest), c.p.Options.Currency.Amount(choice.Price))
	}
}

func (c *plain) minValues(h *host) {
	if c.p.Options.MinValuesBestEffort {
		return
	}
	for _, term := range h.pool.Requirements {
		if term.MinValues == 0 {
			continue
		}
		seen := map[string]bool{}
		for _, choice := range h.launched.Types {
			t := typeNamed(h.pool, choice.Name)
			if t == nil {
				continue
			}
			for _, o := range t.Offerings {
				node := possible(h, t, o)
				if node == nil || !o.Available {
					continue
				}
				if v, ok := node[requirement.Normalize(term.Key)]; ok && len(v.values) > 0 {
					for _, x := range v.values {
						seen[x] = true
					}
				}
			}
		}
		if len(seen) < term.MinValues {
			c.report("minValues", h.name, "%d values of %s, not %d", len(seen), term.Key, term.MinValues)
		}
	}
}

// reservationOf is the reservation that the node's cheapest offering is out of; empty when that is none.
func (c *plain) reservationOf(h *host) string {
	t := typeNamed(h.pool, h.launched.Types[0].Name)
	if t == nil {
		return ""
	}
	var best *catalog.Offering
	for i := range t.Offerings {
		o := &t.Offerings[i]
		if !o.Available || (o.CapacityType == catalog.Reserved && o.Reservable == 0) || possible(h, t, *o) == nil {
			continue
		}
		if best == nil || o.Price < best.Price {
			best = o
		}
	}
	if best == nil || best.CapacityType != catalog.Reserved {
		return ""
	}
	return best.ReservationID
}
