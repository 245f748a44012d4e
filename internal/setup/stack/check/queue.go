package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// queue judges the attributes of the interruption queue and who may send to it.
func (c *Comparison) queue() {
	q := c.Found.Queue
	if q == nil {
		c.noQueue()
		return
	}
	base := Finding{Area: AreaQueue, Thing: q.Name, Queue: q.Name}
	c.attributes(q, base)
	c.deadLetter(q, base)
	if v := q.Tags["karpenter.sh/discovery"]; v != "" && v != c.Report.Cluster {
		f := base
		f.Severity, f.What = Different, fmt.Sprintf("its tag karpenter.sh/discovery is %s, and not %s", v, c.Report.Cluster)
		f.Why, f.Fix = "two clusters on one queue take each other's messages", "give each cluster a queue of its own"
		c.add(f)
	} else if v == "" && c.Wanted.Queue.Tags["karpenter.sh/discovery"] != "" {
		f := base
		f.Severity, f.What = Advice, "it does not have the tag karpenter.sh/discovery="+c.Report.Cluster
		f.Why, f.Fix = "nothing says whose it is; two clusters on one queue take each other's messages", "add the tag"
		c.add(f)
	}
	c.sending(q, AreaQueue, c.Wanted.Queue)
	for i := range c.Found.Queues {
		if d := &c.Found.Queues[i]; d.ARN != q.ARN && (d.ARN == q.DeadLetter || c.isTargetsDeadLetter(d.ARN)) {
			c.strangers(d, Finding{Area: AreaQueue, Thing: d.Name, Queue: d.Name, Policy: "queue policy"})
		}
	}
}

func (c *Comparison) noQueue() {
	if g, ok := c.Found.unread("queue"); ok {
		c.Report.Notes = append(c.Report.Notes, "the interruption queue was not judged: "+g.Why)
		return
	}
	f := Finding{
		Severity: Missing, Area: AreaQueue, Thing: c.Wanted.Queue.Name, Queue: c.Wanted.Queue.Name, What: "there is no interruption queue",
		Why: "no interruption is noticed before the instance is gone", Fix: "make the queue " + c.Wanted.Queue.Name + ", its policy and the rules that send to it",
	}
	if len(c.Found.Queues) > 0 {
		var names []string
		for _, q := range c.Found.Queues {
			names = append(names, q.Name)
		}
		f.What = fmt.Sprintf("none of the queues (%s) has the name or tag of the cluster, and no rule sends events of instances to one", List(names))
	}
	c.add(f)
}

// EventSize is how large an event may be, in bytes.
//
// Source: EventBridge user guide, "Quotas" (PutEvents entry size).
const EventSize = 256 * 1024

// TooSmall reports whether a queue takes no message as large as an event may be.
func TooSmall(q *awssetup.Queue) bool { return q.MaxMessage > 0 && q.MaxMessage < EventSize }

func (c *Comparison) attributes(q *awssetup.Queue, base Finding) {
	want := c.Wanted.Queue
	if q.FIFO {
		f := base
		f.Severity, f.What = Different, "it is a FIFO queue"
		f.Why = "rules can send to it only with a message group, one group is handed out one by one, and what looks like a repetition is dropped"
		f.Fix = "make a standard queue; FIFO cannot be changed afterwards"
		c.add(f)
	}
	switch f := base; {
	case q.Retention > awssetup.StaleAfter:
		f.Severity, f.What = Different, fmt.Sprintf("it keeps messages for %s", duration(q.Retention))
		f.Why = "after an outage the controller gets notices of long ago, on instances that are gone or well again"
		f.Fix = fmt.Sprintf("keep them for %s", duration(want.Retention))
		c.add(f)
	case q.Retention != want.Retention:
		f.Severity, f.What = Advice, fmt.Sprintf("it keeps messages for %s, and not for %s", duration(q.Retention), duration(want.Retention))
		f.Why, f.Fix = "a spot warning is worth nothing after two minutes", fmt.Sprintf("keep them for %s", duration(want.Retention))
		if q.Retention < 2*time.Minute {
			f.Why = "a message may be gone before it is read"
		}
		c.add(f)
	}
	if q.Delay > 0 {
		f := base
		f.Severity, f.What = Different, fmt.Sprintf("it holds each message back for %s (DelaySeconds)", duration(q.Delay))
		f.Why, f.Fix = "a spot warning comes two minutes before the instance goes, and is worth nothing later", "set DelaySeconds to 0"
		c.add(f)
	}
	if TooSmall(q) {
		f := base
		f.Severity, f.What = Different, fmt.Sprintf("it takes messages of up to %d bytes only (MaximumMessageSize)", q.MaxMessage)
		f.Why, f.Fix = "EventBridge sends events of up to 256 KB; larger ones than the queue takes are lost", fmt.Sprintf("set MaximumMessageSize to %d or more", EventSize)
		c.add(f)
	}
	if q.Visibility != want.Visibility {
		f := base
		f.Severity, f.What = Advice, fmt.Sprintf("a received message is hidden for %s, and not for %s", duration(q.Visibility), duration(want.Visibility))
		f.Why, f.Fix = "it makes no difference to the controller, which says for how long with each call; to others it does", fmt.Sprintf("make it %s", duration(want.Visibility))
		c.add(f)
	}
}

func (c *Comparison) deadLetter(q *awssetup.Queue, base Finding) {
	want := c.Wanted.Queue
	if want.DeadLetter == "" || q.FIFO {
		return
	}
	if q.DeadLetter == "" {
		if _, ok := c.Found.unread("redrive", q.Name); ok {
			return
		}
		f := base
		f.Severity, f.What = Advice, "it has no dead-letter queue"
		f.Why, f.Fix = "a message that cannot be handled comes back until it is too old, and nobody learns of it", fmt.Sprintf("add a redrive policy to a second queue, with maxReceiveCount %d", want.MaxReceives)
		c.add(f)
		return
	}
	dead := c.Found.Setup.QueueByARN(q.DeadLetter)
	if q.DeadLetter == q.ARN {
		f := base
		f.Severity, f.What, f.Why, f.Fix = Different, "it is its own dead-letter queue", "what cannot be handled goes round for ever", "name a second queue"
		c.add(f)
		return
	}
	if dead != nil && dead.FIFO != q.FIFO {
		f := base
		f.Severity, f.What, f.Fix = Different, "its dead-letter queue is a FIFO queue", "make a standard one"
		f.Why = "SQS takes only a queue of the same kind"
		c.add(f)
	}
	if q.MaxReceives > awssetup.Tries {
		f := base
		f.Severity, f.What = Different, fmt.Sprintf("a message goes to the dead-letter queue after %d tries", q.MaxReceives)
		f.Why = fmt.Sprintf("the controller deletes a message that failed more than %d times, so nothing ever gets there", awssetup.Tries)
		f.Fix = fmt.Sprintf("make maxReceiveCount %d", want.MaxReceives)
		c.add(f)
	} else if q.MaxReceives > 0 && q.MaxReceives != want.MaxReceives {
		f := base
		f.Severity, f.What = Advice, fmt.Sprintf("a message is tried %d times before it goes to the dead-letter queue, and not %d times", q.MaxReceives, want.MaxReceives)
		if q.MaxReceives == 1 {
			f.Why = "one failed try, such as a conflict, and the notice is lost"
		}
		f.Fix = fmt.Sprintf("make maxReceiveCount %d", want.MaxReceives)
		c.add(f)
	}
	if dead != nil && dead.Retention <= q.Retention {
		f := base
		f.Severity, f.What = Advice, fmt.Sprintf("its dead-letter queue keeps messages for %s only", duration(dead.Retention))
		f.Why, f.Fix = "the age of a message counts from when it was first sent, so it may be gone before anybody looks", "keep them for 336h"
		c.add(f)
	}
}

func duration(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= 2*day && d%day == 0 {
		return fmt.Sprintf("%d days", d/day)
	}
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}

func (c *Comparison) byPolicyOf(q *awssetup.Queue, call iampolicy.Call) iampolicy.Decision {
	return iampolicy.Evaluate(call, iampolicy.Policies{Resource: q.Policy, ResourceOwner: c.Found.AccountID, ResourceOnly: true})
}

// sending judges the policy of a queue: the rules may send, nobody else, and nobody without TLS.
func (c *Comparison) sending(q *awssetup.Queue, area Area, want *awssetup.Queue) {
	if q.Policy == nil {
		if _, ok := c.Found.unread("queue", q.Name); ok {
			return
		}
		c.add(Finding{
			Severity: Missing, Area: area, Thing: q.Name, Queue: q.Name, Policy: "queue policy", Action: "sqs:SendMessage", What: "it has no policy",
			Why: "EventBridge may not send to it: every invocation of the rules fails, the queue stays empty, and no interruption is noticed",
			Fix: "add a policy that lets events.amazonaws.com call sqs:SendMessage",
		})
		return
	}
	base := Finding{Area: area, Thing: q.Name, Queue: q.Name, Policy: "queue policy", Action: "sqs:SendMessage"}
	c.sendingRules(q, base)
	c.sendingOthers(q, base, want)
	base.Action = ""
	c.strangers(q, base)
}

// strangers tells whom the policy of a queue lets in beside those who are judged elsewhere.
func (c *Comparison) strangers(q *awssetup.Queue, base Finding) {
	c.reportOutsiders(base, Outsiders(q.Policy, c.Found.AccountID, SendingServices...), "use it",
		"who writes to it makes the controller end instances; who reads from it keeps notices from the controller", "let events.amazonaws.com alone send, and nobody else do anything, by this policy")
}

// isTargetsDeadLetter tells whether what a rule could not deliver goes to a queue.
func (c *Comparison) isTargetsDeadLetter(arn string) bool {
	return slices.ContainsFunc(c.Found.Rules, func(r awssetup.Rule) bool {
		return slices.ContainsFunc(r.Targets, func(t awssetup.Target) bool { return t.DeadLetter == arn })
	})
}

// SendingServices may be let in: whom they may send for is judged by sendingOthers. The second is in the guides' policies.
var SendingServices = []string{"events.amazonaws.com", "sqs.amazonaws.com"}

func (c *Comparison) sendingRules(q *awssetup.Queue, base Finding) {
	refused := map[string]iampolicy.Decision{}
	var names []string
	for _, r := range c.Found.Rules {
		for _, t := range r.Targets {
			if t.ARN != q.ARN && t.DeadLetter != q.ARN {
				continue
			}
			if d := c.byPolicyOf(q, awssetup.Send(q.ARN, r.ARN, true)); !d.OK() {
				names = appendNew(names, RuleName(r))
				refused[RuleName(r)] = d
			}
		}
	}
	if len(names) == 0 {
		return
	}
	d := refused[names[0]]
	f := base
	f.Severity, f.Rule = Missing, names[0]
	f.What = fmt.Sprintf("its policy does not let EventBridge send for %s", List(names))
	if d.Outcome == iampolicy.ExplicitDeny {
		f.What = fmt.Sprintf("its policy denies EventBridge to send for %s (statement %s)", List(names), d.Sid)
	}
	if near := d.Near(); len(near) > 0 {
		f.What += ": " + strings.Join(near, "; ")
		f.Key = keyIn(near[0])
	}
	f.Why = "every invocation fails (metric FailedInvocations), the queue stays empty, and no interruption is noticed"
	f.Fix = "allow sqs:SendMessage on " + q.ARN + " for the service events.amazonaws.com with these rules as aws:SourceArn"
	c.add(f)
}

// sendingOthers tries who should not be able to use the queue, as far as the wanted policy refuses it.
func (c *Comparison) sendingOthers(q *awssetup.Queue, base Finding, want *awssetup.Queue) {
	if want == nil {
		return
	}
	where := c.Where()
	foreign := where
	foreign.Account = "999988887777"
	for _, t := range []struct{ action, what, why, fix string }{
		{"sqs:SendMessage", "its policy lets any account send to it", "anybody can make the controller end instances", "allow it for the service events.amazonaws.com alone"},
		{"sqs:ReceiveMessage", "its policy lets any account receive from it", "others take the messages away", "allow nobody but the controller to receive, by its own policy"},
	} {
		call := iampolicy.Call{Action: t.action, Resource: q.ARN, Context: iampolicy.Context{"aws:securetransport": {"true"}}}
		if sid, ok := OpenTo(q.Policy, call, c.Found.AccountID); ok {
			f := base
			f.Severity, f.What, f.Why, f.Fix, f.Sid, f.Action = TooWide, t.what, t.why, t.fix, sid, t.action
			c.add(f)
			return // the wider one says it all
		}
	}
	own := OwnRule(c, q)
	plain := awssetup.Send(q.ARN, own, false)
	for _, t := range []struct {
		call           iampolicy.Call
		key, what, why string
		fix            string
	}{
		{plain, "aws:SecureTransport", "its policy does not refuse calls without TLS", "messages can be read and changed on their way", "add the statement DenyHTTP: deny sqs:* when aws:SecureTransport is false"},
		{awssetup.Send(q.ARN, foreign.ARN("events", "rule/foreign"), true), "aws:SourceArn", "its policy lets rules of any account send to it",
			"who knows its name can make the controller end instances", "add the condition ArnLike aws:SourceArn with the rules of this stack"},
		{awssetup.Send(q.ARN, where.ARN("events", "rule/unrelated"), true), "aws:SourceArn", "its policy lets every rule of the account send to it",
			"a rule of somebody else can fill it", "add the condition ArnLike aws:SourceArn with the rules of this stack"},
	} {
		wantCall := t.call
		wantCall.Resource = want.ARN
		if own != "" && t.key == "aws:SecureTransport" {
			wantCall = awssetup.Send(want.ARN, c.Wanted.Rules[0].ARN, false)
		}
		if c.byPolicyOf(want, wantCall).OK() || !c.byPolicyOf(q, t.call).OK() {
			continue
		}
		d := c.byPolicyOf(q, t.call)
		f := base
		f.Severity, f.What, f.Why, f.Fix, f.Key, f.Sid, f.Action = TooWide, t.what, t.why, t.fix, t.key, d.Sid, t.call.Action
		c.add(f)
		if t.key != "aws:SecureTransport" {
			return // the wider one says it all
		}
	}
}

// OpenTo tells whether a resource's policy lets a user of another account in, whose own policies allow everything, and by
// which statement.
func OpenTo(d *iampolicy.Document, call iampolicy.Call, owner string) (sid string, ok bool) {
	call.Caller = iampolicy.Caller{ARN: "arn:aws:iam::999988887777:user/anybody", Account: "999988887777"}
	everything := []iampolicy.Named{{Name: "all", Document: &iampolicy.Document{Version: "2012-10-17", Statements: []iampolicy.Statement{
		{Effect: iampolicy.Allow, Actions: []string{"*"}, Resources: []string{"*"}},
	}}}}
	may := func(d *iampolicy.Document) bool {
		return iampolicy.Evaluate(call, iampolicy.Policies{Identity: everything, Resource: d, ResourceOnly: true, ResourceOwner: owner}).OK()
	}
	if !may(d) {
		return "", false
	}
	for i := range d.Statements {
		if may(&iampolicy.Document{Version: d.Version, Statements: d.Statements[i : i+1]}) {
			return d.Statements[i].Sid, true
		}
	}
	return "", true
}

// OwnRule is the ARN of a rule that sends to the queue.
func OwnRule(c *Comparison, q *awssetup.Queue) string {
	for _, r := range c.Found.Rules {
		for _, t := range r.Targets {
			if t.ARN == q.ARN || t.DeadLetter == q.ARN {
				return r.ARN
			}
		}
	}
	return c.Where().ARN("events", "rule/own")
}

// RuleName is what the owner calls a rule.
func RuleName(r awssetup.Rule) string {
	if r.LogicalID != "" {
		return r.LogicalID
	}
	return r.Name
}
