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
func (c *checker) rules() {
	for i := range awssetup.Events {
		k := &awssetup.Events[i]
		if c.wantedRule(k) == nil {
			continue
		}
		c.ruleFor(k)
	}
	for _, r := range c.found.Rules {
		c.wideRule(r)
	}
	c.targets()
}

// wantedRule is the rule of the wanted stack for a kind of event, nil if its edition has none.
func (c *checker) wantedRule(k *awssetup.Event) *awssetup.Rule {
	samples := c.samplesOf(k)
	for i := range c.wanted.Rules {
		if slices.Contains(caught(c.wanted.Rules[i].Pattern, samples), true) {
			return &c.wanted.Rules[i]
		}
	}
	return nil
}

// ruleFor looks for rules that together bring all samples of a kind to the queue.
func (c *checker) ruleFor(k *awssetup.Event) {
	samples := c.samplesOf(k)
	arrive := make([]bool, len(samples))
	var near []string // what keeps rules that might be meant from it
	var culprit string
	for _, r := range c.found.Rules {
		match := caught(r.Pattern, samples)
		hits := slices.Contains(match, true)
		switch {
		case !hits && c.meant(r, k):
			near = append(near, fmt.Sprintf("rule %s does not match it: its pattern is %s", nameOf(r), compact(r.Pattern)))
			culprit = nameOf(r)
		case !hits:
		case r.Bus != "":
			near = append(near, fmt.Sprintf("rule %s is on the event bus %s, and AWS puts its events on the default one only", nameOf(r), r.Bus))
		case !r.Enabled:
			near = append(near, fmt.Sprintf("rule %s would match it and is disabled", nameOf(r)))
			culprit = nameOf(r)
		case c.changed(r) != "":
			near = append(near, fmt.Sprintf("rule %s matches it and sends what its target's %s makes of it, which the controller cannot read, and not the event", nameOf(r), c.changed(r)))
			culprit = nameOf(r)
		case !c.toQueue(r):
			near = append(near, fmt.Sprintf("rule %s matches it and does not send it to the queue", nameOf(r)))
			culprit = nameOf(r)
		default:
			for i := range match {
				arrive[i] = arrive[i] || match[i]
			}
			culprit = nameOf(r)
		}
	}
	if !slices.Contains(arrive, false) {
		return
	}
	if _, ok := c.found.unread("rule"); ok && !slices.Contains(arrive, true) && len(near) == 0 {
		return
	}
	want := c.wantedRule(k)
	f := Finding{
		Severity: Missing, Area: AreaRules, Thing: k.Name, Rule: culprit, What: "no rule brings it to the queue", Why: k.Lost,
		Fix: fmt.Sprintf("add a rule with the pattern %s and the queue as its target", compact(want.Pattern)),
	}
	if f.Rule == "" {
		f.Rule = want.LogicalID
	}
	if len(near) > 0 {
		f.What += ": " + strings.Join(near, "; ")
		f.Fix = fmt.Sprintf("give it the pattern %s, the queue as its target without %s, %s or %s, and enable it", compact(want.Pattern),
			awssetup.Constant, awssetup.Path, awssetup.Transformer)
	}
	if slices.Contains(arrive, true) {
		var lost []string
		for i, ok := range arrive {
			if !ok {
				lost = append(lost, detailWord(k.Details[i]))
			}
		}
		f.What = fmt.Sprintf("rule %s brings only some of them to the queue; these do not come: %s", culprit, list(lost))
		f.Fix = "take the filter out of the pattern: " + compact(want.Pattern)
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

// meant guesses whether a rule that does not match was meant for a kind of event.
func (c *checker) meant(r awssetup.Rule, k *awssetup.Event) bool {
	want := c.wantedRule(k)
	if r.LogicalID != "" && r.LogicalID == want.LogicalID || r.Name == want.Name {
		return true
	}
	return strings.Contains(strings.ToLower(string(r.Pattern)), strings.ToLower(k.DetailType))
}

func (c *checker) toQueue(r awssetup.Rule) bool {
	if c.found.queue == nil {
		return len(r.Targets) > 0 // which queue is reported elsewhere
	}
	return slices.ContainsFunc(r.Targets, func(t awssetup.Target) bool { return t.ARN == c.found.queue.ARN && t.Input == "" })
}

// changed is what makes something else of the events that a rule sends to the queue; empty if they arrive as they are.
func (c *checker) changed(r awssetup.Rule) awssetup.Input {
	if c.found.queue == nil || c.toQueue(r) {
		return ""
	}
	for _, t := range r.Targets {
		if t.ARN == c.found.queue.ARN {
			return t.Input
		}
	}
	return ""
}

// wideRule advises on rules that fill the queue with what nobody here acts on.
func (c *checker) wideRule(r awssetup.Rule) {
	if !c.toQueue(r) || !r.Enabled {
		return
	}
	p, err := eventpattern.Parse(r.Pattern)
	if err != nil {
		if _, ok := c.found.unread("pattern", r.Name); !ok {
			c.add(Finding{
				Severity: Different, Area: AreaRules, Thing: nameOf(r), Rule: nameOf(r), What: err.Error(),
				Why: "EventBridge refuses the rule", Fix: "fix the pattern",
			})
		}
		return
	}
	for _, e := range foreignEvents(c.found.Region, c.found.AccountID) {
		if p.Match(e) {
			c.add(Finding{
				Severity: TooWide, Area: AreaRules, Thing: nameOf(r), Rule: nameOf(r),
				What: fmt.Sprintf("its pattern %s matches events that nothing here acts on", compact(r.Pattern)),
				Why:  "they fill the queue, and interruptions wait behind them", Fix: "name source and detail-type in the pattern",
			})
			return
		}
	}
}

// targets advises on where what cannot be delivered goes.
func (c *checker) targets() {
	q := c.found.queue
	if q == nil || len(c.wanted.Rules) == 0 || c.wanted.Rules[0].Targets[0].DeadLetter == "" {
		return
	}
	var without []string
	for _, r := range c.found.Rules {
		for _, t := range r.Targets {
			if t.ARN != q.ARN {
				continue
			}
			if t.DeadLetter == "" {
				without = appendNew(without, nameOf(r))
			} else if d := queueByARN(c.found.Setup, t.DeadLetter); d != nil {
				c.sendingDead(d, r)
			}
		}
	}
	if len(without) > 0 {
		c.add(Finding{
			Severity: Advice, Area: AreaRules, Thing: without[0], Rule: without[0],
			What: fmt.Sprintf("these rules have no dead-letter queue for their target: %s", list(without)),
			Why:  "an event that cannot be delivered is gone, and only a metric tells", Fix: "add DeadLetterConfig with a queue that EventBridge may send to",
		})
	}
}

// sendingDead judges whether EventBridge may send to the dead-letter queue of a target.
func (c *checker) sendingDead(d *awssetup.Queue, r awssetup.Rule) {
	if d.Policy == nil {
		if _, ok := c.found.unread("queue", d.Name); ok {
			return
		}
	} else if awssetup.MaySend(d, r.ARN, true).OK() {
		return
	}
	if slices.ContainsFunc(c.report.Findings, func(f Finding) bool { return f.Area == AreaRules && f.Queue == d.Name }) {
		return
	}
	c.add(Finding{
		Severity: Missing, Area: AreaRules, Thing: d.Name, Queue: d.Name, Rule: nameOf(r), Policy: "queue policy", Action: "sqs:SendMessage",
		What: "its policy does not let EventBridge send to it, and it is the dead-letter queue of rule " + nameOf(r),
		Why:  "an event that cannot be delivered is gone (metric InvocationsFailedToBeSentToDlq)",
		Fix:  "allow sqs:SendMessage on " + d.ARN + " for the service events.amazonaws.com",
	})
}

func compact(pattern json.RawMessage) string {
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
