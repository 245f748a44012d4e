package audit

import (
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// fitter finds the cheapest type that carries what a node has.
type fitter struct {
	vocab *requirement.Vocabulary
	pools map[string]*fitPool
	known map[string][2]*fitting
}

type fitPool struct {
	terms requirement.Requirements
	types []fitType
}

type fitType struct {
	*catalog.Type
	terms       requirement.Requirements
	allocatable res.List
}

// fitting is a type and what it would cost.
type fitting struct {
	name  string
	price catalog.MicroUSD
}

func (a *audit) fitter() *fitter {
	f := &fitter{vocab: requirement.NewVocabulary(), pools: map[string]*fitPool{}, known: map[string][2]*fitting{}}
	made := map[*catalog.Type]fitType{}
	for _, p := range a.base.Pools {
		terms, err := f.vocab.Parse(p.Requirements)
		if err != nil {
			continue // a pool that can't be read launches nothing; its NodePool says so itself
		}
		one := &fitPool{terms: terms}
		for _, t := range p.Types {
			x, ok := made[t]
			if !ok {
				own, err := f.vocab.Parse(t.Requirements)
				if err != nil {
					continue
				}
				x = fitType{t, own, t.Allocatable()}
				made[t] = x
			}
			if terms.Intersects(x.terms) {
				one.types = append(one.types, x)
			}
		}
		f.pools[p.Name] = one
	}
	return f
}

// cheapest is the cheapest type for what runs on a node, daemons included, in its zone and capacity type; and in any capacity type
// that the pool may launch. Both are nil where none is known. What pods ask beyond node selectors counts as met.
func (f *fitter) cheapest(n *audited) (same, any *fitting) {
	pool := f.pools[n.Pool]
	if pool == nil {
		return nil, nil
	}
	classes := map[string]*cluster.Class{}
	for _, p := range n.Pods {
		if !p.Daemon && len(p.Class.Selector)+len(p.Class.Affinity) > 0 {
			classes[p.Class.ID] = p.Class
		}
	}
	key := strings.Join([]string{n.Pool, n.Zone, n.CapacityType, n.Used.String(), strings.Join(sortedKeys(classes), ",")}, "|")
	if found, ok := f.known[key]; ok {
		return found[0], found[1]
	}
	terms := pool.terms
	for _, id := range sortedKeys(classes) {
		c := classes[id]
		if len(c.Affinity) > 1 {
			return nil, nil // alternatives: which of them the pod would take is not looked at
		}
		for _, list := range append([][]requirement.Term{c.Selector}, c.Affinity...) {
			if more, err := f.vocab.Parse(list); err == nil {
				terms = terms.And(more)
			}
		}
	}
	for i := range pool.types {
		t := &pool.types[i]
		if !covers(t.allocatable, n.Used) || !terms.Intersects(t.terms) {
			continue
		}
		for j := range t.Offerings {
			o := &t.Offerings[j]
			if !o.Available || o.Zone != n.Zone || !f.allows(terms, o.CapacityType) {
				continue
			}
			if o.CapacityType == n.CapacityType && (same == nil || o.Price < same.price) {
				same = &fitting{t.Name, o.Price}
			}
			if any == nil || o.Price < any.price {
				any = &fitting{t.Name, o.Price}
			}
		}
	}
	f.known[key] = [2]*fitting{same, any}
	return same, any
}

func (f *fitter) allows(terms requirement.Requirements, capacityType string) bool {
	return terms.Intersects(f.vocab.Only(requirement.CapacityType, capacityType))
}

// covers reports whether an amount of each resource is there.
func covers(have, want res.List) bool {
	for r, amount := range want {
		if have[r] < amount {
			return false
		}
	}
	return true
}
