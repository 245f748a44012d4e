package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/eventpattern"
)

// rules judges whether every kind of event comes to the queue, by trying samples against the patterns.
func (c *Comparison) rules() {
	for i := range awssetup.Events {
		k := &awssetup.Events[i]
		if c.WantedRule(k) == nil {
			continue
		}
		c.ruleFor(k)
	}
	for _, r := range c.Found.Rules {
		c.wideRule(r)
	}
	c.targets()
}

// WantedRule is the rule of the wanted stack for a kind of event, nil if its edition has none.
func (c *Comparison) WantedRule(k *awssetup.Event) *awssetup.Rule {
	samples := c.SamplesOf(k)
	for i := range c.Wanted.Rules {
		if slices.Contains(Caught(c.Wanted.Rules[i].Pattern, samples), true) {
			return &c.Wanted.Rules[i]
		}
	}
	return nil
}

// ruleFor looks for rules that together bring all samples of a kind to the queue.
func (c *Comparison) ruleFor(k *awssetup.Event) {
	samples := c.SamplesOf(k)
	arrive := make([]bool, len(samples))
	var near []string // what keeps rules that might be meant from it
	var culprit string
	for _, r := range c.Found.Rules {
		match := Caught(r.Pattern, samples)
		hits := slices.Contains(match, true)
		switch {
		case !hits && c.Meant(r, k):
			near = append(near, fmt.Sprintf("rule %s does not match it: its pattern is %s", RuleName(r), Compact(r.Pattern)))
			culprit = RuleName(r)
		case !hits:
		case r.Bus != "":
			near = append(near, fmt.Sprintf("rule %s is on the event bus %s, and AWS puts its events on the default one only", RuleName(r), r.Bus))
		case !r.Enabled:
			near = append(near, fmt.Sprintf("rule %s would match it and is disabled", RuleName(r)))
			culprit = RuleName(r)
		case c.changed(r) != "":
			near = append(near, fmt.Sprintf("rule %s matches it and sends what its target's %s makes of it, which the controller cannot read, and not the event", RuleName(r), c.changed(r)))
			culprit = RuleName(r)
		case !c.ToQueue(r):
			near = append(near, fmt.Sprintf("rule %s matches it and does not send it to the queue", RuleName(r)))
			culprit = RuleName(r)
		default:
			for i := range match {
				arrive[i] = arrive[i] || match[i]
			}
			culprit = RuleName(r)
		}
	}
	if !slices.Contains(arrive, false) {
		return
	}
	if _, ok := c.Found.unread("rule"); ok && !slices.Contains(arrive, true) && len(near) == 0 {
		return
	}
	want := c.WantedRule(k)
	f := Finding{
		Severity: Missing, Area: AreaRules, Thing: k.Name, Rule: culprit, What: "no rule brings it to the queue", Why: k.Lost,
		Fix: fmt.Sprintf("add a rule with the pattern %s and the queue as its target", Compact(want.Pattern)),
	}
	if f.Rule == "" {
		f.Rule = want.LogicalID
	}
	if len(near) > 0 {
		f.What += ": " + strings.Join(near, "; ")
		f.Fix = fmt.Sprintf("give it the pattern %s, the queue as its target without %s, %s or %s, and enable it", Compact(want.Pattern),
			awssetup.Constant, awssetup.Path, awssetup.Transformer)
	}
	if slices.Contains(arrive, true) {
		var lost []string
		for i, ok := range arrive {
			if !ok {
				lost = append(lost, detailWord(k.Details[i]))
			}
		}
		f.What = fmt.Sprintf("rule %s brings only some of them to the queue; these do not come: %s", culprit, List(lost))
		f.Fix = "take the filter out of the pattern: " + Compact(want.Pattern)
	}
	c.add(f)
}

// detailWord is the state of a sample.
func detailWord(detail string) string {
	var v struct {
		State string `json:"state"`
	}
	if json.Unmarshal([]byte(detail), &v) != nil || v.State == "" {
		return detail
	}
	return v.State
}

// Meant guesses whether a rule that does not match was meant for a kind of event.
func (c *Comparison) Meant(r awssetup.Rule, k *awssetup.Event) bool {
	want := c.WantedRule(k)
	if r.LogicalID != "" && r.LogicalID == want.LogicalID || r.Name == want.Name {
		return true
	}
	return strings.Contains(strings.ToLower(string(r.Pattern)), strings.ToLower(k.DetailType))
}

// ToQueue reports whether a rule sends its events to the queue as they are.
func (c *Comparison) ToQueue(r awssetup.Rule) bool {
	if c.Found.Queue == nil {
		return len(r.Targets) > 0 // which queue is reported elsewhere
	}
	return slices.ContainsFunc(r.Targets, func(t awssetup.Target) bool { return t.ARN == c.Found.Queue.ARN && t.Input == "" })
}

// changed is what makes something else of the events that a rule sends to the queue; empty if they arrive as they are.
func (c *Comparison) changed(r awssetup.Rule) awssetup.Input {
	if c.Found.Queue == nil || c.ToQueue(r) {
		return ""
	}
	for _, t := range r.Targets {
		if t.ARN == c.Found.Queue.ARN {
			return t.Input
		}
	}
	return ""
}

// wideRule advises on rules that fill the queue with what nobody here acts on.
func (c *Comparison) wideRule(r awssetup.Rule) {
	if !c.ToQueue(r) || !r.Enabled {
		return
	}
	p, err := eventpattern.Parse(r.Pattern)
	if err != nil {
		if _, ok := c.Found.unread("pattern", r.Name); !ok {
			c.add(Finding{
				Severity: Different, Area: AreaRules, Thing: RuleName(r), Rule: RuleName(r), What: err.Error(),
				Why: "EventBridge refuses the rule", Fix: "fix the pattern",
			})
		}
		return
	}
	for _, e := range foreignEvents(c.Found.Region, c.Found.AccountID) {
		if p.Match(e) {
			c.add(Finding{
				Severity: TooWide, Area: AreaRules, Thing: RuleName(r), Rule: RuleName(r),
				What: fmt.Sprintf("its pattern %s matches events that nothing here acts on", Compact(r.Pattern)),
				Why:  "they fill the queue, and interruptions wait behind them", Fix: "name source and detail-type in the pattern",
			})
			return
		}
	}
}

// targets advises on where what cannot be delivered goes.
func (c *Comparison) targets() {
	q := c.Found.Queue
	if q == nil || len(c.Wanted.Rules) == 0 || c.Wanted.Rules[0].Targets[0].DeadLetter == "" {
		return
	}
	var without []string
	for _, r := range c.Found.Rules {
		for _, t := range r.Targets {
			if t.ARN != q.ARN {
				continue
			}
			if t.DeadLetter == "" {
				without = appendNew(without, RuleName(r))
			} else if d := c.Found.Setup.QueueByARN(t.DeadLetter); d != nil {
				c.sendingDead(d, r)
			}
		}
	}
	if len(without) > 0 {
		c.add(Finding{
			Severity: Advice, Area: AreaRules, Thing: without[0], Rule: without[0],
			What: fmt.Sprintf("these rules have no dead-letter queue for their target: %s", List(without)),
			Why:  "an event that cannot be delivered is gone, and only a metric tells", Fix: "add DeadLetterConfig with a queue that EventBridge may send to",
		})
	}
}

// sendingDead judges whether EventBridge may send to the dead-letter queue of a target.
func (c *Comparison) sendingDead(d *awssetup.Queue, r awssetup.Rule) {
	if d.Policy == nil {
		if _, ok := c.Found.unread("queue", d.Name); ok {
			return
		}
	} else if awssetup.MaySend(d, r.ARN, true).OK() {
		return
	}
	if slices.ContainsFunc(c.Report.Findings, func(f Finding) bool { return f.Area == AreaRules && f.Queue == d.Name }) {
		return
	}
	c.add(Finding{
		Severity: Missing, Area: AreaRules, Thing: d.Name, Queue: d.Name, Rule: RuleName(r), Policy: "queue policy", Action: "sqs:SendMessage",
		What: "its policy does not let EventBridge send to it, and it is the dead-letter queue of rule " + RuleName(r),
		Why:  "an event that cannot be delivered is gone (metric InvocationsFailedToBeSentToDlq)",
		Fix:  "allow sqs:SendMessage on " + d.ARN + " for the service events.amazonaws.com",
	})
}

// Compact is a pattern as JSON without spaces.
func Compact(pattern json.RawMessage) string {
	var v any
	if json.Unmarshal(pattern, &v) != nil {
		return string(pattern)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return string(pattern)
	}
	return string(b)
}
