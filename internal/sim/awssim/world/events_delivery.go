package world

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/eventpattern"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

// Principals of services.
const (
	EventBridgePrincipal = "events.amazonaws.com"
	SQSPrincipal         = "sqs.amazonaws.com"
)

// Codes that EventBridge gives with events in dead-letter queues.
const (
	noPermissions  = "NO_PERMISSIONS"
	noResource     = "NO_RESOURCE"
	targetRefuses  = "ERROR_FROM_TARGET"
	invalidJSON    = "INVALID_JSON"
	sdkClientError = "SDK_CLIENT_ERROR"
)

// Failure is an event that did not get to a target.
type Failure struct {
	At         time.Time `json:"at"`
	Rule       string    `json:"rule"` // name
	Target     string    `json:"target"`
	EventID    string    `json:"eventId"`
	Code       string    `json:"code"`
	Message    string    `json:"message"`
	DeadLetter bool      `json:"deadLetter"` // it is in the target's dead-letter queue
}

// maxFailures is how many failures are remembered.
const maxFailures = 200

// Delivery is what came of an event.
type Delivery struct {
	Rules     []string // that matched, by name
	Delivered int      // targets that got it
	Failed    []Failure
}

func eventID(serial int, now time.Time) string {
	return fmt.Sprintf("%08x-6b65-4266-8000-%012x", serial, now.Unix())
}

// Emit puts an event on the default bus: every enabled rule that matches sends it to its targets, as far as their
// policies and keys let EventBridge in.
func (w *World) Emit(e Event) (Delivery, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return Delivery{}, fmt.Errorf("encode event %s: %w", e.DetailType, err)
	}
	read, _ := eventpattern.Read(text)
	w.mu.Lock()
	defer w.mu.Unlock()
	var d Delivery
	for _, name := range slices.Sorted(maps.Keys(w.bus.rules)) {
		r := w.bus.rules[name]
		if !r.Enabled || !r.pattern.Match(read) {
			continue
		}
		d.Rules = append(d.Rules, name)
		w.countRuleLocked(r, "TriggeredRules")
		w.countRuleLocked(r, "MatchedEvents")
		for i := range r.Targets {
			if f := w.invokeLocked(r, &r.Targets[i], e, text); f != nil {
				d.Failed = append(d.Failed, *f)
			} else {
				d.Delivered++
			}
		}
	}
	return d, nil
}

// countRuleLocked counts one for a rule and one for all rules.
func (w *World) countRuleLocked(r *Rule, metric string) {
	w.valueLocked("AWS/Events", metric, "Count", 1, map[string]string{"RuleName": r.Name})
	w.valueLocked("AWS/Events", metric, "Count", 1, nil)
}

// refused is why a target did not take an event.
type refused struct{ code, message string }

func (r *refused) Error() string { return r.code + ": " + r.message }

// invokeLocked sends an event to a target. A failure that ends in the target's dead-letter queue is not counted among
// FailedInvocations: CloudWatch says how many went there instead.
func (w *World) invokeLocked(r *Rule, t *Target, e Event, text []byte) *Failure {
	w.countRuleLocked(r, "Invocations")
	body, err := t.body(text)
	if err == nil {
		err = w.deliverLocked(r, t.ARN, body, nil)
	}
	if err == nil {
		return nil
	}
	f := &Failure{At: w.clock.Now(), Rule: r.Name, Target: t.ARN, EventID: e.ID, Code: sdkClientError, Message: err.Error()}
	if no, ok := errors.AsType[*refused](err); ok {
		f.Code, f.Message = no.code, no.message
	}
	f.DeadLetter = w.deadLetter(r, t, f, text)
	if !f.DeadLetter {
		w.countRuleLocked(r, "FailedInvocations")
	}
	w.bus.failed++
	w.bus.failures = append(w.bus.failures, *f)
	if n := len(w.bus.failures); n > maxFailures {
		w.bus.failures = slices.Delete(w.bus.failures, 0, n-maxFailures)
	}
	return f
}

// deadLetter puts an event that could not be delivered on the target's dead-letter queue and tells whether it is there.
func (w *World) deadLetter(r *Rule, t *Target, f *Failure, text []byte) bool {
	if t.DeadLetter == "" {
		return false
	}
	attributes := map[string]MessageAttributes{}
	for k, v := range map[string]string{"RULE_ARN": r.ARN, "TARGET_ARN": t.ARN, "ERROR_CODE": f.Code, "ERROR_MESSAGE": f.Message} {
		attributes[k] = MessageAttributes{DataType: "String", StringValue: v}
	}
	if err := w.deliverLocked(r, t.DeadLetter, string(text), attributes); err != nil {
		w.countRuleLocked(r, "InvocationsFailedToBeSentToDlq")
		return false
	}
	w.countRuleLocked(r, "InvocationsSentToDlq")
	return true
}

// body is what a target gets of an event.
func (t *Target) body(text []byte) (string, error) {
	if t.Input != "" {
		return t.Input, nil
	}
	if t.InputPath == "" || t.InputPath == "$" {
		return string(text), nil
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return "", &refused{invalidJSON, err.Error()}
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(t.InputPath, "$."), ".") {
		m, _ := v.(map[string]any)
		below, ok := m[part]
		if !ok {
			return "", &refused{invalidJSON, fmt.Sprintf("the event has nothing at %s", t.InputPath)}
		}
		v = below
	}
	out, err := json.Marshal(v)
	return string(out), err
}

// deliverLocked sends a message to a queue as EventBridge does: through the queue's policy and, if the queue is encrypted
// with a KMS key, through the policy of that key.
func (w *World) deliverLocked(r *Rule, queueARN, body string, attributes map[string]MessageAttributes) error {
	name, ok := strings.CutPrefix(queueARN, w.QueueARN(""))
	if !ok {
		return &refused{noResource, fmt.Sprintf("nothing is simulated at %s; targets are queues of this account and region", queueARN)}
	}
	q := w.sqs.queues[name]
	if q == nil {
		return &refused{noResource, fmt.Sprintf("The queue %s does not exist.", queueARN)}
	}
	context := iampolicy.Context{}
	context.Set("aws:SourceArn", r.ARN)
	context.Set("aws:SourceAccount", w.opts.Account)
	context.Set("aws:SecureTransport", "true")
	context.Set("aws:PrincipalIsAWSService", "true")
	context.Set("aws:PrincipalServiceName", EventBridgePrincipal)
	context.Set("aws:RequestedRegion", w.opts.Region)
	if why := w.serviceMay("sqs:SendMessage", queueARN, context, q.policy, false); why != "" {
		return &refused{noPermissions, why}
	}
	if err := w.sealLocked(q); err != nil {
		return err
	}
	if _, err := w.sendLocked(q, EventBridgePrincipal, body, attributes, -1); err != nil {
		return &refused{targetRefuses, err.Error()}
	}
	return nil
}

// serviceMay asks a resource's policy whether EventBridge may do something and returns why it may not.
func (w *World) serviceMay(action, resource string, context iampolicy.Context, policy *iampolicy.Document, key bool) string {
	d := iampolicy.Evaluate(
		iampolicy.Call{Caller: iampolicy.Caller{Service: EventBridgePrincipal}, Action: action, Resource: resource, Context: context},
		iampolicy.Policies{Resource: policy, ResourceOwner: w.opts.Account, ResourceOnly: key},
	)
	if d.OK() {
		return ""
	}
	text := fmt.Sprintf("%s is not authorized to perform %s on %s", EventBridgePrincipal, action, resource)
	switch {
	case d.Outcome == iampolicy.ExplicitDeny:
		text += fmt.Sprintf(" with an explicit deny in the resource policy (Sid %q)", d.Sid)
	case policy == nil:
		text += ": it has no policy"
	default:
		text += " because no resource-based policy allows it"
	}
	if near := d.Near(); len(near) > 0 {
		text += "; nearest: " + strings.Join(near, "; ")
	}
	return text
}

// sealLocked encrypts a message for a queue on EventBridge's behalf: SQS asks KMS for a data key and opens it once to
// verify it. SQS's own key (SSE-SQS) needs nobody's leave. EventBridge passes neither source nor account to KMS.
func (w *World) sealLocked(q *queue) error {
	ref := q.attributes["KmsMasterKeyId"]
	if ref == "" {
		return nil
	}
	k, err := w.keyLocked(ref)
	if err != nil {
		return &refused{noPermissions, fmt.Sprintf("KMS.NotFoundException: the key %s of queue %s does not exist", ref, q.name)}
	}
	if k.State != KeyEnabled {
		return &refused{noPermissions, fmt.Sprintf("KMS.DisabledException: the key %s of queue %s is %s", k.ARN, q.name, k.State)}
	}
	context := iampolicy.Context{}
	context.Set("kms:ViaService", "sqs."+w.opts.Region+"."+partition.SuffixOf(w.Partition()))
	context.Set("aws:RequestedRegion", w.opts.Region)
	context.Set("kms:EncryptionContext:aws:sqs:arn", w.QueueARN(q.name))
	context.Set("aws:SecureTransport", "true")
	context.Set("aws:PrincipalIsAWSService", "true")
	context.Set("aws:PrincipalServiceName", EventBridgePrincipal)
	for _, action := range []string{"kms:GenerateDataKey", "kms:Decrypt"} {
		if why := w.serviceMay(action, k.ARN, context, k.Policy, true); why != "" {
			return &refused{noPermissions, "KMS.AccessDeniedException: " + why}
		}
	}
	return nil
}

// Failures returns the newest events that did not get to a target, oldest first.
func (w *World) Failures() []Failure {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.bus.failures)
}

// FailureCount returns how often an event did not get to a target.
func (w *World) FailureCount() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bus.failed
}

// InterruptionRules are the kinds of events that a node autoscaler wants, by the names that their rules have here.
var interruptionRules = []struct{ name, pattern string }{
	{"ScheduledChangeRule", `{"source":["aws.health"],"detail-type":["AWS Health Event"]}`},
	{"SpotInterruptionRule", `{"source":["aws.ec2"],"detail-type":["EC2 Spot Instance Interruption Warning"]}`},
	{"RebalanceRule", `{"source":["aws.ec2"],"detail-type":["EC2 Instance Rebalance Recommendation"]}`},
	{"InstanceStateChangeRule", `{"source":["aws.ec2"],"detail-type":["EC2 Instance State-change Notification"]}`},
	{"CapacityReservationInterruptionRule", `{"source":["aws.ec2"],"detail-type":["EC2 Capacity Reservation Instance Interruption Warning"]}`},
}

// FurnishInterruption makes an interruption queue with its policy and the rules that send to it, as the install guide's
// stack does, for accounts that deploy none.
func (w *World) FurnishInterruption(queue string) error {
	const retention = 5 * time.Minute
	arn := w.QueueARN(queue)
	policy := fmt.Sprintf(`{"Version":"2012-10-17","Id":"EC2InterruptionPolicy","Statement":[`+
		`{"Effect":"Allow","Principal":{"Service":[%q,%q]},"Action":"sqs:SendMessage","Resource":%q},`+
		`{"Sid":"DenyHTTP","Effect":"Deny","Action":"sqs:*","Resource":%q,"Condition":{"Bool":{"aws:SecureTransport":"false"}},"Principal":"*"}]}`,
		EventBridgePrincipal, SQSPrincipal, arn, arn)
	if _, err := w.CreateQueue(queue, map[string]string{
		"MessageRetentionPeriod": strconv.Itoa(int(retention / time.Second)), "SqsManagedSseEnabled": "true", "Policy": policy,
	}); err != nil {
		return fmt.Errorf("make the interruption queue %q: %w", queue, err)
	}
	for _, r := range interruptionRules {
		if _, err := w.PutRule(Rule{Name: r.name, Pattern: r.pattern, Enabled: true}); err != nil {
			return fmt.Errorf("make the rule %s: %w", r.name, err)
		}
		if err := w.PutTargets(r.name, []Target{{ID: "KarpenterInterruptionQueueTarget", ARN: arn}}); err != nil {
			return fmt.Errorf("give the rule %s its target: %w", r.name, err)
		}
	}
	return nil
}
