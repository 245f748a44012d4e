package disrupt

import (
	"errors"
	"time"

	"github.com/robfig/cron/v3"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// Allowed is how many nodes of a pool that has so many may be under way for a reason at a time, math.MaxInt without bound.
//
// Errors: a budget that can't be read; it allows nothing.
func Allowed(pool *karpv1.NodePool, reason karpv1.DisruptionReason, nodes int, at time.Time) (int, error) {
	return allowed(pool, reason, nodes, at)
}

// CheckBudget says what is wrong with a budget that can't be read, nil if it can.
func CheckBudget(b karpv1.Budget) error {
	_, badWhen := active(b, time.Unix(0, 0))
	_, badNodes := share(b.Nodes, 1)
	return errors.Join(badWhen, badNodes)
}

// AllowanceChanges is the first moment after at when a budget of the pool begins or ends to apply, zero when none ever does.
func AllowanceChanges(pool *karpv1.NodePool, at time.Time) time.Time {
	at = at.UTC()
	var first time.Time
	for _, b := range pool.Spec.Disruption.Budgets {
		if b.Schedule == nil || b.Duration == nil {
			continue
		}
		schedule, err := cron.ParseStandard(*b.Schedule)
		if err != nil {
			continue
		}
		// Windows may overlap: each hit that still counts ends by itself.
		moments := []time.Time{schedule.Next(at)}
		if start := schedule.Next(at.Add(-b.Duration.Duration)); !start.IsZero() && !start.After(at) {
			moments = append(moments, start.Add(b.Duration.Duration))
		}
		for _, m := range moments {
			if m.After(at) && (first.IsZero() || m.Before(first)) {
				first = m
			}
		}
	}
	return first
}
