package changeplan

import (
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/budget"
)

// daily begins each day at midnight.
type daily struct{}

func (daily) Next(t time.Time) time.Time { return t.Truncate(24 * time.Hour).Add(24 * time.Hour) }

// TestAFreezeIsCalledAFreeze only where it is for drifted nodes, and only for as long as it lasts.
func TestAFreezeIsCalledAFreeze(t *testing.T) {
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	day, night := &budget.Window{Starts: daily{}, Length: 18 * time.Hour}, &budget.Window{Starts: daily{}, Length: 6 * time.Hour}
	ten := budget.Budget{Share: budget.Share{N: 10, Percent: true}}
	drifted, others := []string{"Drifted"}, []string{"Empty", "Underutilized"}
	for name, tt := range map[string]struct {
		budgets []budget.Budget
		want    string
	}{
		"none":                    {nil, "no budget bounds how many go at a time"},
		"a share":                 {[]budget.Budget{ten}, "1 of 10 may go at a time"},
		"a freeze":                {[]budget.Budget{ten, {}}, "frozen by a budget of 0 nodes: none of 10 may go"},
		"a freeze for drift":      {[]budget.Budget{ten, {Reasons: drifted}}, "frozen by a budget of 0 nodes: none of 10 may go"},
		"a freeze for others":     {[]budget.Budget{ten, {Reasons: others}}, "1 of 10 may go at a time"},
		"a freeze by day":         {[]budget.Budget{ten, {Window: day}}, "frozen by a budget of 0 nodes: none of 10 may go, until a schedule changes that at 2026-03-02 18:00 UTC; then 1 of 10 may go at a time"},
		"a freeze by night":       {[]budget.Budget{{Window: night}}, "no budget bounds how many go at a time, until a schedule changes that at 2026-03-03 00:00 UTC; then frozen by a budget of 0 nodes: none of 10 may go"},
		"by day, for others":      {[]budget.Budget{ten, {Window: day, Reasons: others}}, "1 of 10 may go at a time"},
		"by day, in a longer one": {[]budget.Budget{{Window: day}, {}}, "frozen by a budget of 0 nodes: none of 10 may go"},
	} {
		if got := (budgets{of: tt.budgets, nodes: 10, from: noon}).text(); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
