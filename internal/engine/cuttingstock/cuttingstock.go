// Package cuttingstock chooses how many instances of which filling carry some pods at the least price, as a linear program:
// the cutting stock problem, solved by column generation. It knows numbers only. Who asks says which rows of pods there are
// and which kinds of instance, and rounds the solution to whole instances.
//
// [Problem.Solve] is the way from beginning to end: the worth of pods at a glance ([fluidDuals]); fillings that are worth more
// than they cost by that ([knapsack], a heuristic over whole pods); the linear program of all fillings ([lp.Covering]), which
// changes the worth; and so on.
//
// Source: P. Gilmore, R. Gomory, A linear programming approach to the cutting-stock problem, 1961.
//
// Products are converted to float64 before they are added, so that no processor fuses the two: the same input gives the
// same figures on every architecture.
package cuttingstock

import "github.com/kerf-sh/kerf/internal/engine/lp"

// Row is pods that are alike, or nearly so.
type Row struct {
	Req    []float64 // of one pod, on average
	Demand float64
	// Cost is what a pod costs in the plan that is known, in the unit of bins' prices.
	Cost   float64
	Access int // its access class: below Problem.Accesses
	Size   int // the same for rows of one size and group: below Problem.Sizes
	Group  int // of pods that share a cap by host, of Problem.Caps; -1: none
}

// Bin is a kind of instance.
type Bin struct {
	Of    int // what the bin stands for, as its maker counts
	Price float64
	Net   []float64
	// Access holds the bits of the access classes whose pods may be on the instance together.
	Access uint64
}

// MostAccesses is how many access classes there may be.
const MostAccesses = 64

// Problem is rows of pods and the bins that could carry them.
type Problem struct {
	Rows []*Row
	Bins []Bin
	// Caps is, by group, how many of its pods a bin takes.
	Caps            []int
	Sizes, Accesses int

	// fluid is what pods are worth at a glance.
	fluid *fluidDuals
}

// Solution is the solution of the linear program: how much of which filling, and what a pod of each row is worth.
type Solution struct {
	Patterns []lp.Column // of Problem.Bins
	Amount   []float64   // by pattern
	Worth    []float64   // by row
	Found    *lp.Stock   // all fillings that are known
}
