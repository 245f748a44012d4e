package account

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
)

// EventAPI is what is asked of EventBridge.
type EventAPI interface {
	ListRules(context.Context, *eventbridge.ListRulesInput, ...func(*eventbridge.Options)) (*eventbridge.ListRulesOutput, error)
	ListRuleNamesByTarget(context.Context, *eventbridge.ListRuleNamesByTargetInput, ...func(*eventbridge.Options)) (*eventbridge.ListRuleNamesByTargetOutput, error)
	ListTargetsByRule(context.Context, *eventbridge.ListTargetsByRuleInput, ...func(*eventbridge.Options)) (*eventbridge.ListTargetsByRuleOutput, error)
}

// rules reads the rules that lead to the queue, and those for events of EC2 and Health that lead elsewhere: one that
// should lead to the queue may be among them. Of other rules nothing is read, since an account may have hundreds.
func (r *reader) rules(ctx context.Context) {
	all, err := r.listRules(ctx)
	if err != nil {
		r.gap(GapRules, err)
		return
	}
	ours, err := r.rulesOfQueue(ctx)
	if err != nil {
		r.gap(GapRules+" of queue "+r.a.QueueName, err)
	}
	for _, rule := range all {
		pattern := deref(rule.EventPattern)
		if !slices.Contains(ours, deref(rule.Name)) && !strings.Contains(pattern, "aws.ec2") && !strings.Contains(pattern, "aws.health") && !strings.HasPrefix(deref(rule.Name), ProbeRulePrefix) {
			continue
		}
		out := awssetup.Rule{
			Name: deref(rule.Name), ARN: deref(rule.Arn), Description: deref(rule.Description),
			Enabled: rule.State == types.RuleStateEnabled || rule.State == types.RuleStateEnabledWithAllCloudtrailManagementEvents,
		}
		if bus := lastSegment(deref(rule.EventBusName)); bus != awssetup.DefaultBus {
			out.Bus = bus
		}
		if pattern != "" {
			out.Pattern = json.RawMessage(pattern)
		}
		if out.Targets, err = r.targets(ctx, out.Name); err != nil {
			r.gap(GapRules+": targets of "+out.Name, err)
		}
		r.a.Rules = append(r.a.Rules, out)
	}
}

// The three lists of EventBridge have no paginators in the SDK.

func (r *reader) listRules(ctx context.Context) ([]types.Rule, error) {
	var out []types.Rule
	in := &eventbridge.ListRulesInput{}
	for {
		page, err := r.events.ListRules(ctx, in)
		if err != nil {
			return nil, err
		}
		out = append(out, page.Rules...)
		if in.NextToken = page.NextToken; deref(in.NextToken) == "" {
			return out, nil
		}
	}
}

func (r *reader) rulesOfQueue(ctx context.Context) ([]string, error) {
	queue := r.queueARN()
	if queue == "" {
		return nil, nil
	}
	var out []string
	in := &eventbridge.ListRuleNamesByTargetInput{TargetArn: &queue}
	for {
		page, err := r.events.ListRuleNamesByTarget(ctx, in)
		if err != nil {
			return nil, err
		}
		out = append(out, page.RuleNames...)
		if in.NextToken = page.NextToken; deref(in.NextToken) == "" {
			return out, nil
		}
	}
}

func (r *reader) targets(ctx context.Context, rule string) ([]awssetup.Target, error) {
	var out []awssetup.Target
	in := &eventbridge.ListTargetsByRuleInput{Rule: &rule}
	for {
		page, err := r.events.ListTargetsByRule(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, t := range page.Targets {
			target := awssetup.Target{ID: deref(t.Id), ARN: deref(t.Arn), Input: inputOf(&t), RoleARN: deref(t.RoleArn)}
			if p := t.RetryPolicy; p != nil {
				target.Retry = &awssetup.Retry{MaximumEventAgeInSeconds: p.MaximumEventAgeInSeconds, MaximumRetryAttempts: p.MaximumRetryAttempts}
			}
			if t.DeadLetterConfig != nil {
				target.DeadLetter = deref(t.DeadLetterConfig.Arn)
			}
			out = append(out, target)
		}
		if in.NextToken = page.NextToken; deref(in.NextToken) == "" {
			return out, nil
		}
	}
}

// inputOf tells what a target gets in place of the event.
func inputOf(t *types.Target) awssetup.Input {
	switch {
	case t.InputTransformer != nil:
		return awssetup.Transformer
	case deref(t.Input) != "":
		return awssetup.Constant
	case deref(t.InputPath) != "" && deref(t.InputPath) != awssetup.WholeEvent:
		return awssetup.Path
	}
	return ""
}
