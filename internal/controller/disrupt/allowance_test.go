package disrupt

import (
	"testing"
	"time"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

func TestWhenAnAllowanceChanges(t *testing.T) {
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) // a Monday
	hours := func(h int) *karpv1.Duration { return new(karpv1.NewDuration(time.Duration(h) * time.Hour)) }
	for name, tc := range map[string]struct {
		budgets []karpv1.Budget
		want    time.Time
	}{
		"never without a schedule":             {[]karpv1.Budget{{Nodes: "1"}}, time.Time{}},
		"when the window that is open closes":  {[]karpv1.Budget{{Nodes: "0", Schedule: new("0 9 * * *"), Duration: hours(8)}}, noon.Add(5 * time.Hour)},
		"when the next window opens":           {[]karpv1.Budget{{Nodes: "0", Schedule: new("0 9 * * *"), Duration: hours(2)}}, noon.Add(21 * time.Hour)},
		"the first of several":                 {[]karpv1.Budget{{Nodes: "5", Schedule: new("0 9 * * *"), Duration: hours(8)}, {Nodes: "3", Schedule: new("0 14 * * *"), Duration: hours(1)}}, noon.Add(2 * time.Hour)},
		"the end of a window is after the end": {[]karpv1.Budget{{Nodes: "0", Schedule: new("0 9 * * *"), Duration: hours(3)}}, noon.Add(21 * time.Hour)},
		"a schedule that can't be read":        {[]karpv1.Budget{{Nodes: "0", Schedule: new("61 * * * *"), Duration: hours(3)}}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			pool := &karpv1.NodePool{}
			pool.Spec.Disruption.Budgets = tc.budgets
			got := AllowanceChanges(pool, noon)
			if !got.Equal(tc.want) {
				t.Fatalf("got %s, want %s", got, tc.want)
			}
			if got.IsZero() {
				return
			}
			before, _ := Allowed(pool, karpv1.DisruptionReasonDrifted, 10, got.Add(-time.Second))
			after, _ := Allowed(pool, karpv1.DisruptionReasonDrifted, 10, got)
			if before == after {
				t.Errorf("%d are allowed before and after", after)
			}
		})
	}
}
