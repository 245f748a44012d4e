package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
)

// alarms advises on what nobody watches. The wanted stack says what is worth an alarm.
func (c *Comparison) alarms() {
	if g, ok := c.Found.unread("alarm"); ok {
		c.Report.Notes = append(c.Report.Notes, "alarms were not judged: "+g.Why)
		return
	}
	unwatched := map[string][]string{}
	var order []string
	for _, want := range c.Wanted.Alarms {
		thing := c.Watched(want)
		if thing == "" {
			continue
		}
		if !slices.ContainsFunc(c.Found.Alarms, func(a awssetup.Alarm) bool { return Watches(a, want, thing) }) {
			order = appendNew(order, want.Metric)
			unwatched[want.Metric] = appendNew(unwatched[want.Metric], c.calledBy(thing))
		}
	}
	for _, metric := range order {
		c.add(Finding{
			Severity: Advice, Area: AreaAlarms, Thing: metric, What: fmt.Sprintf("no alarm watches %s of %s", metric, List(unwatched[metric])),
			Why: unwatchedMetrics[metric], Fix: "add an alarm on it being above its threshold",
		})
	}
	for _, a := range c.Found.Alarms {
		if len(a.Actions) == 0 && len(c.Stack.Options.AlarmActions) > 0 && slices.ContainsFunc(c.Wanted.Alarms, func(w awssetup.Alarm) bool { return w.Metric == a.Metric }) {
			c.add(Finding{
				Severity: Advice, Area: AreaAlarms, Thing: a.Name, What: "it has no actions", Why: "it is raised and nobody is told", Fix: "give it the ARN of a topic",
			})
		}
	}
}

var unwatchedMetrics = map[string]string{
	"FailedInvocations":                  "events that are not delivered, as with a wrong key or policy, are seen by nobody; the controller cannot know",
	"InvocationsSentToDlq":               "events that go to the dead-letter queue, as with a wrong key or policy, do not count as failed and are seen by nobody",
	"ApproximateAgeOfOldestMessage":      "nobody learns that the controller does not read the queue",
	"ApproximateNumberOfMessagesVisible": "nobody learns of what could not be delivered or handled",
}

// Watched is the found thing that stands for the one that a wanted alarm watches; empty if it is missing itself.
func (c *Comparison) Watched(want awssetup.Alarm) string {
	for dimension, value := range want.Dimensions {
		switch dimension {
		case "RuleName":
			for _, w := range c.Wanted.Rules {
				if w.Name == value {
					return c.foundRule(w, want.Metric == "InvocationsSentToDlq")
				}
			}
		case "QueueName":
			q := c.Found.Queue
			if q == nil {
				return ""
			}
			if value == c.Wanted.Queue.Name {
				return q.Name
			}
			if d := c.Found.Setup.QueueByARN(q.DeadLetter); d != nil {
				return d.Name
			}
		}
	}
	return ""
}

// foundRule is the rule that does what a wanted one does; with spare only one whose target has a dead-letter queue, for
// others there is nothing to count.
func (c *Comparison) foundRule(w awssetup.Rule, spare bool) string {
	for i := range awssetup.Events {
		k := &awssetup.Events[i]
		samples := c.SamplesOf(k)
		if !slices.Contains(Caught(w.Pattern, samples), true) {
			continue
		}
		for _, r := range c.Found.Rules {
			if r.Bus == "" && slices.Contains(Caught(r.Pattern, samples), true) && c.ToQueue(r) && (!spare || hasSpare(r)) {
				return r.Name
			}
		}
	}
	return ""
}

func hasSpare(r awssetup.Rule) bool {
	return slices.ContainsFunc(r.Targets, func(t awssetup.Target) bool { return t.DeadLetter != "" })
}

func (c *Comparison) calledBy(name string) string {
	for _, r := range c.Found.Rules {
		if r.Name == name {
			return RuleName(r)
		}
	}
	return name
}

// Watches reports whether an alarm is set on what the wanted one watches, of a thing.
func Watches(a, want awssetup.Alarm, thing string) bool {
	if a.Metric != want.Metric || a.Namespace != want.Namespace {
		return false
	}
	for d := range want.Dimensions {
		if a.Dimensions[d] != thing {
			return false
		}
	}
	return strings.HasPrefix(a.Comparison, "GreaterThan") && a.Threshold <= max(want.Threshold*2, want.Threshold+1)
}
