// Package lp solves the linear programs of the engine: which columns to choose, each at a price and with an amount of some
// rows, so that every row's need is met at the least price; and what a divisible filling of one room is worth at most.
//
// Two programs cover rows with columns. They solve the same problem in two ways, because their users need two things:
//
//   - [Covering] serves the improvement of plans (engine/cuttingstock), which records what it decides. It rounds every
//     product before it adds it, so that no processor fuses the two: the same input gives the same bytes everywhere. It
//     starts from feasible columns, is stopped after so much work, and collects pivots to carry them out several at once.
//   - [Program] serves lower bounds (engine/bound). It also has ledgers, rows that must not be exceeded; it checks its
//     figures at the end and inverts the basis anew where they drifted. Nothing is decided by its figures: a bound is
//     proved in integers by a checker that shares no code with this package.
//
// [Knapsack] is the pricing problem of the bound. The improvement prices by a heuristic over whole pods instead, which is
// no linear program and lies in engine/cuttingstock.
package lp

// Share is an amount of a row.
type Share struct {
	Row    int
	Amount float64
}

// Column is something that can be chosen any number of times, at a price, and adds to rows.
type Column struct {
	Of    int // what the column stands for, as its maker counts
	Price float64
	Parts []Share
	// Ledger is one more than the number of the ledger that every choice of the column uses up by one; 0: none.
	Ledger int
}
