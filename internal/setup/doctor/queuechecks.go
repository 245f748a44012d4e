package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/aws/account"
	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

func queueExists(in *Input) Result {
	off := in.interruptionOff()
	q, none := in.queue()
	switch {
	case q == nil && none.Status == Unknown:
		return none
	case q == nil && off != "":
		return warning(lines(note("deploy a stack with a queue and all that belongs to it, and set INTERRUPTION_QUEUE to the queue:"), in.makesStack()),
			"interruptions are not handled: %s", off)
	case q == nil:
		return failed(lines(note("if the name is wrong, set INTERRUPTION_QUEUE (settings.interruptionQueue of the chart) to the queue's; if it is right:"), in.fixes("makes it, its policy and what is missing beside it")),
			"queue %q does not exist in %s", in.AWS.QueueName, in.AWS.Region).with("the name comes from " + in.QueueFrom)
	case off != "":
		return warning("set INTERRUPTION_QUEUE="+q.Name, "queue %s exists, but the controller does not use it: %s", q.Name, off)
	}
	var others []string
	for _, c := range in.controllers() {
		ref, err := account.ParseQueueRef(c.Queue)
		switch {
		case c.Queue == "":
		case err != nil:
			return failed("set INTERRUPTION_QUEUE to the name of the queue", "%s has a queue setting that names no queue", c).with(err.Error())
		case ref.Name != c.Queue && !c.isKerf():
			return failed("set INTERRUPTION_QUEUE="+ref.Name+" there", "%s is given the queue as %q, and takes nothing but its name", c, c.Queue).with("image " + c.Image)
		case ref.Name != q.Name:
			others = append(others, fmt.Sprintf("%s reads queue %s", c, ref.Name))
		}
	}
	if len(others) > 0 {
		return warning("run the doctor for that queue, with --queue", "queue %s exists, but the controller reads another", q.Name).with(others...)
	}
	r := ok("queue %s exists, with %s waiting", q.Name, count(q.Messages, "message"))
	if in.QueueFrom != "" {
		r = r.with("the name comes from " + in.QueueFrom)
	}
	if reason, message := in.condition(); reason == "QueueNotFound" {
		return failed("set INTERRUPTION_QUEUE to "+q.Name, "the controller does not find its queue").with("it says: " + message)
	}
	return r
}

// interruptionOff says how it shows that the controller has no queue; empty when it has one or is not known.
func (in *Input) interruptionOff() string {
	for _, c := range in.controllers() {
		if c.Queue == "" && c.QueueFrom == "" {
			return c.String() + " has no INTERRUPTION_QUEUE"
		}
	}
	return ""
}

// controllers are those of this cluster.
func (in *Input) controllers() []Controller {
	if in.Kube == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(in.Kube.Controllers), func(c Controller) bool { return c.ClusterName != "" && c.ClusterName != in.ClusterName })
}

func queueShared(in *Input) Result {
	q, none := in.queue()
	if q == nil {
		return none
	}
	if in.Kube != nil {
		var readers []string
		for _, c := range in.Kube.Controllers {
			if ref, err := account.ParseQueueRef(c.Queue); err == nil && ref.Name == q.Name {
				readers = append(readers, fmt.Sprintf("%s, for cluster %s", c, c.ClusterName))
			}
		}
		if len(readers) > 1 {
			return failed("give each cluster a queue and rules of its own, and scale all but one controller of this cluster to zero",
				"%d controllers read this queue, and each deletes what is meant for the others", len(readers)).with(readers...)
		}
	}
	owners := owners(q)
	switch {
	case len(owners) > 0 && !slices.Contains(owners, in.ClusterName):
		return failed("give this cluster a queue and rules of its own; two controllers on one queue delete each other's messages",
			"the queue is tagged for another cluster: %s", strings.Join(owners, ", "))
	case len(owners) > 1:
		return failed("give each cluster a queue and rules of its own", "the queue is tagged for several clusters: %s", strings.Join(owners, ", "))
	case len(owners) == 1:
		return ok("the queue is tagged for this cluster")
	case q.Name == in.ClusterName:
		return ok("the queue has the cluster's name").with("it has no tag karpenter.sh/discovery")
	}
	if _, gap := in.gapAbout("queue " + q.Name + " (its tags)"); gap {
		return unknown("the queue's tags could not be read, and its name does not say for which cluster it is")
	}
	return warning("tag it karpenter.sh/discovery="+in.ClusterName+" once you know that no other cluster reads it",
		"nothing says for which cluster queue %s is: two controllers on one queue delete each other's messages", q.Name)
}

// owners are the clusters that a queue's tags name.
func owners(q *awssetup.Queue) []string {
	set := map[string]bool{}
	for k, v := range q.Tags {
		if k == "karpenter.sh/discovery" || k == "eks:eks-cluster-name" {
			set[v] = true
		}
		if name, ok := strings.CutPrefix(k, "kubernetes.io/cluster/"); ok {
			set[name] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

func queueRetention(in *Input) Result {
	q, none := in.queue()
	switch {
	case q == nil:
		return none
	case q.Retention == 0:
		return unknown("SQS did not tell the retention")
	case q.Retention > awssetup.StaleAfter:
		return warning(in.fixes("sets it to 300 s"), "messages are kept for %s: after an outage the controller gets notices about instances that are long gone", short(q.Retention))
	case q.Retention < 2*time.Minute:
		return warning(in.fixes("sets it to 300 s"), "messages are kept for %s only: one is lost when the controller restarts slowly", short(q.Retention))
	}
	return ok("messages are kept for %s", short(q.Retention))
}

func queueFIFO(in *Input) Result {
	q, none := in.queue()
	switch {
	case q == nil:
		return none
	case q.FIFO:
		return failed(lines(note("deploy a stack with a standard queue and its rules, and set INTERRUPTION_QUEUE to it:"), in.makesStack("--queue-name", strings.TrimSuffix(q.Name, ".fifo"))),
			"%s is a FIFO queue: rules without a message group can't send to it, and the controller does not read it", q.Name)
	}
	return ok("%s is a standard queue", q.Name)
}

// stranger is an account that nobody here knows.
const stranger = "210987654321"

func queuePolicy(in *Input) Result {
	q, none := in.queue()
	if q == nil {
		return none
	}
	fix := in.fixes("writes the queue's policy anew")
	if q.Policy == nil {
		if g, ok := in.gapAbout("queue " + q.Name); ok {
			return unknown("the queue's policy could not be read: %s", g.Why)
		}
		return failed(fix, "the queue has no policy, so that EventBridge may not send to it")
	}
	rules := in.rulesTo(q.ARN)
	if len(rules) == 0 { // then it is judged by a rule as it would be named
		rules = []awssetup.Rule{{Name: "any rule", ARN: fmt.Sprintf("arn:%s:events:%s:%s:rule/%s", in.AWS.Partition, in.AWS.Region, in.AWS.AccountID, in.ClusterName)}}
	}
	var refused []string
	for _, rule := range rules {
		if d := awssetup.MaySend(q, rule.ARN, true); !d.OK() {
			refused = append(refused, rule.Name+": "+told(d))
		}
	}
	if len(refused) > 0 {
		return failed(fix, "the queue's policy refuses what EventBridge sends").with(refused...)
	}
	var wide []string
	if awssetup.MaySend(q, rules[0].ARN, false).OK() {
		wide = append(wide, "it does not refuse calls without TLS")
	}
	out := iampolicy.Evaluate(iampolicy.Call{
		Caller: iampolicy.Caller{ARN: "arn:" + in.AWS.Partition + ":iam::" + stranger + ":user/stranger", Account: stranger}, Action: "sqs:SendMessage", Resource: q.ARN,
		Context: iampolicy.Context{"aws:securetransport": {"true"}},
	}, iampolicy.Policies{Resource: q.Policy, ResourceOwner: stranger, ResourceOnly: true})
	if out.OK() {
		wide = append(wide, "anybody in any account may send to it"+sid(out))
	}
	if len(wide) > 0 {
		return warning(fix, "EventBridge may send, but the queue's policy is too wide").with(wide...)
	}
	return ok("EventBridge may send for %s", count(len(rules), "rule"))
}

// told words a refusal.
func told(d iampolicy.Decision) string {
	if d.Outcome == iampolicy.ExplicitDeny {
		return "denied by " + d.Policy + sid(d)
	}
	if near := d.Near(); len(near) > 0 {
		return "no statement allows it; nearest: " + strings.Join(near, "; ")
	}
	return "no statement allows it"
}

func sid(d iampolicy.Decision) string {
	if d.Sid == "" {
		return ""
	}
	return " (statement " + d.Sid + ")"
}

func accountOf(arn string) string {
	if parts := strings.SplitN(arn, ":", 6); len(parts) == 6 {
		return parts[4]
	}
	return ""
}

// short writes a duration without its zero parts.
func short(d time.Duration) string {
	switch {
	case d >= 48*time.Hour && d%(24*time.Hour) == 0:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d >= 10*time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%g s", d.Seconds())
}
