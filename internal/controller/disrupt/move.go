package disrupt

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/verify"
)

// commands are moves as they are carried out.
func commands(moves []disrupt.Move, v *view) []Command {
	out := make([]Command, len(moves))
	for i := range moves {
		out[i] = command(&moves[i], v)
	}
	return out
}

func command(m *disrupt.Move, v *view) Command {
	c := Command{
		ID: story.NewID(), Cause: karpv1.DisruptionReason(m.Cause), NewNodes: m.NewNodes, Placements: m.Placements, Pools: v.problem.Cluster.Pools,
		Why: m.Why, Currency: v.problem.Cluster.Options.Currency, Eventual: m.Cause == disrupt.Drifted,
	}
	for _, name := range m.Nodes {
		c.Nodes = append(c.Nodes, GoingNode(v.nodes[name]))
	}
	if c.Eventual {
		return c
	}
	c.Saving, c.Kind = m.Saving, kind(m)
	for _, g := range c.Nodes {
		if p := v.pools[g.Pool]; p != nil && c.Policy == "" {
			c.Policy = p.Spec.Disruption.ConsolidationPolicy
		}
	}
	if m.Cause != disrupt.Underutilized {
		return c
	}
	for _, pl := range m.Placements {
		if n := v.nodes[pl.Node]; n != nil {
			c.Filled = append(c.Filled, n.Claim)
		}
	}
	return c
}

// kind is what upstream's metrics call the way in which a move was found.
func kind(m *disrupt.Move) string {
	switch {
	case m.Cause == disrupt.Empty:
		return "empty"
	case len(m.Nodes) > 1:
		return "multi"
	}
	return "single"
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

// sound are the moves of a decision that an independent check finds nothing wrong with.
func (l *Loop) sound(about string, d *disrupt.Decision, moves []disrupt.Move, wrong []verify.Violation) []disrupt.Move {
	for _, w := range wrong {
		l.Metrics.Disruption.Violations.Inc()
		l.Log.Error("a decision on "+about+" failed its check; nothing of it is done that the check names; please report it", "violation", w.String(), "generation", d.Generation)
	}
	return slices.DeleteFunc(slices.Clone(moves), func(m disrupt.Move) bool { return blamed(&m, wrong) })
}

// blamed reports whether a violation is about the move, or may be: one that names neither a node nor a pod of any move is
// about all.
func blamed(m *disrupt.Move, violations []verify.Violation) bool {
	names := slices.Clone(m.Nodes)
	for _, pl := range m.Placements {
		names = append(names, pl.Node)
		for _, ref := range pl.Pods {
			names = append(names, ref.String())
		}
	}
	for i := range m.NewNodes {
		for _, ref := range m.NewNodes[i].Pods {
			names = append(names, ref.String())
		}
	}
	return slices.ContainsFunc(violations, func(v verify.Violation) bool {
		return general(v.Where) || slices.ContainsFunc(names, func(n string) bool { return strings.Contains(v.Where, n) || strings.Contains(v.Detail, n) })
	})
}

// general reports whether a violation's place is none that a move has to itself.
func general(where string) bool {
	return where == "" || where == "decision" || where == "move" || strings.HasPrefix(where, "pool ") || strings.HasPrefix(where, "new node ")
}
