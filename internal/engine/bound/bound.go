// Package bound finds how cheap a plan could be at best, and proves it.
//
// Lower takes the pods that a plan places and gives an amount that every way of serving them must pay for new instances.
// The amount comes with a Certificate; Check reads the problem by itself, verifies the certificate in whole numbers, and
// shares no code with the search that found it.
//
// # What is bounded
//
// The pods of the plan must be served by the existing nodes, each once and free of charge, and by instances launched from
// the pools. Kept are: requests against allocatable less the daemons that are certain to run there; node selectors,
// required affinity, volume zones and taints, per instance and class; what the pool can launch where and at what price; how
// many instances a reservation still holds; and limits per host: host ports, anti-affinity by host of classes that
// repel themselves, spread by host, which the engine measures from an empty host. Kept are also spreads over zones, of
// classes whose spread counts no other pending pods and which the plan keeps. They are measured as the engine and Karpenter
// measure them: over every zone that has nodes which count or in which a pool launches instances. The Kubernetes scheduler
// leaves out zones without a node, so it would also bind pods that are all in one zone.
//
// Given up are: all other topology wider than a host, whether the requirements of two classes can hold on one instance,
// limits of pools, addresses of subnets, minValues, preferences, PreferNoSchedule, and the strict order of pool weights;
// and, where pods are many, that instances are launched whole. Where a problem has very many kinds of pods, limits per host that need far fewer hosts than
// another limit are given up as well. Giving something up can only make the bound smaller, so it stays a bound: a plan
// that keeps the order of weights may cost more than it must without.
//
// # Why it is a proof
//
// A certificate gives each class a value v per pod, such that no instance can carry pods worth more than its price. Then
// whoever serves n pods of each class pays at least the sum of n*v. An instance that is free but there only m times
// (existing nodes, reservations) takes m times the worth that it can carry off that sum.
//
// That no instance carries more than its price is shown by weights w, an amount of money per unit of each resource. If
//
//	w*capacity + sum over classes of most*max(0, v - w*request)  <=  price
//
// where most is how many pods of the class an instance can have at all, then any pods that fit are worth at most the left
// side: each is worth no more than the room that it takes, priced by w, and what it is worth beyond that. Few weights
// are enough, because instances of a family resemble each other; the checker tries them all. Where no weights do, because
// pods leave room that is of no use to any other, the checker goes through the ways to fill the instance, class by class,
// and keeps the worthiest of those that leave the same room, as long as the weights don't rule them out. Room that is left
// counts for no more than the classes still to come are worth of it, by the weights or by any one resource: small pods are
// often worth less of their room than large ones. Existing nodes and reservations are judged by weights alone.
//
// The pods of a class that is spread over zones have a value for each zone. The maximum skew and the pods that run leave
// each zone a fewest and a most of them. They are worth what they are worth where that allows them to be worth least: each
// zone gets its fewest, and the rest goes to the zones of the lowest value.
//
// Instances are launched whole, which all this leaves out. Where pods are few the checker goes through the ways to serve them
// all, zone by zone. A way costs what the pods are worth, and what each instance costs more than its pods are worth, and
// what pods are worth more where they are than at least. None of these is below zero. So to show that no way costs less
// than some amount above the worth, only instances matter that cost less than that above the worth of theirs. The values
// decide how many those are, and not whether the proof holds.
//
// # How it is found
//
// The best values are the duals of a linear program: launch ways to fill instances so that every class is covered, at the
// least cost. Ways are added as they are needed (column generation): the one that is worth most for an instance at the
// present values is found by a small linear program of its own, whose duals are the weights, or by a search where pods
// must stay whole. Pods of a class in different zones are rows of their own, and one more row says that all of them are in
// some zone. On instances for dozens of pods and on those with too many fillings pods may be cut; little is lost by
// that. Any values, divided by how much the most overrated instance is worth more than its price, are a proof; so the
// search can end at any time.
package bound

import (
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// Budget limits the search.
type Budget struct {
	// Work in elementary steps, about a nanosecond each; 0 means DefaultWork.
	Work int64
	// Memory of earlier searches makes this one faster; it may be nil.
	Memory *Memory
}

// DefaultWork is the budget where none is given.
const DefaultWork = 2_000_000_000

// Result is a bound with its proof.
type Result struct {
	// Bound is the least that the new instances can cost, per hour. The certificate proves it.
	Bound catalog.MicroUSD `json:"bound"`
	// Price of the plan, for comparison.
	Price catalog.MicroUSD `json:"price"`
	// Gap is Price/Bound - 1, 0 when both are 0. It is -1 when there is a price but no bound.
	Gap         float64      `json:"gap"`
	Certificate *Certificate `json:"certificate"`
	// Converged tells that the search ended by itself: no better values exist for the relaxation, but for a ten
	// thousandth, with pods cut where instances have too many fillings. Otherwise Stopped says what ended it. The bound is
	// proven either way.
	Converged bool   `json:"converged"`
	Stopped   string `json:"stopped,omitempty"`
	// Open is how much more, as a part of the bound, the relaxation could prove at most; -1 when that is not known.
	Open float64 `json:"open"`
	Work Work    `json:"work"`
}

// Work counts what the search did.
type Work struct {
	Pods      int   `json:"pods"`
	Classes   int   `json:"classes"`
	Rows      int   `json:"rows"`      // classes that the search need not tell apart count once
	Instances int   `json:"instances"` // kinds of instance that are not plainly worse than another
	Rounds    int   `json:"rounds"`
	Columns   int   `json:"columns"`
	Pivots    int   `json:"pivots"`
	Steps     int64 `json:"steps"`
	// Rounded tells that requests were rounded down to keep the number of rows small.
	Rounded bool `json:"rounded,omitempty"`
}

// Lower finds a lower bound on what new instances must cost, for the pods that the plan places on existing and new nodes.
// Pods that the plan leaves count for nothing.
//
// It is a pure function of the problem, the plan's placed pods, and the budget, whatever their order.
func Lower(p *pack.Problem, pl *plan.Plan, b Budget) *Result {
	if b.Work <= 0 {
		b.Work = DefaultWork
	}
	if b.Memory == nil {
		b.Memory = &Memory{}
	}
	s := newSearch(p, placedClasses(p, pl), b)
	s.run()
	r := s.result(p, pl.Price)
	r.Price = pl.Price
	switch {
	case r.Bound > 0:
		r.Gap = float64(r.Price)/float64(r.Bound) - 1
	case r.Price > 0:
		r.Gap = -1
	}
	return r
}
