package demo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/control"
)

func (r *run) summary(ctx context.Context) error {
	instances, err := r.aws.Instances(ctx)
	if err != nil {
		return fmt.Errorf("asking the simulated AWS for its instances: %w", err)
	}
	leaked := slices.DeleteFunc(slices.Clone(instances), func(i control.Instance) bool { return i.State == "terminated" || i.State == "shutting-down" })
	l := r.state.latencies()
	r.state.mu.Lock()
	launched, gone := len(r.state.launched), len(r.state.gone)
	r.state.mu.Unlock()
	r.title("Summary")
	fmt.Fprintf(r.Out, "  pods that ran            %d\n", len(l))
	fmt.Fprintf(r.Out, "  pending to running       p50 %.1f s   p99 %.1f s\n", quantile(l, .5).Seconds(), quantile(l, .99).Seconds())
	fmt.Fprintf(r.Out, "  instances                %d launched, %d terminated, %d leaked\n", launched, gone, len(leaked))
	denied := r.denied()
	fmt.Fprintf(r.Out, "  calls refused by IAM     %d\n", len(denied))
	for _, d := range denied {
		fmt.Fprintf(r.Out, "    %s\n", d)
	}
	if err := r.judge(); err != nil {
		return err
	}
	fmt.Fprintf(r.Out, "  took                     %.0f s\n", time.Since(r.start).Seconds())
	if len(denied) > 0 && r.Local.Stack == "" {
		return fmt.Errorf("the stack's policies refused %s", denied[0])
	}
	if len(leaked) > 0 {
		return fmt.Errorf("%d instances are still in the simulated AWS, the first is %s (%s)", len(leaked), leaked[0].ID, leaked[0].State)
	}
	if launched != gone {
		return fmt.Errorf("%d instances were launched, but %d NodeClaims ended", launched, gone)
	}
	return nil
}

// denied lists, once each, what the policies of the deployed stack refused.
func (r *run) denied() []string {
	seen := map[string]int{}
	for _, d := range r.cluster.Simulator.Permissions.Denied().Denials {
		seen[d.Action+" on "+d.Resource]++
	}
	var out []string
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		out = append(out, fmt.Sprintf("%s (%d times)", what, seen[what]))
	}
	return out
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
