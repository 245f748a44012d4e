package account

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
)

// AlarmAPI is what is asked of CloudWatch.
type AlarmAPI interface {
	DescribeAlarms(context.Context, *cloudwatch.DescribeAlarmsInput, ...func(*cloudwatch.Options)) (*cloudwatch.DescribeAlarmsOutput, error)
}

// metricAlarms reads the alarms on the queues and rules that were read. Alarms on expressions have a metric of their own
// for each term; one that concerns us is enough.
func (r *reader) metricAlarms(ctx context.Context) {
	pages := cloudwatch.NewDescribeAlarmsPaginator(r.alarms, &cloudwatch.DescribeAlarmsInput{AlarmTypes: []types.AlarmType{types.AlarmTypeMetricAlarm}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			r.gap(GapAlarms, err)
			return
		}
		for i := range page.MetricAlarms {
			if a, ok := r.alarm(&page.MetricAlarms[i]); ok {
				r.a.Alarms = append(r.a.Alarms, a)
			}
		}
	}
}

func (r *reader) alarm(m *types.MetricAlarm) (awssetup.Alarm, bool) {
	a := awssetup.Alarm{
		Name: deref(m.AlarmName), Namespace: deref(m.Namespace), Metric: deref(m.MetricName), Dimensions: dimensions(m.Dimensions),
		Statistic: string(m.Statistic), Comparison: string(m.ComparisonOperator), Threshold: deref(m.Threshold),
		Period: time.Duration(deref(m.Period)) * time.Second, Periods: int(deref(m.EvaluationPeriods)),
	}
	if deref(m.ActionsEnabled) || m.ActionsEnabled == nil {
		a.Actions = slices.Clone(m.AlarmActions)
	}
	if r.concerns(&a) {
		return a, true
	}
	for _, q := range m.Metrics {
		if q.MetricStat == nil || q.MetricStat.Metric == nil {
			continue
		}
		part := a
		part.Namespace, part.Metric = deref(q.MetricStat.Metric.Namespace), deref(q.MetricStat.Metric.MetricName)
		part.Dimensions, part.Statistic = dimensions(q.MetricStat.Metric.Dimensions), deref(q.MetricStat.Stat)
		part.Period = time.Duration(deref(q.MetricStat.Period)) * time.Second
		if r.concerns(&part) {
			return part, true
		}
	}
	return awssetup.Alarm{}, false
}

func (r *reader) concerns(a *awssetup.Alarm) bool {
	switch a.Namespace {
	case namespaceEvents:
		return slices.ContainsFunc(r.a.Rules, func(rule awssetup.Rule) bool { return rule.Name == a.Dimensions[dimensionRule] })
	case namespaceQueues:
		name := a.Dimensions[dimensionQueue]
		return name == r.a.QueueName || slices.ContainsFunc(r.a.Queues, func(q awssetup.Queue) bool { return q.Name == name })
	}
	return false
}

func dimensions(list []types.Dimension) map[string]string {
	out := make(map[string]string, len(list))
	for _, d := range list {
		out[deref(d.Name)] = deref(d.Value)
	}
	return out
}
