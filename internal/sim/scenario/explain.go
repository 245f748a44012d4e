package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/conflict"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// explain prints why a pod has no place, or what else would have been launched for it.
//
// Example: explain web-1
func (e *Env) explain(a *args, _ []string) (string, error) {
	name := a.word()
	ref := cluster.PodRef{}
	for _, pod := range e.Problem.Pending {
		if pod.Name == name || pod.String() == name {
			ref = pod.PodRef
		}
	}
	if ref.Name == "" {
		return "", fmt.Errorf("no pending pod %q", name)
	}
	out := pack.Solve(e.Problem)
	for _, u := range out.Unplaced {
		if slices.Contains(u.Pods, ref) {
			return conflict.Explain(e.Problem, out, u.ClassID).String(), nil
		}
	}
	for i := range out.NewNodes {
		if slices.Contains(out.NewNodes[i].Pods, ref) {
			return whyText(conflict.RunnersUp(e.Problem, out, i, 2), out.Currency), nil
		}
	}
	return "placed on an existing node\n", nil
}

func whyText(w *plan.Why, in catalog.Currency) string {
	var b strings.Builder
	first := w.Node.Types[0]
	fmt.Fprintf(&b, "%s %s %s at %s/h\n", first.Name, first.Zone, first.CapacityType, in.Amount(w.Node.Price))
	for _, r := range w.RunnersUp {
		fmt.Fprintf(&b, "without %s: %s\n", strings.Join(r.Without, ", "), r.Text(in))
	}
	return b.String()
}
