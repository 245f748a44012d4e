package simulate

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// Assertion is a bound on a figure.
type Assertion struct {
	Text   string
	metric *Metric
	op     string
	bound  float64
}

// Verdict is what became of an assertion in all runs of a configuration.
type Verdict struct {
	Assertion     string   `json:"assertion"`
	Configuration string   `json:"configuration"`
	Holds         bool     `json:"holds"`
	Worst         *float64 `json:"worst,omitempty"` // missing where Absent says why
	Seed          uint64   `json:"seed"`            // that has the worst value
	Failed        []uint64 `json:"failedSeeds,omitempty"`
	Unit          string   `json:"unit,omitempty"`
	// Currency is that of figures in dollars.
	Currency catalog.Currency `json:"-"`
	// Absent says why there is no such figure; then the assertion does not hold.
	Absent string `json:"absent,omitempty"`
}

var assertion = regexp.MustCompile(`^\s*([A-Za-z0-9_]+)\s*(<=|>=|==|<|>)\s*(\$?)\s*([0-9][0-9a-z.]*)\s*(%?)\s*$`)

// inUnit says what a figure is in, and how its bound is written.
func (m *Metric) inUnit() string {
	switch m.Unit {
	case "$":
		return "in dollars, as in " + m.Name + "<90"
	case "%":
		return "in percent, as in " + m.Name + "<12%"
	case "s":
		return "a time, as in " + m.Name + "<90s or " + m.Name + "<2m"
	}
	return "a number, as in " + m.Name + "<90"
}

// Assertions reads bounds with commas between them: p99_pending<60s,bill<120.
//
// Errors: it can't be read; there is no such figure; the unit is another one.
func Assertions(text string) ([]Assertion, error) {
	var out []Assertion
	for _, part := range strings.Split(text, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		m := assertion.FindStringSubmatch(part)
		if m == nil {
			return nil, fmt.Errorf("assertion %q: want FIGURE<VALUE, as in p99_pending<60s or bill<120, with <, <=, >, >= or ==", strings.TrimSpace(part))
		}
		f, err := metric(m[1])
		if err != nil {
			return nil, fmt.Errorf("assertion %q: %w", strings.TrimSpace(part), err)
		}
		a := Assertion{Text: strings.TrimSpace(part), metric: f, op: m[2]}
		unit := m[3] + m[5]
		if a.bound, err = strconv.ParseFloat(m[4], 64); err != nil {
			d, err := time.ParseDuration(m[4])
			if err != nil {
				return nil, fmt.Errorf("assertion %q: %q is no number and no time; %s is %s", a.Text, m[4], f.Name, f.inUnit())
			}
			a.bound, unit = d.Seconds(), unit+"s"
		}
		if unit != "" && unit != f.Unit {
			return nil, fmt.Errorf("assertion %q: %s is %s", a.Text, f.Name, f.inUnit())
		}
		out = append(out, a)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("there is no assertion in %q", text)
	}
	return out, nil
}

func (a *Assertion) holds(v float64) bool {
	switch a.op {
	case "<":
		return v < a.bound
	case "<=":
		return v <= a.bound
	case ">":
		return v > a.bound
	case ">=":
		return v >= a.bound
	}
	return v == a.bound
}

// Judge asks all runs of a configuration. An assertion holds if it holds in each of them.
func Judge(assertions []Assertion, configuration string, results []*Result) []Verdict {
	var out []Verdict
	for i := range assertions {
		a := &assertions[i]
		v := Verdict{Assertion: a.Text, Configuration: configuration, Holds: true, Unit: a.metric.Unit}
		for _, r := range results {
			v.Currency = r.Currency
			value := a.metric.Of(&r.Totals)
			if math.IsNaN(value) {
				v.Holds, v.Failed = false, append(v.Failed, r.Seed)
				if v.Absent == "" {
					v.Absent, v.Seed, v.Worst = a.metric.absent(&r.Totals), r.Seed, nil
				}
				continue
			}
			if v.Absent != "" {
				if !a.holds(value) {
					v.Failed = append(v.Failed, r.Seed)
				}
				continue
			}
			worse := v.Worst == nil
			switch a.op[0] {
			case '<':
				worse = worse || value > *v.Worst
			case '>':
				worse = worse || value < *v.Worst
			default:
				worse = worse || abs(value-a.bound) > abs(*v.Worst-a.bound)
			}
			if worse {
				v.Worst, v.Seed = &value, r.Seed
			}
			if !a.holds(value) {
				v.Holds = false
				v.Failed = append(v.Failed, r.Seed)
			}
		}
		out = append(out, v)
	}
	return out
}

// Text says what became of it.
func (v *Verdict) Text() string {
	word := "holds"
	if !v.Holds {
		word = "does not hold"
	}
	return fmt.Sprintf("%s %s: %s with seed %d", v.Assertion, word, v.value(), v.Seed)
}

// value is the worst value, or that there is none.
func (v *Verdict) value() string {
	if v.Worst == nil || v.Absent != "" {
		return "none, for " + v.Absent
	}
	unit := v.Unit
	if unit == "$" {
		unit = v.Currency.Symbol()
	}
	return value(*v.Worst, unit)
}

func abs(v float64) float64 { return max(v, -v) }
