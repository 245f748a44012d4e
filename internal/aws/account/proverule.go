package account

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
)

// leftoverAge is how old a rule of another proof is before it is taken for forgotten; no proof lasts that long.
const leftoverAge = time.Hour

// ProbeRuleName is a name for the rule of a proof: it says when it was made, for whoever finds it later.
func ProbeRuleName(now time.Time, id string) string {
	return ProbeRulePrefix + strconv.FormatInt(now.Unix(), 36) + "-" + id
}

// probeRuleAge is how long ago a rule with such a name was made.
func probeRuleAge(name string, now time.Time) (time.Duration, bool) {
	text, _, ok := strings.Cut(strings.TrimPrefix(name, ProbeRulePrefix), "-")
	at, err := strconv.ParseInt(text, 36, 64)
	if !ok || err != nil || !strings.HasPrefix(name, ProbeRulePrefix) {
		return 0, false
	}
	return now.Sub(time.Unix(at, 0)), true
}

// Leftovers are the rules that proofs made and did not take away.
func Leftovers(s *awssetup.Setup, now time.Time) []string {
	var out []string
	for _, r := range s.Rules {
		if age, ok := probeRuleAge(r.Name, now); ok && age > leftoverAge {
			out = append(out, r.Name)
		}
	}
	return out
}

func (p *prover) pattern() map[string]any {
	return map[string]any{"source": []string{ProbeSource}, "detail": map[string]any{"probe": []string{p.proof.ID}}}
}

// openRule makes the way for the probe and notes how to close it.
func (p *prover) openRule(ctx context.Context) error {
	if p.o.Through != "" {
		return p.widen(ctx)
	}
	name := ProbeRuleName(time.Now(), p.proof.ID)
	p.proof.Rule = name
	pattern, err := json.Marshal(p.pattern())
	if err != nil {
		return fmt.Errorf("writing the pattern of rule %s: %w", name, err)
	}
	// What follows may have been done even if the answer says otherwise, so it is undone in any case.
	p.later("aws events remove-targets --rule "+name+" --ids kerf-proof && aws events delete-rule --name "+name, func(ctx context.Context) error { return p.removeRule(ctx, name) })
	p.tell("making rule %s", name)
	_, err = p.events.PutRule(ctx, &eventbridge.PutRuleInput{
		Name: &name, EventPattern: new(string(pattern)), State: types.RuleStateEnabled,
		Description: new("Temporary: kerf doctor proves delivery to the interruption queue of " + p.o.ClusterName),
	})
	if err != nil {
		return awserr.Wrap("making rule "+name, err)
	}
	out, err := p.events.PutTargets(ctx, &eventbridge.PutTargetsInput{Rule: &name, Targets: []types.Target{{Id: new("kerf-proof"), Arn: &p.o.QueueARN}}})
	if err == nil && len(out.FailedEntries) > 0 {
		err = fmt.Errorf("%s: %s", deref(out.FailedEntries[0].ErrorCode), deref(out.FailedEntries[0].ErrorMessage))
	}
	return awserr.Wrap("giving rule "+name+" its target", err)
}

func (p *prover) removeRule(ctx context.Context, name string) error {
	p.tell("removing rule %s", name)
	_, err := p.events.RemoveTargets(ctx, &eventbridge.RemoveTargetsInput{Rule: &name, Ids: []string{"kerf-proof"}})
	if err != nil && !isNotFound(err) {
		return err
	}
	if _, err = p.events.DeleteRule(ctx, &eventbridge.DeleteRuleInput{Name: &name}); isNotFound(err) {
		return nil
	}
	return err
}

// widen lets a rule that is there carry the probe as well: its pattern becomes "what it was, or the probe", so that at no
// time it carries less than before.
func (p *prover) widen(ctx context.Context) error {
	name := p.o.Through
	p.proof.Rule = name
	rule, err := p.events.DescribeRule(ctx, &eventbridge.DescribeRuleInput{Name: &name})
	if err != nil {
		return awserr.Wrap("reading rule "+name, err)
	}
	old := deref(rule.EventPattern)
	switch {
	case old == "":
		return fmt.Errorf("rule %s has no event pattern, so that it can't carry a probe", name)
	case deref(rule.ManagedBy) != "":
		return fmt.Errorf("rule %s belongs to %s and can't be changed", name, *rule.ManagedBy)
	case rule.State == types.RuleStateDisabled:
		return fmt.Errorf("rule %s is disabled: it delivers nothing", name)
	}
	r := &reader{events: p.events, a: &Account{}}
	targets, err := r.targets(ctx, name)
	if err != nil {
		return awserr.Wrap("reading the targets of rule "+name, err)
	}
	if !slices.ContainsFunc(targets, func(t awssetup.Target) bool { return t.ARN == p.o.QueueARN }) {
		return fmt.Errorf("rule %s does not lead to %s", name, p.o.QueueARN)
	}
	wide, err := json.Marshal(map[string]any{"$or": []any{json.RawMessage(old), p.pattern()}})
	if err != nil {
		return fmt.Errorf("widening the pattern of rule %s: %w", name, err)
	}
	put := func(ctx context.Context, pattern string) error {
		_, err := p.events.PutRule(ctx, &eventbridge.PutRuleInput{
			Name: &name, EventPattern: &pattern, State: rule.State, Description: rule.Description, RoleArn: rule.RoleArn, ScheduleExpression: rule.ScheduleExpression,
		})
		return err
	}
	if p.baseline, err = p.ruleFigures(ctx); err != nil {
		p.note("the metrics of rule %s can't be read: %v", name, err)
	}
	p.later("aws events put-rule --name "+name+" --event-pattern '"+old+"'", func(ctx context.Context) error {
		p.tell("giving rule %s its own pattern back", name)
		return put(ctx, old)
	})
	p.tell("letting rule %s carry the probe as well", name)
	return awserr.Wrap("widening rule "+name, put(ctx, string(wide)))
}

// later notes what is to be undone at the end, with the command that does it should that fail.
func (p *prover) later(command string, f func(context.Context) error) {
	p.undo = append(p.undo, f)
	p.undoTexts = append(p.undoTexts, command)
}

// clean undoes what was done, the last first.
func (p *prover) clean(ctx context.Context) {
	p.release(ctx)
	for i := len(p.undo) - 1; i >= 0; i-- {
		if err := p.undo[i](ctx); err != nil {
			p.note("cleaning up: %v", err)
			p.proof.Left = append(p.proof.Left, p.undoTexts[i])
		}
	}
}
