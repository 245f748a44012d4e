package changeplan

import (
	"slices"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// horizon is how far ahead the budgets of a pool are followed.
const horizon = 30 * 24 * time.Hour

// job is a node that is to be replaced.
type job struct {
	node string
	// runs is from the start of the replacement until the old instance has nothing left to run, ends for how long it counts
	// as going yet; extra is what both cost together beyond the old one while it runs, per hour.
	runs, ends time.Duration
	extra      catalog.MicroUSD
}

// turn is when a node is replaced, from now on. It is paid for until it is drained; EC2 asks for nothing while an instance
// shuts down.
type turn struct {
	node                string
	start, drained, end time.Duration
	extra               catalog.MicroUSD
}

// rules are what the budgets of a pool say at a time.
type rules interface {
	// Allowed is how many nodes may be under way.
	Allowed(at time.Duration) int
	// Changes is when that is another number at the earliest, 0 for never.
	Changes(after time.Duration) time.Duration
}

// schedule gives jobs their turns in their order. busy are the nodes of the pool that are under way already, by when they
// are done. rest are the jobs whose turn does not come within the horizon.
func schedule(jobs []job, busy []time.Duration, budget rules) (turns []turn, rest []job) {
	now, under := time.Duration(0), slices.Clone(busy)
	for len(jobs) > 0 && now <= horizon {
		under = slices.DeleteFunc(under, func(end time.Duration) bool { return end <= now })
		for len(jobs) > 0 && len(under) < budget.Allowed(now) {
			j := jobs[0]
			jobs = jobs[1:]
			t := turn{j.node, now, now + j.runs, now + j.runs + j.ends, j.extra}
			turns = append(turns, t)
			under = append(under, t.end)
		}
		if len(jobs) == 0 {
			break
		}
		next := budget.Changes(now)
		for _, end := range under {
			if end > now && (next == 0 || end < next) {
				next = end
			}
		}
		if next <= now {
			break
		}
		now = next
	}
	return turns, jobs
}

// surge is the most that turns cost beyond the old nodes at a time, per hour, and what they cost so in all.
func surge(turns []turn) (peak, total catalog.MicroUSD) {
	for _, t := range turns {
		total += catalog.MicroUSD(float64(t.extra) * (t.drained - t.start).Hours())
		at := catalog.MicroUSD(0)
		for _, o := range turns {
			if o.start <= t.start && t.start < o.drained {
				at += o.extra
			}
		}
		peak = max(peak, at)
	}
	return peak, total
}
