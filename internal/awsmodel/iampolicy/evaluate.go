package iampolicy

import (
	"strings"
	"unicode/utf8"
)

// Caller is who makes a call.
type Caller struct {
	// ARN of a user, a role, or a session of a role (arn:aws:sts::…:assumed-role/Role/session); empty for services.
	ARN       string
	Account   string // twelve digits
	Service   string // such as events.amazonaws.com, when a service calls on its own behalf
	Federated string // provider ARN or name, for AssumeRoleWithWebIdentity
}

// Context holds the condition keys of a call, lower case, with their values. A key that a call does not have is absent.
type Context map[string][]string

// Set puts the values of a key.
func (c Context) Set(key string, values ...string) { c[strings.ToLower(key)] = values }

// get returns the values of a key as a policy writes it.
//
// Cost: no allocation for keys of ASCII of usual length.
func (c Context) get(key string) []string {
	var lowered [160]byte
	if len(key) > len(lowered) {
		return c[strings.ToLower(key)]
	}
	for i := range len(key) {
		if key[i] >= utf8.RuneSelf {
			return c[strings.ToLower(key)]
		}
		lowered[i] = lower(key[i])
	}
	return c[string(lowered[:len(key)])]
}

// Call is one action on one resource.
type Call struct {
	Caller   Caller
	Action   string // ec2:RunInstances
	Resource string // ARN, or * for actions without resources
	Context  Context
}

// Named is a policy with the name that messages call it by.
type Named struct {
	Name     string
	Document *Document
}

// Policies are all that have a say in a call.
type Policies struct {
	Identity []Named   // attached to the caller
	Boundary *Document // permissions boundary of the caller, if any
	// Resource is the policy on the resource, if it has one, and ResourceOwner the account that owns it. Within one
	// account an Allow of either side is enough, unless ResourceOnly; across accounts both must allow.
	Resource      *Document
	ResourceOwner string
	// ResourceOnly is set for resources whose own policy must allow, such as KMS keys and the trust policies of roles.
	ResourceOnly bool
}

// Outcome says how a decision came about.
type Outcome string

// The outcomes.
const (
	Allowed      Outcome = "allowed"
	ExplicitDeny Outcome = "explicit deny" // a Deny statement matches
	ImplicitDeny Outcome = "implicit deny" // no Allow statement matches
)

// Decision is what the policies say to a call.
type Decision struct {
	Outcome Outcome
	// Policy and Sid name the statement that decided; empty for an implicit deny.
	Policy, Sid string

	refused *refusal // of an implicit deny
}

// refusal is what an implicit deny was about.
type refusal struct {
	call     Call
	policies Policies
	held     bool // by the boundary; the policies of the caller allow the call
}

// Near returns the statements that would have allowed the call but for one condition, each with what that condition
// wants and what the call has, for messages. It is nil but for implicit denies.
//
// Cost: that of the decision; the call and the policies must not have changed since.
func (d Decision) Near() []string {
	if d.refused == nil {
		return nil
	}
	return near(&d.refused.call, &d.refused.policies, d.refused.held)
}

// OK tells whether the call may be made.
func (d Decision) OK() bool { return d.Outcome == Allowed }

// Names of policies that have none of their own, in decisions.
const (
	BoundaryName = "permissions boundary"
	ResourceName = "resource policy"
)

// verdict is what one document says to a call.
type verdict struct {
	denied, allowed *Statement
	named           directness // by the Allow of a resource policy, the most direct one
}

// Evaluate decides a call. A Deny of any policy is final. Otherwise the policies of the caller or that on the resource
// must allow, as Policies says, and the permissions boundary must allow what the caller's own policies do.
//
// Concurrency: safe; nothing is changed. A refusal holds the call and the policies, for Near.
// Source: IAM User Guide, "Policy evaluation logic", checked 2026-11.
func Evaluate(c Call, p Policies) Decision {
	resource := judge(p.Resource, &c, true)
	if s := resource.denied; s != nil {
		return Decision{Outcome: ExplicitDeny, Policy: ResourceName, Sid: s.Sid}
	}
	boundary := judge(p.Boundary, &c, false)
	if s := boundary.denied; s != nil {
		return Decision{Outcome: ExplicitDeny, Policy: BoundaryName, Sid: s.Sid}
	}
	var allowing *Statement
	var allower string
	for i := range p.Identity {
		v := judge(p.Identity[i].Document, &c, false)
		if s := v.denied; s != nil {
			return Decision{Outcome: ExplicitDeny, Policy: p.Identity[i].Name, Sid: s.Sid}
		}
		if allowing == nil && v.allowed != nil {
			allowing, allower = v.allowed, p.Identity[i].Name
		}
	}
	within := p.Boundary == nil || boundary.allowed != nil
	identity := allowing != nil && within
	switch p.grant(c.Caller, resource, identity, within) {
	case byIdentity:
		return Decision{Outcome: Allowed, Policy: allower, Sid: allowing.Sid}
	case byResource:
		return Decision{Outcome: Allowed, Policy: ResourceName, Sid: resource.allowed.Sid}
	}
	return Decision{Outcome: ImplicitDeny, refused: &refusal{call: c, policies: p, held: allowing != nil}}
}

type grant int

const (
	byNobody grant = iota
	byIdentity
	byResource
)

// grant combines what the two sides allow. A session or user that a resource policy names itself is not held by the
// boundary of the role or user; one that is named through its role is.
func (p *Policies) grant(c Caller, resource verdict, identity, within bool) grant {
	if c.Service != "" || c.Federated != "" { // these have no policies of their own
		if resource.allowed != nil {
			return byResource
		}
		return byNobody
	}
	direct := resource.named == byItself || resource.named == byRole && within
	foreign := p.ResourceOwner != "" && p.ResourceOwner != c.Account
	switch {
	case foreign:
		if identity && (direct || resource.named == byAccount) {
			return byIdentity
		}
	case p.ResourceOnly:
		if direct {
			return byResource
		}
		if identity && resource.named == byAccount {
			return byIdentity
		}
	case identity:
		return byIdentity
	case direct:
		return byResource
	}
	return byNobody
}

// judge looks for the statements of a document that match a call.
func judge(d *Document, c *Call, resourcePolicy bool) (v verdict) {
	if d == nil {
		return v
	}
	for i := range d.Statements {
		s := &d.Statements[i]
		named := notNamed
		if resourcePolicy {
			if named = s.forCaller(c.Caller); named == notNamed {
				continue
			}
		}
		if !s.forAction(c.Action) || !s.forResource(c, d.Version, resourcePolicy) || !s.conditionsHold(c, d.Version) {
			continue
		}
		if s.Effect == Deny {
			v.denied = s
			return v
		}
		if v.allowed == nil || named > v.named {
			v.allowed, v.named = s, named
		}
	}
	return v
}

func (s *Statement) forCaller(c Caller) directness {
	switch {
	case s.Principal != nil:
		return s.Principal.names(c)
	case s.NotPrincipal != nil && s.NotPrincipal.names(c) == notNamed:
		return byRole
	}
	return notNamed
}

func (s *Statement) forAction(action string) bool {
	listed := func(patterns []string) bool {
		for _, p := range patterns {
			g := plain(p)
			g.fold = true
			if g.match(action) {
				return true
			}
		}
		return false
	}
	if s.Actions != nil {
		return listed(s.Actions)
	}
	return s.NotActions != nil && !listed(s.NotActions)
}

// forResource also takes a resource policy's statement that names no resource, as those of trust policies do not.
func (s *Statement) forResource(c *Call, version string, resourcePolicy bool) bool {
	listed := func(patterns []string) bool {
		for _, p := range patterns {
			if g, ok := fill(p, version, c.Context); ok && g.match(c.Resource) {
				return true
			}
			if whole := completed(p); whole != p { // a wildcard may stand for colons, so both are tried
				if g, ok := fill(whole, version, c.Context); ok && g.match(c.Resource) {
					return true
				}
			}
		}
		return false
	}
	switch {
	case s.Resources != nil:
		return listed(s.Resources)
	case s.NotResources != nil:
		return !listed(s.NotResources)
	}
	return resourcePolicy
}

// arnFields is how many fields an ARN has.
const arnFields = 6

// completed is the resource of a statement with a * for each field that an incomplete ARN leaves out.
//
// Source: IAM User Guide, "IAM JSON policy elements: Resource" (incomplete ARNs).
func completed(resource string) string {
	if !strings.HasPrefix(resource, "arn:") {
		return resource
	}
	missing := arnFields - 1 - strings.Count(resource, ":")
	if missing <= 0 || strings.Contains(resource, "${") {
		return resource
	}
	return resource + strings.Repeat(":*", missing)
}

func (s *Statement) conditionsHold(c *Call, version string) bool {
	for i := range s.Conditions {
		if !s.Conditions[i].holds(version, c.Context) {
			return false
		}
	}
	return true
}
