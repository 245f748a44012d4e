package cloudformation

import (
	"fmt"

	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

// queueAttributes are the properties that are attributes of a queue, with what SQS has when they are not set.
var queueAttributes = []struct {
	property, attribute, otherwise string
}{
	{"DelaySeconds", "DelaySeconds", "0"},
	{"KmsDataKeyReusePeriodSeconds", "KmsDataKeyReusePeriodSeconds", "300"},
	{"KmsMasterKeyId", "KmsMasterKeyId", ""},
	{"MaximumMessageSize", "MaximumMessageSize", "1048576"},
	{"MessageRetentionPeriod", "MessageRetentionPeriod", "345600"},
	{"ReceiveMessageWaitTimeSeconds", "ReceiveMessageWaitTimeSeconds", "0"},
	{"RedriveAllowPolicy", "RedriveAllowPolicy", ""},
	{"RedrivePolicy", "RedrivePolicy", ""},
	{"SqsManagedSseEnabled", "SqsManagedSseEnabled", "true"},
	{"VisibilityTimeout", "VisibilityTimeout", "30"},
}

var sqsQueue = &kind{
	properties: map[string]*shape{
		"QueueName": text, "FifoQueue": boolean, "ContentBasedDeduplication": boolean, "DeduplicationScope": text,
		"FifoThroughputLimit": text, "DelaySeconds": integer, "KmsDataKeyReusePeriodSeconds": integer, "KmsMasterKeyId": text,
		"MaximumMessageSize": integer, "MessageRetentionPeriod": integer, "ReceiveMessageWaitTimeSeconds": integer,
		"RedriveAllowPolicy": free, "RedrivePolicy": free, "SqsManagedSseEnabled": boolean, "VisibilityTimeout": integer,
		"Tags": tagList,
	},
	fixed: []string{"QueueName", "FifoQueue"}, readOnly: []string{"Arn", "QueueName", "QueueUrl"}, name: "QueueName", nameLength: 80,
	tagged: true,
	create: createQueue, update: updateQueue,
	remove: func(c *change) error {
		return unlessMissing(c.json(wire.SQS, "DeleteQueue", map[string]any{"QueueUrl": c.physical}, nil))
	},
}

// attributeOf is the text that SQS takes for a property.
func attributeOf(v any) (string, bool) {
	if v == nil {
		return "", false
	}
	if s, ok := cfn.TextOf(v); ok {
		return s, true
	}
	return document(v), true
}

func createQueue(c *change) error {
	// SQS itself would hand out a queue that is there already if its attributes are the same.
	var there struct{ QueueURL string }
	if err := c.json(wire.SQS, "GetQueueUrl", map[string]any{"QueueName": c.name}, &there); err == nil {
		return fmt.Errorf("resource of type 'AWS::SQS::Queue' with identifier '%s' already exists", c.name)
	}
	attributes := map[string]string{}
	for _, a := range queueAttributes {
		if s, ok := attributeOf(c.new[a.property]); ok {
			attributes[a.attribute] = s
		}
	}
	for _, p := range []string{"FifoQueue", "ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit"} {
		if s, ok := attributeOf(c.new[p]); ok && s != "false" {
			attributes[p] = s
		}
	}
	in := map[string]any{"QueueName": c.name, "Attributes": attributes, "tags": tagMap(c.newTags)}
	var out struct {
		QueueURL string `json:"QueueUrl"`
	}
	if err := c.json(wire.SQS, "CreateQueue", in, &out); err != nil {
		return err
	}
	c.physical = out.QueueURL
	c.attributes = map[string]any{"Arn": c.world.QueueARN(c.name), "QueueName": c.name, "QueueUrl": out.QueueURL}
	return nil
}

func updateQueue(c *change) error {
	changed := map[string]string{}
	for _, a := range queueAttributes {
		if !c.differs(a.property) {
			continue
		}
		s, ok := attributeOf(c.new[a.property])
		if !ok {
			s = a.otherwise
			if a.property == "SqsManagedSseEnabled" && c.text("KmsMasterKeyId") != "" {
				continue // the key turns it off
			}
		}
		changed[a.attribute] = s
	}
	if len(changed) > 0 {
		in := map[string]any{"QueueUrl": c.physical, "Attributes": changed}
		if err := c.json(wire.SQS, "SetQueueAttributes", in, nil); err != nil {
			return err
		}
	}
	return c.retag(func(tags []tag) error {
		return c.json(wire.SQS, "TagQueue", map[string]any{"QueueUrl": c.physical, "Tags": tagMap(tags)}, nil)
	}, func(keys []string) error {
		return c.json(wire.SQS, "UntagQueue", map[string]any{"QueueUrl": c.physical, "TagKeys": keys}, nil)
	})
}

var sqsQueuePolicy = &kind{
	properties: map[string]*shape{"PolicyDocument": free, "Queues": texts},
	required:   []string{"PolicyDocument", "Queues"}, readOnly: []string{"Id"},
	create: func(c *change) error {
		if err := setQueuePolicy(c, c.new["Queues"], document(c.new["PolicyDocument"])); err != nil {
			return err
		}
		c.physical = c.madeName(c.stack+"-"+c.logical, 128)
		c.attributes = map[string]any{"Id": c.physical}
		return nil
	},
	update: func(c *change) error {
		var gone []any
		for _, url := range cfn.TextsOf(c.old["Queues"]) {
			if !contains(c.new["Queues"], url) {
				gone = append(gone, url)
			}
		}
		if err := unlessMissing(setQueuePolicy(c, gone, "")); err != nil {
			return err
		}
		return setQueuePolicy(c, c.new["Queues"], document(c.new["PolicyDocument"]))
	},
	remove: func(c *change) error {
		return unlessMissing(setQueuePolicy(c, c.old["Queues"], ""))
	},
}

func contains(list any, text string) bool {
	for _, s := range cfn.TextsOf(list) {
		if s == text {
			return true
		}
	}
	return false
}

func setQueuePolicy(c *change, queues any, policy string) error {
	for _, url := range cfn.TextsOf(queues) {
		in := map[string]any{"QueueUrl": url, "Attributes": map[string]string{"Policy": policy}}
		if err := c.json(wire.SQS, "SetQueueAttributes", in, nil); err != nil {
			return err
		}
	}
	return nil
}
