package awssim_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	ebtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/google/go-cmp/cmp"
)

func TestRulesLiveAsEventBridgeHasThem(t *testing.T) {
	a := bare(t)
	ctx := t.Context()
	_, arn := a.queue("kerf", nil, letIn)
	out, err := a.rules.PutRule(ctx, &eventbridge.PutRuleInput{
		Name: aws.String("spot"), EventPattern: aws.String(spotPattern), Description: aws.String("warnings"), State: ebtypes.RuleStateDisabled,
		EventBusName: aws.String("default"), Tags: []ebtypes.Tag{{Key: aws.String("karpenter.sh/discovery"), Value: aws.String("kerf")}},
	})
	if err != nil || *out.RuleArn != "arn:aws:events:us-east-1:123456789012:rule/spot" {
		t.Fatal(out, err)
	}
	targets := []ebtypes.Target{{Id: aws.String("b"), Arn: &arn}, {Id: aws.String("a"), Arn: &arn, RetryPolicy: &ebtypes.RetryPolicy{MaximumRetryAttempts: aws.Int32(3)}}}
	if _, err := a.rules.PutTargets(ctx, &eventbridge.PutTargetsInput{Rule: aws.String("spot"), Targets: targets}); err != nil {
		t.Fatal(err)
	}
	a.warn("i-1")
	if n := a.sum("AWS/Events", "Invocations", "RuleName", "spot"); n != 0 {
		t.Errorf("a disabled rule was invoked %g times", n)
	}
	if _, err := a.rules.EnableRule(ctx, &eventbridge.EnableRuleInput{Name: aws.String("spot")}); err != nil {
		t.Fatal(err)
	}
	a.warn("i-2")
	if n := a.sum("AWS/Events", "Invocations", "RuleName", "spot"); n != 2 {
		t.Errorf("%g invocations of two targets", n)
	}
	// A change without a state enables, and leaves targets and tags as they are.
	if _, err := a.rules.PutRule(ctx, &eventbridge.PutRuleInput{Name: aws.String("spot"), EventPattern: aws.String(`{"source":["aws.health"]}`)}); err != nil {
		t.Fatal(err)
	}
	seen, err := a.rules.DescribeRule(ctx, &eventbridge.DescribeRuleInput{Name: aws.String("spot")})
	if err != nil || seen.State != ebtypes.RuleStateEnabled || *seen.EventPattern != `{"source":["aws.health"]}` || seen.Description != nil {
		t.Errorf("after the change: %+v, %v", seen, err)
	}
	listed, err := a.rules.ListTargetsByRule(ctx, &eventbridge.ListTargetsByRuleInput{Rule: aws.String("spot"), Limit: aws.Int32(1)})
	if err != nil || len(listed.Targets) != 1 || *listed.Targets[0].Id != "a" || *listed.Targets[0].RetryPolicy.MaximumRetryAttempts != 3 || listed.NextToken == nil {
		t.Errorf("first page of targets: %+v, %v", listed, err)
	}
	names, err := a.rules.ListRuleNamesByTarget(ctx, &eventbridge.ListRuleNamesByTargetInput{TargetArn: &arn})
	if err != nil || len(names.RuleNames) != 1 {
		t.Errorf("rules of the queue: %+v, %v", names, err)
	}
	tags, err := a.rules.ListTagsForResource(ctx, &eventbridge.ListTagsForResourceInput{ResourceARN: out.RuleArn})
	if err != nil || len(tags.Tags) != 1 || *tags.Tags[0].Value != "kerf" {
		t.Errorf("tags: %+v, %v", tags, err)
	}
	if _, err := a.rules.DeleteRule(ctx, &eventbridge.DeleteRuleInput{Name: aws.String("spot")}); code(err) != "ValidationException" {
		t.Errorf("deleting a rule with targets: %v", err)
	}
	if _, err := a.rules.RemoveTargets(ctx, &eventbridge.RemoveTargetsInput{Rule: aws.String("spot"), Ids: []string{"a", "b", "c"}}); err != nil {
		t.Error(err)
	}
	for range 2 { // the second time there is nothing to delete, which is as good
		if _, err := a.rules.DeleteRule(ctx, &eventbridge.DeleteRuleInput{Name: aws.String("spot")}); err != nil {
			t.Error(err)
		}
	}
	if rules, err := a.rules.ListRules(ctx, &eventbridge.ListRulesInput{}); err != nil || len(rules.Rules) != 0 {
		t.Errorf("rules in the end: %+v, %v", rules, err)
	}
}

func TestRulesRefuse(t *testing.T) {
	a := bare(t)
	ctx := t.Context()
	_, arn := a.queue("kerf", nil)
	a.rule("spot", ebtypes.Target{Arn: &arn})
	put := func(in eventbridge.PutRuleInput) error {
		if in.Name == nil {
			in.Name = aws.String("other")
		}
		_, err := a.rules.PutRule(ctx, &in)
		return err
	}
	target := func(targets ...ebtypes.Target) error {
		for i := range targets {
			if targets[i].Id == nil {
				targets[i].Id = aws.String(fmt.Sprint("t", i))
			}
		}
		_, err := a.rules.PutTargets(ctx, &eventbridge.PutTargetsInput{Rule: aws.String("spot"), Targets: targets})
		return err
	}
	queue := ebtypes.Target{Arn: &arn}
	for name, tt := range map[string]struct {
		err  error
		code string
	}{
		"a pattern with a text instead of a list": {put(eventbridge.PutRuleInput{EventPattern: aws.String(`{"source":"aws.ec2"}`)}), "InvalidEventPatternException"},
		"no pattern":                {put(eventbridge.PutRuleInput{}), "ValidationException"},
		"a schedule":                {put(eventbridge.PutRuleInput{ScheduleExpression: aws.String("rate(1 minute)")}), "ValidationException"},
		"a name with a space":       {put(eventbridge.PutRuleInput{Name: aws.String("a b"), EventPattern: aws.String(spotPattern)}), "ValidationException"},
		"a name that is too long":   {put(eventbridge.PutRuleInput{Name: aws.String(strings.Repeat("x", 65)), EventPattern: aws.String(spotPattern)}), "ValidationException"},
		"another bus":               {put(eventbridge.PutRuleInput{EventBusName: aws.String("mine"), EventPattern: aws.String(spotPattern)}), "ResourceNotFoundException"},
		"a target that is no ARN":   {target(ebtypes.Target{Arn: aws.String("kerf")}), "ValidationException"},
		"six targets":               {target(queue, queue, queue, queue, queue, queue), "LimitExceededException"},
		"a FIFO dead-letter queue":  {target(ebtypes.Target{Arn: &arn, DeadLetterConfig: &ebtypes.DeadLetterConfig{Arn: aws.String(arn + ".fifo")}}), "ValidationException"},
		"input and path":            {target(ebtypes.Target{Arn: &arn, Input: aws.String(`{}`), InputPath: aws.String("$.detail")}), "ValidationException"},
		"an input that is not JSON": {target(ebtypes.Target{Arn: &arn, Input: aws.String(`{`)}), "ValidationException"},
	} {
		if code(tt.err) != tt.code {
			t.Errorf("%s: %v, want %s", name, tt.err, tt.code)
		}
	}
	_, err := a.rules.DescribeRule(ctx, &eventbridge.DescribeRuleInput{Name: aws.String("none")})
	if code(err) != "ResourceNotFoundException" {
		t.Errorf("a rule that does not exist: %v", err)
	}
}

func TestPutEvents(t *testing.T) {
	a := bare(t)
	ctx := t.Context()
	url, arn := a.queue("kerf", nil, letIn)
	rule := func(name string, target ebtypes.Target) {
		target.Id, target.Arn = aws.String("t"), &arn
		if _, err := a.rules.PutRule(ctx, &eventbridge.PutRuleInput{Name: &name, EventPattern: aws.String(`{"source":[{"prefix":"kerf."}]}`)}); err != nil {
			t.Fatal(err)
		}
		if _, err := a.rules.PutTargets(ctx, &eventbridge.PutTargetsInput{Rule: &name, Targets: []ebtypes.Target{target}}); err != nil {
			t.Fatal(err)
		}
	}
	rule("1-whole", ebtypes.Target{})
	rule("2-part", ebtypes.Target{InputPath: aws.String("$.detail.n")})
	rule("3-fixed", ebtypes.Target{Input: aws.String(`"hello"`)})
	rule("4-absent", ebtypes.Target{InputPath: aws.String("$.detail.none")})
	entry := func(source, kind, detail string) ebtypes.PutEventsRequestEntry {
		return ebtypes.PutEventsRequestEntry{Source: &source, DetailType: &kind, Detail: &detail}
	}
	foreign := entry("kerf.test", "proof", "{}")
	foreign.EventBusName = aws.String("mine")
	out, err := a.rules.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: []ebtypes.PutEventsRequestEntry{
		entry("kerf.test", "proof", `{"n": 12345678901234567890}`), entry("aws.ec2", "EC2 Spot Instance Interruption Warning", "{}"),
		entry("kerf.test", "proof", "no"), entry("", "proof", "{}"), foreign,
	}})
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, e := range out.Entries {
		codes = append(codes, aws.ToString(e.ErrorCode))
	}
	if diff := cmp.Diff([]string{"", "NotAuthorizedForSourceException", "MalformedDetail", "InvalidArgument", "ResourceNotFoundException"}, codes); diff != "" || out.FailedEntryCount != 4 {
		t.Errorf("%d failed\n%s", out.FailedEntryCount, diff)
	}
	var bodies []string
	for _, m := range a.receive(url) {
		bodies = append(bodies, *m.Body)
	}
	if len(bodies) != 3 || bodies[2] != `"hello"` {
		t.Fatalf("bodies: %q", bodies)
	}
	var whole struct {
		ID     string
		Detail json.RawMessage
	}
	if err := json.Unmarshal([]byte(bodies[0]), &whole); err != nil || whole.ID != *out.Entries[0].EventId || string(whole.Detail) != `{"n":12345678901234567890}` {
		t.Errorf("the whole event: %s, %v", bodies[0], err)
	}
	if failed, err := a.page.FailedDeliveries(ctx); err != nil || len(failed) != 1 || failed[0].Code != "INVALID_JSON" {
		t.Errorf("failures: %+v, %v", failed, err)
	}
	if _, err := a.rules.PutEvents(ctx, &eventbridge.PutEventsInput{}); err == nil {
		t.Error("no entries are accepted")
	}
	many := make([]ebtypes.PutEventsRequestEntry, 11)
	for i := range many {
		many[i] = entry("kerf.test", "x", "{}")
	}
	if _, err := a.rules.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: many}); code(err) != "ValidationException" {
		t.Errorf("eleven entries: %v", err)
	}
}

func TestEventPatternsAreTried(t *testing.T) {
	a := bare(t)
	event := `{"id":"1","account":"123456789012","source":"aws.ec2","time":"2026-11-01T12:00:00Z","region":"us-east-1","resources":[],"detail-type":"EC2 Spot Instance Interruption Warning","detail":{}}`
	try := func(pattern, event string) (bool, error) {
		out, err := a.rules.TestEventPattern(t.Context(), &eventbridge.TestEventPatternInput{EventPattern: &pattern, Event: &event})
		return err == nil && out.Result, err
	}
	if ok, err := try(spotPattern, event); !ok {
		t.Error("the pattern for spot warnings does not match one:", err)
	}
	if ok, err := try(`{"source":["aws.health"]}`, event); ok || err != nil {
		t.Error("the pattern for health events matches a spot warning:", err)
	}
	if _, err := try(`{"source":[]}`, event); code(err) != "InvalidEventPatternException" {
		t.Error("an empty list:", err)
	}
	if _, err := try(spotPattern, `{"source":"aws.ec2"}`); code(err) != "ValidationException" {
		t.Error("an event without an id:", err)
	}
}
