// Package awssetup describes what is set up in AWS around a controller: roles, policies, queues, keys, rules, alarms. It
// is the form in which a template, a plan and a live account are compared, whoever read them.
package awssetup

import (
	"encoding/json"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// Tries is how often the controller tries a message of the interruption queue. A queue that passes messages on to its
// dead-letter queue later than that never does: the controller deletes them first.
const Tries = 5

// Setup is all that was found in one place. ARNs and documents are resolved: no intrinsic functions or variables of
// templates are left in them. What a source cannot tell is in Gaps.
type Setup struct {
	Source    string // file name, or "account 123456789012"
	Partition string // aws, aws-cn, aws-us-gov
	Region    string
	AccountID string
	Assumed   bool // the account is not known, and AccountID stands for it
	// AssumedRegion is set where the region is not known, and Region stands for it.
	AssumedRegion bool
	ClusterName   string

	Roles         []Role
	Policies      []Policy
	Queues        []Queue
	Keys          []Key
	Rules         []Rule
	Alarms        []Alarm
	AccessEntries []AccessEntry
	PodIdentities []PodIdentity

	Gaps []Gap
}

// Gap is something that could not be read, with the reason: a permission that the reader lacks, an intrinsic function
// whose value is known only at deployment.
type Gap struct {
	What string // kerf: queue policy of arn:…
	Why  string
}

// Role is an IAM role.
type Role struct {
	LogicalID         string // in the template, if there is one
	Name, Path, ARN   string
	Trust             *iampolicy.Document
	ManagedPolicyARNs []string // attached, AWS's own and the account's
	Inline            []iampolicy.Named
	Boundary          string // ARN of the permissions boundary
	Tags              map[string]string
}

// Policy is a managed policy of the account.
type Policy struct {
	LogicalID  string
	Name, ARN  string
	Document   *iampolicy.Document
	Characters int      // size as IAM counts it: without white space
	AttachedTo []string // role names, of the roles that are here
	// Attachments is how many users, groups and roles of the account have it, here or not; zero: not known.
	Attachments int
}

// OfOthers tells whether more have the policy than the roles that are here.
func (p *Policy) OfOthers() bool { return p.Attachments > len(p.AttachedTo) }

// Queue is an SQS queue.
type Queue struct {
	LogicalID      string
	Name, ARN, URL string
	FIFO           bool
	Retention      time.Duration
	Visibility     time.Duration
	Delay          time.Duration // of each message before it can be received
	MaxMessage     int           // bytes; zero: not known
	ManagedSSE     bool          // SSE-SQS
	KMSKey         string        // key id, ARN or alias, as the queue has it; empty without SSE-KMS
	Policy         *iampolicy.Document
	DeadLetter     string // ARN of the queue that gets what nobody could handle
	MaxReceives    int    // before that
	Messages       int    // waiting; live accounts only
	Tags           map[string]string
}

// Key is a KMS key.
type Key struct {
	LogicalID string
	ID, ARN   string
	Aliases   []string // alias/name
	Manager   string   // AWS or CUSTOMER
	Enabled   bool
	Rotation  bool
	// RotationUnread is set where it is not known whether the key is rotated.
	RotationUnread bool
	Policy         *iampolicy.Document
}

// DefaultBus is the event bus that AWS puts its own events on.
const DefaultBus = "default"

// Rule is an EventBridge rule.
type Rule struct {
	LogicalID   string
	Name, ARN   string
	Bus         string // name of the event bus if it is not the default one: events of AWS do not come there
	Description string
	Pattern     json.RawMessage
	Enabled     bool
	Targets     []Target
}

// Target is where a rule sends its events.
type Target struct {
	ID, ARN    string
	DeadLetter string // ARN of the queue for what could not be delivered
	Input      Input  // what it gets in place of the event; empty: the event

	// Of live accounts only, to be written back with the target.
	RoleARN string
	Retry   *Retry // nil: that of EventBridge
}

// Retry is how long and how often EventBridge tries to deliver an event.
type Retry struct {
	MaximumEventAgeInSeconds *int32 `json:",omitempty"`
	MaximumRetryAttempts     *int32 `json:",omitempty"`
}

// Input is a way in which a target gets something else than the event: the name of the target's member.
type Input string

// The ways. Of an event that was changed the controller cannot tell what it is about.
const (
	Constant    Input = "Input"
	Path        Input = "InputPath"
	Transformer Input = "InputTransformer"
)

// WholeEvent is the InputPath that leaves the event as it is.
const WholeEvent = "$"

// Alarm is a CloudWatch alarm.
type Alarm struct {
	LogicalID         string
	Name              string
	Namespace, Metric string
	Dimensions        map[string]string
	Statistic         string
	Comparison        string
	Threshold         float64
	Period            time.Duration
	Periods           int // in a row; zero: not known
	Actions           []string
}

// AccessEntry maps a role to the cluster.
type AccessEntry struct {
	LogicalID    string
	Cluster      string // empty: not known, or the one that the set-up is for
	PrincipalARN string
	Type         string // EC2_LINUX, EC2_WINDOWS, STANDARD
	Groups       []string
}

// PodIdentity gives a role to a service account.
type PodIdentity struct {
	LogicalID                 string
	ID                        string // of the association; empty: not known
	Namespace, ServiceAccount string
	RoleARN                   string
}

// Documents are all policies of identities.
func (s *Setup) Documents() []iampolicy.Named {
	var out []iampolicy.Named
	for _, p := range s.Policies {
		if p.Document != nil {
			out = append(out, iampolicy.Named{Name: p.Name, Document: p.Document})
		}
	}
	for _, r := range s.Roles {
		out = append(out, r.Inline...)
	}
	return out
}

// RoleBy is the role of that name or ARN; nil when there is none.
func (s *Setup) RoleBy(nameOrARN string) *Role {
	for i := range s.Roles {
		if r := &s.Roles[i]; nameOrARN != "" && (r.Name == nameOrARN || r.ARN == nameOrARN) {
			return r
		}
	}
	return nil
}

// QueueByARN is the queue of that ARN; nil when there is none.
func (s *Setup) QueueByARN(arn string) *Queue {
	for i := range s.Queues {
		if arn != "" && s.Queues[i].ARN == arn {
			return &s.Queues[i]
		}
	}
	return nil
}
