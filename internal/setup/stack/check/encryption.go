package check

import (
	"fmt"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

// AWSManagedQueueKey is the key that AWS keeps for SQS in each account.
const AWSManagedQueueKey = "alias/aws/sqs"

// encryption judges whether what EventBridge sends can be encrypted, and what the controller receives decrypted.
//
// Source: Amazon SQS developer guide, "Key management" (event sources need a customer managed key; producers need
// kms:GenerateDataKey and kms:Decrypt); EventBridge user guide, "Troubleshooting" (events are not delivered to a queue).
func (c *Comparison) encryption() {
	q := c.Found.Queue
	if q == nil {
		return
	}
	c.keyOf(q, true)
	seen := map[string]bool{q.ARN: true}
	dead := []string{q.DeadLetter}
	for _, r := range c.Found.Rules {
		for _, t := range r.Targets {
			if t.ARN == q.ARN {
				dead = append(dead, t.DeadLetter)
			}
		}
	}
	for _, arn := range dead {
		if d := c.Found.Setup.QueueByARN(arn); d != nil && !seen[arn] {
			seen[arn] = true
			c.keyOf(d, false)
		}
	}
}

func (c *Comparison) keyOf(q *awssetup.Queue, read bool) {
	base := Finding{Area: AreaEncryption, Thing: q.Name, Queue: q.Name}
	if q.KMSKey == "" {
		if !q.ManagedSSE {
			f := base
			f.Severity, f.What = Advice, "its messages are not encrypted"
			f.Why, f.Fix = "they name instances and times, no more", "turn on SSE-SQS (SqsManagedSseEnabled: true), which needs no key"
			c.add(f)
		}
		return
	}
	if q.ManagedSSE {
		f := base
		f.Severity, f.What = Different, fmt.Sprintf("it has both SSE-SQS and the key %s", q.KMSKey)
		f.Why, f.Fix = "SQS takes one of them, and refuses the queue", "leave one out; SSE-SQS needs no key"
		c.add(f)
	}
	k := c.Found.Key(q.KMSKey)
	if strings.HasSuffix(q.KMSKey, AWSManagedQueueKey) || k != nil && k.Manager == "AWS" {
		f := base
		f.Severity, f.Policy, f.Resource = Missing, "key policy", AWSManagedQueueKey
		f.What = "it is encrypted with " + AWSManagedQueueKey + ", whose policy does not let EventBridge use it and cannot be changed"
		f.Why = "every invocation of the rules fails (FailedInvocations, or InvocationsSentToDlq, equals Invocations), the queue stays empty, and no interruption is noticed"
		f.Fix = "turn on SSE-SQS (SqsManagedSseEnabled: true) in its place, or use a key of your own (kerf stack --kms)"
		c.add(f)
		return
	}
	if k == nil {
		c.Report.Unread = append(c.Report.Unread, Unread{What: "key policy of " + q.KMSKey, Why: "the key of queue " + q.Name + " is not part of what was read; check the live account with --live"})
	} else {
		c.keyPolicy(q, k)
	}
	if read {
		c.decrypting(q, k)
	}
}

func (c *Comparison) keyPolicy(q *awssetup.Queue, k *awssetup.Key) {
	name := k.LogicalID
	if name == "" {
		name = k.ARN
	}
	base := Finding{Area: AreaEncryption, Thing: name, Queue: q.Name, Policy: "key policy", Resource: k.ARN}
	if !k.Enabled {
		f := base
		f.Severity, f.What = Missing, "the key is disabled"
		f.Why, f.Fix = "nothing can be sent to queue "+q.Name+" or received from it", "enable the key"
		c.add(f)
	}
	if !k.Rotation && !k.RotationUnread {
		f := base
		f.Severity, f.What = Advice, "its key material is not rotated"
		f.Why, f.Fix = "what one leaked version of the key encrypted stays readable for as long as the key is used", "turn on its yearly rotation (EnableKeyRotation); nothing else changes"
		c.add(f)
	}
	if k.Policy == nil {
		if _, ok := c.Found.unread("key", k.ID); ok {
			return
		}
	}
	for _, action := range awssetup.KeyActions {
		d := awssetup.MayUseKey(action, k, q.ARN)
		if d.OK() {
			continue
		}
		f := base
		f.Severity, f.Action = Missing, action
		f.What = fmt.Sprintf("its policy does not let events.amazonaws.com call %s", action)
		if k.Policy == nil {
			f.What = fmt.Sprintf("it has no policy of its own, and the one that KMS gives it does not let events.amazonaws.com call %s", action)
		}
		if near := d.Near(); len(near) > 0 {
			f.What += ": " + strings.Join(near, "; ")
			f.Key = keyIn(near[0])
		}
		if d.Outcome == iampolicy.ExplicitDeny {
			f.What = fmt.Sprintf("its policy denies events.amazonaws.com %s (statement %s)", action, d.Sid)
		}
		f.Why = "EventBridge cannot encrypt what it sends to queue " + q.Name + ": every invocation fails (FailedInvocations), the queue stays empty, and no interruption is noticed"
		f.Fix = `add to the key's policy: {"Sid":"AllowEventBridgeToUseTheKey","Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},"Action":["kms:GenerateDataKey","kms:Decrypt"],"Resource":"*"}, without conditions on the source: EventBridge tells KMS neither aws:SourceArn nor aws:SourceAccount`
		c.add(f)
	}
	c.keyWidth(base, k)
}

// keyWidth tries who should not be able to use the key.
func (c *Comparison) keyWidth(base Finding, k *awssetup.Key) {
	if k.Policy == nil {
		return
	}
	defer func() {
		base.Action = ""
		c.reportOutsiders(base, Outsiders(k.Policy, c.Found.AccountID, SendingServices...), "use it",
			"what it protects can be read", "name the services and roles that need it; of services events.amazonaws.com alone, without a condition on the source, for it tells KMS none")
	}()
	sid, ok := OpenTo(k.Policy, iampolicy.Call{Action: "kms:Decrypt", Resource: k.ARN, Context: iampolicy.Context{}}, c.Found.AccountID)
	if !ok {
		return
	}
	f := base
	f.Severity, f.What, f.Sid, f.Action = TooWide, "its policy lets other accounts use it", sid, "kms:Decrypt"
	f.Why, f.Fix = "what it protects can be read by anybody", "name the services and roles that need it"
	c.add(f)
}

// decrypting judges whether the controller can read what the key encrypts. That its own policies allow it is judged with
// the other permissions; here the key must agree.
func (c *Comparison) decrypting(q *awssetup.Queue, k *awssetup.Key) {
	if len(c.Found.ControllerPolicies) == 0 {
		return
	}
	arn := q.KMSKey
	if k != nil {
		arn = k.ARN
	}
	if k == nil && !strings.Contains(arn, ":key/") {
		return
	}
	if k != nil && k.Policy == nil {
		return
	}
	ctx := iampolicy.Context{}
	ctx.Set("kms:ViaService", "sqs."+c.Found.Region+"."+partition.SuffixOf(c.Found.Partition))
	call := iampolicy.Call{Action: "kms:Decrypt", Resource: arn, Context: ctx}
	d := c.decide(c.Found, call)
	if gap, partly := c.Found.unreadPermissions(); partly && d.Outcome == iampolicy.ImplicitDeny {
		c.Report.Unread = append(c.Report.Unread, Unread{
			What: "whether the controller may decrypt with " + arn, Why: "no policy that could be read allows it; " + gap.What + " could not be read",
		})
		return
	}
	if !d.OK() && !c.reports("kms:Decrypt", Missing) {
		f := Finding{
			Severity: Missing, Area: AreaEncryption, Thing: arn, Queue: q.Name, Action: "kms:Decrypt", Resource: arn, Policy: "key policy",
			What: "the controller may not decrypt with this key: neither the key's policy nor the controller's together with it allow kms:Decrypt",
			Why:  "ReceiveMessage fails with KMS.AccessDeniedException, and no interruption is noticed",
			Fix:  "allow kms:Decrypt on the key's ARN in the controller's policies, and let the key's policy name the account's root or the controller's role",
		}
		c.add(f)
	}
}

func (c *Comparison) reports(action string, s Severity) bool {
	for _, f := range c.Report.Findings {
		if f.Action == action && f.Severity == s && f.Area == AreaPermissions {
			return true
		}
	}
	return false
}
