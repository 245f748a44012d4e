package account

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
)

// MetricsAPI is what is asked of CloudWatch for figures.
type MetricsAPI interface {
	GetMetricData(context.Context, *cloudwatch.GetMetricDataInput, ...func(*cloudwatch.Options)) (*cloudwatch.GetMetricDataOutput, error)
}

const (
	namespaceEvents = "AWS/Events"
	namespaceQueues = "AWS/SQS"
	dimensionRule   = "RuleName"
	dimensionQueue  = "QueueName"
)

// metricPeriod is the shortest stretch that figures are asked for in: EventBridge and SQS report each minute.
const metricPeriod = time.Minute

// Metrics are the figures of a stretch of time.
type Metrics struct {
	Window time.Duration
	Rules  map[string]RuleMetrics  // by name
	Queues map[string]QueueMetrics // by name
}

// RuleMetrics are how often a rule matched, its target was called, and that failed. What then went to the target's
// dead-letter queue does not count as failed, but as Spared.
type RuleMetrics struct{ Matched, Invocations, Failed, Spared float64 }

// Lost is how often what matched did not get to the target.
func (m RuleMetrics) Lost() float64 { return m.Failed + m.Spared }

// QueueMetrics are what came into a queue and went out of it, and the age in seconds that a message got at most.
type QueueMetrics struct{ Sent, Received, Deleted, Oldest float64 }

// ReadMetrics reads the figures of rules and queues over the time before now.
//
// Errors: *cloud.Error.
func ReadMetrics(ctx context.Context, api MetricsAPI, rules, queues []string, window time.Duration, now time.Time) (*Metrics, error) {
	m := &Metrics{Window: window, Rules: map[string]RuleMetrics{}, Queues: map[string]QueueMetrics{}}
	q := figures{period: period(window)}
	for _, name := range rules {
		for field, metric := range []string{"TriggeredRules", "Invocations", "FailedInvocations", "InvocationsSentToDlq"} {
			q.add(namespaceEvents, metric, dimensionRule, name, "Sum", func(v float64) {
				r := m.Rules[name]
				*[]*float64{&r.Matched, &r.Invocations, &r.Failed, &r.Spared}[field] += v
				m.Rules[name] = r
			})
		}
	}
	for _, name := range queues {
		for field, metric := range []string{"NumberOfMessagesSent", "NumberOfMessagesReceived", "NumberOfMessagesDeleted"} {
			q.add(namespaceQueues, metric, dimensionQueue, name, "Sum", func(v float64) {
				s := m.Queues[name]
				*[]*float64{&s.Sent, &s.Received, &s.Deleted}[field] += v
				m.Queues[name] = s
			})
		}
		q.add(namespaceQueues, "ApproximateAgeOfOldestMessage", dimensionQueue, name, "Maximum", func(v float64) {
			s := m.Queues[name]
			s.Oldest = max(s.Oldest, v)
			m.Queues[name] = s
		})
	}
	if err := q.read(ctx, api, now.Add(-window), now); err != nil {
		return nil, awserr.Wrap("reading the metrics of rules and queues", err)
	}
	return m, nil
}

// Metrics reads the figures of the rules that lead to the interruption queue, and of the queues.
//
// Errors: *cloud.Error.
func (a *Account) Metrics(ctx context.Context, api MetricsAPI, window time.Duration, now time.Time) (*Metrics, error) {
	var rules, queues []string
	for _, r := range a.Rules {
		if slices.ContainsFunc(r.Targets, func(t awssetup.Target) bool { return t.ARN == a.QueueARN }) {
			rules = append(rules, r.Name)
		}
	}
	for _, q := range a.Queues {
		queues = append(queues, q.Name)
	}
	return ReadMetrics(ctx, api, rules, queues, window, now)
}

// period divides a stretch of time so that there are not many figures, in whole minutes.
func period(window time.Duration) time.Duration {
	return max(metricPeriod, (window / 24).Truncate(metricPeriod))
}

// figures are the questions to CloudWatch and what is done with each answer.
type figures struct {
	period  time.Duration
	queries []types.MetricDataQuery
	sinks   map[string]func(float64)
}

func (f *figures) add(namespace, metric, dimension, value, stat string, sink func(float64)) {
	id := fmt.Sprintf("m%d", len(f.queries))
	f.queries = append(f.queries, types.MetricDataQuery{
		Id: &id,
		MetricStat: &types.MetricStat{
			Metric: &types.Metric{Namespace: &namespace, MetricName: &metric, Dimensions: []types.Dimension{{Name: &dimension, Value: &value}}},
			Period: new(int32(f.period / time.Second)), Stat: &stat,
		},
	})
	if f.sinks == nil {
		f.sinks = map[string]func(float64){}
	}
	f.sinks[id] = sink
}

// maxQueries is how many questions one call may have.
//
// Source: CloudWatch API reference, GetMetricData.
const maxQueries = 500

func (f *figures) read(ctx context.Context, api MetricsAPI, from, to time.Time) error {
	for some := range slices.Chunk(f.queries, maxQueries) {
		pages := cloudwatch.NewGetMetricDataPaginator(api, &cloudwatch.GetMetricDataInput{MetricDataQueries: some, StartTime: &from, EndTime: &to})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return err
			}
			for _, result := range page.MetricDataResults {
				sink, ok := f.sinks[deref(result.Id)]
				for _, v := range result.Values {
					if ok {
						sink(v)
					}
				}
			}
		}
	}
	return nil
}
