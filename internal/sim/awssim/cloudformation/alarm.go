package cloudformation

import (
	"fmt"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

var cloudWatchAlarm = &kind{
	properties: map[string]*shape{
		"AlarmName": text, "AlarmDescription": text, "ActionsEnabled": boolean, "AlarmActions": texts, "OKActions": texts,
		"InsufficientDataActions": texts, "Namespace": text, "MetricName": text, "Statistic": text, "ExtendedStatistic": text,
		"Dimensions": list(members(map[string]*shape{"Name": text, "Value": text}, "Name", "Value")),
		"Period":     integer, "EvaluationPeriods": integer, "DatapointsToAlarm": integer, "Threshold": number,
		"ComparisonOperator": text, "TreatMissingData": text, "Unit": text, "Tags": tagList,
	},
	required: []string{"ComparisonOperator", "EvaluationPeriods"}, fixed: []string{"AlarmName"}, readOnly: []string{"Arn"},
	name: "AlarmName", nameLength: 255, tagged: true,
	create: func(c *change) error {
		// PutMetricAlarm itself would change the alarm that has the name.
		if len(c.world.Alarms([]string{c.name}, "")) > 0 {
			return fmt.Errorf("alarm %s already exists", c.name)
		}
		if err := c.world.PutAlarm(c.alarm(c.name)); err != nil {
			return err
		}
		c.physical, c.attributes = c.name, map[string]any{"Arn": c.world.AlarmARN(c.name)}
		return nil
	},
	update: func(c *change) error {
		if err := c.world.PutAlarm(c.alarm(c.physical)); err != nil {
			return err
		}
		arn := c.world.AlarmARN(c.physical)
		return c.retag(func(tags []tag) error { return c.world.TagAlarm(arn, tagMap(tags), nil) },
			func(keys []string) error { return c.world.TagAlarm(arn, nil, keys) })
	},
	remove: func(c *change) error {
		if len(c.world.Alarms([]string{c.physical}, "")) == 0 {
			return nil
		}
		return c.world.DeleteAlarms([]string{c.physical})
	},
}

func (c *change) alarm(name string) world.Alarm {
	p := c.new
	periods, _ := p["EvaluationPeriods"].(int)
	points, _ := p["DatapointsToAlarm"].(int)
	seconds, _ := p["Period"].(int)
	threshold, _ := p["Threshold"].(float64)
	enabled, ok := p["ActionsEnabled"].(bool)
	dimensions := map[string]string{}
	for _, item := range cfn.ListOf(p["Dimensions"]) {
		if m, ok := item.(map[string]any); ok {
			n, _ := m["Name"].(string)
			dimensions[n], _ = m["Value"].(string)
		}
	}
	return world.Alarm{
		Name: name, Description: c.text("AlarmDescription"),
		Metric:    world.Metric{Namespace: c.text("Namespace"), Name: c.text("MetricName"), Dimensions: dimensions},
		Statistic: c.textOr("Statistic", c.text("ExtendedStatistic")), Unit: c.text("Unit"), Period: time.Duration(seconds) * time.Second,
		Evaluations: periods, DatapointsToAlarm: points, Threshold: threshold, Comparison: c.text("ComparisonOperator"),
		TreatMissing: c.text("TreatMissingData"), ActionsEnabled: enabled || !ok, AlarmActions: cfn.TextsOf(p["AlarmActions"]),
		OKActions: cfn.TextsOf(p["OKActions"]), NoDataActions: cfn.TextsOf(p["InsufficientDataActions"]), Tags: tagMap(c.newTags),
	}
}
