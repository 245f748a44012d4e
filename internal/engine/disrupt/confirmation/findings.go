package confirmation

import (
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
)

// Lasting is for how long every decision must have found a saving for it to be had though it is another node each time.
func Lasting(o *disrupt.Options) time.Duration { return 2 * o.LongestWait() }

// Findings are what decisions have found, oldest first.
type Findings []finding

// finding is what was to be saved by moving pods, from a time on.
type finding struct {
	at     time.Time
	saving catalog.MicroUSD
}

// Note remembers what a decision has found, for some time.
func (f *Findings) Note(saving catalog.MicroUSD, now time.Time, memory time.Duration) {
	all := *f
	for len(all) > 1 && now.Sub(all[1].at) > memory {
		all = all[1:]
	}
	if n := len(all); n == 0 || all[n-1].saving != saving {
		all = append(all, finding{now, saving})
	}
	*f = all
}

// Lasted is for how long every decision has found at least so much.
func (f Findings) Lasted(saving catalog.MicroUSD, now time.Time) time.Duration {
	since := now
	for i := len(f) - 1; i >= 0 && f[i].saving >= saving; i-- {
		since = f[i].at
	}
	return now.Sub(since)
}
