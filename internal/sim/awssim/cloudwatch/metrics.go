package cloudwatch

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// datum is what somebody reports of a metric: a value, some values with their counts, or statistics of values.
type datum struct {
	MetricName      string
	Dimensions      []dimension
	Timestamp       *moment
	Unit            string
	Value           *float64
	Values          []float64
	Counts          []float64
	StatisticValues *struct{ SampleCount, Sum, Minimum, Maximum float64 }
}

// points are the statistics of the reported values.
func (d datum) points(at time.Time) ([]world.Point, error) {
	one := func(v, n float64) world.Point {
		return world.Point{At: at, Count: n, Sum: v * n, Least: v, Most: v, Unit: d.Unit}
	}
	switch {
	case d.Value != nil:
		return []world.Point{one(*d.Value, 1)}, nil
	case len(d.Values) > 0:
		if len(d.Counts) > 0 && len(d.Counts) != len(d.Values) {
			return nil, invalid("The parameters Values and Counts of %s must have the same length.", d.MetricName)
		}
		var out []world.Point
		for i, v := range d.Values {
			n := 1.0
			if len(d.Counts) > 0 {
				n = d.Counts[i]
			}
			if n > 0 {
				out = append(out, one(v, n))
			}
		}
		return out, nil
	case d.StatisticValues != nil && d.StatisticValues.SampleCount > 0:
		s := d.StatisticValues
		return []world.Point{{At: at, Count: s.SampleCount, Sum: s.Sum, Least: s.Minimum, Most: s.Maximum, Unit: d.Unit}}, nil
	}
	return nil, wire.Errorf("MissingParameter", "At least one of the parameters Value, Values and StatisticValues must be specified for %s.", d.MetricName)
}

func (s *service) putMetricData(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		Namespace  string
		MetricData []datum
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	if in.Namespace == "" {
		return nil, missing("Namespace")
	}
	for _, d := range in.MetricData {
		if d.MetricName == "" {
			return nil, missing("MetricData.member.1.MetricName")
		}
		at := d.Timestamp.time()
		if at.IsZero() {
			at = s.world.Now()
		}
		points, err := d.points(at)
		if err != nil {
			return nil, err
		}
		m := world.Metric{Namespace: in.Namespace, Name: d.MetricName, Dimensions: dimensionMap(d.Dimensions)}
		for _, p := range points {
			if err := s.world.PutMetric(m, p); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

type metricInput struct {
	Namespace  string
	MetricName string
	Dimensions []dimension
}

func (m metricInput) metric() world.Metric {
	return world.Metric{Namespace: m.Namespace, Name: m.MetricName, Dimensions: dimensionMap(m.Dimensions)}
}

// query asks for one metric.
type query struct {
	ID         string `json:"Id"`
	Label      string
	Expression string
	ReturnData *bool
	MetricStat *struct {
		Metric metricInput
		Period int
		Stat   string
		Unit   string
	}
}

// result is what a metric was.
type result struct {
	ID         string `json:"Id"`
	Label      string
	StatusCode string
	Timestamps []wire.Timestamp
	Values     []float64
}

// maxQueries is how many metrics one request may ask for.
const maxQueries = 500

func (s *service) getMetricData(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		MetricDataQueries  []query
		StartTime, EndTime *moment
		ScanBy             string
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	start, end := in.StartTime.time(), in.EndTime.time()
	if err := span(start, end); err != nil {
		return nil, err
	}
	if len(in.MetricDataQueries) == 0 || len(in.MetricDataQueries) > maxQueries {
		return nil, wire.Errorf("ValidationError", "The parameter MetricDataQueries must have between 1 and %d members.", maxQueries)
	}
	out := []result{}
	for _, q := range in.MetricDataQueries {
		got, err := s.query(q, start, end)
		if err != nil {
			return nil, err
		}
		if in.ScanBy != "TimestampAscending" {
			slices.Reverse(got.Timestamps)
			slices.Reverse(got.Values)
		}
		if q.ReturnData == nil || *q.ReturnData {
			out = append(out, got)
		}
	}
	return map[string]any{"MetricDataResults": out, "Messages": []any{}}, nil
}

func (s *service) query(q query, start, end time.Time) (result, error) {
	if q.Expression != "" || q.MetricStat == nil {
		return result{}, wire.Errorf("ValidationError", "The query %q has no MetricStat; metric math is not simulated.", q.ID)
	}
	period, err := seconds(q.MetricStat.Period)
	if err != nil {
		return result{}, err
	}
	out := result{ID: q.ID, Label: q.Label, StatusCode: "Complete", Timestamps: []wire.Timestamp{}, Values: []float64{}}
	if out.Label == "" {
		out.Label = q.MetricStat.Metric.MetricName
	}
	for _, p := range s.world.Points(q.MetricStat.Metric.metric(), start, end, period) {
		v, ok := p.Statistic(q.MetricStat.Stat)
		if !ok {
			return result{}, wire.Errorf("ValidationError", "The statistic %q of the query %q is not simulated or does not exist.", q.MetricStat.Stat, q.ID)
		}
		out.Timestamps, out.Values = append(out.Timestamps, wire.Timestamp(p.At)), append(out.Values, v)
	}
	return out, nil
}

func (s *service) getMetricStatistics(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		metricInput
		StartTime, EndTime *moment
		Period             int
		Statistics         []string
		ExtendedStatistics []string
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	start, end := in.StartTime.time(), in.EndTime.time()
	if err := span(start, end); err != nil {
		return nil, err
	}
	period, err := seconds(in.Period)
	if err != nil {
		return nil, err
	}
	if len(in.Statistics) == 0 || len(in.ExtendedStatistics) > 0 {
		return nil, wire.Errorf("InvalidParameterCombination", "The parameter Statistics must be specified; ExtendedStatistics are not simulated.")
	}
	points := []map[string]any{}
	for _, p := range s.world.Points(in.metric(), start, end, period) {
		shown := map[string]any{"Timestamp": wire.Timestamp(p.At), "Unit": unit(p.Unit)}
		for _, name := range in.Statistics {
			v, ok := p.Statistic(name)
			if !ok {
				return nil, invalid("The statistic %q does not exist.", name)
			}
			shown[name] = v
		}
		points = append(points, shown)
	}
	return map[string]any{"Label": in.MetricName, "Datapoints": points}, nil
}

func unit(u string) string {
	if u == "" {
		return "None"
	}
	return u
}

// maxMetrics is how many metrics a page of ListMetrics has.
const maxMetrics = 500

func (s *service) listMetrics(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		metricInput
		NextToken string
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	skip := 0
	if in.NextToken != "" {
		var err error
		if skip, err = strconv.Atoi(in.NextToken); err != nil || skip < 0 {
			return nil, invalid("The parameter NextToken is not valid.")
		}
	}
	all := s.world.Metrics(in.Namespace, in.MetricName, dimensionMap(in.Dimensions))
	answer := map[string]any{}
	list := []map[string]any{}
	for i := min(skip, len(all)); i < len(all); i++ {
		if len(list) == maxMetrics {
			answer["NextToken"] = strconv.Itoa(i)
			break
		}
		m := all[i]
		list = append(list, map[string]any{"Namespace": m.Namespace, "MetricName": m.Name, "Dimensions": dimensionList(m.Dimensions)})
	}
	answer["Metrics"] = list
	return answer, nil
}

func dimensionList(m map[string]string) []dimension {
	out := []dimension{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, dimension{k, m[k]})
	}
	return out
}
