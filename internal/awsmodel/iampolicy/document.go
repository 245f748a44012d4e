// Package iampolicy reads IAM policy documents and decides calls by them, as AWS's published evaluation rules say. It is
// used to check policies that people have, to measure those that Kerf writes, and by the simulated AWS to enforce them.
// It knows no service: which action, resources and condition keys a call has is for the caller to say.
package iampolicy

// Effect is what a statement does to the calls it matches.
type Effect string

// The two effects.
const (
	Allow Effect = "Allow"
	Deny  Effect = "Deny"
)

// Document is a policy. A single statement, action, resource or value given as a string is a list of one.
type Document struct {
	Version    string // 2012-10-17, or 2008-10-17 and then without policy variables
	ID         string
	Statements []Statement
}

// Statement is one rule of a policy. Exactly one of Actions and NotActions is set, and at most one of Resources and
// NotResources; resource policies have a Principal or NotPrincipal.
type Statement struct {
	Sid          string
	Effect       Effect
	Principal    *Principals
	NotPrincipal *Principals
	Actions      []string
	NotActions   []string
	Resources    []string
	NotResources []string
	Conditions   []Condition // in the order of operator and key
}

// Principals are who a statement of a resource policy is for.
type Principals struct {
	Any           bool // "*"
	AWS           []string
	Service       []string
	Federated     []string
	CanonicalUser []string
}

// Condition is one key under one operator; all conditions of a statement must hold.
type Condition struct {
	Operator string // such as StringEquals, ForAllValues:StringLike, ArnLikeIfExists
	Key      string // as written; keys are compared without regard to case
	Values   []string
}
