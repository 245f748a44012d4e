package fix

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/setup/stack/check"
)

// keyForEvents is the Sid of the statement that lets EventBridge use the queue's key, as Kerf writes it.
const keyForEvents = "AllowEventBridgeToUseTheKey"

// queue fixes the attributes of the interruption queue, or adds one.
func (m *fixer) queue() {
	if m.c.Found.Queue == nil {
		if m.reported(check.AreaQueue, func(f check.Finding) bool { return f.Severity == check.Missing }) {
			q := *m.c.Wanted.Queue
			q.Policy, q.DeadLetter = nil, ""
			q.LogicalID = m.logicalID(q.LogicalID)
			m.s.Queues = append(m.s.Queues, q)
			m.added(queuePart, len(m.s.Queues)-1)
			m.deadLetterOf(len(m.s.Queues) - 1)
		}
		return
	}
	i := m.queueIndex()
	q, want := &m.s.Queues[i], m.c.Wanted.Queue
	if q.FIFO {
		return // it cannot be changed, and what is in its place has another name
	}
	if q.Retention != want.Retention {
		q.Retention = want.Retention
		m.touch(queuePart, i, "retention")
	}
	if q.Visibility != want.Visibility && m.c.Asked.Visibility != 0 { // else it makes no difference
		q.Visibility = want.Visibility
		m.touch(queuePart, i, "visibility")
	}
	if q.Delay > 0 {
		q.Delay = 0
		m.touch(queuePart, i, "delay")
	}
	if check.TooSmall(q) {
		q.MaxMessage = check.EventSize
		m.touch(queuePart, i, "size")
	}
	if v, ok := want.Tags["karpenter.sh/discovery"]; ok && q.Tags["karpenter.sh/discovery"] == "" {
		tags := map[string]string{"karpenter.sh/discovery": v}
		for k, v := range q.Tags {
			tags[k] = v
		}
		q.Tags = tags
		m.touch(queuePart, i, "tags")
	}
	if want.DeadLetter != "" {
		m.deadLetterOf(i)
	}
}

// deadLetterOf fixes where what cannot be handled goes.
func (m *fixer) deadLetterOf(i int) {
	want := m.c.Wanted.Queue
	if want.DeadLetter == "" {
		return
	}
	q := &m.s.Queues[i]
	dead := slices.IndexFunc(m.s.Queues, func(x awssetup.Queue) bool { return x.ARN == q.DeadLetter && q.DeadLetter != q.ARN })
	switch {
	case dead < 0 && (q.DeadLetter == "" || q.DeadLetter == q.ARN):
		if there := slices.IndexFunc(m.s.Queues, func(x awssetup.Queue) bool { return x.ARN == want.DeadLetter && x.ARN != q.ARN && !x.FIFO }); there >= 0 {
			q.DeadLetter, q.MaxReceives = want.DeadLetter, want.MaxReceives
			m.touch(queuePart, i, "redrive")
			dead = there
			break
		}
		d := *m.c.Wanted.Setup.QueueByARN(want.DeadLetter)
		d.Policy = nil
		if d.ARN == q.ARN || slices.ContainsFunc(m.s.Queues, func(x awssetup.Queue) bool { return x.ARN == d.ARN }) {
			d.Name += "-2"
			d.ARN, d.URL = d.ARN+"-2", d.URL+"-2"
		}
		d.LogicalID = m.logicalID(d.LogicalID)
		m.s.Queues = append(m.s.Queues, d)
		m.added(queuePart, len(m.s.Queues)-1)
		q = &m.s.Queues[i]
		q.DeadLetter, q.MaxReceives = d.ARN, want.MaxReceives
		m.touch(queuePart, i, "redrive")
	case q.MaxReceives != want.MaxReceives && q.MaxReceives > 0:
		q.MaxReceives = want.MaxReceives
		m.touch(queuePart, i, "redrive")
	}
	if dead >= 0 && m.s.Queues[dead].Retention <= q.Retention {
		m.s.Queues[dead].Retention = 14 * 24 * time.Hour
		m.touch(queuePart, dead, "retention")
	}
}

// encryption fixes the encryption of the queues and the policy of their key.
func (m *fixer) encryption() {
	for i := range m.s.Queues {
		q := &m.s.Queues[i]
		k := m.c.Found.Key(q.KMSKey)
		if !m.reported(check.AreaEncryption, func(f check.Finding) bool { return f.Queue == q.Name }) && (k == nil || !m.keepsControllerOut(k)) {
			continue
		}
		if own := m.askedKey(); own != nil && own != k && q.ARN == m.queueARN() {
			q.KMSKey, q.ManagedSSE = own.ARN, false
			m.touch(queuePart, i, "encryption", "key")
			k = own
		}
		switch {
		case q.KMSKey == "", strings.HasSuffix(q.KMSKey, check.AWSManagedQueueKey), k != nil && k.Manager == "AWS":
			q.KMSKey, q.ManagedSSE = "", true
			m.touch(queuePart, i, "encryption")
			continue
		case q.ManagedSSE:
			q.ManagedSSE = false
			m.touch(queuePart, i, "encryption")
		}
		if k != nil {
			m.key(slices.IndexFunc(m.s.Keys, func(x awssetup.Key) bool { return x.ARN == k.ARN }), q.ARN)
		}
	}
}

// askedKey is the key that the queue should have because the options ask for one, if it is there: the one that they name,
// or the only one of the account's own.
func (m *fixer) askedKey() *awssetup.Key {
	if name := m.c.Asked.KMSKey; name != "" {
		return m.c.Found.Key(name)
	}
	if !m.c.Asked.KMS {
		return nil
	}
	var own []*awssetup.Key
	for i := range m.c.Found.Keys {
		if k := &m.c.Found.Keys[i]; k.Manager != "AWS" {
			own = append(own, k)
		}
	}
	if len(own) != 1 {
		return nil
	}
	return own[0]
}

// key lets EventBridge use a key for a queue, and the account where it or the controller is kept out. Whom a statement lets in
// from outside of the account goes; the rest of the policy stays as it is.
func (m *fixer) key(i int, queue string) {
	k := &m.s.Keys[i]
	if !k.Enabled {
		k.Enabled = true
		m.touch(keyPart, i, "enabled")
	}
	keptOut := m.keepsControllerOut(k)
	ofPolicy := func(f check.Finding) bool {
		return f.Policy == "key policy" && f.Resource == k.ARN && (f.Severity == check.Missing && f.Action != "" || f.Severity == check.TooWide)
	}
	if !m.reported(check.AreaEncryption, ofPolicy) && !keptOut {
		return
	}
	d := &iampolicy.Document{Version: "2012-10-17"}
	before := 0
	if k.Policy != nil {
		d.Version, d.ID = k.Policy.Version, k.Policy.ID
		before = len(k.Policy.Statements)
		d.Statements = slices.DeleteFunc(slices.Clone(k.Policy.Statements), func(st iampolicy.Statement) bool { return m.opensKey(k, st) })
	}
	root := m.c.Where().Global("iam", "root")
	hasRoot := slices.ContainsFunc(d.Statements, func(st iampolicy.Statement) bool {
		return st.Effect == iampolicy.Allow && st.Principal != nil && slices.Contains(st.Principal.AWS, root) && slices.Contains(st.Actions, "kms:*")
	})
	if !hasRoot && (keptOut || len(d.Statements) < before || before == 0) { // what went may have let the account in
		d.Statements = append([]iampolicy.Statement{{
			Sid: freeSid(d, "AllowAccountToManageTheKey"), Effect: iampolicy.Allow, Principal: &iampolicy.Principals{AWS: []string{root}},
			Actions: []string{"kms:*"}, Resources: []string{"*"},
		}}, d.Statements...)
	}
	after := *k
	after.Policy = d
	if slices.ContainsFunc(awssetup.KeyActions, func(action string) bool { return !awssetup.MayUseKey(action, &after, queue).OK() }) {
		d.Statements = slices.DeleteFunc(d.Statements, oursForEvents)
		d.Statements = append(d.Statements, iampolicy.Statement{
			Sid: freeSid(d, keyForEvents), Effect: iampolicy.Allow, Principal: &iampolicy.Principals{Service: []string{awssetup.EventBridge}},
			Actions: slices.Clone(awssetup.KeyActions), Resources: []string{"*"},
		})
	}
	k.Policy = d
	m.touch(keyPart, i, "policy")
}

// opensKey tells whether a statement of a key's policy lets others than the account and services in.
func (m *fixer) opensKey(k *awssetup.Key, st iampolicy.Statement) bool {
	one := &iampolicy.Document{Version: "2012-10-17", Statements: []iampolicy.Statement{st}}
	if _, open := check.OpenTo(one, iampolicy.Call{Action: "kms:Decrypt", Resource: k.ARN, Context: iampolicy.Context{}}, m.s.AccountID); open {
		return true
	}
	who := ""
	if st.Effect == iampolicy.Allow {
		who = check.Outside(st, m.s.AccountID, check.SendingServices)
	}
	return who != "" && !strings.HasPrefix(who, "the service ")
}

// oursForEvents tells whether a statement is the one that Kerf writes for EventBridge, as it is or changed. Others for EventBridge stay: an
// encrypted event bus has its own.
func oursForEvents(st iampolicy.Statement) bool {
	p := st.Principal
	return st.Sid == keyForEvents && st.Effect == iampolicy.Allow && p != nil && slices.Equal(p.Service, []string{awssetup.EventBridge}) && !slices.ContainsFunc(st.Actions, func(a string) bool { return !slices.Contains(awssetup.KeyActions, a) })
}

// freeSid is a Sid that no statement of a document has, the wanted one if it can be.
func freeSid(d *iampolicy.Document, wanted string) string {
	sid := wanted
	for i := 2; slices.ContainsFunc(d.Statements, func(st iampolicy.Statement) bool { return st.Sid == sid }); i++ {
		sid = fmt.Sprintf("%s%d", wanted, i)
	}
	return sid
}

// keepsControllerOut tells whether the controller may not decrypt with a key. Its own policy counts only if the key's policy
// leaves such things to the account's policies.
func (m *fixer) keepsControllerOut(k *awssetup.Key) bool {
	return m.reported(check.AreaPermissions, func(f check.Finding) bool { return f.Action == "kms:Decrypt" && f.Resource == k.ARN })
}

// sending fixes the policies of the queues: statements that let in whom they should not, or keep the rules out, go, and
// what is missing is added from the wanted policy.
func (m *fixer) sending() {
	for i := range m.s.Queues {
		q := &m.s.Queues[i]
		want := m.wantedPolicyFor(q)
		if want == nil {
			continue
		}
		bad := m.reported(check.AreaQueue, func(f check.Finding) bool { return f.Queue == q.Name && f.Policy != "" }) ||
			m.reported(check.AreaRules, func(f check.Finding) bool { return f.Queue == q.Name })
		if !bad && q.Policy != nil {
			continue
		}
		if q.Policy == nil && !bad && q.ARN != m.c.Found.Queue.ARN && !m.isDeadLetter(q.ARN) {
			continue
		}
		q.Policy = m.sendingPolicy(q, want)
		m.touch(queuePolicyPart, i, "policy")
	}
}

func (m *fixer) isDeadLetter(arn string) bool {
	for _, r := range m.s.Rules {
		for _, t := range r.Targets {
			if t.DeadLetter == arn {
				return true
			}
		}
	}
	return false
}

// wantedPolicyFor is the policy that the wanted stack would give a queue, with the rules that are there.
func (m *fixer) wantedPolicyFor(q *awssetup.Queue) *iampolicy.Document {
	if m.c.Found.Queue == nil {
		return nil
	}
	source := m.c.Wanted.Queue
	if q.ARN != m.c.Found.Queue.ARN {
		if !m.isDeadLetter(q.ARN) {
			return nil
		}
		if d := m.c.Wanted.Setup.QueueByARN(m.c.Wanted.Queue.DeadLetter); d != nil {
			source = d
		}
	}
	var rules []string
	for _, r := range m.s.Rules {
		for _, t := range r.Targets {
			if t.ARN == m.c.Found.Queue.ARN {
				rules = appendNew(rules, r.ARN)
			}
		}
	}
	ours := map[string]bool{}
	for _, r := range m.c.Wanted.Rules {
		ours[r.ARN] = true
	}
	d := *source.Policy
	d.Statements = slices.Clone(d.Statements)
	for i := range d.Statements {
		st := &d.Statements[i]
		st.Resources = []string{q.ARN}
		st.Conditions = slices.Clone(st.Conditions)
		for k, c := range st.Conditions {
			if strings.EqualFold(c.Key, "aws:SourceArn") {
				others := slices.DeleteFunc(slices.Clone(c.Values), func(v string) bool { return ours[v] })
				st.Conditions[k].Values = append(slices.Clone(rules), others...)
			}
		}
	}
	return &d
}

// sendingPolicy keeps the statements of a queue's policy that do no harm, and adds what is missing.
func (m *fixer) sendingPolicy(q *awssetup.Queue, want *iampolicy.Document) *iampolicy.Document {
	out := &iampolicy.Document{Version: "2012-10-17", ID: want.ID}
	if q.Policy != nil {
		out.ID = q.Policy.ID
		for _, st := range q.Policy.Statements {
			if !m.harmful(q, st, want) {
				out.Statements = append(out.Statements, st)
			}
		}
	}
	for _, w := range want.Statements {
		known := slices.ContainsFunc(out.Statements, func(st iampolicy.Statement) bool { return st.Sid != "" && st.Sid == w.Sid })
		if !known && !m.hasEffect(q, out, w) {
			out.Statements = append(out.Statements, w)
		}
	}
	return out
}

// harmful tells whether a statement of a queue's policy is one that the fix takes away: one on sending by services, which
// the wanted policy has better, one that lets strangers in, or one that keeps the rules out.
func (m *fixer) harmful(q *awssetup.Queue, st iampolicy.Statement, want *iampolicy.Document) bool {
	if st.Effect == iampolicy.Allow && check.Outside(st, m.s.AccountID, check.SendingServices) != "" {
		return true
	}
	one := &iampolicy.Document{Version: "2012-10-17", Statements: []iampolicy.Statement{st}}
	for _, action := range []string{"sqs:SendMessage", "sqs:ReceiveMessage"} {
		call := iampolicy.Call{Action: action, Resource: q.ARN, Context: iampolicy.Context{"aws:securetransport": {"true"}}}
		if _, open := check.OpenTo(one, call, m.s.AccountID); open {
			return true
		}
	}
	if st.Effect == iampolicy.Deny {
		for _, r := range m.s.Rules {
			d := iampolicy.Evaluate(awssetup.Send(q.ARN, r.ARN, true), iampolicy.Policies{Resource: one, ResourceOnly: true, ResourceOwner: m.s.AccountID})
			if d.Outcome == iampolicy.ExplicitDeny {
				return true
			}
		}
		return slices.ContainsFunc(want.Statements, func(w iampolicy.Statement) bool { return w.Sid == st.Sid && w.Sid != "" })
	}
	if slices.ContainsFunc(want.Statements, func(w iampolicy.Statement) bool { return w.Sid == st.Sid && w.Sid != "" }) {
		return true // the wanted one takes its place
	}
	return st.Principal != nil && slices.Contains(st.Principal.Service, "events.amazonaws.com")
}

// hasEffect tells whether a policy does already what a wanted Deny does.
func (m *fixer) hasEffect(q *awssetup.Queue, d *iampolicy.Document, w iampolicy.Statement) bool {
	if w.Effect != iampolicy.Deny {
		return false
	}
	call := awssetup.Send(q.ARN, check.OwnRule(m.c, q), false)
	return iampolicy.Evaluate(call, iampolicy.Policies{Resource: d, ResourceOnly: true, ResourceOwner: m.s.AccountID}).Outcome == iampolicy.ExplicitDeny
}
