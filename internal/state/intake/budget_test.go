package intake_test

import (
	"math"
	"strings"
	"testing"
	"time"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/budget"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

func hours(h int) *karpv1.Duration { return new(karpv1.NewDuration(time.Duration(h) * time.Hour)) }

func TestAllowed(t *testing.T) {
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) // a Monday
	for name, tc := range map[string]struct {
		budgets []karpv1.Budget
		nodes   int
		now     time.Time
		want    int
		err     string
	}{
		"no budgets, no bound":                  {nil, 10, noon, math.MaxInt, ""},
		"a percentage rounds up":                {[]karpv1.Budget{{Nodes: "10%"}}, 11, noon, 2, ""},
		"ten percent of nothing":                {[]karpv1.Budget{{Nodes: "10%"}}, 0, noon, 0, ""},
		"zero stops everything":                 {[]karpv1.Budget{{Nodes: "0"}, {Nodes: "5"}}, 10, noon, 0, ""},
		"the least wins":                        {[]karpv1.Budget{{Nodes: "50%"}, {Nodes: "3"}}, 10, noon, 3, ""},
		"a budget for another reason":           {[]karpv1.Budget{{Nodes: "0", Reasons: []karpv1.DisruptionReason{karpv1.DisruptionReasonDrifted}}, {Nodes: "4"}}, 10, noon, 4, ""},
		"inside the schedule's window":          {[]karpv1.Budget{{Nodes: "0", Schedule: new("0 9 * * mon-fri"), Duration: hours(8)}}, 10, noon, 0, ""},
		"before the schedule's window":          {[]karpv1.Budget{{Nodes: "0", Schedule: new("0 9 * * mon-fri"), Duration: hours(8)}}, 10, noon.Add(-4 * time.Hour), math.MaxInt, ""},
		"at the very end of the window":         {[]karpv1.Budget{{Nodes: "0", Schedule: new("0 9 * * *"), Duration: hours(3)}}, 10, noon, math.MaxInt, ""},
		"the schedule is in UTC":                {[]karpv1.Budget{{Nodes: "0", Schedule: new("0 9 * * *"), Duration: hours(1)}}, 10, time.Date(2026, 3, 2, 10, 30, 0, 0, time.FixedZone("CET", 3600)), 0, ""},
		"a bad schedule allows nothing":         {[]karpv1.Budget{{Nodes: "5", Schedule: new("61 * * * *"), Duration: hours(1)}}, 10, noon, 0, "budgets[0]"},
		"a time zone allows nothing":            {[]karpv1.Budget{{Nodes: "5", Schedule: new("CRON_TZ=UTC 0 9 * * *"), Duration: hours(1)}}, 10, noon, 0, "write the hours in UTC"},
		"a bad number allows nothing":           {[]karpv1.Budget{{Nodes: "many"}}, 10, noon, 0, "budgets[0].nodes"},
		"a schedule without a duration refuses": {[]karpv1.Budget{{Nodes: "5", Schedule: new("@daily")}}, 10, noon, 0, "go together"},
	} {
		t.Run(name, func(t *testing.T) {
			pool := &karpv1.NodePool{}
			pool.Name, pool.Spec.Disruption.Budgets = "p", tc.budgets
			got, err := budget.Allowed(intake.Budgets(pool), string(karpv1.DisruptionReasonEmpty), tc.nodes, tc.now)
			if got != tc.want || (err == nil) != (tc.err == "") || (err != nil && !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("got %d, %v; want %d, %q", got, err, tc.want, tc.err)
			}
		})
	}
}

func TestBudgetsThatDoNotDoWhatTheyAreForAreNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		budget karpv1.Budget
		want   string
	}{
		"always":                  {karpv1.Budget{Nodes: "10%"}, ""},
		"each night":              {karpv1.Budget{Nodes: "0", Schedule: new("0 22 * * *"), Duration: hours(8)}, ""},
		"29 February":             {karpv1.Budget{Nodes: "0", Schedule: new("0 0 29 2 *"), Duration: hours(8)}, ""},
		"30 February":             {karpv1.Budget{Nodes: "0", Schedule: new("0 0 30 2 *"), Duration: hours(8)}, `schedule "0 0 30 2 *" never comes`},
		"for no hours":            {karpv1.Budget{Nodes: "0", Schedule: new("0 22 * * *"), Duration: hours(0)}, "lasts no time, so that the budget never limits anything: give a duration such as 8h"},
		"minute 61":               {karpv1.Budget{Nodes: "0", Schedule: new("61 * * * *"), Duration: hours(1)}, "no node is disrupted for any reason until it is fixed"},
		"a time zone with blanks": {karpv1.Budget{Nodes: "0", Schedule: new("CRON_TZ=America/New_York 0 22 * * mon-fri"), Duration: hours(8)}, "write the hours in UTC, and leave out TZ= or CRON_TZ=: no node is disrupted"},
		"a time zone with tabs":   {karpv1.Budget{Nodes: "0", Schedule: new("TZ=UTC\t0\t22\t*\t*\t*"), Duration: hours(8)}, "write the hours in UTC"},
		"CRON_TZ with tabs":       {karpv1.Budget{Nodes: "0", Schedule: new("CRON_TZ=UTC\t0\t22\t*\t*\t*"), Duration: hours(8)}, "write the hours in UTC"},
		"for one reason":          {karpv1.Budget{Nodes: "x", Reasons: []karpv1.DisruptionReason{karpv1.DisruptionReasonDrifted}}, "no node is disrupted for the reason Drifted until"},
	} {
		pool := &karpv1.NodePool{}
		pool.Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: "100%"}, tc.budget}
		got := intake.BudgetProblem(pool, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
		if tc.want == "" && got != "" || !strings.Contains(got, tc.want) || got != "" && !strings.HasPrefix(got, "spec.disruption.budgets[1]: ") {
			t.Errorf("%s: it says %q, want %q", name, got, tc.want)
		}
	}
}

func TestWhenAnAllowanceChanges(t *testing.T) {
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) // a Monday
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
			budgets := intake.Budgets(pool)
			got := budget.Changes(budgets, noon)
			if !got.Equal(tc.want) {
				t.Fatalf("got %s, want %s", got, tc.want)
			}
			if got.IsZero() {
				return
			}
			before, _ := budget.Allowed(budgets, string(karpv1.DisruptionReasonDrifted), 10, got.Add(-time.Second))
			after, _ := budget.Allowed(budgets, string(karpv1.DisruptionReasonDrifted), 10, got)
			if before == after {
				t.Errorf("%d are allowed before and after", after)
			}
		})
	}
}
