package world

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/eventpattern"
)

// eventState holds the rules of the default event bus.
type eventState struct {
	rules    map[string]*Rule // by name
	failures []Failure        // the newest, oldest first
	failed   int
	serial   int
}

func (s *eventState) init() { s.rules = map[string]*Rule{} }

// Rule is an EventBridge rule. Values handed out are copies.
type Rule struct {
	Name, ARN   string
	Description string
	RoleARN     string
	Pattern     string
	Enabled     bool
	Tags        map[string]string
	Targets     []Target

	pattern *eventpattern.Pattern
}

// Target is where a rule sends the events that it matches.
type Target struct {
	ID, ARN    string
	RoleARN    string
	Input      string // JSON that is sent instead of the event
	InputPath  string // part of the event that is sent, such as $.detail
	DeadLetter string // ARN of the queue for what could not be delivered

	MaxAge, MaxRetries *int // retry policy, for show: what fails here fails for good
}

func (r *Rule) clone() Rule {
	c := *r
	c.Tags, c.Targets = maps.Clone(r.Tags), slices.Clone(r.Targets)
	return c
}

// DefaultBus is the name of the event bus that AWS services put their events on.
const DefaultBus = "default"

// Bounds of rules, as EventBridge has them.
const (
	maxRules   = 300
	maxTargets = 5
	maxPattern = 4096
)

var (
	ruleName = regexp.MustCompile(`^[.\-_A-Za-z0-9]{1,64}$`)
	targetID = regexp.MustCompile(`^[.\-_A-Za-z0-9]{1,64}$`)
)

// EventBusARN is the name of the default bus in policies.
func (w *World) EventBusARN() string {
	return "arn:" + w.Partition() + ":events:" + w.opts.Region + ":" + w.opts.Account + ":event-bus/" + DefaultBus
}

// RuleARN is the name of a rule in policies.
func (w *World) RuleARN(name string) string {
	return "arn:" + w.Partition() + ":events:" + w.opts.Region + ":" + w.opts.Account + ":rule/" + name
}

func noRule(name string) *Error {
	return Errorf("ResourceNotFoundException", "Rule %s does not exist on EventBus %s.", name, DefaultBus)
}

// PutRule makes or changes a rule; its targets stay, and so do the tags of one that is there.
func (w *World) PutRule(r Rule) (Rule, error) {
	if !ruleName.MatchString(r.Name) {
		return Rule{}, Errorf("ValidationException", "1 validation error detected: Value '%s' at 'name' failed to satisfy constraint: Member must satisfy regular expression pattern: [\\.\\-_A-Za-z0-9]+ and have at most 64 characters", r.Name)
	}
	if r.Pattern == "" {
		return Rule{}, Errorf("ValidationException", "Parameter(s) EventPattern or ScheduleExpression must be specified.")
	}
	if len(r.Pattern) > maxPattern {
		return Rule{}, Errorf("ValidationException", "1 validation error detected: Value at 'eventPattern' failed to satisfy constraint: Member must have length less than or equal to %d", maxPattern)
	}
	p, err := eventpattern.Parse([]byte(r.Pattern))
	if err != nil {
		return Rule{}, Errorf("InvalidEventPatternException", "Event pattern is not valid. Reason: %v", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.bus.rules[r.Name]
	if now == nil {
		if len(w.bus.rules) >= maxRules {
			return Rule{}, Errorf("LimitExceededException", "The requested resource exceeds the maximum number allowed.")
		}
		now = &Rule{Name: r.Name, ARN: w.RuleARN(r.Name), Tags: maps.Clone(r.Tags)}
		w.bus.rules[r.Name] = now
	}
	now.Description, now.RoleARN, now.Pattern, now.Enabled, now.pattern = r.Description, r.RoleARN, r.Pattern, r.Enabled, p
	return now.clone(), nil
}

// Rule returns a rule by name.
func (w *World) Rule(name string) (Rule, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r := w.bus.rules[name]; r != nil {
		return r.clone(), nil
	}
	return Rule{}, noRule(name)
}

// Rules returns the rules whose name begins with prefix, by name.
func (w *World) Rules(prefix string) []Rule {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := sorted(w.bus.rules, (*Rule).clone)
	return slices.DeleteFunc(all, func(r Rule) bool { return !strings.HasPrefix(r.Name, prefix) })
}

// DeleteRule removes a rule that has no targets; one that is not there is no error.
func (w *World) DeleteRule(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r := w.bus.rules[name]; r != nil && len(r.Targets) > 0 {
		return Errorf("ValidationException", "Rule can't be deleted since it has targets.")
	}
	delete(w.bus.rules, name)
	return nil
}

func (w *World) changeRule(name string, f func(*Rule) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.bus.rules[name]
	if r == nil {
		return noRule(name)
	}
	return f(r)
}

// SetRuleEnabled enables or disables a rule.
func (w *World) SetRuleEnabled(name string, enabled bool) error {
	return w.changeRule(name, func(r *Rule) error { r.Enabled = enabled; return nil })
}

// TagRule adds, changes and removes tags of the rule with an ARN.
func (w *World) TagRule(arn string, set map[string]string, unset []string) error {
	return w.changeRule(RuleNameOf(arn), func(r *Rule) error { r.Tags = retag(r.Tags, set, unset); return nil })
}

// RuleNameOf returns the name in the ARN of a rule of the default bus.
func RuleNameOf(arn string) string { return arn[strings.LastIndexByte(arn, '/')+1:] }

// PutTargets adds targets to a rule or changes those of the same ids; all or none.
func (w *World) PutTargets(rule string, targets []Target) error {
	for i := range targets {
		if err := w.checkTarget(&targets[i]); err != nil {
			return err
		}
	}
	return w.changeRule(rule, func(r *Rule) error {
		all := slices.Clone(r.Targets)
		for _, t := range targets {
			if i := slices.IndexFunc(all, func(o Target) bool { return o.ID == t.ID }); i >= 0 {
				all[i] = t
			} else {
				all = append(all, t)
			}
		}
		if len(all) > maxTargets {
			return Errorf("LimitExceededException", "The requested resource exceeds the maximum number allowed: a rule has at most %d targets.", maxTargets)
		}
		r.Targets = all
		return nil
	})
}

// checkTarget judges a target. Whether it exists is found out when something is delivered, as with EventBridge.
func (w *World) checkTarget(t *Target) error {
	switch {
	case !targetID.MatchString(t.ID):
		return Errorf("ValidationException", "1 validation error detected: Value '%s' at 'targets.1.member.id' failed to satisfy constraint: Member must satisfy regular expression pattern: [\\.\\-_A-Za-z0-9]+", t.ID)
	case !strings.HasPrefix(t.ARN, "arn:") || strings.Count(t.ARN, ":") < 5:
		return Errorf("ValidationException", "Parameter %s is not valid. Reason: Provided Arn is not in correct format.", t.ARN)
	case t.DeadLetter != "" && !strings.HasPrefix(t.DeadLetter, w.QueueARN("")):
		return Errorf("ValidationException", "Parameter DeadLetterConfig.Arn is not valid. Reason: %s is not the ARN of a standard queue of this account and region.", t.DeadLetter)
	case strings.HasSuffix(t.DeadLetter, ".fifo"):
		return Errorf("ValidationException", "Parameter DeadLetterConfig.Arn is not valid. Reason: the dead-letter queue of a target must be a standard queue.")
	case t.Input != "" && t.InputPath != "":
		return Errorf("ValidationException", "Only one of Input, InputPath, or InputTransformer must be provided for target %s.", t.ID)
	}
	return nil
}

// RemoveTargets takes targets from a rule; ids that it does not have are no error.
func (w *World) RemoveTargets(rule string, ids []string) error {
	return w.changeRule(rule, func(r *Rule) error {
		r.Targets = slices.DeleteFunc(slices.Clone(r.Targets), func(t Target) bool { return slices.Contains(ids, t.ID) })
		return nil
	})
}

// Event is an EventBridge event.
type Event struct {
	Version    string   `json:"version"`
	ID         string   `json:"id"`
	DetailType string   `json:"detail-type"`
	Source     string   `json:"source"`
	Account    string   `json:"account"`
	Time       string   `json:"time"` // RFC 3339, whole seconds
	Region     string   `json:"region"`
	Resources  []string `json:"resources"`
	Detail     any      `json:"detail"`
}

// NewEvent makes an event of this account and region that happens now.
func (w *World) NewEvent(source, detailType string, resources []string, detail any) Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.newEventLocked(source, detailType, resources, detail)
}

func (w *World) newEventLocked(source, detailType string, resources []string, detail any) Event {
	w.bus.serial++
	now := w.clock.Now().UTC()
	if resources == nil {
		resources = []string{}
	}
	return Event{
		Version: "0", ID: eventID(w.bus.serial, now), DetailType: detailType, Source: source, Account: w.opts.Account,
		Time: now.Format(time.RFC3339), Region: w.opts.Region, Resources: resources, Detail: detail,
	}
}
