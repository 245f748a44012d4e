package pack

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// floorPrices are prices per unit of resource at which no new node gives more than it costs: whatever the new nodes are,
// they cost at least what the pods on them are worth at these prices.
type floorPrices struct {
	weights []float64
	scale   float64 // over all pools
	shapes  map[*shape]float64
}

// learn chooses the mixture of cpu, memory and pod prices under which the running pods are worth most, and values each class
// at the new nodes that it may use.
func (f *floorPrices) learn(w *WhatIf) {
	s := w.s
	demand := make(res.Vector, s.schema.Len())
	for _, m := range w.displaced {
		demand.Add(m.class.req, len(m.class.pods))
	}
	f.shapes = map[*shape]float64{}
	f.weights = make([]float64, len(demand))
	var best []float64
	try := func(shares ...float64) {
		for i, r := range w.scarce {
			f.weights[r] = shares[i] / max(1, float64(demand[r]))
		}
		if worth := f.overPools(s) * f.weigh(demand); best == nil || worth > f.scale {
			best, f.scale = slices.Clone(f.weights), worth
		}
	}
	if len(w.scarce) < 3 {
		return
	}
	cpu := 0.0
	for step := range 21 {
		was := f.scale
		x := float64(step) / 20
		if try(x, 1-x, 0); f.scale > was {
			cpu = x
		}
	}
	for step := range 10 {
		pods := float64(step+1) / 20
		try(cpu*(1-pods), (1-cpu)*(1-pods), pods)
	}
	f.weights = best
	f.scale = f.overPools(s)
	clear(f.shapes)
	for _, m := range w.displaced {
		m.floor, m.launchable = f.ofClass(s, m)
		m.cheapest = s.cheapestFor(m)
	}
}

func (f *floorPrices) overPools(s *solver) float64 {
	least := 0.0
	for _, p := range s.pools {
		clear(f.shapes)
		if x, ok := f.ofShape(p.base); ok && p.broken == "" && (least == 0 || x < least) {
			least = x
		}
	}
	return least
}

func (f *floorPrices) weigh(v res.Vector) float64 {
	sum := 0.0
	for r, x := range f.weights {
		if x > 0 {
			sum += float64(x * float64(v[r]))
		}
	}
	return sum
}

// ofShape is the least price per weighed unit of resources among the types of the shape; false if there are none.
func (f *floorPrices) ofShape(sh *shape) (float64, bool) {
	if x, known := f.shapes[sh]; known {
		return x, x >= 0
	}
	least := -1.0
	for t := range sh.types.Each {
		if units := f.weigh(sh.pool.net[t]); units > 0 && sh.price[t] < catalog.NoPrice {
			if x := float64(max(0, sh.price[t])) / units; least < 0 || x < least {
				least = x
			}
		}
	}
	f.shapes[sh] = least
	return least, least >= 0
}

func (f *floorPrices) ofClass(s *solver, m *displacedClass) (float64, bool) {
	least, found := 0.0, false
	for _, sh := range s.shapesFor(m) {
		if x, ok := f.ofShape(sh); ok && (!found || x < least) {
			least, found = x, true
		}
	}
	return least * f.weigh(m.class.req) * (1 - 1e-9), found
}

// cheapestFor is what the cheapest new node costs that takes one pod of the class, reserved capacity aside; 0 if there is
// none.
func (s *solver) cheapestFor(m *displacedClass) catalog.MicroUSD {
	least := catalog.MicroUSD(0)
	for _, sh := range s.shapesFor(m) {
		for _, t := range sh.order {
			if !m.class.req.Fits(sh.pool.net[t]) {
				continue
			}
			if price := sh.price[t]; price < catalog.NoPrice && (least == 0 || price < least) {
				least = max(price, 0)
			}
			break
		}
	}
	return least
}

// shapesFor are the new nodes that the class may be on, wherever they can be launched.
func (s *solver) shapesFor(m *displacedClass) []*shape {
	if m.item == nil {
		return nil
	}
	var out []*shape
	for _, p := range s.pools {
		if p.broken != "" || judgeTaints(p.src.Taints, m.class.src.Tolerations) == barred {
			continue
		}
		for _, alt := range m.item.alts {
			if sh := s.and(p.base, alt); sh != nil {
				out = append(out, sh)
			}
		}
	}
	return out
}
