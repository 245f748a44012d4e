package world

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// States of an alarm.
const (
	AlarmOK           = "OK"
	AlarmRaised       = "ALARM"
	AlarmInsufficient = "INSUFFICIENT_DATA"
)

// Alarm compares a metric with a threshold. State and what follows it are set in values handed out.
type Alarm struct {
	Name, ARN, Description string
	Metric                 Metric
	Statistic              string
	Unit                   string
	Period                 time.Duration
	Evaluations            int // periods that are looked at
	DatapointsToAlarm      int // of those, how many must breach; 0: all
	Threshold              float64
	Comparison             string // GreaterThanThreshold, …
	TreatMissing           string // missing, breaching, notBreaching, ignore
	ActionsEnabled         bool
	AlarmActions           []string
	OKActions              []string
	NoDataActions          []string
	Tags                   map[string]string
	Updated                time.Time

	State        string
	StateReason  string
	StateUpdated time.Time
}

func (a *Alarm) clone() Alarm {
	c := *a
	c.Metric.Dimensions, c.Tags = maps.Clone(a.Metric.Dimensions), maps.Clone(a.Tags)
	c.AlarmActions, c.OKActions, c.NoDataActions = slices.Clone(a.AlarmActions), slices.Clone(a.OKActions), slices.Clone(a.NoDataActions)
	return c
}

// comparisons tell whether a value breaches a threshold.
var comparisons = map[string]func(value, threshold float64) bool{
	"GreaterThanOrEqualToThreshold": func(v, t float64) bool { return v >= t },
	"GreaterThanThreshold":          func(v, t float64) bool { return v > t },
	"LessThanThreshold":             func(v, t float64) bool { return v < t },
	"LessThanOrEqualToThreshold":    func(v, t float64) bool { return v <= t },
}

// AlarmARN is the name of an alarm in policies.
func (w *World) AlarmARN(name string) string {
	return "arn:" + w.Partition() + ":cloudwatch:" + w.opts.Region + ":" + w.opts.Account + ":alarm:" + name
}

// PutAlarm makes or replaces an alarm; tags of one that is there are left as they are.
func (w *World) PutAlarm(a Alarm) error {
	if err := checkAlarm(a); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	c := a.clone()
	c.ARN, c.Updated = w.AlarmARN(a.Name), now
	c.State, c.StateReason, c.StateUpdated = AlarmInsufficient, "Unchecked: Initial alarm creation", now
	if old := w.cloudwatch.alarms[a.Name]; old != nil {
		c.Tags, c.State, c.StateReason, c.StateUpdated = old.Tags, old.State, old.StateReason, old.StateUpdated
	}
	w.cloudwatch.alarms[a.Name] = &c
	return nil
}

func checkAlarm(a Alarm) error {
	refuse := func(format string, args ...any) error { return Errorf("ValidationError", format, args...) }
	switch {
	case a.Name == "" || len(a.Name) > 255:
		return refuse("The parameter AlarmName must have between 1 and 255 characters.")
	case comparisons[a.Comparison] == nil:
		return refuse("The ComparisonOperator %q is not simulated or does not exist.", a.Comparison)
	case a.Metric.Namespace == "" || a.Metric.Name == "":
		return refuse("The parameters Namespace and MetricName are required; alarms on metric math are not simulated.")
	case a.Evaluations < 1:
		return refuse("The parameter EvaluationPeriods must be at least 1.")
	case a.DatapointsToAlarm < 0 || a.DatapointsToAlarm > a.Evaluations:
		return refuse("The parameter DatapointsToAlarm must be between 1 and EvaluationPeriods.")
	case a.Period != 10*time.Second && a.Period != 20*time.Second && a.Period != 30*time.Second && (a.Period <= 0 || a.Period%time.Minute != 0):
		return refuse("The period of %s is not 10, 20, 30 or a multiple of 60 seconds.", a.Period)
	case a.Period*time.Duration(a.Evaluations) > 7*24*time.Hour:
		return refuse("Metrics cannot be checked across more than seven days (EvaluationPeriods * Period must be <= 604800).")
	}
	if _, ok := (Point{Count: 1}).Statistic(a.Statistic); !ok {
		return refuse("The statistic %q is not simulated or does not exist.", a.Statistic)
	}
	if !slices.Contains([]string{"", "missing", "breaching", "notBreaching", "ignore"}, a.TreatMissing) {
		return refuse("The TreatMissingData %q is not one of missing, breaching, notBreaching, ignore.", a.TreatMissing)
	}
	return nil
}

// Alarms returns the alarms of the given names, or all, whose name begins with prefix, in their present state, by name.
func (w *World) Alarms(names []string, prefix string) []Alarm {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sampleQueuesLocked()
	var out []Alarm
	for _, name := range slices.Sorted(maps.Keys(w.cloudwatch.alarms)) {
		if len(names) > 0 && !slices.Contains(names, name) || !strings.HasPrefix(name, prefix) {
			continue
		}
		a := w.cloudwatch.alarms[name]
		w.evaluateLocked(a)
		out = append(out, a.clone())
	}
	return out
}

// DeleteAlarms removes alarms; if one of them does not exist it removes none.
func (w *World) DeleteAlarms(names []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range names {
		if w.cloudwatch.alarms[n] == nil {
			e := Errorf("ResourceNotFound", "Some alarms could not be found: %s", n)
			e.Status = statusNotFound
			return e
		}
	}
	for _, n := range names {
		delete(w.cloudwatch.alarms, n)
	}
	return nil
}

// TagAlarm adds, changes and removes tags of an alarm.
func (w *World) TagAlarm(arn string, set map[string]string, unset []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.cloudwatch.alarms {
		if a.ARN == arn {
			a.Tags = retag(a.Tags, set, unset)
			return nil
		}
	}
	e := Errorf("ResourceNotFoundException", "The alarm %s does not exist.", arn)
	e.Status = statusNotFound
	return e
}

// evaluateLocked looks at the last periods, the running one included, so that nobody has to wait for its end.
func (w *World) evaluateLocked(a *Alarm) {
	now := w.clock.Now()
	period := max(a.Period, metricSpan)
	end := now.Truncate(period).Add(period)
	start := end.Add(-period * time.Duration(a.Evaluations))
	points := w.pointsLocked(a.Metric, start, end, period)
	var breaching int
	var last float64
	for _, p := range points {
		if last, _ = p.Statistic(a.Statistic); comparisons[a.Comparison](last, a.Threshold) {
			breaching++
		}
	}
	missing := a.Evaluations - len(points)
	wanted := a.DatapointsToAlarm
	if wanted == 0 {
		wanted = a.Evaluations
	}
	if a.TreatMissing == "breaching" {
		breaching += missing
	}
	state, reason := AlarmOK, fmt.Sprintf("Threshold Crossed: %d of %d datapoints [%g] breach, %d are needed to raise the alarm.", breaching, a.Evaluations, last, wanted)
	switch {
	case breaching >= wanted:
		state = AlarmRaised
	case len(points) > 0, a.TreatMissing == "notBreaching", a.TreatMissing == "breaching":
		// fewer breaches than are needed
	case a.TreatMissing == "ignore":
		return
	default:
		state, reason = AlarmInsufficient, fmt.Sprintf("Insufficient Data: %d datapoints were unknown.", missing)
	}
	if state != a.State {
		a.State, a.StateUpdated = state, now
	}
	a.StateReason = reason
}
