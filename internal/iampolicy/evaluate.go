package iampolicy

import "strings"

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
	// Near are statements that would have allowed the call but for one condition, each with what that condition wants
	// and what the call has, for messages.
	Near []string
}

// OK tells whether the call may be made.
func (d Decision) OK() bool { return d.Outcome == Allowed }
