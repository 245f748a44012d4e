package cloudformation

import (
	"encoding/json"
	"fmt"

	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

var eventTarget = members(map[string]*shape{
	"Arn": text, "Id": text, "Input": text, "InputPath": text, "RoleArn": text,
	"InputTransformer": members(map[string]*shape{"InputPathsMap": textMap, "InputTemplate": text}, "InputTemplate"),
	"DeadLetterConfig": members(map[string]*shape{"Arn": text}),
	"RetryPolicy":      members(map[string]*shape{"MaximumEventAgeInSeconds": integer, "MaximumRetryAttempts": integer}),
	"SqsParameters":    members(map[string]*shape{"MessageGroupId": text}, "MessageGroupId"),
}, "Arn", "Id")

var eventsRule = &kind{
	properties: map[string]*shape{
		"Name": text, "Description": text, "EventBusName": text, "EventPattern": free, "ScheduleExpression": text, "RoleArn": text,
		"State": oneOf("ENABLED", "DISABLED", "ENABLED_WITH_ALL_CLOUDTRAIL_MANAGEMENT_EVENTS"), "Targets": list(eventTarget), "Tags": tagList,
	},
	fixed: []string{"Name", "EventBusName"}, readOnly: []string{"Arn"}, name: "Name", nameLength: 64, tagged: true,
	create: func(c *change) error {
		if err := putRule(c, c.name); err != nil {
			return err
		}
		c.physical = c.name
		return putTargets(c)
	},
	update: func(c *change) error {
		if err := putRule(c, c.physical); err != nil {
			return err
		}
		if err := dropTargets(c, targetIDs(c.old["Targets"], c.new["Targets"])); err != nil {
			return err
		}
		if err := putTargets(c); err != nil {
			return err
		}
		arn := c.attributes["Arn"]
		return c.retag(func(tags []tag) error {
			return c.json(events(), "TagResource", map[string]any{"ResourceARN": arn, "Tags": pairs(tags, "Key", "Value")}, nil)
		}, func(keys []string) error {
			return c.json(events(), "UntagResource", map[string]any{"ResourceARN": arn, "TagKeys": keys}, nil)
		})
	},
	remove: func(c *change) error {
		if err := unlessMissing(dropTargets(c, targetIDs(c.old["Targets"], nil))); err != nil {
			return err
		}
		return unlessMissing(c.json(events(), "DeleteRule", map[string]any{"Name": c.physical}, nil))
	},
}

func events() *wire.Service { return wire.ServiceNamed("events") }

// pairs is the form that JSON services take tags in.
func pairs(tags []tag, key, value string) []map[string]string {
	out := make([]map[string]string, len(tags))
	for i, t := range tags {
		out[i] = map[string]string{key: t.key, value: t.value}
	}
	return out
}

func putRule(c *change, name string) error {
	in := map[string]any{"Name": name, "State": c.textOr("State", "ENABLED")}
	for _, p := range []string{"Description", "EventBusName", "ScheduleExpression", "RoleArn"} {
		if c.new[p] != nil {
			in[p] = c.new[p]
		}
	}
	if c.new["EventPattern"] != nil {
		in["EventPattern"] = document(c.new["EventPattern"])
	}
	if c.physical == "" && len(c.newTags) > 0 {
		in["Tags"] = pairs(c.newTags, "Key", "Value")
	}
	if c.physical == "" { // PutRule itself would change the rule that has the name
		if err := c.json(events(), "DescribeRule", map[string]any{"Name": name}, nil); err == nil {
			return fmt.Errorf("rule %s already exists on EventBus default", name)
		}
	}
	var out struct {
		RuleARN string `json:"RuleArn"`
	}
	if err := c.json(events(), "PutRule", in, &out); err != nil {
		return err
	}
	c.attributes = map[string]any{"Arn": out.RuleARN}
	return nil
}

func putTargets(c *change) error {
	targets := cfn.ListOf(c.new["Targets"])
	if len(targets) == 0 {
		return nil
	}
	rule := c.physical
	var out struct {
		FailedEntryCount int
		FailedEntries    json.RawMessage
	}
	if err := c.json(events(), "PutTargets", map[string]any{"Rule": rule, "Targets": targets}, &out); err != nil {
		return err
	}
	if out.FailedEntryCount > 0 {
		return fmt.Errorf("put targets of rule %s: %s", rule, out.FailedEntries)
	}
	return nil
}

// targetIDs are the ids of targets that are no longer wanted.
func targetIDs(before, after any) []string {
	keep := map[string]bool{}
	for _, id := range ids(after) {
		keep[id] = true
	}
	var out []string
	for _, id := range ids(before) {
		if !keep[id] {
			out = append(out, id)
		}
	}
	return out
}

func ids(targets any) []string {
	var out []string
	for _, item := range cfn.ListOf(targets) {
		if m, ok := item.(map[string]any); ok {
			id, _ := m["Id"].(string)
			out = append(out, id)
		}
	}
	return out
}

func dropTargets(c *change, gone []string) error {
	if len(gone) == 0 {
		return nil
	}
	return c.json(events(), "RemoveTargets", map[string]any{"Rule": c.physical, "Ids": gone}, nil)
}
