package simulate

import (
	"fmt"
	"math"
	"slices"

	"github.com/kerf-sh/kerf/internal/report"
)

// spotOf is for how long spot instances ran in runs, and how many interruptions were to be expected in all of them.
func spotOf(runs []*Result) (hours, interruptions float64) {
	for _, r := range runs {
		hours += r.Totals.SpotHours
		interruptions += r.Totals.Expected
	}
	return hours, interruptions
}

// expected says how many interruptions were to be expected; empty without spot instances.
func expected(runs []*Result) string {
	hours, n := spotOf(runs)
	if hours == 0 {
		return ""
	}
	number := report.Number(n)
	if n > 0 && n < 1 {
		number = fmt.Sprintf("%.2g", n)
	}
	return " (" + number + " to be expected in " + many(int(hours+0.5), "instance-hour") + " of spot)"
}

// rateHint is what the rate of the hints means.
const rateHint = "interrupts 5 % of the spot instances an hour"

// rateText is the rate of interruptions that was played, with its unit; of a low one what it is in a month, too.
func (r *Result) rateText() string {
	switch {
	case r.Rate == 0:
		return "none"
	case r.Rate < 0.001:
		return fmt.Sprintf("%.3g %% of the instances an hour, which is %.3g %% in a month", 100*r.Rate, 100*r.Rate*report.HoursPerMonth)
	}
	return report.Number(math.Round(1e4*r.Rate)/100) + " % of the instances an hour"
}

// tooFew says where runs with spot instances say nothing of interruptions, because fewer than one was to be expected; empty otherwise.
func tooFew(runs []*Result) string {
	hours, n := spotOf(runs)
	switch {
	case hours == 0 || n >= 1:
		return ""
	case !slices.ContainsFunc(runs, func(r *Result) bool { return r.Rate > 0 }):
		return "no interruptions of spot instances were played; --spot-interruptions 5% " + rateHint
	}
	if n == 0 { // rounded
		return "at the rate that was played, far less than one interruption of spot instances was to be expected, so that there was none says nothing of what they do: try --spot-interruptions 5%, which " + rateHint
	}
	return fmt.Sprintf("at the rate that was played, %.2g interruptions of spot instances were to be expected, so that there were none or few says nothing of what they do: try --spot-interruptions 5%%, which %s", n, rateHint)
}

// tooFew says it of the configurations that it is true of.
func (c *Comparison) tooFew() string {
	var names []string
	for i := range c.Configurations {
		if tooFew(c.Configurations[i].Results) != "" {
			names = append(names, c.Configurations[i].Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "fewer than one interruption of spot instances was to be expected in " + inWords(names) + ", so this comparison says nothing of what they do: try --spot-interruptions 5%, which " + rateHint
}
