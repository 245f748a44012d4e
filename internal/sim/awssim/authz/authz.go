// Package authz decides every signed call of the simulated AWS by the policies of its caller, as AWS does: which actions a
// call is, which resources it touches (with the tags that they have or are to get), and which condition keys go with
// each. The rules of evaluation are package iampolicy's; what an operation touches is the table here, written from AWS's
// Service Authorization Reference and from messages seen in the field.
//
// What AWS does on a caller's behalf is not judged again, except where AWS itself does so: the launches of an instant
// fleet and the role passed to its instances are. CloudFormation acts as an administrator: of a call to it only the
// cloudformation action is judged. Which services may deliver to a queue or use a key is judged where events are
// delivered.
package authz

import (
	"log/slog"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// Authorizer judges calls. It implements wire.Authorizer.
type Authorizer struct {
	world  *world.World
	logger *slog.Logger
	log    *record
	docs   documents
}

// New makes an authorizer for the identities of a world. A nil logger is slog's default.
func New(w *world.World, logger *slog.Logger) *Authorizer {
	if logger == nil {
		logger = slog.Default()
	}
	return &Authorizer{world: w, logger: logger, log: newRecord()}
}

// check is one question: may the caller do an action to a resource?
type check struct {
	action   string
	resource string // ARN, or * for actions that know no resources
	shown    string // what messages call the resource; empty: its ARN
	// same, if not empty, says that the answer is that of any other check in the call with this action, resource and text.
	same string
	keys func(iampolicy.Context) // adds the keys of this resource to those of the call
	// document, owner and only are as in iampolicy.Policies.
	document *iampolicy.Document
	owner    string
	only     bool
	deny     func(r *wire.Request, text string) *wire.Error // words a refusal; nil: as the service does
}

// Authorize judges an operation, or a further action that its handler asks about.
func (a *Authorizer) Authorize(_ wire.Identity, action string, r *wire.Request) error {
	c := a.newCall(r)
	if action != r.Action() {
		return c.all(further(c, action))
	}
	rule, ok := rules[canonical(action)]
	if !ok {
		return wire.Denied(r, "The simulator does not know which resources "+canonical(action)+
			" touches, so it refuses the call while permissions are enforced")
	}
	if err := c.all(rule(c)); err != nil {
		return err
	}
	c.inParts()
	return nil
}

// Knows tells whether the table says what an action touches.
func Knows(action string) bool {
	_, ok := rules[canonical(action)]
	return ok
}

// canonical is an action as policies name it: some services sign under another name than their actions have.
func canonical(action string) string {
	if operation, ok := strings.CutPrefix(action, "monitoring:"); ok {
		return "cloudwatch:" + operation
	}
	return action
}

// further lists the checks of an action that a handler asks about beside its own.
func further(c *call, action string) []check {
	if rule, ok := rules[action+" in "+c.r.Operation]; ok {
		return rule(c)
	}
	return []check{{action: action, resource: "*"}}
}

// all makes the checks in their order and answers with the first that is refused.
func (c *call) all(checks []check) error {
	for i := range checks {
		if err := c.one(&checks[i], ""); err != nil {
			return err
		}
	}
	return nil
}

type answerKey struct{ action, resource, same string }

// granted tells whether a check was made before in this call and answered with yes.
func (c *call) granted(action, resource, same string) bool {
	if same == "" {
		return false
	}
	e, ok := c.answers[answerKey{action, resource, same}]
	return ok && e == nil
}

// one makes one check; part names the part of the call that it is for.
func (c *call) one(k *check, part string) *wire.Error {
	memo := answerKey{k.action, k.resource, k.same}
	if k.same != "" {
		if e, ok := c.answers[memo]; ok {
			return e
		}
	}
	e := c.judge(k, part)
	if k.same != "" {
		c.answers[memo] = e
	}
	return e
}

func (c *call) judge(k *check, part string) *wire.Error {
	keys := c.context()
	if k.keys != nil {
		k.keys(keys)
	}
	q := iampolicy.Call{Caller: c.caller, Action: k.action, Resource: k.resource, Context: keys}
	p := c.policies
	p.Resource, p.ResourceOwner, p.ResourceOnly = k.document, k.owner, k.only
	d := iampolicy.Evaluate(q, p)
	if d.OK() {
		c.a.log.allow(k.action, d)
		return nil
	}
	text := refusal(&q, &p, &d, c.worded(k))
	c.note(k, &d, part)
	if k.deny != nil {
		return k.deny(c.r, text)
	}
	return c.refuse(&q, &d, text)
}

// note writes a refusal down.
func (c *call) note(k *check, d *iampolicy.Decision, part string) {
	near := d.Near()
	c.a.log.deny(Denial{
		Time: c.r.Received, RequestID: c.r.ID, Operation: c.r.Action(), Part: part, Principal: c.caller.ARN, Action: k.action,
		Resource: k.resource, Outcome: d.Outcome, Policy: d.Policy, Sid: d.Sid, Near: near, DryRun: c.r.DryRun(),
	})
	detail := "denied " + k.action + " on " + k.resource
	switch {
	case d.Outcome == iampolicy.ExplicitDeny:
		detail += ": " + d.Sid + " of " + d.Policy + " forbids it"
	case len(near) > 0:
		detail += ": " + strings.Join(near, "; ")
	}
	if c.r.Detail == "" {
		c.r.Detail = detail
	}
	c.a.logger.Debug("simulated call denied", "principal", c.caller.ARN, "action", k.action, "resource", k.resource,
		"part", part, "outcome", string(d.Outcome), "policy", d.Policy, "sid", d.Sid, "near", near, "request_id", c.r.ID)
}
