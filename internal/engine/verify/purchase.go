package verify

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// kind is what nodes to launch have in common that list the same types under the same demands.
type kind struct {
	at     int // its place among all kinds
	demand int
	pool   *cluster.Pool
	node   *host // any of them
	types  []*catalog.Type
}

// launch is what a node is that is launched as one type under the demands of a kind.
type launch struct {
	t           *catalog.Type
	states      []state // by offering; nil where the demands rule it out
	best        *catalog.Offering
	allocatable res.List
	daemons     []cluster.Daemon // that run on it
	reserve     res.List         // what they ask for together
	sure        map[int]bool     // by demands of pods: each way to launch it meets them
	maybe       map[int]bool     // some way may meet them
}

type launchKey struct {
	demand int
	t      *catalog.Type
}

// kindOf finds the kind of a node to launch.
func (c *checker) kindOf(h *host) *kind {
	b := appendText(nil, h.launched.Pool)
	b = appendTerms(b, h.launched.Requirements)
	demand := c.textID(string(b))
	for _, choice := range h.launched.Types {
		b = appendText(b, choice.Name)
	}
	k := c.kinds[string(b)]
	if k == nil {
		k = &kind{at: len(c.kinds), demand: demand, pool: h.pool, node: h}
		for _, choice := range h.launched.Types {
			if t := c.typeOf(h.pool, choice.Name); t != nil {
				k.types = append(k.types, t)
			}
		}
		c.kinds[string(b)] = k
	}
	return k
}

// typeOf is the type of that name in the pool; nil when it has none.
func (c *checker) typeOf(pool *cluster.Pool, name string) *catalog.Type {
	byName := c.types[pool]
	if byName == nil {
		byName = make(map[string]*catalog.Type, len(pool.Types))
		for _, t := range slices.Backward(pool.Types) { // of several the first
			byName[t.Name] = t
		}
		c.types[pool] = byName
	}
	return byName[name]
}

func (c *checker) launch(k *kind, t *catalog.Type) *launch {
	at := launchKey{k.demand, t}
	p := c.launches[at]
	if p == nil {
		p = c.newLaunch(k, t)
		c.launches[at] = p
	}
	return p
}

func (c *checker) newLaunch(k *kind, t *catalog.Type) *launch {
	p := &launch{t: t, states: make([]state, len(t.Offerings)), allocatable: c.allocatable[t], reserve: res.List{}, sure: map[int]bool{}, maybe: map[int]bool{}}
	if p.allocatable == nil {
		p.allocatable = t.Allocatable()
		c.allocatable[t] = p.allocatable
	}
	for i := range t.Offerings {
		o := &t.Offerings[i]
		p.states[i] = possible(k.node, t, *o)
		if p.states[i] != nil && canLaunch(o) && (p.best == nil || o.Price < p.best.Price) {
			p.best = o
		}
	}
	for _, d := range c.p.Daemons {
		runs := c.daemonRuns(d, k.pool.Taints) && slices.ContainsFunc(p.states, func(s state) bool { return s != nil && matchesAny(d.Class, s, false) })
		if runs {
			p.daemons = append(p.daemons, d)
			p.reserve.Add(d.Class.Requests)
		}
	}
	return p
}

func canLaunch(o *catalog.Offering) bool {
	return o.Available && (o.CapacityType != catalog.Reserved || o.Reservable > 0)
}

// suits reports whether however it is launched, what the class demands of labels is met.
func (p *launch) suits(class *cluster.Class, demands int) bool {
	ok, known := p.sure[demands]
	if !known {
		ok = true
		for i, s := range p.states {
			ok = ok && (s == nil || !canLaunch(&p.t.Offerings[i]) || matchesAny(class, s, true))
		}
		p.sure[demands] = ok
	}
	return ok
}

// maySuit reports whether it may be launched so that the selection is met: a class that demands nothing else.
func (p *launch) maySuit(selection *cluster.Class, id int) bool {
	ok, known := p.maybe[id]
	if !known {
		for i, s := range p.states {
			ok = ok || s != nil && p.t.Offerings[i].Available && matchesAny(selection, s, false)
		}
		p.maybe[id] = ok
	}
	return ok
}
