package budget

import "time"

// Schedule tells when something begins, again and again.
type Schedule interface {
	// Next is the first moment after t; zero if there is none.
	Next(t time.Time) time.Time
}

// Window is when a budget applies: for Length from each moment of Starts, in UTC. Windows may overlap.
type Window struct {
	Starts Schedule
	Length time.Duration
}

// last is a start that still counts at the moment; zero if there is none.
func (w *Window) last(now time.Time) time.Time {
	start := w.Starts.Next(now.Add(-w.Length))
	if start.IsZero() || start.After(now) {
		return time.Time{}
	}
	return start
}

func (w *Window) open(now time.Time) bool { return !w.last(now.UTC()).IsZero() }

// Changes is the first moment after at when one of the budgets begins or ends to apply, zero when none ever does.
func Changes(budgets []Budget, at time.Time) time.Time {
	at = at.UTC()
	var first time.Time
	for _, b := range budgets {
		if b.Window == nil {
			continue
		}
		// Windows may overlap: each start that still counts ends by itself.
		moments := []time.Time{b.Window.Starts.Next(at)}
		if start := b.Window.last(at); !start.IsZero() {
			moments = append(moments, start.Add(b.Window.Length))
		}
		for _, m := range moments {
			if m.After(at) && (first.IsZero() || m.Before(first)) {
				first = m
			}
		}
	}
	return first
}
