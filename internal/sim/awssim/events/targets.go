package events

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

func tagList(tags map[string]string) []tag {
	out := []tag{}
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, tag{k, tags[k]})
	}
	return out
}

type deadLetter struct {
	Arn string `json:",omitempty"`
}

type retryPolicy struct {
	MaximumEventAgeInSeconds *int `json:",omitempty"`
	MaximumRetryAttempts     *int `json:",omitempty"`
}

// target is how a target is given and shown.
type target struct {
	ID               string `json:"Id"`
	Arn              string
	RoleArn          string          `json:",omitempty"`
	Input            string          `json:",omitempty"`
	InputPath        string          `json:",omitempty"`
	InputTransformer json.RawMessage `json:",omitempty"`
	DeadLetterConfig *deadLetter     `json:",omitempty"`
	RetryPolicy      *retryPolicy    `json:",omitempty"`
}

func (t target) read() (world.Target, error) {
	if len(t.InputTransformer) > 0 && string(t.InputTransformer) != "null" {
		return world.Target{}, wire.Errorf("ValidationException", "Parameter InputTransformer is not valid for target %s. Reason: input transformers are not simulated.", t.ID)
	}
	out := world.Target{ID: t.ID, ARN: t.Arn, RoleARN: t.RoleArn, Input: t.Input, InputPath: t.InputPath}
	if t.Input != "" && !json.Valid([]byte(t.Input)) {
		return world.Target{}, wire.Errorf("ValidationException", "JSON syntax error in input for target %s.", t.ID)
	}
	if t.DeadLetterConfig != nil {
		out.DeadLetter = t.DeadLetterConfig.Arn
	}
	if t.RetryPolicy != nil {
		out.MaxAge, out.MaxRetries = t.RetryPolicy.MaximumEventAgeInSeconds, t.RetryPolicy.MaximumRetryAttempts
	}
	return out, nil
}

func showTarget(t world.Target) target {
	out := target{ID: t.ID, Arn: t.ARN, RoleArn: t.RoleARN, Input: t.Input, InputPath: t.InputPath}
	if t.DeadLetter != "" {
		out.DeadLetterConfig = &deadLetter{t.DeadLetter}
	}
	if t.MaxAge != nil || t.MaxRetries != nil {
		out.RetryPolicy = &retryPolicy{t.MaxAge, t.MaxRetries}
	}
	return out
}

// entries is the answer of operations on several things of which none failed.
func entries() any { return map[string]any{"FailedEntryCount": 0, "FailedEntries": []any{}} }

func (s *service) putTargets(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		Rule, EventBusName string
		Targets            []target
	}
	if err := s.decode(r, &in, &in.EventBusName); err != nil {
		return nil, err
	}
	if len(in.Targets) == 0 {
		return nil, wire.Errorf("ValidationException", "1 validation error detected: Value at 'targets' failed to satisfy constraint: Member must have length greater than or equal to 1")
	}
	var targets []world.Target
	for _, t := range in.Targets {
		read, err := t.read()
		if err != nil {
			return nil, err
		}
		targets = append(targets, read)
	}
	if err := s.world.PutTargets(in.Rule, targets); err != nil {
		return nil, err
	}
	return entries(), nil
}

func (s *service) removeTargets(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		Rule, EventBusName string
		IDs                []string `json:"Ids"`
	}
	if err := s.decode(r, &in, &in.EventBusName); err != nil {
		return nil, err
	}
	if err := s.world.RemoveTargets(in.Rule, in.IDs); err != nil {
		return nil, err
	}
	return entries(), nil
}

func (s *service) listTargetsByRule(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		paging
		Rule, EventBusName string
	}
	if err := s.decode(r, &in, &in.EventBusName); err != nil {
		return nil, err
	}
	found, err := s.world.Rule(in.Rule)
	if err != nil {
		return nil, err
	}
	targets := []target{}
	for _, t := range found.Targets {
		targets = append(targets, showTarget(t))
	}
	slices.SortFunc(targets, func(a, b target) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	list, next, err := page(targets, func(t target) string { return t.ID }, in.paging)
	return answer("Targets", list, next), err
}

func (s *service) listRuleNamesByTarget(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		paging
		TargetArn, EventBusName string
	}
	if err := s.decode(r, &in, &in.EventBusName); err != nil {
		return nil, err
	}
	names := []string{}
	for _, v := range s.world.Rules("") {
		if slices.ContainsFunc(v.Targets, func(t world.Target) bool { return t.ARN == in.TargetArn }) {
			names = append(names, v.Name)
		}
	}
	list, next, err := page(names, func(n string) string { return n }, in.paging)
	return answer("RuleNames", list, next), err
}
