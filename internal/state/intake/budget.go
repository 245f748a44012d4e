package intake

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/budget"
)

// Budgets are the disruption budgets of a pool. The API server writes the default of 10% into pools that leave the field
// out. What can't be read of a budget is said in it.
func Budgets(pool *karpv1.NodePool) []budget.Budget {
	out := make([]budget.Budget, len(pool.Spec.Disruption.Budgets))
	for i, b := range pool.Spec.Disruption.Budgets {
		out[i].Share, out[i].BadShare = budget.ParseShare(b.Nodes)
		out[i].Window, out[i].BadWindow = windowOf(b)
		for _, r := range b.Reasons {
			out[i].Reasons = append(out[i].Reasons, string(r))
		}
	}
	return out
}

// windowOf is when a budget applies: always without a schedule, else for its duration after each hit, in UTC.
//
// Errors: one of schedule and duration is missing; the schedule can't be read, or begins with a time zone. cron.ParseStandard
// would take a zone by the time zone database of the host, which the container image does not have, and panics where no space
// follows it.
func windowOf(b karpv1.Budget) (*budget.Window, error) {
	if b.Schedule == nil && b.Duration == nil {
		return nil, nil
	}
	if b.Schedule == nil || b.Duration == nil {
		return nil, errors.New("schedule and duration go together")
	}
	if strings.HasPrefix(*b.Schedule, "TZ=") || strings.HasPrefix(*b.Schedule, "CRON_TZ=") {
		return nil, fmt.Errorf("schedule %q: time zones are not supported: write the hours in UTC, and leave out TZ= or CRON_TZ=", *b.Schedule)
	}
	schedule, err := cron.ParseStandard(*b.Schedule)
	if err != nil {
		return nil, fmt.Errorf("schedule %q: %w", *b.Schedule, err)
	}
	return &budget.Window{Starts: schedule, Length: b.Duration.Duration}, nil
}

// CheckBudget says what is wrong with a budget that can't be read, nil if it can.
func CheckBudget(b karpv1.Budget) error {
	_, badShare := budget.ParseShare(b.Nodes)
	_, badWindow := windowOf(b)
	return errors.Join(badWindow, badShare)
}

// BudgetProblem says which budgets of a pool can't be read, or never apply because their schedule never comes or they last
// no time, and what that does; empty when all are in order.
func BudgetProblem(pool *karpv1.NodePool, now time.Time) string {
	var problems []string
	for i, b := range Budgets(pool) {
		err := b.BadWindow
		if err == nil {
			err = b.BadShare
		}
		switch {
		case err != nil:
			problems = append(problems, fmt.Sprintf("spec.disruption.budgets[%d]: %v: no node is disrupted for %s until it is fixed; "+
				"a schedule has five fields in UTC, such as \"0 22 * * mon-fri\", or is a word such as @daily", i, err, reasonsText(b.Reasons)))
		case b.Window != nil && b.Window.Length <= 0:
			problems = append(problems, fmt.Sprintf("spec.disruption.budgets[%d]: duration %s lasts no time, so that the budget never limits anything: "+
				"give a duration such as 8h, or remove the budget", i, b.Window.Length))
		case b.Window != nil && b.Window.Starts.Next(now.UTC()).IsZero(): // cron looks five years ahead
			problems = append(problems, fmt.Sprintf("spec.disruption.budgets[%d]: schedule %q never comes, so that the budget never limits anything: "+
				"give it a day that exists, or remove the budget", i, *pool.Spec.Disruption.Budgets[i].Schedule))
		}
	}
	return strings.Join(problems, "; ")
}

func reasonsText(reasons []string) string {
	if len(reasons) == 0 {
		return "any reason"
	}
	return "the reason " + strings.Join(reasons, " or ")
}
