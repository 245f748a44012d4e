// Package cloudwatch answers CloudWatch requests from the simulated world: metrics that the other services report, and
// alarms on them. Metric math and percentiles are refused.
package cloudwatch

import (
	"encoding/json"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type service struct{ world *world.World }

// Register adds the operations to a server.
func Register(s *wire.Server, w *world.World) {
	svc := &service{world: w}
	for operation, h := range map[string]wire.Handler{
		"PutMetricData":       svc.putMetricData,
		"GetMetricData":       svc.getMetricData,
		"GetMetricStatistics": svc.getMetricStatistics,
		"ListMetrics":         svc.listMetrics,
		"PutMetricAlarm":      svc.putMetricAlarm,
		"DescribeAlarms":      svc.describeAlarms,
		"DeleteAlarms":        svc.deleteAlarms,
		"TagResource":         svc.tagResource,
		"UntagResource":       svc.untagResource,
		"ListTagsForResource": svc.listTags,
	} {
		s.Handle(wire.CloudWatch, operation, h)
	}
}

// moment is a time in a request: seconds since 1970, as a number.
type moment time.Time

// UnmarshalJSON reads seconds, with fraction or without.
func (m *moment) UnmarshalJSON(b []byte) error {
	var seconds float64
	if err := json.Unmarshal(b, &seconds); err != nil {
		return err
	}
	*m = moment(time.UnixMilli(int64(seconds * 1000)).UTC())
	return nil
}

func (m *moment) time() time.Time {
	if m == nil {
		return time.Time{}
	}
	return time.Time(*m)
}

type dimension struct {
	Name  string
	Value string
}

func dimensionMap(list []dimension) map[string]string {
	out := map[string]string{}
	for _, d := range list {
		out[d.Name] = d.Value
	}
	return out
}

func invalid(format string, args ...any) error {
	return wire.Errorf("InvalidParameterValue", format, args...)
}

func missing(name string) error {
	return wire.Errorf("MissingParameter", "The parameter %s is required.", name)
}

// seconds judges a period and makes it a duration. Points are kept by minute; finer periods are answered by the minute.
func seconds(period int) (time.Duration, error) {
	if period < 1 || period > 60 && period%60 != 0 || period < 60 && period != 1 && period != 5 && period != 10 && period != 20 && period != 30 {
		return 0, invalid("The parameter Period must be 1, 5, 10, 20, 30 or a multiple of 60.")
	}
	return time.Duration(period) * time.Second, nil
}

func span(start, end time.Time) error {
	switch {
	case start.IsZero():
		return missing("StartTime")
	case end.IsZero():
		return missing("EndTime")
	case !start.Before(end):
		return wire.Errorf("ValidationError", "The parameter StartTime must be less than the parameter EndTime.")
	}
	return nil
}
