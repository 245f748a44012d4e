package provision

import (
	"context"
	"time"

	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/trace"
)

// begin begins the span of a decision, which reaches back to the first pod of its batch, and tells of the wait for the others.
func (c *Controller) begin(ctx context.Context, batch arrivals, now time.Time) (context.Context, *trace.Span) {
	first := now
	if len(batch.pods) > 0 && batch.first.Before(now) {
		first = batch.first
	}
	ctx, span := c.o.Trace.StartAt(ctx, "provision", first)
	c.o.Trace.Past(ctx, "provision.batch", first, now).End()
	return ctx, span
}

// problem is Problem as a span.
func (c *Controller) problem(ctx context.Context, snapshot *cluster.Snapshot) *pack.Problem {
	ctx, span := c.o.Trace.Start(ctx, "provision.snapshot")
	defer span.End()
	return c.Problem(ctx, snapshot)
}

// solveTraced is solve as a span.
func (c *Controller) solveTraced(ctx context.Context, problem *pack.Problem) (*plan.Plan, *pack.Problem, []plan.Unplaced, error) {
	_, span := c.o.Trace.Start(ctx, "provision.solve")
	defer span.End()
	p, solved, waits, err := c.solve(problem)
	span.Fail(err)
	return p, solved, waits, err
}

// verify is checked as a span.
func (c *Controller) verify(ctx context.Context, problem *pack.Problem, solved *plan.Plan) (*plan.Plan, []string) {
	_, span := c.o.Trace.Start(ctx, "provision.verify")
	defer span.End()
	return c.checked(problem, solved)
}

// apply has the plan carried out, as a span.
func (c *Controller) apply(ctx context.Context, p *plan.Plan, problem *pack.Problem) apply.Outcome {
	ctx, span := c.o.Trace.Start(ctx, "provision.apply")
	defer span.End()
	return c.o.Applier.Apply(ctx, p, problem.Pools)
}

func describe(span *trace.Span, pods int, p *plan.Plan, unplaced int) {
	span.Int(trace.Pods, pods)
	span.Int(trace.Unplaced, unplaced)
	span.Int(trace.NewNodes, len(p.NewNodes))
	span.Int(trace.Price, int(p.Price))
}
