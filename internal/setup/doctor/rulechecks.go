package doctor

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/aws/account"
	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/eventpattern"
)

// rulesTo are the rules that lead to a queue, without those that a proof of delivery left behind.
func (in *Input) rulesTo(queueARN string) []awssetup.Rule {
	var out []awssetup.Rule
	for _, r := range in.AWS.Rules {
		if leadsTo(&r, queueARN) && !strings.HasPrefix(r.Name, account.ProbeRulePrefix) {
			out = append(out, r)
		}
	}
	return out
}

func leadsTo(r *awssetup.Rule, queueARN string) bool {
	return slices.ContainsFunc(r.Targets, func(t awssetup.Target) bool { return t.ARN == queueARN })
}

func rulesComplete(in *Input) Result {
	q, none := in.queue()
	if q == nil {
		return none
	}
	if g, isGap := in.gapAbout(account.GapRules); isGap {
		return unknown("the rules could not be read: %s", g.Why)
	}
	var missing, optional, there []string
	for _, e := range awssetup.Events {
		caught, nearly := in.caught(e, q.ARN)
		switch {
		case caught != "":
			there = append(there, e.Name+": "+caught)
		case e.Optional:
			optional = append(optional, e.Name+": "+nearly+e.Lost)
		default:
			missing = append(missing, e.Name+": "+nearly+e.Lost)
		}
	}
	for _, r := range account.Leftovers(&in.AWS.Setup, in.Now) {
		optional = append(optional, "rule "+r+" was left behind by a proof of delivery: aws events remove-targets --rule "+r+" --ids kerf-proof && aws events delete-rule --name "+r)
	}
	switch fix := in.fixes("adds the rules"); {
	case len(missing) > 0:
		return failed(fix, "no rule leads %s to the queue", count(len(missing), "kind")+" of event").with(append(missing, optional...)...)
	case len(optional) > 0:
		return warning(fix, "the rules that matter most are there, others are not").with(optional...)
	}
	return ok("each of %d kinds of event has one", len(awssetup.Events)).with(there...)
}

// caught names the rule by which an event gets to the queue. Without one, nearly says which rule would do it but for one
// thing.
func (in *Input) caught(e awssetup.Event, queueARN string) (rule, nearly string) {
	for i := range in.AWS.Rules {
		r := &in.AWS.Rules[i]
		if strings.HasPrefix(r.Name, account.ProbeRulePrefix) || !matchesAll(r, e.Samples(in.AWS.Region, in.AWS.AccountID)) {
			continue
		}
		switch {
		case r.Bus != "":
			nearly = "rule " + r.Name + " is on the event bus " + r.Bus + ", where events of AWS do not come; "
		case inputOf(r, queueARN) != "":
			nearly = "rule " + r.Name + " sends what its target's " + string(inputOf(r, queueARN)) + " makes of the event, which the controller can't read; "
		case r.Enabled && leadsTo(r, queueARN):
			return r.Name, ""
		case leadsTo(r, queueARN):
			nearly = "rule " + r.Name + " is disabled; "
		case r.Enabled && nearly == "" && len(r.Targets) > 0:
			nearly = "rule " + r.Name + " leads elsewhere, to " + r.Targets[0].ARN + "; "
		case r.Enabled && nearly == "":
			nearly = "rule " + r.Name + " has no target; "
		}
	}
	return "", nearly
}

// inputOf is what makes something else of the events that a rule sends to the queue; empty when one target gets them as
// they are, or when none leads there.
func inputOf(r *awssetup.Rule, queueARN string) (way awssetup.Input) {
	for _, t := range r.Targets {
		if t.ARN != queueARN {
			continue
		}
		if t.Input == "" {
			return ""
		}
		way = t.Input
	}
	return way
}

func matchesAll(r *awssetup.Rule, samples []json.RawMessage) bool {
	p, err := eventpattern.Parse(r.Pattern)
	if err != nil { // a schedule, or a pattern that EventBridge would not have taken
		return false
	}
	return !slices.ContainsFunc(samples, func(s json.RawMessage) bool { return !p.Match(s) })
}

func failedDeliveries(in *Input) Result {
	q, none := in.queue()
	if q == nil {
		return none
	}
	rules := in.rulesTo(q.ARN)
	if m := in.Metrics; m != nil {
		var lost []string
		for _, name := range slices.Sorted(maps.Keys(m.Rules)) {
			r := m.Rules[name]
			all := max(r.Invocations, r.Lost())
			if r.Failed > 0 {
				lost = append(lost, fmt.Sprintf("rule %s: %.0f of %.0f deliveries failed", name, r.Failed, all))
			}
			if r.Spared > 0 {
				lost = append(lost, fmt.Sprintf("rule %s: %.0f of %.0f events went to the dead-letter queue in place of the interruption queue", name, r.Spared, all))
			}
		}
		if len(lost) > 0 && in.Proof != nil && in.Proof.Delivered {
			return warning(lines(note("nothing, if that was before it was fixed; figures of the last minutes tell:"), in.doctor("--window", "10m")),
				"events did not arrive in the last %s; the probe did just now", short(m.Window)).with(lost...)
		}
		if len(lost) > 0 && in.pastOnly() {
			return warning(lines(note("nothing, if it was fixed since; whether events arrive now shows:"), in.doctor("--prove-delivery"), note("what was before is left out by:"), in.doctor("--window", "15m")),
				"events did not arrive in the last %s, but nothing failed in the last %s, and checks 1, 2 and 10 find nothing that keeps them out",
				short(m.Window), short(in.Recent.Window)).with(lost...)
		}
		if len(lost) > 0 {
			return failed(in.seek(), "events did not arrive in the last %s", short(m.Window)).with(lost...)
		}
	}
	if g, isGap := in.gapAbout(account.GapAlarms, account.GapRules); isGap {
		return unknown("not everything could be read: %s", g.Why)
	}
	var lacking []string
	for _, r := range rules {
		if lack := in.unwatched(&r, q.ARN); lack != "" {
			lacking = append(lacking, lack)
		}
	}
	if !in.alarmOn(queueMetrics, "ApproximateAgeOfOldestMessage", "QueueName", q.Name) {
		lacking = append(lacking, "no alarm tells when messages wait in the queue (ApproximateAgeOfOldestMessage)")
	}
	if len(lacking) > 0 {
		return warning(in.fixes("adds them"), "nobody would notice that deliveries fail").with(lacking...)
	}
	r := ok("%s and the queue are watched", count(len(rules), "rule"))
	if in.Metrics == nil {
		r = r.with("the metrics could not be read: " + in.NoMetrics)
	}
	return r
}

// pastOnly tells whether deliveries failed earlier only, and what may keep events out is in order.
func (in *Input) pastOnly() bool {
	if in.Recent == nil || in.Proof != nil && !in.Proof.Delivered {
		return false
	}
	for _, r := range in.Recent.Rules {
		if r.Lost() > 0 {
			return false
		}
	}
	return in.nothingKeepsOut()
}

// nothingKeepsOut tells whether the checks of what may keep events out of the queue found nothing.
func (in *Input) nothingKeepsOut() bool {
	key := queueKeyPolicy(in).Status
	policy := queuePolicy(in).Status // a warning is of a policy that lets in too much
	return queueManagedKey(in).Status == OK && (key == OK || key == Skipped) && (policy == OK || policy == Warning)
}

// seek says where the cause of failures is found.
func (in *Input) seek() string {
	if !in.nothingKeepsOut() {
		return "see checks 1, 2 and 10 for the cause"
	}
	return "checks 1, 2 and 10 find no cause; if it was fixed minutes ago, run the doctor again with --window 15m a while later, or with --prove-delivery now; " +
		"else messages in a dead-letter queue (check 22) carry the reason in ERROR_MESSAGE"
}

// unwatched says how events of a rule can fail to reach the queue without anybody noticing; empty if they cannot.
func (in *Input) unwatched(r *awssetup.Rule, queueARN string) string {
	spare := ""
	for _, t := range r.Targets {
		if t.ARN == queueARN {
			spare = t.DeadLetter
		}
	}
	switch {
	case spare == "" && !in.alarmOn(eventMetrics, "FailedInvocations", "RuleName", r.Name):
		return "rule " + r.Name + " has neither an alarm on FailedInvocations nor a dead-letter queue for its target"
	case spare != "" && !in.alarmOn(eventMetrics, "InvocationsSentToDlq", "RuleName", r.Name) &&
		!in.alarmOn(queueMetrics, "ApproximateNumberOfMessagesVisible", "QueueName", spare[strings.LastIndex(spare, ":")+1:]):
		return "no alarm tells when events of rule " + r.Name + " go to its dead-letter queue, which FailedInvocations does not count (InvocationsSentToDlq)"
	}
	return ""
}

// Namespaces of metrics.
const (
	eventMetrics = "AWS/Events"
	queueMetrics = "AWS/SQS"
)

func (in *Input) alarmOn(namespace, metric, dimension, value string) bool {
	return slices.ContainsFunc(in.AWS.Alarms, func(a awssetup.Alarm) bool {
		return a.Namespace == namespace && a.Metric == metric && a.Dimensions[dimension] == value
	})
}

// proveIt is how a proof of delivery is made.
func (in *Input) proveIt() string {
	return lines(note("prove it; this makes a rule for a moment and takes it away again:"), in.doctor("--prove-delivery"))
}

// doctor is this command again, with further flags.
func (in *Input) doctor(flags ...string) string {
	words := []string{"kerf", "doctor", "--cluster-name", in.ClusterName}
	if in.AWS != nil && in.AWS.Region != "" {
		words = append(words, "--region", in.AWS.Region)
	}
	return command(append(words, flags...)...)
}

func delivery(in *Input) Result {
	q, none := in.queue()
	if q == nil {
		return none
	}
	switch {
	case in.ProofError != "":
		return unknown("the proof could not be made: %s", in.ProofError).with(proofNotes(in)...)
	case in.Proof != nil:
		r := proven(in)
		r.asked = true
		return r
	}
	m := in.Metrics
	if m == nil {
		r := unknown("nobody asked for a proof, and the metrics could not be read: %s", in.NoMetrics)
		r.Remedy = in.proveIt()
		return r
	}
	var matched, invoked, lost float64
	for _, r := range m.Rules {
		matched, invoked, lost = matched+r.Matched, invoked+r.Invocations, lost+r.Lost()
	}
	queue := m.Queues[q.Name]
	figures := []string{
		fmt.Sprintf("in the last %s rules matched %.0f events, %.0f deliveries were tried and %.0f did not arrive", short(m.Window), matched, invoked, lost),
		fmt.Sprintf("the queue got %.0f messages; %.0f were received and %.0f deleted", queue.Sent, queue.Received, queue.Deleted),
	}
	switch {
	case lost > 0 && lost >= invoked && in.pastOnly():
		return warning(in.proveIt(), "every delivery to the queue failed, but none in the last %s, and nothing is found that keeps events out", short(in.Recent.Window)).with(figures...)
	case lost > 0 && lost >= invoked:
		return failed(lines(note("see checks 1, 2 and 10 first"), in.proveIt()), "every delivery to the queue fails: its encryption or its policy keeps events out").with(figures...)
	case queue.Sent > 0 && queue.Received == 0:
		return failed("see check 5, and whether the controller runs with INTERRUPTION_QUEUE="+q.Name, "messages arrive and nobody reads them").with(figures...)
	case matched == 0 && invoked == 0 && queue.Sent == 0:
		r := unknown("no event of these kinds happened in the last %s, so that nothing is known", short(m.Window)).with(figures...)
		r.Remedy = in.proveIt()
		return r
	case queue.Sent == 0 && queue.Received == 0:
		return warning(in.proveIt(), "rules matched events, but SQS counts no message").with(figures...)
	}
	return ok("events arrive and are read").with(figures...)
}

func proven(in *Input) Result {
	p := in.Proof
	if p.Delivered {
		return ok("proven: a probe was %s %.1f s after it was sent first", p.Witness, p.Took.Seconds()).with(proofNotes(in)...)
	}
	if p.Failed > 0 {
		return failed("see checks 1, 2 and 10 for what keeps it out",
			"disproven: EventBridge matched the probe and could not write it to the queue, %s", count(int(p.Failed), "time")).with(proofNotes(in)...)
	}
	return failed("see checks 1, 2, 5 and 10", "a probe was sent %d times and not seen within %.0f s", p.Sent, p.Took.Seconds()).with(proofNotes(in)...)
}

func proofNotes(in *Input) []string {
	if in.Proof == nil {
		return nil
	}
	out := []string{fmt.Sprintf("probe %s through rule %s", in.Proof.ID, in.Proof.Rule)}
	if in.Proof.Rule == "" {
		out = nil
	}
	return append(out, in.Proof.Notes...)
}
