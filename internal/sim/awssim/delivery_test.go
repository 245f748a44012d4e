package awssim_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	ebtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/control"
	"github.com/kerf-sh/kerf/internal/sim/awssim/control/client"
	"github.com/kerf-sh/kerf/internal/sim/awssim/event"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// account is a simulator without queue and rules, with clients for what makes them.
type account struct {
	t     *testing.T
	s     *awssim.Server
	clock *world.ManualClock
	sqs   *sqs.Client
	rules *eventbridge.Client
	keys  *kms.Client
	watch *cloudwatch.Client
	page  *client.Client
}

func bare(t *testing.T) *account {
	clock := world.NewManualClock(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
	s, cfg := start(t, awssim.Options{World: world.Options{Clock: clock, Types: []string{"m5.large"}}, NoQueue: true})
	return &account{
		t: t, s: s, clock: clock, sqs: sqs.NewFromConfig(cfg), rules: eventbridge.NewFromConfig(cfg), keys: kms.NewFromConfig(cfg),
		watch: cloudwatch.NewFromConfig(cfg), page: client.New(s.URL()),
	}
}

const spotPattern = `{"source":["aws.ec2"],"detail-type":["EC2 Spot Instance Interruption Warning"]}`

// queue makes a queue whose policy has statements for its own ARN, which they name as QUEUE.
func (a *account) queue(name string, attributes map[string]string, statements ...string) (url, arn string) {
	a.t.Helper()
	arn = a.s.World.QueueARN(name)
	all := map[string]string{}
	if len(statements) > 0 {
		all["Policy"] = strings.ReplaceAll(`{"Version":"2012-10-17","Statement":[`+strings.Join(statements, ",")+`]}`, "QUEUE", arn)
	}
	for k, v := range attributes {
		all[k] = v
	}
	out, err := a.sqs.CreateQueue(a.t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: all})
	if err != nil {
		a.t.Fatal(err)
	}
	return *out.QueueUrl, arn
}

// rule makes a rule for spot warnings with one target.
func (a *account) rule(name string, target ebtypes.Target) string {
	a.t.Helper()
	target.Id = aws.String("queue")
	out, err := a.rules.PutRule(a.t.Context(), &eventbridge.PutRuleInput{Name: &name, EventPattern: aws.String(spotPattern)})
	if err != nil {
		a.t.Fatal(err)
	}
	put, err := a.rules.PutTargets(a.t.Context(), &eventbridge.PutTargetsInput{Rule: &name, Targets: []ebtypes.Target{target}})
	if err != nil || put.FailedEntryCount != 0 {
		a.t.Fatal(put, err)
	}
	return *out.RuleArn
}

// key makes a key with a policy of statements beside the usual one for the account.
func (a *account) key(statements ...string) string {
	a.t.Helper()
	root := `{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::123456789012:root"},"Action":"kms:*","Resource":"*"}`
	policy := `{"Version":"2012-10-17","Statement":[` + strings.Join(append([]string{root}, statements...), ",") + `]}`
	out, err := a.keys.CreateKey(a.t.Context(), &kms.CreateKeyInput{Policy: &policy})
	if err != nil {
		a.t.Fatal(err)
	}
	return *out.KeyMetadata.KeyId
}

func (a *account) warn(instances ...string) {
	a.t.Helper()
	for _, id := range instances {
		if _, err := a.page.SendEvent(a.t.Context(), control.EventRequest{Kind: event.SpotInterruption, Instance: id}); err != nil {
			a.t.Fatal(err)
		}
	}
}

func (a *account) receive(url string) []sqstypes.Message {
	a.t.Helper()
	out, err := a.sqs.ReceiveMessage(a.t.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: &url, MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"},
		MessageSystemAttributeNames: []sqstypes.MessageSystemAttributeName{sqstypes.MessageSystemAttributeNameAll},
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return out.Messages
}

// sum adds up a metric over the last hour, as a user would ask for it.
func (a *account) sum(namespace, metric, dimension, value string) float64 {
	a.t.Helper()
	now := a.clock.Now()
	out, err := a.watch.GetMetricData(a.t.Context(), &cloudwatch.GetMetricDataInput{
		StartTime: aws.Time(now.Add(-time.Hour)), EndTime: aws.Time(now.Add(time.Minute)),
		MetricDataQueries: []cwtypes.MetricDataQuery{{Id: aws.String("m"), MetricStat: &cwtypes.MetricStat{
			Metric: &cwtypes.Metric{Namespace: &namespace, MetricName: &metric, Dimensions: []cwtypes.Dimension{{Name: &dimension, Value: &value}}},
			Period: aws.Int32(300), Stat: aws.String("Sum"),
		}}},
	})
	if err != nil {
		a.t.Fatal(err)
	}
	var sum float64
	for _, v := range out.MetricDataResults[0].Values {
		sum += v
	}
	return sum
}

const (
	letIn  = `{"Effect":"Allow","Principal":{"Service":["events.amazonaws.com","sqs.amazonaws.com"]},"Action":"sqs:SendMessage","Resource":"QUEUE"}`
	noHTTP = `{"Sid":"DenyHTTP","Effect":"Deny","Principal":"*","Action":"sqs:*","Resource":"QUEUE","Condition":{"Bool":{"aws:SecureTransport":"false"}}}`
	useKey = `{"Sid":"AllowEventBridge","Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},"Action":["kms:GenerateDataKey","kms:Decrypt"],"Resource":"*"}`
)

// TestDelivery is the table of what keeps events from a queue, as the field reports it.
func TestDelivery(t *testing.T) {
	from := func(rule string) string {
		return `{"Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"QUEUE","Condition":{"ArnEquals":{"aws:SourceArn":"arn:aws:events:us-east-1:123456789012:rule/` + rule + `"}}}`
	}
	for name, tt := range map[string]struct {
		statements []string
		attributes map[string]string
		key        []string // statements of a key of the customer's; nil: no such key
		disable    bool
		why        string // part of the message of the failure; empty: delivered
	}{
		"a queue encrypted with SQS's own key": {
			statements: []string{letIn}, attributes: map[string]string{"SqsManagedSseEnabled": "true"},
		},
		"a queue without encryption": {
			statements: []string{letIn}, attributes: map[string]string{"SqsManagedSseEnabled": "false"},
		},
		"the key that AWS manages for SQS": {
			statements: []string{letIn}, attributes: map[string]string{"KmsMasterKeyId": "alias/aws/sqs"}, why: "not authorized to perform kms:GenerateDataKey",
		},
		"the ARN of that key": {
			statements: []string{letIn}, attributes: map[string]string{"KmsMasterKeyId": "arn:aws:kms:us-east-1:123456789012:alias/aws/sqs"}, why: "kms:GenerateDataKey",
		},
		"a key of one's own without a word on EventBridge": {
			statements: []string{letIn}, key: []string{}, why: "kms:GenerateDataKey",
		},
		"a key of one's own that EventBridge may use": {
			statements: []string{letIn}, key: []string{useKey},
		},
		"a key that EventBridge may make data keys with, but not decrypt": {
			statements: []string{letIn}, key: []string{strings.Replace(useKey, `,"kms:Decrypt"`, "", 1)}, why: "not authorized to perform kms:Decrypt",
		},
		"a key whose statement asks for the source, which EventBridge does not tell KMS": {
			statements: []string{letIn}, key: []string{strings.Replace(useKey, `"Resource":"*"`, `"Resource":"*","Condition":{"StringEquals":{"aws:SourceAccount":"123456789012"}}`, 1)},
			why: "aws:SourceAccount",
		},
		"a disabled key": {
			statements: []string{letIn}, key: []string{useKey}, disable: true, why: "KMS.DisabledException",
		},
		"a key that does not exist": {
			statements: []string{letIn}, attributes: map[string]string{"KmsMasterKeyId": "alias/nothing"}, why: "KMS.NotFoundException",
		},
		"a queue without a policy": {
			why: "it has no policy",
		},
		"a queue policy for SQS only": {
			statements: []string{strings.Replace(letIn, `"events.amazonaws.com",`, "", 1)}, why: "no resource-based policy allows",
		},
		"a queue policy for the account's own principals": {
			statements: []string{`{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::123456789012:root"},"Action":"sqs:*","Resource":"QUEUE"}`}, why: "no resource-based policy allows",
		},
		"a queue policy for everybody": {
			statements: []string{`{"Effect":"Allow","Principal":{"AWS":"*"},"Action":"sqs:*","Resource":"QUEUE"}`},
		},
		"a queue policy for another queue": {
			statements: []string{strings.Replace(letIn, "QUEUE", "QUEUE-old", 1)}, why: "no resource-based policy allows",
		},
		"a queue policy for this rule": {
			statements: []string{from("spot")},
		},
		"a queue policy for another rule": {
			statements: []string{from("rebalance")}, why: "rule/rebalance",
		},
		"a queue policy for this account": {
			statements: []string{strings.Replace(from("spot"), `"ArnEquals"`, `"StringEquals":{"aws:SourceAccount":"123456789012"},"ArnLike"`, 1)},
		},
		"a queue policy that denies plain HTTP": {
			statements: []string{letIn, noHTTP},
		},
		"a queue policy that denies encrypted connections by mistake": {
			statements: []string{letIn, strings.Replace(noHTTP, `"false"`, `"true"`, 1)}, why: `explicit deny in the resource policy (Sid "DenyHTTP")`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := bare(t)
			attributes := map[string]string{}
			for k, v := range tt.attributes {
				attributes[k] = v
			}
			if tt.key != nil {
				attributes["KmsMasterKeyId"] = a.key(tt.key...)
			}
			url, arn := a.queue("kerf", attributes, tt.statements...)
			a.rule("spot", ebtypes.Target{Arn: &arn})
			if tt.disable {
				if _, err := a.keys.DisableKey(t.Context(), &kms.DisableKeyInput{KeyId: aws.String(attributes["KmsMasterKeyId"])}); err != nil {
					t.Fatal(err)
				}
			}
			a.warn("i-1", "i-2", "i-3")
			want := map[string]float64{"Invocations": 3, "FailedInvocations": 0, "MatchedEvents": 3, "TriggeredRules": 3}
			if tt.why != "" {
				want["FailedInvocations"] = 3
			}
			got := map[string]float64{}
			for metric := range want {
				got[metric] = a.sum("AWS/Events", metric, "RuleName", "spot")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("metrics of the rule (-want +got):\n%s", diff)
			}
			waiting, err := a.s.World.Messages("kerf")
			if err != nil {
				t.Fatal(err)
			}
			failed, err := a.page.FailedDeliveries(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if tt.why == "" {
				if len(waiting) != 3 || len(failed) != 0 || len(a.receive(url)) != 3 {
					t.Errorf("%d messages, failures %+v", len(waiting), failed)
				}
				return
			}
			if len(waiting) != 0 || a.sum("AWS/SQS", "NumberOfMessagesReceived", "QueueName", "kerf") != 0 {
				t.Errorf("delivered: %+v", waiting)
			}
			if len(failed) != 3 || !strings.Contains(failed[0].Message, tt.why) || failed[0].Rule != "spot" || failed[0].Target != arn {
				t.Errorf("failures %+v, want three with %q", failed, tt.why)
			}
		})
	}
}

func TestDeadLetterQueueOfATargetGetsWhatIsRefused(t *testing.T) {
	a := bare(t)
	url, dead := a.queue("dead", nil, letIn)
	_, arn := a.queue("kerf", map[string]string{"KmsMasterKeyId": "alias/aws/sqs"}, letIn)
	rule := a.rule("spot", ebtypes.Target{Arn: &arn, DeadLetterConfig: &ebtypes.DeadLetterConfig{Arn: &dead}})
	a.warn("i-1")
	got := a.receive(url)
	if len(got) != 1 {
		t.Fatalf("%d messages in the dead-letter queue", len(got))
	}
	attributes := map[string]string{}
	for k, v := range got[0].MessageAttributes {
		attributes[k] = *v.StringValue
	}
	if !strings.Contains(attributes["ERROR_MESSAGE"], "kms:GenerateDataKey") {
		t.Errorf("message: %s", attributes["ERROR_MESSAGE"])
	}
	delete(attributes, "ERROR_MESSAGE")
	if diff := cmp.Diff(map[string]string{"RULE_ARN": rule, "TARGET_ARN": arn, "ERROR_CODE": "NO_PERMISSIONS"}, attributes); diff != "" {
		t.Error(diff)
	}
	var e event.Envelope
	if err := json.Unmarshal([]byte(*got[0].Body), &e); err != nil || e.DetailType != "EC2 Spot Instance Interruption Warning" {
		t.Errorf("%s: %v", *got[0].Body, err)
	}
	// What ends in the dead-letter queue is not among the failed invocations: an alarm on those alone sees nothing.
	for metric, want := range map[string]float64{"Invocations": 1, "FailedInvocations": 0, "InvocationsSentToDlq": 1, "InvocationsFailedToBeSentToDlq": 0} {
		if got := a.sum("AWS/Events", metric, "RuleName", "spot"); got != want {
			t.Errorf("%s is %g, want %g", metric, got, want)
		}
	}
	if _, err := a.sqs.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: &url, Attributes: map[string]string{"Policy": ""}}); err != nil {
		t.Fatal(err)
	}
	a.warn("i-2")
	for metric, want := range map[string]float64{"FailedInvocations": 1, "InvocationsSentToDlq": 1, "InvocationsFailedToBeSentToDlq": 1} {
		if got := a.sum("AWS/Events", metric, "RuleName", "spot"); got != want {
			t.Errorf("without a policy on the dead-letter queue %s is %g, want %g", metric, got, want)
		}
	}
}

func TestMendingTheEncryptionMendsDelivery(t *testing.T) {
	a := bare(t)
	url, arn := a.queue("kerf", map[string]string{"KmsMasterKeyId": "alias/aws/sqs"}, letIn)
	a.rule("spot", ebtypes.Target{Arn: &arn})
	a.warn("i-1")
	set := func(attributes map[string]string) {
		t.Helper()
		if _, err := a.sqs.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: &url, Attributes: attributes}); err != nil {
			t.Fatal(err)
		}
	}
	attributes := func() string {
		t.Helper()
		out, err := a.sqs.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []sqstypes.QueueAttributeName{"All"}})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("key %q, managed %s, reuse %q", out.Attributes["KmsMasterKeyId"], out.Attributes["SqsManagedSseEnabled"], out.Attributes["KmsDataKeyReusePeriodSeconds"])
	}
	if got, want := attributes(), `key "alias/aws/sqs", managed false, reuse "300"`; got != want {
		t.Errorf("at first: %s, want %s", got, want)
	}
	set(map[string]string{"SqsManagedSseEnabled": "true"})
	if got, want := attributes(), `key "", managed true, reuse ""`; got != want {
		t.Errorf("with SSE-SQS: %s, want %s", got, want)
	}
	a.warn("i-2")
	id := a.key()
	set(map[string]string{"KmsMasterKeyId": id, "KmsDataKeyReusePeriodSeconds": "600"})
	if got, want := attributes(), `key "`+id+`", managed false, reuse "600"`; got != want {
		t.Errorf("with a key: %s, want %s", got, want)
	}
	a.warn("i-3")
	policy := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::123456789012:root"},"Action":"kms:*","Resource":"*"},` + useKey + `]}`
	if _, err := a.keys.PutKeyPolicy(t.Context(), &kms.PutKeyPolicyInput{KeyId: &id, PolicyName: aws.String("default"), Policy: &policy}); err != nil {
		t.Fatal(err)
	}
	a.warn("i-4")
	var got []string
	for _, m := range a.receive(url) {
		var e struct{ Detail map[string]string }
		if err := json.Unmarshal([]byte(*m.Body), &e); err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Detail["instance-id"])
	}
	if diff := cmp.Diff([]string{"i-2", "i-4"}, got); diff != "" {
		t.Error(diff)
	}
	_, err := a.sqs.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: &url, Attributes: map[string]string{"KmsMasterKeyId": id, "SqsManagedSseEnabled": "true"}})
	if code(err) != "InvalidAttributeName" {
		t.Errorf("both kinds of encryption at once: %v", err)
	}
}

// TestStatesOfAnInstanceAreEvents follows instances through the rules that an account without a stack has.
func TestStatesOfAnInstanceAreEvents(t *testing.T) {
	clock := world.NewManualClock(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
	s, cfg := start(t, awssim.Options{World: world.Options{Clock: clock, Types: []string{"m5.large"}}})
	image, _ := s.World.ImageParameter("/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id")
	made, err := s.World.Run(world.RunRequest{
		Max: 1, Min: 1, SubnetID: s.World.Subnets()[0].ID, Data: world.LaunchData{ImageID: image, InstanceType: "m5.large"},
	})
	if err != nil {
		t.Fatal(err)
	}
	page := client.New(s.URL())
	clock.Advance(time.Minute)
	if err := page.Stop(t.Context(), made[0].ID); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Minute)
	if err := page.Terminate(t.Context(), made[0].ID); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Minute)
	kinds, last := drain(t, sqs.NewFromConfig(cfg), s.World.QueueURL("kerf"))
	var want []string
	for _, state := range []string{"pending", "running", "stopping", "stopped", "shutting-down", "terminated"} {
		want = append(want, "EC2 Instance State-change Notification "+state)
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"arn:aws:ec2:us-east-1:123456789012:instance/" + made[0].ID}, last.Resources); diff != "" {
		t.Error(diff)
	}
}

func TestScheduledChangeIsAHealthEvent(t *testing.T) {
	s, cfg := start(t, awssim.Options{World: world.Options{Types: []string{"m5.large"}}})
	page := client.New(s.URL())
	begin := time.Date(2026, 12, 24, 18, 0, 0, 0, time.UTC)
	if _, err := page.SendEvent(t.Context(), control.EventRequest{
		Kind: event.ScheduledChange, Instance: "i-1", Entities: []string{"i-2"}, Code: "AWS_EC2_INSTANCE_STOP_SCHEDULED", Start: begin, End: begin.Add(time.Hour),
	}); err != nil {
		t.Fatal(err)
	}
	_, e := drain(t, sqs.NewFromConfig(cfg), s.World.QueueURL("kerf"))
	detail, _ := e.Detail.(map[string]any)
	entities, _ := detail["affectedEntities"].([]any)
	var ids []string
	for _, v := range entities {
		entity, _ := v.(map[string]any)
		ids = append(ids, fmt.Sprint(entity["entityValue"]))
	}
	got := map[string]any{"source": e.Source, "type": e.DetailType, "ids": ids, "resources": e.Resources}
	for _, k := range []string{"service", "eventTypeCode", "eventTypeCategory", "eventScopeCode", "startTime", "endTime", "statusCode", "affectedAccount"} {
		got[k] = detail[k]
	}
	want := map[string]any{
		"source": "aws.health", "type": "AWS Health Event", "ids": []string{"i-1", "i-2"}, "resources": []string{"i-1", "i-2"},
		"service": "EC2", "eventTypeCode": "AWS_EC2_INSTANCE_STOP_SCHEDULED", "eventTypeCategory": "scheduledChange", "eventScopeCode": "ACCOUNT_SPECIFIC",
		"startTime": "Thu, 24 Dec 2026 18:00:00 GMT", "endTime": "Thu, 24 Dec 2026 19:00:00 GMT", "statusCode": "open", "affectedAccount": "123456789012",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
