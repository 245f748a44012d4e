package cloudwatch

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type tag struct{ Key, Value string }

func tagMap(tags []tag) map[string]string {
	out := map[string]string{}
	for _, t := range tags {
		out[t.Key] = t.Value
	}
	return out
}

func (s *service) putMetricAlarm(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		metricInput
		AlarmName, AlarmDescription                      string
		Statistic, ExtendedStatistic, Unit               string
		Period, EvaluationPeriods, DatapointsToAlarm     int
		Threshold                                        *float64
		ComparisonOperator, TreatMissingData             string
		ActionsEnabled                                   *bool
		AlarmActions, OKActions, InsufficientDataActions []string
		Metrics                                          json.RawMessage
		Tags                                             []tag
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	if len(in.Metrics) > 0 || in.ExtendedStatistic != "" {
		return nil, wire.Errorf("ValidationError", "Alarms on metric math and percentiles are not simulated.")
	}
	if in.Threshold == nil {
		return nil, missing("Threshold")
	}
	return nil, s.world.PutAlarm(world.Alarm{
		Name: in.AlarmName, Description: in.AlarmDescription, Metric: in.metric(), Statistic: in.Statistic, Unit: in.Unit,
		Period: time.Duration(in.Period) * time.Second, Evaluations: in.EvaluationPeriods, DatapointsToAlarm: in.DatapointsToAlarm,
		Threshold: *in.Threshold, Comparison: in.ComparisonOperator, TreatMissing: in.TreatMissingData,
		ActionsEnabled: in.ActionsEnabled == nil || *in.ActionsEnabled, AlarmActions: in.AlarmActions, OKActions: in.OKActions,
		NoDataActions: in.InsufficientDataActions, Tags: tagMap(in.Tags),
	})
}

// alarm is how an alarm is shown.
type alarm struct {
	AlarmName                          string
	AlarmArn                           string
	AlarmDescription                   string `json:",omitempty"`
	AlarmConfigurationUpdatedTimestamp wire.Timestamp
	ActionsEnabled                     bool
	AlarmActions                       []string
	OKActions                          []string
	InsufficientDataActions            []string
	Namespace                          string
	MetricName                         string
	Dimensions                         []dimension
	Statistic                          string
	Unit                               string `json:",omitempty"`
	Period                             int
	EvaluationPeriods                  int
	DatapointsToAlarm                  int `json:",omitempty"`
	Threshold                          float64
	ComparisonOperator                 string
	TreatMissingData                   string `json:",omitempty"`
	StateValue                         string
	StateReason                        string
	StateUpdatedTimestamp              wire.Timestamp
}

func show(a world.Alarm) alarm {
	return alarm{
		AlarmName: a.Name, AlarmArn: a.ARN, AlarmDescription: a.Description, AlarmConfigurationUpdatedTimestamp: wire.Timestamp(a.Updated),
		ActionsEnabled: a.ActionsEnabled, AlarmActions: list(a.AlarmActions), OKActions: list(a.OKActions), InsufficientDataActions: list(a.NoDataActions),
		Namespace: a.Metric.Namespace, MetricName: a.Metric.Name, Dimensions: dimensionList(a.Metric.Dimensions), Statistic: a.Statistic, Unit: a.Unit,
		Period: int(a.Period / time.Second), EvaluationPeriods: a.Evaluations, DatapointsToAlarm: a.DatapointsToAlarm, Threshold: a.Threshold,
		ComparisonOperator: a.Comparison, TreatMissingData: a.TreatMissing, StateValue: a.State, StateReason: a.StateReason,
		StateUpdatedTimestamp: wire.Timestamp(a.StateUpdated),
	}
}

func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

const defaultAlarms = 50

func (s *service) describeAlarms(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		AlarmNames                             []string
		AlarmNamePrefix, StateValue, NextToken string
		AlarmTypes                             []string
		ActionPrefix                           string
		MaxRecords                             *int
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	if len(in.AlarmNames) > 0 && in.AlarmNamePrefix != "" {
		return nil, wire.Errorf("InvalidParameterCombination", "The parameters AlarmNames and AlarmNamePrefix cannot be specified together.")
	}
	limit, skip := defaultAlarms, 0
	if in.MaxRecords != nil {
		limit = *in.MaxRecords
	}
	if in.NextToken != "" {
		var err error
		if skip, err = strconv.Atoi(in.NextToken); err != nil || skip < 0 {
			return nil, wire.Errorf("InvalidNextToken", "The next token is not valid.")
		}
	}
	if limit < 1 || limit > 100 {
		return nil, invalid("The parameter MaxRecords must be between 1 and 100.")
	}
	answer := map[string]any{"CompositeAlarms": []any{}}
	found := []alarm{}
	if len(in.AlarmTypes) == 0 || slices.Contains(in.AlarmTypes, "MetricAlarm") {
		for _, a := range s.world.Alarms(in.AlarmNames, in.AlarmNamePrefix) {
			acts := func(action string) bool { return strings.HasPrefix(action, in.ActionPrefix) }
			if (in.StateValue == "" || a.State == in.StateValue) && (in.ActionPrefix == "" || slices.ContainsFunc(a.AlarmActions, acts)) {
				found = append(found, show(a))
			}
		}
	}
	found = found[min(skip, len(found)):]
	if len(found) > limit {
		found = found[:limit]
		answer["NextToken"] = strconv.Itoa(skip + limit)
	}
	answer["MetricAlarms"] = found
	return answer, nil
}

func (s *service) deleteAlarms(_ context.Context, r *wire.Request) (any, error) {
	var in struct{ AlarmNames []string }
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	return nil, s.world.DeleteAlarms(in.AlarmNames)
}

func (s *service) tagResource(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		ResourceARN string
		Tags        []tag
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	return nil, s.world.TagAlarm(in.ResourceARN, tagMap(in.Tags), nil)
}

func (s *service) untagResource(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		ResourceARN string
		TagKeys     []string
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	return nil, s.world.TagAlarm(in.ResourceARN, nil, in.TagKeys)
}

func (s *service) listTags(_ context.Context, r *wire.Request) (any, error) {
	var in struct{ ResourceARN string }
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	for _, a := range s.world.Alarms(nil, "") {
		if a.ARN == in.ResourceARN {
			tags := []tag{}
			for _, d := range dimensionList(a.Tags) {
				tags = append(tags, tag{d.Name, d.Value})
			}
			return map[string]any{"Tags": tags}, nil
		}
	}
	return nil, &wire.Error{Code: "ResourceNotFoundException", Message: "The alarm " + in.ResourceARN + " does not exist.", Status: 404}
}
