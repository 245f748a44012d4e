package world

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// cloudwatchState holds what CloudWatch knows of the account.
type cloudwatchState struct {
	series map[string]*series // by Metric.key
	alarms map[string]*Alarm  // by name
}

func (s *cloudwatchState) init() { s.series, s.alarms = map[string]*series{}, map[string]*Alarm{} }

// Metric names one time series.
type Metric struct {
	Namespace, Name string
	Dimensions      map[string]string
}

func (m Metric) key() string {
	var b strings.Builder
	b.WriteString(m.Namespace + "\x00" + m.Name)
	for _, k := range slices.Sorted(maps.Keys(m.Dimensions)) {
		b.WriteString("\x00" + k + "\x00" + m.Dimensions[k])
	}
	return b.String()
}

// Point is what a metric was within a span of time: the statistics of the values that were reported in it.
type Point struct {
	At          time.Time // start of the span
	Count, Sum  float64
	Least, Most float64
	Unit        string
}

func (p *Point) add(q Point) {
	if p.Count == 0 {
		p.Least, p.Most = q.Least, q.Most
	}
	p.Count, p.Sum = p.Count+q.Count, p.Sum+q.Sum
	p.Least, p.Most = min(p.Least, q.Least), max(p.Most, q.Most)
	p.Unit = cmp.Or(p.Unit, q.Unit)
}

// Statistic returns Sum, SampleCount, Minimum, Maximum or Average of a point.
func (p Point) Statistic(name string) (float64, bool) {
	switch name {
	case "Sum":
		return p.Sum, true
	case "SampleCount":
		return p.Count, true
	case "Minimum":
		return p.Least, true
	case "Maximum":
		return p.Most, true
	case "Average":
		return p.Sum / p.Count, true
	}
	return 0, false
}

// series are the points of a metric by minute, in order of time.
type series struct {
	metric Metric
	points []Point
}

// Finest span that points are kept in, and for how long.
const (
	metricSpan      = time.Minute
	metricRetention = 48 * time.Hour
)

// recordLocked adds reported values to a metric. Points may come late, but not by much.
func (w *World) recordLocked(m Metric, p Point) {
	key := m.key()
	s := w.cloudwatch.series[key]
	if s == nil {
		m.Dimensions = maps.Clone(m.Dimensions)
		s = &series{metric: m}
		w.cloudwatch.series[key] = s
	}
	p.At = p.At.Truncate(metricSpan)
	at, found := slices.BinarySearchFunc(s.points, p.At, func(p Point, t time.Time) int { return p.At.Compare(t) })
	if !found {
		s.points = slices.Insert(s.points, at, Point{At: p.At})
	}
	s.points[at].add(p)
	if old := w.clock.Now().Add(-metricRetention); s.points[0].At.Before(old) {
		s.points = slices.DeleteFunc(s.points, func(p Point) bool { return p.At.Before(old) })
	}
}

// valueLocked reports one value now.
func (w *World) valueLocked(namespace, name, unit string, value float64, dimensions map[string]string) {
	w.recordLocked(Metric{Namespace: namespace, Name: name, Dimensions: dimensions},
		Point{At: w.clock.Now(), Count: 1, Sum: value, Least: value, Most: value, Unit: unit})
}

// PutMetric adds values that somebody reports of a metric of theirs. Namespaces of AWS are refused.
func (w *World) PutMetric(m Metric, p Point) error {
	if strings.HasPrefix(m.Namespace, "AWS/") {
		return Errorf("InvalidParameterValue", "The value AWS/ for parameter Namespace is invalid.")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recordLocked(m, p)
	return nil
}

// Metrics returns the metrics of a namespace and name (either may be empty for all) that have all of the given
// dimensions, with any value where that is empty, by namespace, name and dimensions.
func (w *World) Metrics(namespace, name string, dimensions map[string]string) []Metric {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sampleQueuesLocked()
	var out []Metric
	for _, key := range slices.Sorted(maps.Keys(w.cloudwatch.series)) {
		m := w.cloudwatch.series[key].metric
		if namespace != "" && m.Namespace != namespace || name != "" && m.Name != name || !hasDimensions(m, dimensions) {
			continue
		}
		m.Dimensions = maps.Clone(m.Dimensions)
		out = append(out, m)
	}
	return out
}

func hasDimensions(m Metric, want map[string]string) bool {
	for k, v := range want {
		if have, ok := m.Dimensions[k]; !ok || v != "" && have != v {
			return false
		}
	}
	return true
}

// Points returns the points of a metric from start (inclusive) to end (exclusive), joined into spans of a period that
// begin at multiples of it. Spans in which nothing was reported are left out.
func (w *World) Points(m Metric, start, end time.Time, period time.Duration) []Point {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sampleQueuesLocked()
	return w.pointsLocked(m, start, end, period)
}

func (w *World) pointsLocked(m Metric, start, end time.Time, period time.Duration) []Point {
	s := w.cloudwatch.series[m.key()]
	if s == nil {
		return nil
	}
	var out []Point
	for _, p := range s.points {
		if p.At.Before(start.Truncate(metricSpan)) || !p.At.Before(end) {
			continue
		}
		at := p.At.Truncate(max(period, metricSpan))
		if n := len(out); n == 0 || !out[n-1].At.Equal(at) {
			out = append(out, Point{At: at})
		}
		out[len(out)-1].add(p)
	}
	return out
}

// MetricSum adds up a metric since the start of the world, as far as points are kept; for tests.
func (w *World) MetricSum(namespace, name string, dimensions map[string]string) float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	var sum float64
	if s := w.cloudwatch.series[Metric{namespace, name, dimensions}.key()]; s != nil {
		for _, p := range s.points {
			sum += p.Sum
		}
	}
	return sum
}
