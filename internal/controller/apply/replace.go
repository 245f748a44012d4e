package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/state/intake"
	"github.com/kerf-sh/kerf/internal/trace"
)

// HoldUntilAnnotation is on NodeClaims that consolidation leaves alone for a time; its value (RFC 3339) is until when.
// HoldReasonAnnotation says why: in words, and at the end, after ByCommand, by which command, where that would end the hold if
// it were taken back. Whoever takes the first off ends the hold.
const (
	HoldUntilAnnotation  = "kerf.sh/hold-until"
	HoldReasonAnnotation = "kerf.sh/hold-reason"
	ByCommand            = " by disruption "
)

// Order is what has to be there before nodes go: instances to launch, and room on instances that stay. Its pods still run.
type Order struct {
	// Command is the ID that is written to the claims.
	Command string
	// Hold is until when the instances are held so that launching them pays back; zero: they are not.
	Hold time.Time
	// InTurn has the instances take pods one after the other.
	InTurn     bool
	NewNodes   []plan.NewNode
	Placements []plan.Placement
	// Pools are those of the problem that the decision answers, with their types.
	Pools []*cluster.Pool
}

// Replace launches what an order asks for and keeps the room for its pods. All launches are admitted, or nothing is launched.
//
// Errors: a *RefusedError when the newest state does not allow the order any more; otherwise those of the API, with the
// claims that were created all the same, and those of which that is not known.
//
// Concurrency: safe.
func (a *Applier) Replace(ctx context.Context, o Order) ([]Created, error) {
	launches, err := a.launch(trace.WithID(ctx, o.Command), o)
	var out []Created
	for _, b := range launches {
		if b.err != nil {
			err = errors.Join(err, b.err)
			if b.unsure {
				out = append(out, Created{Claim: b.claim.Name, Pool: b.pool.Name, Planned: b.node, Unsure: true})
			}
			continue
		}
		out = append(out, Created{
			Claim: b.claim.Name, Pool: b.pool.Name, Pods: len(b.pods), Planned: b.node,
			Relaxed: b.claim.Annotations[karpv1.NodeClaimMinValuesRelaxedAnnotationKey] == "true",
		})
		a.said(b, "disruption", b.pods, story.DecisionKey, o.Command, story.CommandKey, o.Command)
	}
	return out, err
}

func (a *Applier) launch(ctx context.Context, o Order) ([]*launching, error) {
	if !a.take(ctx) {
		return nil, fmt.Errorf("waiting for another launch: %w", ctx.Err())
	}
	defer a.give()
	check := newChecker(a.o.State, o.Pools, a.o.PriceBound)
	var launches []*launching
	nodes := check.withinLimits(o.NewNodes)
	for i := range nodes {
		b, refusal := check.admit(&nodes[i], nodes[i].Pods)
		if refusal != nil {
			return nil, &RefusedError{*refusal}
		}
		b.claim.Annotations[index.CommandAnnotation] = o.Command
		if !o.Hold.IsZero() {
			b.claim.Annotations[HoldUntilAnnotation] = o.Hold.UTC().Format(time.RFC3339)
			b.claim.Annotations[HoldReasonAnnotation] = "it was launched to save money and has not paid back yet" + ByCommand + o.Command
		}
		if o.InTurn {
			b.claim.Annotations[intake.TurnKey] = strconv.Itoa(i)
		}
		launches = append(launches, b)
	}
	for _, p := range o.Placements {
		if _, refused := check.takes(a.o.State, p.Node, p.Pods); refused != nil {
			return nil, &RefusedError{*refused}
		}
	}
	a.create(ctx, launches)
	if slices.ContainsFunc(launches, func(b *launching) bool { return b.err != nil }) {
		return launches, nil
	}
	until := a.o.Now().Add(a.o.ClaimTTL)
	for _, p := range o.Placements {
		a.o.State.Reserve(check.nodes[p.Node], p.Pods, until)
	}
	return launches, nil
}

// RefusedError says why an order was not carried out.
type RefusedError struct{ Refusal }

// Error is what was refused and why.
func (e *RefusedError) Error() string { return fmt.Sprintf("%s: %s", e.Action, e.Detail) }
