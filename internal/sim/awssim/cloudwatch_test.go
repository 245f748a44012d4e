package awssim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	ebtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/google/go-cmp/cmp"
)

// TestAlarmsOnTheQueue follows the two alarms that an interruption queue should have.
func TestAlarmsOnTheQueue(t *testing.T) {
	a := bare(t)
	ctx := t.Context()
	url, arn := a.queue("kerf", map[string]string{"MessageRetentionPeriod": "3600"}, letIn)
	a.rule("spot", ebtypes.Target{Arn: &arn})
	put := func(name, namespace, metric, dimension, value, statistic string, threshold float64) {
		t.Helper()
		if _, err := a.watch.PutMetricAlarm(ctx, &cloudwatch.PutMetricAlarmInput{
			AlarmName: &name, Namespace: &namespace, MetricName: &metric, Dimensions: []cwtypes.Dimension{{Name: &dimension, Value: &value}},
			Statistic: cwtypes.Statistic(statistic), Period: aws.Int32(60), EvaluationPeriods: aws.Int32(1), Threshold: &threshold,
			ComparisonOperator: cwtypes.ComparisonOperatorGreaterThanThreshold, TreatMissingData: aws.String("notBreaching"),
			AlarmActions: []string{"arn:aws:sns:us-east-1:123456789012:page"},
		}); err != nil {
			t.Fatal(err)
		}
	}
	put("failed", "AWS/Events", "FailedInvocations", "RuleName", "spot", "Sum", 0)
	put("age", "AWS/SQS", "ApproximateAgeOfOldestMessage", "QueueName", "kerf", "Maximum", 120)
	states := func() string {
		t.Helper()
		out, err := a.watch.DescribeAlarms(ctx, &cloudwatch.DescribeAlarmsInput{})
		if err != nil || len(out.MetricAlarms) != 2 {
			t.Fatal(out, err)
		}
		return fmt.Sprint(out.MetricAlarms[0].StateValue, " ", out.MetricAlarms[1].StateValue)
	}
	if got := states(); got != "OK OK" {
		t.Errorf("age and failures at first: %s", got)
	}
	a.warn("i-1")
	a.clock.Advance(3 * time.Minute)
	if got := states(); got != "ALARM OK" {
		t.Errorf("after three minutes in which nobody receives: %s", got)
	}
	for _, m := range a.receive(url) {
		if err := a.s.World.DeleteMessage("kerf", *m.ReceiptHandle); err != nil {
			t.Fatal(err)
		}
	}
	a.clock.Advance(2 * time.Minute)
	if got := states(); got != "OK OK" {
		t.Errorf("when it has been received: %s", got)
	}
	if err := a.s.World.SetQueueAttributes("kerf", map[string]string{"Policy": ""}); err != nil {
		t.Fatal(err)
	}
	a.warn("i-2")
	if got := states(); got != "OK ALARM" {
		t.Errorf("without a policy: %s", got)
	}
	seen, err := a.watch.DescribeAlarms(ctx, &cloudwatch.DescribeAlarmsInput{StateValue: cwtypes.StateValueAlarm})
	if err != nil || len(seen.MetricAlarms) != 1 {
		t.Fatal(seen, err)
	}
	m := seen.MetricAlarms[0]
	if *m.AlarmName != "failed" || *m.AlarmArn != "arn:aws:cloudwatch:us-east-1:123456789012:alarm:failed" || *m.Threshold != 0 || *m.Period != 60 ||
		!m.StateUpdatedTimestamp.Equal(a.clock.Now()) || len(m.AlarmActions) != 1 || *m.Dimensions[0].Value != "spot" {
		t.Errorf("the alarm: %+v", m)
	}
	if _, err := a.watch.DeleteAlarms(ctx, &cloudwatch.DeleteAlarmsInput{AlarmNames: []string{"failed", "none"}}); code(err) != "ResourceNotFound" {
		t.Errorf("deleting one that does not exist: %v", err)
	}
	if _, err := a.watch.DeleteAlarms(ctx, &cloudwatch.DeleteAlarmsInput{AlarmNames: []string{"failed", "age"}}); err != nil {
		t.Error(err)
	}
}

func TestMetricsOfOnesOwn(t *testing.T) {
	a := bare(t)
	ctx := t.Context()
	now := a.clock.Now()
	var data []cwtypes.MetricDatum
	for i := range 600 { // enough for the client to compress
		data = append(data, cwtypes.MetricDatum{
			MetricName: aws.String("latency"), Value: aws.Float64(float64(i % 10)), Unit: cwtypes.StandardUnitSeconds,
			Timestamp: aws.Time(now.Add(-time.Duration(i%3) * time.Minute)), Dimensions: []cwtypes.Dimension{{Name: aws.String("pool"), Value: aws.String("default")}},
		})
	}
	data = append(data, cwtypes.MetricDatum{
		MetricName: aws.String("size"), StatisticValues: &cwtypes.StatisticSet{SampleCount: aws.Float64(2), Sum: aws.Float64(7), Minimum: aws.Float64(3), Maximum: aws.Float64(4)},
	}, cwtypes.MetricDatum{MetricName: aws.String("size"), Values: []float64{5, 6}, Counts: []float64{1, 3}})
	if _, err := a.watch.PutMetricData(ctx, &cloudwatch.PutMetricDataInput{Namespace: aws.String("Kerf"), MetricData: data}); err != nil {
		t.Fatal(err)
	}
	out, err := a.watch.GetMetricStatistics(ctx, &cloudwatch.GetMetricStatisticsInput{
		Namespace: aws.String("Kerf"), MetricName: aws.String("size"), StartTime: aws.Time(now.Add(-time.Hour)), EndTime: aws.Time(now.Add(time.Minute)), Period: aws.Int32(60),
		Statistics: []cwtypes.Statistic{"Sum", "SampleCount", "Minimum", "Maximum", "Average"},
	})
	if err != nil || len(out.Datapoints) != 1 {
		t.Fatal(out, err)
	}
	p := out.Datapoints[0]
	if diff := cmp.Diff([]float64{30, 6, 3, 6, 5}, []float64{*p.Sum, *p.SampleCount, *p.Minimum, *p.Maximum, *p.Average}); diff != "" || !p.Timestamp.Equal(now) {
		t.Errorf("%v %s", p.Timestamp, diff)
	}
	data3, err := a.watch.GetMetricData(ctx, &cloudwatch.GetMetricDataInput{
		StartTime: aws.Time(now.Add(-time.Hour)), EndTime: aws.Time(now.Add(time.Minute)), ScanBy: cwtypes.ScanByTimestampAscending,
		MetricDataQueries: []cwtypes.MetricDataQuery{{Id: aws.String("l"), MetricStat: &cwtypes.MetricStat{
			Metric: &cwtypes.Metric{Namespace: aws.String("Kerf"), MetricName: aws.String("latency"), Dimensions: []cwtypes.Dimension{{Name: aws.String("pool"), Value: aws.String("default")}}},
			Period: aws.Int32(60), Stat: aws.String("SampleCount"),
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float64{200, 200, 200}, data3.MetricDataResults[0].Values); diff != "" {
		t.Error(diff)
	}
	if !data3.MetricDataResults[0].Timestamps[0].Equal(now.Add(-2 * time.Minute)) {
		t.Errorf("timestamps: %v", data3.MetricDataResults[0].Timestamps)
	}
	listed, err := a.watch.ListMetrics(ctx, &cloudwatch.ListMetricsInput{Namespace: aws.String("Kerf"), Dimensions: []cwtypes.DimensionFilter{{Name: aws.String("pool")}}})
	if err != nil || len(listed.Metrics) != 1 || *listed.Metrics[0].MetricName != "latency" {
		t.Errorf("metrics with a pool: %+v, %v", listed, err)
	}
	if _, err := a.watch.PutMetricData(ctx, &cloudwatch.PutMetricDataInput{Namespace: aws.String("AWS/SQS"), MetricData: data[:1]}); code(err) != "InvalidParameterValue" {
		t.Errorf("a namespace of AWS: %v", err)
	}
	if _, err := a.watch.PutMetricAlarm(ctx, &cloudwatch.PutMetricAlarmInput{AlarmName: aws.String("x"), EvaluationPeriods: aws.Int32(1), ComparisonOperator: "GreaterThanThreshold", Threshold: aws.Float64(1)}); err == nil {
		t.Error("an alarm without a metric is accepted")
	}
}
