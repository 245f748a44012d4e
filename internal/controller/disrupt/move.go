package disrupt

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/verify"
)

// commands are moves of a decision as they are carried out; Record is told of them. Cause and due are those of Record.
func (l *Loop) commands(v *view, cause disrupt.Cause, due []string, d *disrupt.Decision, moves []disrupt.Move) []Command {
	out, ids := make([]Command, len(moves)), make([]string, len(moves))
	for i := range moves {
		out[i] = command(&moves[i], v)
		ids[i] = out[i].ID
	}
	if l.Record != nil && len(moves) > 0 {
		l.Record(v.problem, cause, due, d, moves, ids)
	}
	return out
}

func command(m *disrupt.Move, v *view) Command {
	c := Command{
		ID: story.NewID(), Cause: karpv1.DisruptionReason(m.Cause), NewNodes: m.NewNodes, Placements: m.Placements, Pools: v.problem.Cluster.Pools,
		Why: m.Why, Currency: v.problem.Cluster.Options.Currency,
	}
	for _, name := range m.Nodes {
		c.Nodes = append(c.Nodes, GoingNode(v.nodes[name]))
	}
	if m.Cause == disrupt.Drifted {
		return c
	}
	c.Saving, c.Policy = m.Saving, v.pools[c.Nodes[0].Pool].Spec.Disruption.ConsolidationPolicy
	if m.Cause == disrupt.Empty {
		return c
	}
	if len(m.NewNodes) > 0 {
		c.Hold = min(2*v.problem.Options.Payback(m), longestHold)
	}
	for _, pl := range m.Placements {
		if n := v.nodes[pl.Node]; n != nil {
			c.Filled = append(c.Filled, n.Claim)
		}
	}
	return c
}

// podsOf are the pods that a move lets go elsewhere.
func (l *Loop) podsOf(m *disrupt.Move, v *view) []*corev1.Pod {
	var out []*corev1.Pod
	for _, name := range m.Nodes {
		for _, p := range v.nodes[name].Pods {
			if pod := l.State.Pod(p.PodRef); pod != nil && pack.Movable(p) {
				out = append(out, pod)
			}
		}
	}
	return out
}

// sound are the moves of a decision that an independent check finds nothing wrong with. What it says of none of the decision's nodes and
// pods is about all of its moves: that they exceed a budget, or a limit.
func (l *Loop) sound(about string, d *disrupt.Decision, moves []disrupt.Move, wrong []verify.Violation) []disrupt.Move {
	for _, w := range wrong {
		l.Metrics.Disruption.Violations.Inc()
		l.Log.Error("a decision on "+about+" failed its check; nothing of it is done that the check names; please report it", "violation", w.String(), "generation", d.Generation)
	}
	return slices.DeleteFunc(slices.Clone(moves), func(m disrupt.Move) bool {
		return slices.ContainsFunc(wrong, func(w verify.Violation) bool {
			return blames(w, &m) || !slices.ContainsFunc(d.Moves, func(m disrupt.Move) bool { return blames(w, &m) })
		})
	})
}

// blames reports whether a violation names a node or a pod of the move.
func blames(w verify.Violation, m *disrupt.Move) bool {
	words := strings.FieldsFunc(w.Where+" "+w.Detail, func(r rune) bool { return strings.ContainsRune(" ,:[]", r) })
	named := func(name string) bool { return slices.Contains(words, name) }
	podNamed := func(ref cluster.PodRef) bool { return named(ref.String()) }
	return slices.ContainsFunc(m.Nodes, named) ||
		slices.ContainsFunc(m.Placements, func(pl plan.Placement) bool { return named(pl.Node) || slices.ContainsFunc(pl.Pods, podNamed) }) ||
		slices.ContainsFunc(m.NewNodes, func(n plan.NewNode) bool { return slices.ContainsFunc(n.Pods, podNamed) })
}
