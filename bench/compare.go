package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kerf-sh/kerf/bench/peer"
	"github.com/kerf-sh/kerf/internal/engine/bound"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/verify"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
)

// Options of a comparison.
type Options struct {
	// Procs is how many cores both may use.
	Procs int
	// Cut ends upstream's pass as its controller does after a minute; 0: never.
	Cut time.Duration
	// Enough is for how long short computations are repeated.
	Enough time.Duration
	// Rounds of consolidation after which no more is looked for.
	Rounds int
}

// Side is what one engine made of an input.
type Side struct {
	Cost
	Nodes, Unplaced int
	Price           catalog.MicroUSD
	// Gap of the price to the bound for the pods that this plan places; -1 when there is no bound.
	Gap float64
	// Violations that the judge finds in the plan, if it was Judged.
	Violations []verify.Violation
	Judged     bool
	// CutShort tells that the engine had not finished when its time was up.
	CutShort bool
}

// peerJudged is up to how many pods upstream's plan is put before the judge, who goes host by host where something is
// wrong. Kerf's plans are always judged.
const peerJudged = 2000

// Row is the comparison of one input.
type Row struct {
	Input string
	Pods  int
	// Kerf is what the controller decides with its default settings, First its first plan without the improvement, Peer is upstream.
	Kerf, First, Peer Side
	// Bound for the pods that Kerf places, proven by Certificate of the kind in package bound.
	Bound    catalog.MicroUSD
	Declined int // preferences that Kerf did not honour, each with what it would cost
}

// Compare runs both engines on the input.
//
// Errors: an input that can't be made or carried over, or a plan of Kerf's that the judge refuses.
func Compare(ctx context.Context, in Input, o Options) (*Row, error) {
	p, err := in.Make()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	p = shipped(p)
	row := &Row{Input: in.Name, Pods: len(p.Pending)}
	var best *plan.Plan
	if row.Kerf, best, err = kerfSide(p, o); err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	row.Declined = len(best.Declined)
	first := *p
	first.Options.Work = -1
	if row.First, _, err = kerfSide(&first, o); err != nil {
		return nil, fmt.Errorf("%s: first plan: %w", in.Name, err)
	}
	theirs, err := peerSide(ctx, p, o, row)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	b := bound.Lower(p, best, bound.Budget{})
	proven, err := bound.Check(p, b.Certificate)
	if err != nil {
		return nil, fmt.Errorf("%s: bound of %s: its certificate: %w", in.Name, best.Currency.Amount(b.Bound), err)
	}
	if proven != b.Bound {
		return nil, fmt.Errorf("%s: bound of %s: its certificate proves %s", in.Name, best.Currency.Amount(b.Bound), best.Currency.Amount(proven))
	}
	row.Bound, row.Kerf.Gap, row.First.Gap = b.Bound, gap(row.Kerf.Price, b.Bound), gap(row.First.Price, b.Bound)
	row.Peer.Gap = bound.Lower(p, theirs, bound.Budget{}).Gap
	return row, nil
}

// kerfSide does what the controller does for a decision: each pod is hashed to find its class, the problem is solved, and
// the plan is checked.
func kerfSide(p *pack.Problem, o Options) (Side, *plan.Plan, error) {
	var out *plan.Plan
	cost, err := measure(5, o.Enough, func() error { return nil }, func() error {
		for _, pod := range p.Pending {
			pod.Class.Hash()
		}
		out = pack.Solve(p)
		verify.Check(p, out)
		return nil
	})
	if err != nil {
		return Side{}, nil, err
	}
	s := side(p, out, cost, true)
	if len(s.Violations) > 0 {
		return s, nil, fmt.Errorf("kerf's plan is refused: %s, and %d more", s.Violations[0], len(s.Violations)-1)
	}
	return s, out, nil
}

func peerSide(ctx context.Context, p *pack.Problem, o Options, row *Row) (*plan.Plan, error) {
	var e *peer.Engine
	var results scheduling.Results
	cut := false
	cost, err := measure(3, o.Enough, func() (err error) {
		e, err = peer.New(ctx, p, o.Procs)
		return err
	}, func() (err error) {
		within, cancel := ctx, context.CancelFunc(func() {})
		if o.Cut > 0 {
			within, cancel = context.WithTimeout(ctx, o.Cut)
		}
		defer cancel()
		results, err = e.Solve(within)
		cut = within.Err() != nil
		return err
	})
	if err != nil {
		return nil, err
	}
	out := e.Plan(results)
	row.Peer = side(p, out, cost, len(p.Pending) <= peerJudged)
	// Upstream's results do not say why a pod is left in Kerf's words.
	row.Peer.Violations = slices.DeleteFunc(row.Peer.Violations, func(v verify.Violation) bool { return v.Rule == "reasons" })
	row.Peer.CutShort = cut
	return out, nil
}

func side(p *pack.Problem, out *plan.Plan, cost Cost, judge bool) Side {
	s := Side{Cost: cost, Nodes: len(out.NewNodes), Price: out.Price, Judged: judge}
	if judge {
		s.Violations = verify.Check(p, out)
	}
	for _, u := range out.Unplaced {
		s.Unplaced += len(u.Pods)
	}
	return s
}

func gap(price, floor catalog.MicroUSD) float64 {
	switch {
	case floor > 0:
		return float64(price)/float64(floor) - 1
	case price > 0:
		return -1
	}
	return 0
}
