package setupfile_test

import (
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/setup/stack/setupfile"
)

func TestFilesOfOtherKindsAreRefusedWithTheWayOut(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing":              {"", "empty"},
		"Terraform source":     {`resource "aws_sqs_queue" "q" {}`, "terraform show -json"},
		"a binary plan":        {"PK\x03\x04x", "terraform show -json"},
		"JSON without a sign":  {`{"a":1}`, "planned_values"},
		"prose":                {"hello", "CloudFormation"},
		"broken JSON":          {`{"planned_values":`, "not JSON"},
		"a policy of nonsense": {`{"Statement":[{"Effect":"Perhaps","Action":"*","Resource":"*"}]}`, "Effect"},
		"an unknown format":    {`{"format_version":"9.0","planned_values":{}}`, "9.0"},
		"a plan of nothing":    {`{"format_version":"1.2","resource_changes":[]}`, "terraform show -json"},
		"a bad template":       {"Resources:\n  Q:\n    Type: AWS::SQS::Queue\n    Properties:\n      QueueName: !Ref Nobody\n", "Nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := setupfile.Read([]byte(c.text), setupfile.ReadOptions{Source: "file"})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "file") {
				t.Errorf("want an error that names file and %q, got %v", c.want, err)
			}
		})
	}
}

// A resource of a plan is asked for by what its attributes will be, also where they follow from others.
func TestAPlanTellsWhatAttributesWillBe(t *testing.T) {
	plan, err := setupfile.ParsePlan([]byte(`{
		"planned_values": {"root_module": {"resources": [
			{"address": "aws_sqs_queue.q", "mode": "managed", "type": "aws_sqs_queue", "name": "q", "values": {"name": "jobs"}},
			{"address": "aws_cloudwatch_event_target.t[\"a\"]", "mode": "managed", "type": "aws_cloudwatch_event_target", "name": "t", "index": "a", "values": {"rule": "r", "input_transformer": [{}]}},
			{"address": "data.aws_sqs_queue.other", "mode": "data", "type": "aws_sqs_queue", "name": "other", "values": {"name": "other"}}
		]}},
		"configuration": {"root_module": {"resources": [
			{"address": "aws_cloudwatch_event_target.t", "mode": "managed", "type": "aws_cloudwatch_event_target", "name": "t", "expressions": {"arn": {"references": ["aws_sqs_queue.q.arn", "aws_sqs_queue.q"]}}}
		]}}
	}`), setupfile.Place{Partition: "aws", Region: "eu-west-1", Account: "123456789012"})
	if err != nil {
		t.Fatal(err)
	}
	if queues := plan.Managed("aws_sqs_queue"); len(queues) != 1 || queues[0].Value("name") != "jobs" || queues[0].Value("nothing") != "" {
		t.Errorf("queues %+v: want the one that is no data source", queues)
	}
	targets := plan.Managed("aws_cloudwatch_event_target")
	if len(targets) != 1 || targets[0].Value("arn") != "arn:aws:sqs:eu-west-1:123456789012:jobs" {
		t.Fatalf("targets %+v: want the ARN that the queue will have", targets)
	}
	if !targets[0].HasBlock("input_transformer") || targets[0].HasBlock("rule") {
		t.Error("it has the block input_transformer, and rule is none")
	}
	if name := setupfile.ResourceName(targets[0].Address); name != "t" {
		t.Errorf("its name is %q", name)
	}
}
