package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/kerf-sh/kerf/bench/peer"
	"github.com/kerf-sh/kerf/internal/engine/bound"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/verify"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// Thinning is one engine's consolidation of a cluster.
type Thinning struct {
	// First is what the first complete look at the cluster took: Kerf's one decision, upstream's three methods, each over
	// the cluster as it was.
	First Cost
	// Methods are upstream's parts of First.
	Methods map[peer.Pass]time.Duration
	// Rounds until nothing more was found, with the CPU time of all of them. Ended tells that it came to that.
	Rounds int
	Total  time.Duration
	Ended  bool
	// Moved pods, counted each time.
	Moved int
	// After is the bill at the end, for this many nodes; AfterFirst after the first round.
	AfterFirst, After catalog.MicroUSD
	Nodes             int
}

// Thinned is the comparison of one consolidation.
type Thinned struct {
	Input       string
	Nodes, Pods int
	Before      catalog.MicroUSD
	// Ships is Kerf with the restraint that ships, without the waits; Kerf and Peer take whatever saves.
	Ships, Kerf, Peer Thinning
	// Settled is the cluster that Kerf ends with, where all must be looked at to see that nothing is left to do: what a look
	// at it takes each, and what upstream's first command would still save in it. KerfAgain is a second look with nothing
	// changed but the generation.
	Settled   int
	KerfLooks Cost
	KerfAgain Cost
	PeerLooks Cost
	PeerSaves catalog.MicroUSD
	// Bound of the price of the pods on new instances, all nodes being gone.
	Bound catalog.MicroUSD
}

// Consolidate lets both engines thin the cluster out until they find nothing more. Nothing but computing takes time.
func Consolidate(ctx context.Context, in Input, o Options) (*Thinned, error) {
	p, err := in.Make()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	p = shipped(p)
	row := &Thinned{Input: in.Name, Nodes: len(p.Nodes), Before: bill(p)}
	again := *p
	again.Nodes = nil
	for _, n := range p.Nodes {
		for _, pod := range n.Pods {
			free := *pod
			free.Node = ""
			again.Pending = append(again.Pending, &free)
		}
	}
	row.Pods = len(again.Pending)
	var settled *pack.Problem
	if row.Kerf, settled, err = kerfThins(p, disrupt.Options{}, o); err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	if row.Ships, _, err = kerfThins(p, restrained(), o); err != nil {
		return nil, fmt.Errorf("%s: restrained: %w", in.Name, err)
	}
	if err := row.look(ctx, settled, o); err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	if row.Peer, err = peerThins(ctx, p, o); err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	b := bound.Lower(&again, pack.Solve(&again), bound.Budget{})
	if _, err := bound.Check(&again, b.Certificate); err != nil {
		return nil, fmt.Errorf("%s: bound: %w", in.Name, err)
	}
	row.Bound = b.Bound
	return row, nil
}

// anyway is the question with every node a candidate.
func anyway(p *pack.Problem, rules disrupt.Options) *disrupt.Problem {
	q := &disrupt.Problem{Cluster: p, Options: rules}
	for _, n := range p.Nodes {
		q.Nodes = append(q.Nodes, disrupt.Node{Name: n.Name})
	}
	for _, pool := range p.Pools {
		q.Pools = append(q.Pools, disrupt.Pool{Name: pool.Name, Policy: disrupt.WhenEmptyOrUnderutilized})
	}
	return q
}

func kerfThins(p *pack.Problem, rules disrupt.Options, o Options) (t Thinning, end *pack.Problem, err error) {
	for t.Rounds < o.Rounds && !t.Ended {
		d, cost, err := kerfRound(p, rules, t.Rounds == 0, o)
		if err != nil {
			return t, nil, err
		}
		if t.Rounds == 0 {
			t.First = cost
		}
		p = t.carryOut(p, d, cost)
	}
	return t, p, nil
}

// kerfRound is one decision, taken a few times over when its time counts.
func kerfRound(p *pack.Problem, rules disrupt.Options, exact bool, o Options) (*disrupt.Decision, Cost, error) {
	q, runs := anyway(p, rules), 1
	if exact {
		runs = 5
	}
	var d *disrupt.Decision
	cost, err := measure(runs, o.Enough, func() error { return nil }, func() error {
		d = disrupt.Decide(q)
		return nil
	})
	if err != nil {
		return nil, Cost{}, err
	}
	if v := verify.Moves(q, d); len(v) > 0 {
		return nil, Cost{}, fmt.Errorf("kerf's moves are refused: %s, and %d more", v[0], len(v)-1)
	}
	return d, cost, nil
}

// look measures both on a cluster in which there is nothing left to do for Kerf.
func (row *Thinned) look(ctx context.Context, settled *pack.Problem, o Options) error {
	row.Settled = len(settled.Nodes)
	var err error
	if _, row.KerfLooks, err = kerfRound(settled, disrupt.Options{}, true, o); err != nil {
		return err
	}
	e, again := new(disrupt.Engine), *settled
	e.Decide(anyway(settled, disrupt.Options{}))
	row.KerfAgain, err = measure(5, o.Enough, func() error { again.Generation++; return nil }, func() error {
		e.Decide(anyway(&again, disrupt.Options{}))
		return nil
	})
	if err != nil {
		return err
	}
	for _, pass := range peer.Passes {
		d, cost, err := peerPass(ctx, settled, pass, o)
		if err != nil {
			return err
		}
		row.PeerLooks.plus(cost)
		if row.PeerSaves == 0 {
			row.PeerSaves = d.Before - d.After
		}
	}
	return nil
}

// carryOut books the round and gives the cluster after it.
func (t *Thinning) carryOut(p *pack.Problem, d *disrupt.Decision, cost Cost) *pack.Problem {
	t.Total += cost.CPU
	if len(d.Moves) == 0 {
		t.Ended = true
	} else {
		t.Moved += moved(p, d)
		p = scenario.CarryOut(p, d)
	}
	if t.Rounds == 0 {
		t.AfterFirst = bill(p)
	}
	t.Rounds++
	t.Nodes, t.After = len(p.Nodes), bill(p)
	return p
}

// peerThins runs upstream's methods in its order; the first that finds something has the round. In the first round all
// are run, to see what they take.
func peerThins(ctx context.Context, p *pack.Problem, o Options) (Thinning, error) {
	t := Thinning{Methods: map[peer.Pass]time.Duration{}}
	for t.Rounds < o.Rounds && !t.Ended {
		chosen, round := &disrupt.Decision{}, Cost{}
		for _, pass := range peer.Passes {
			if t.Rounds > 0 && len(chosen.Moves) > 0 {
				break
			}
			d, cost, err := peerPass(ctx, p, pass, o)
			if err != nil {
				return t, err
			}
			if len(chosen.Moves) == 0 {
				chosen = d
				round.plus(cost)
			}
			if t.Rounds == 0 {
				t.Methods[pass] = cost.CPU
				t.First.plus(cost)
			}
		}
		p = t.carryOut(p, chosen, round)
	}
	return t, nil
}

func peerPass(ctx context.Context, p *pack.Problem, pass peer.Pass, o Options) (d *disrupt.Decision, cost Cost, err error) {
	var e *peer.Engine
	cost, err = measure(1, 0, func() (err error) {
		e, err = peer.New(ctx, p, o.Procs)
		return err
	}, func() (err error) {
		d, err = e.Consolidate(ctx, pass)
		return err
	})
	if err != nil {
		return nil, cost, fmt.Errorf("upstream's %s pass: %w", pass, err)
	}
	return d, cost, nil
}

func moved(p *pack.Problem, d *disrupt.Decision) int {
	pods := map[string]int{}
	for _, n := range p.Nodes {
		pods[n.Name] = len(n.Pods)
	}
	sum := 0
	for _, m := range d.Moves {
		for _, name := range m.Nodes {
			sum += pods[name]
		}
	}
	return sum
}

func bill(p *pack.Problem) catalog.MicroUSD {
	var sum catalog.MicroUSD
	for _, n := range p.Nodes {
		sum += n.Price
	}
	return sum
}
