package simulate

import (
	"fmt"
	"time"

	"github.com/kerf-sh/kerf/internal/report"
)

// perMonth is an amount of a time as that of a month.
func perMonth(e Estimate, of time.Duration) Estimate {
	times := report.HoursPerMonth / max(of.Hours(), 1e-9)
	out := Estimate{N: e.N}
	if e.Mean != nil {
		out.Mean = new(rounded(*e.Mean*times, 1e2))
	}
	if e.Half != nil {
		out.Half = new(rounded(*e.Half*times, 1e2))
	}
	return out
}

// months adds the amounts of a month.
func (c *Comparison) months() {
	for i := range c.Configurations {
		of := &c.Configurations[i]
		of.Monthly = perMonth(EstimateOf(of.values(&Metrics[0])), c.Horizon())
		if d := c.difference(of.Name, "bill"); d != nil {
			d.Monthly = new(perMonth(d.Absolute, c.Horizon()))
		}
	}
}

// month says a difference of the bill a month; empty for other figures, and where there is none.
func (d *Difference) month(bill *Metric) string {
	if d.Monthly == nil || d.same() || d.Absolute.N == 0 {
		return ""
	}
	return d.Monthly.signed(bill.Unit) + " a month"
}

// monthTitle is the row of what a month costs.
var monthTitle = fmt.Sprintf("bill of a month of %d hours", report.HoursPerMonth)

// standsFor warns where a month is told of less than a day; empty otherwise.
func standsFor(d time.Duration, played string) string {
	if d >= 24*time.Hour {
		return ""
	}
	if played != "" {
		played = " (" + played + ")"
	}
	return fmt.Sprintf("the amounts of a month are those of the %s that were played%s, over and over: play a whole day or week for a month with its nights and weekends", span(d), played)
}
