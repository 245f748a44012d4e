// Package events answers EventBridge requests from the simulated world. There is the default bus only, and rules match
// patterns: buses of one's own, schedules and input transformers are refused.
package events

import (
	"context"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type service struct{ world *world.World }

// Register adds the operations to a server.
func Register(s *wire.Server, w *world.World) {
	svc := &service{world: w}
	for operation, h := range map[string]wire.Handler{
		"PutRule":               svc.putRule,
		"DescribeRule":          svc.describeRule,
		"ListRules":             svc.listRules,
		"DeleteRule":            svc.deleteRule,
		"EnableRule":            svc.enableRule(true),
		"DisableRule":           svc.enableRule(false),
		"PutTargets":            svc.putTargets,
		"RemoveTargets":         svc.removeTargets,
		"ListTargetsByRule":     svc.listTargetsByRule,
		"ListRuleNamesByTarget": svc.listRuleNamesByTarget,
		"PutEvents":             svc.putEvents,
		"TestEventPattern":      svc.testEventPattern,
		"TagResource":           svc.tagResource,
		"UntagResource":         svc.untagResource,
		"ListTagsForResource":   svc.listTags,
		"DescribeEventBus":      svc.describeBus,
		"ListEventBuses":        svc.listBuses,
	} {
		s.Handle(wire.Events, operation, h)
	}
}

// bus judges the bus that a call names.
func (s *service) bus(name string) error {
	if name == "" || name == world.DefaultBus || name == s.world.EventBusARN() {
		return nil
	}
	return wire.Errorf("ResourceNotFoundException", "Event bus %s does not exist.", name)
}

// named is a call that names a rule.
type named struct {
	Name         string
	EventBusName string
}

func (s *service) decode(r *wire.Request, in any, bus *string) error {
	if err := r.Decode(in); err != nil {
		return err
	}
	return s.bus(*bus)
}

type tag struct {
	Key   string
	Value string
}

func tagMap(tags []tag) map[string]string {
	out := map[string]string{}
	for _, t := range tags {
		out[t.Key] = t.Value
	}
	return out
}

func (s *service) putRule(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		named
		Description, EventPattern, RoleArn, ScheduleExpression, State string
		Tags                                                          []tag
	}
	if err := s.decode(r, &in, &in.EventBusName); err != nil {
		return nil, err
	}
	if in.ScheduleExpression != "" {
		return nil, wire.Errorf("ValidationException", "Parameter ScheduleExpression is not valid. Reason: schedules are not simulated.")
	}
	switch in.State {
	case "", "ENABLED", "DISABLED", "ENABLED_WITH_ALL_CLOUDTRAIL_MANAGEMENT_EVENTS":
	default:
		return nil, wire.Errorf("ValidationException", "1 validation error detected: Value '%s' at 'state' failed to satisfy constraint: Member must satisfy enum value set: [ENABLED, DISABLED, ENABLED_WITH_ALL_CLOUDTRAIL_MANAGEMENT_EVENTS]", in.State)
	}
	made, err := s.world.PutRule(world.Rule{
		Name: in.Name, Description: in.Description, RoleARN: in.RoleArn, Pattern: in.EventPattern, Enabled: in.State != "DISABLED", Tags: tagMap(in.Tags),
	})
	if err != nil {
		return nil, err
	}
	return map[string]string{"RuleArn": made.ARN}, nil
}

// rule is how a rule is shown.
type rule struct {
	Name         string
	Arn          string
	Description  string `json:",omitempty"`
	EventPattern string `json:",omitempty"`
	RoleArn      string `json:",omitempty"`
	State        string
	EventBusName string
}

func show(r world.Rule) rule {
	out := rule{
		Name: r.Name, Arn: r.ARN, Description: r.Description, EventPattern: r.Pattern, RoleArn: r.RoleARN, State: "DISABLED", EventBusName: world.DefaultBus,
	}
	if r.Enabled {
		out.State = "ENABLED"
	}
	return out
}

func (s *service) describeRule(_ context.Context, r *wire.Request) (any, error) {
	var in named
	if err := s.decode(r, &in, &in.EventBusName); err != nil {
		return nil, err
	}
	found, err := s.world.Rule(in.Name)
	if err != nil {
		return nil, err
	}
	return struct {
		rule
		CreatedBy string
	}{show(found), s.world.Account()}, nil
}

// paging is what operations that list have in common.
type paging struct {
	NextToken string
	Limit     *int
}

const maxPage = 100

// page cuts a sorted list: the token is the key of the last element of the page before.
func page[T any](all []T, key func(T) string, p paging) (out []T, next string, err error) {
	limit := maxPage
	if p.Limit != nil {
		if limit = *p.Limit; limit < 1 || limit > maxPage {
			return nil, "", wire.Errorf("ValidationException", "1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must be between 1 and %d", limit, maxPage)
		}
	}
	out = []T{}
	for _, v := range all {
		if p.NextToken != "" && key(v) <= p.NextToken {
			continue
		}
		if len(out) == limit {
			return out, key(out[limit-1]), nil
		}
		out = append(out, v)
	}
	return out, "", nil
}

// answer puts a page and the token of the next one under a name.
func answer(name string, list any, next string) map[string]any {
	out := map[string]any{name: list}
	if next != "" {
		out["NextToken"] = next
	}
	return out
}

func (s *service) listRules(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		paging
		NamePrefix, EventBusName string
	}
	if err := s.decode(r, &in, &in.EventBusName); err != nil {
		return nil, err
	}
	rules := []rule{}
	for _, v := range s.world.Rules(in.NamePrefix) {
		rules = append(rules, show(v))
	}
	list, next, err := page(rules, func(v rule) string { return v.Name }, in.paging)
	return answer("Rules", list, next), err
}

func (s *service) deleteRule(_ context.Context, r *wire.Request) (any, error) {
	var in named
	if err := s.decode(r, &in, &in.EventBusName); err != nil {
		return nil, err
	}
	return nil, s.world.DeleteRule(in.Name)
}

func (s *service) enableRule(enabled bool) wire.Handler {
	return func(_ context.Context, r *wire.Request) (any, error) {
		var in named
		if err := s.decode(r, &in, &in.EventBusName); err != nil {
			return nil, err
		}
		return nil, s.world.SetRuleEnabled(in.Name, enabled)
	}
}

func (s *service) tagResource(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		ResourceARN string
		Tags        []tag
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	return nil, s.world.TagRule(in.ResourceARN, tagMap(in.Tags), nil)
}

func (s *service) untagResource(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		ResourceARN string
		TagKeys     []string
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	return nil, s.world.TagRule(in.ResourceARN, nil, in.TagKeys)
}

func (s *service) listTags(_ context.Context, r *wire.Request) (any, error) {
	var in struct{ ResourceARN string }
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	found, err := s.world.Rule(world.RuleNameOf(in.ResourceARN))
	if err != nil {
		return nil, err
	}
	return map[string]any{"Tags": tagList(found.Tags)}, nil
}

func (s *service) showBus() map[string]string {
	return map[string]string{"Name": world.DefaultBus, "Arn": s.world.EventBusARN()}
}

func (s *service) describeBus(_ context.Context, r *wire.Request) (any, error) {
	var in struct{ Name string }
	if err := s.decode(r, &in, &in.Name); err != nil {
		return nil, err
	}
	return s.showBus(), nil
}

func (s *service) listBuses(context.Context, *wire.Request) (any, error) {
	return map[string]any{"EventBuses": []any{s.showBus()}}, nil
}
