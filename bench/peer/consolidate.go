package peer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
)

// Pass names a method of upstream's consolidation.
type Pass string

// The methods, in the order in which upstream's controller tries them.
const (
	Empty  Pass = "empty"
	Multi  Pass = "multi"
	Single Pass = "single"
)

// Passes are all of them.
var Passes = []Pass{Empty, Multi, Single}

// Consolidate computes the commands of one method; most give one command at a time. The quarter of a minute that upstream
// waits before it trusts a command is left out.
func (e *Engine) Consolidate(ctx context.Context, pass Pass) (*disrupt.Decision, error) {
	ctx = settings(ctx, e.problem)
	queue := disruption.NewQueue(e.reader, silent{}, e.cluster, e.clock, e.prov)
	c := disruption.MakeConsolidation(e.clock, e.cluster, e.reader, e.prov, e.cloud, silent{}, queue)
	var m disruption.Method
	switch pass {
	case Empty:
		m = disruption.NewEmptiness(c, disruption.WithValidator(trusting{}))
	case Multi:
		m = disruption.NewMultiNodeConsolidation(c, disruption.WithValidator(trusting{}))
	default:
		m = disruption.NewSingleNodeConsolidation(c, disruption.WithValidator(trusting{}))
	}
	candidates, totals, err := disruption.GetCandidatesWithTotals(ctx, e.cluster, e.reader, silent{}, e.clock, e.cloud, m.ShouldDisrupt, m.Class(), queue, nil)
	if err != nil {
		return nil, fmt.Errorf("find the peer's candidates: %w", err)
	}
	if setter, ok := m.(disruption.NodePoolTotalsSetter); ok {
		setter.SetNodePoolTotals(totals)
	}
	budgets, err := disruption.BuildDisruptionBudgetMapping(ctx, e.cluster, e.clock, e.reader, e.cloud, silent{}, m.Reason())
	if err != nil {
		return nil, fmt.Errorf("count the peer's budgets: %w", err)
	}
	commands, err := m.ComputeCommands(ctx, budgets, candidates...)
	if err != nil {
		return nil, fmt.Errorf("consolidate by the peer: %w", err)
	}
	d := e.decision(commands)
	d.Stats.Candidates = len(candidates)
	return d, nil
}

func (e *Engine) decision(commands []disruption.Command) *disrupt.Decision {
	classes := map[cluster.PodRef]*cluster.Class{}
	prices := map[string]*cluster.Node{}
	d := &disrupt.Decision{}
	for _, n := range e.problem.Nodes {
		prices[n.Name] = n
		d.Before += n.Price
		for _, pod := range n.Pods {
			classes[pod.PodRef] = pod.Class
		}
	}
	d.After = d.Before
	for _, c := range commands {
		if len(c.Candidates) == 0 {
			continue
		}
		m := disrupt.Move{Cause: disrupt.Underutilized}
		for _, n := range c.Candidates {
			m.Nodes = append(m.Nodes, n.Name())
			m.Old += prices[n.Name()].Price
		}
		slices.Sort(m.Nodes)
		m.Saving = m.Old
		for _, r := range c.Replacements {
			n := newNode(r.NodeClaim, classes)
			m.NewNodes = append(m.NewNodes, n)
			m.Saving -= n.Price
		}
		m.Placements = e.Plan(c.Results).Placements
		d.After -= m.Saving
		d.Moves = append(d.Moves, m)
	}
	return d
}

// trusting lets commands through without a second look.
type trusting struct{}

func (trusting) Validate(_ context.Context, cmd disruption.Command, _ time.Duration) (disruption.Command, error) {
	return cmd, nil
}
