package disrupt

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// allowed is how many nodes of a pool may be under way for a reason now: the least over all budgets that apply. A pool
// without budgets has no bound; the API server writes the default of 10% into pools that leave the field out.
//
// Percentages round up (Karpenter v1 API). A budget that can't be read allows nothing, and the error says which.
func allowed(pool *karpv1.NodePool, reason karpv1.DisruptionReason, nodes int, now time.Time) (int, error) {
	least := math.MaxInt
	for i, b := range pool.Spec.Disruption.Budgets {
		if len(b.Reasons) > 0 && !slices.Contains(b.Reasons, reason) {
			continue
		}
		on, err := active(b, now)
		if err != nil {
			return 0, fmt.Errorf("nodepool %q: spec.disruption.budgets[%d]: %w", pool.Name, i, err)
		}
		if !on {
			continue
		}
		n, err := share(b.Nodes, nodes)
		if err != nil {
			return 0, fmt.Errorf("nodepool %q: spec.disruption.budgets[%d].nodes: %w", pool.Name, i, err)
		}
		least = min(least, n)
	}
	return least, nil
}

// active reports whether a budget applies now: always without a schedule, else for its duration after each hit, in UTC.
func active(b karpv1.Budget, now time.Time) (bool, error) {
	if b.Schedule == nil && b.Duration == nil {
		return true, nil
	}
	if b.Schedule == nil || b.Duration == nil {
		return false, fmt.Errorf("schedule and duration go together")
	}
	schedule, err := cron.ParseStandard(*b.Schedule)
	if err != nil {
		return false, fmt.Errorf("schedule %q: %w", *b.Schedule, err)
	}
	now = now.UTC()
	start := schedule.Next(now.Add(-b.Duration.Duration))
	return !start.IsZero() && !start.After(now), nil
}

// BudgetProblem says which budgets of a pool can't be read, or have a schedule that never comes, and what that does; empty
// when all are in order.
func BudgetProblem(pool *karpv1.NodePool, now time.Time) string {
	var problems []string
	for i, b := range pool.Spec.Disruption.Budgets {
		_, err := active(b, now)
		if err == nil {
			_, err = share(b.Nodes, 0)
		}
		switch {
		case err != nil:
			problems = append(problems, fmt.Sprintf("spec.disruption.budgets[%d]: %v: no node is disrupted for %s until it is fixed; "+
				"a schedule has five fields in UTC, such as \"0 22 * * mon-fri\", or is a word such as @daily", i, err, reasonsText(b.Reasons)))
		case never(b, now):
			problems = append(problems, fmt.Sprintf("spec.disruption.budgets[%d]: schedule %q never comes, so that the budget never limits anything: "+
				"give it a day that exists, or remove the budget", i, *b.Schedule))
		}
	}
	return strings.Join(problems, "; ")
}

// never reports whether a schedule has no hit: cron looks five years ahead.
func never(b karpv1.Budget, now time.Time) bool {
	if b.Schedule == nil {
		return false
	}
	schedule, err := cron.ParseStandard(*b.Schedule)
	return err == nil && schedule.Next(now.UTC()).IsZero()
}

func reasonsText(reasons []karpv1.DisruptionReason) string {
	if len(reasons) == 0 {
		return "any reason"
	}
	words := make([]string, len(reasons))
	for i, r := range reasons {
		words[i] = string(r)
	}
	return "the reason " + strings.Join(words, " or ")
}

func share(text string, nodes int) (int, error) {
	if pct, ok := strings.CutSuffix(text, "%"); ok {
		p, err := strconv.Atoi(pct)
		if err != nil || p < 0 || p > 100 {
			return 0, fmt.Errorf("%q: want a percentage from 0%% to 100%%", text)
		}
		return (nodes*p + 99) / 100, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q: want a whole number or a percentage", text)
	}
	return n, nil
}
