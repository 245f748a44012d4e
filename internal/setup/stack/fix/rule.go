package fix

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/setup/stack/check"
	"github.com/kerf-sh/kerf/internal/setup/stack/setupfile"
)

// rules fixes the rules that were meant for a kind of event, and adds those that nothing stands for.
func (m *fixer) rules() {
	q := m.c.Found.Queue
	if q == nil || q.FIFO {
		return
	}
	dead := ""
	if len(m.c.Wanted.Rules) > 0 && m.c.Wanted.Rules[0].Targets[0].DeadLetter != "" {
		dead = q.DeadLetter
	}
	for i := range awssetup.Events {
		k := &awssetup.Events[i]
		if want := m.c.WantedRule(k); want != nil && m.reported(check.AreaRules, func(f check.Finding) bool { return f.Thing == k.Name }) {
			m.rule(k, want, q, dead)
		}
	}
	for i := range m.s.Rules {
		r := &m.s.Rules[i]
		if m.reported(check.AreaRules, func(f check.Finding) bool {
			return f.Rule == check.RuleName(*r) && (f.Severity == check.TooWide || f.Severity == check.Different)
		}) {
			m.restrictPattern(i)
		}
		for t := range r.Targets {
			if r.Targets[t].ARN == q.ARN && r.Targets[t].DeadLetter == "" && dead != "" {
				r.Targets = slices.Clone(r.Targets)
				r.Targets[t].DeadLetter = dead
				m.touch(rulePart, i, "targets")
			}
		}
	}
}

func (m *fixer) rule(k *awssetup.Event, want *awssetup.Rule, q *awssetup.Queue, dead string) {
	samples := m.c.SamplesOf(k)
	best := -1
	for i, r := range m.s.Rules {
		if (slices.Contains(check.Caught(r.Pattern, samples), true) || m.c.Meant(r, k)) && m.mayChange(r, k, want, q) {
			best = i
			if m.c.ToQueue(r) {
				break
			}
		}
	}
	target := awssetup.Target{ID: want.Targets[0].ID, ARN: q.ARN, DeadLetter: dead}
	if best < 0 {
		r := *want
		r.LogicalID = m.logicalID(want.LogicalID)
		r.Name = m.ruleName(r.LogicalID)
		r.ARN = m.c.Where().ARN("events", "rule/"+r.Name)
		r.Targets = []awssetup.Target{target}
		m.s.Rules = append(m.s.Rules, r)
		m.added(rulePart, len(m.s.Rules)-1)
		return
	}
	r := &m.s.Rules[best]
	if slices.Contains(check.Caught(r.Pattern, samples), false) {
		r.Pattern = want.Pattern
		m.touch(rulePart, best, "pattern")
	}
	if !r.Enabled {
		r.Enabled = true
		m.touch(rulePart, best, "enabled")
	}
	if !m.c.ToQueue(*r) {
		m.aim(best, target)
	}
}

// aim has a rule send its events to the queue as they are.
func (m *fixer) aim(i int, target awssetup.Target) {
	r := &m.s.Rules[i]
	r.Targets = slices.Clone(r.Targets)
	m.touch(rulePart, i, "targets")
	for t := range r.Targets {
		if r.Targets[t].ARN == target.ARN {
			r.Targets[t].Input = ""
			return
		}
	}
	id := target.ID
	for n := 2; slices.ContainsFunc(r.Targets, func(t awssetup.Target) bool { return t.ID == target.ID }); n++ {
		target.ID = fmt.Sprintf("%s-%d", id, n)
	}
	r.Targets = append(r.Targets, target)
}

// mayChange tells whether a rule is one to fix for a kind of event. One of somebody else, or that serves others as well,
// stays as it is, and the kind gets a rule of its own.
func (m *fixer) mayChange(r awssetup.Rule, k *awssetup.Event, want *awssetup.Rule, q *awssetup.Queue) bool {
	toOthers := slices.ContainsFunc(r.Targets, func(t awssetup.Target) bool { return t.ARN != q.ARN })
	ours := len(r.Targets) == 0 || m.c.ToQueue(r) || r.LogicalID != "" && r.LogicalID == want.LogicalID || r.Name == want.Name ||
		slices.ContainsFunc(r.Targets, func(t awssetup.Target) bool { return t.ARN == q.ARN })
	if !ours || r.Bus != "" {
		return false
	}
	if slices.Contains(check.Caught(r.Pattern, m.c.SamplesOf(k)), false) {
		return !toOthers && !m.catchesOther(r, k) // its pattern would change
	}
	return r.Enabled || !toOthers
}

// catchesOther tells whether a rule catches another kind of event as well.
func (m *fixer) catchesOther(r awssetup.Rule, k *awssetup.Event) bool {
	for i := range awssetup.Events {
		if o := &awssetup.Events[i]; o != k && slices.Contains(check.Caught(r.Pattern, m.c.SamplesOf(o)), true) {
			return true
		}
	}
	return false
}

// ruleName is the name that a new rule gets: CloudFormation makes one up.
func (m *fixer) ruleName(id string) string {
	if m.kind == setupfile.KindCloudFormation {
		return "stack-" + id + "-random"
	}
	const most = 64
	name := m.c.Report.Cluster + "-" + id
	name = name[max(0, len(name)-most):]
	taken := func(name string) bool {
		return slices.ContainsFunc(m.s.Rules, func(r awssetup.Rule) bool { return r.Name == name })
	}
	for n, first := 2, name; taken(name); n++ {
		end := fmt.Sprintf("-%d", n)
		name = first[:min(len(first), most-len(end))] + end
	}
	return name
}

// restrictPattern makes a rule catch what it is for and no more.
func (m *fixer) restrictPattern(i int) {
	r := &m.s.Rules[i]
	if slices.ContainsFunc(r.Targets, func(t awssetup.Target) bool { return t.ARN != m.c.Found.Queue.ARN }) {
		return // others get what it catches
	}
	var sources, details []string
	for k := range awssetup.Events {
		kind := &awssetup.Events[k]
		if m.c.WantedRule(kind) == nil {
			continue
		}
		if slices.Contains(check.Caught(r.Pattern, m.c.SamplesOf(kind)), true) || m.c.Meant(*r, kind) {
			sources, details = appendNew(sources, kind.Source), appendNew(details, kind.DetailType)
		}
	}
	if len(sources) == 0 {
		return
	}
	b, err := json.Marshal(map[string][]string{"source": sources, "detail-type": details})
	if err != nil {
		return
	}
	r.Pattern = b
	m.touch(rulePart, i, "pattern")
}

// alarms adds those that nothing stands for.
func (m *fixer) alarms() {
	if !m.reported(check.AreaAlarms, func(check.Finding) bool { return true }) {
		return
	}
	for _, want := range m.c.Wanted.Alarms {
		thing := m.c.Watched(want)
		if thing == "" || slices.ContainsFunc(m.s.Alarms, func(a awssetup.Alarm) bool { return check.Watches(a, want, thing) }) {
			continue
		}
		a := want
		a.LogicalID = m.logicalID(want.LogicalID)
		a.Dimensions = map[string]string{}
		for d := range want.Dimensions {
			a.Dimensions[d] = thing
		}
		m.s.Alarms = append(m.s.Alarms, a)
		m.added(alarmPart, len(m.s.Alarms)-1)
	}
	for i := range m.s.Alarms {
		if a := &m.s.Alarms[i]; len(a.Actions) == 0 && m.reported(check.AreaAlarms, func(f check.Finding) bool { return f.Thing == a.Name }) {
			a.Actions = m.c.Stack.Options.AlarmActions
			m.touch(alarmPart, i, "actions")
		}
	}
}
