package stack

import (
	"encoding/json"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// Logical IDs, by which templates name their resources.
const (
	idNodeRole       = "KarpenterNodeRole"
	idControllerRole = "KarpenterControllerRole"
	idQueue          = "KarpenterInterruptionQueue"
	idQueuePolicy    = "KarpenterInterruptionQueuePolicy"
	idDeadLetter     = "KarpenterInterruptionDeadLetterQueue"
	idDeadPolicy     = "KarpenterInterruptionDeadLetterQueuePolicy"
	idKey            = "KarpenterInterruptionQueueKey"
	idAlias          = "KarpenterInterruptionQueueKeyAlias"
	idAccessEntry    = "KarpenterNodeAccessEntry"
	idPodIdentity    = "KarpenterPodIdentityAssociation"
	targetID         = "KarpenterInterruptionQueueTarget"
)

// ProofRulePrefix begins the names of temporary rules by which delivery to the queue is proven; the queue's policy lets
// them send.
const ProofRulePrefix = "kerf-proof-"

// Stack is the model. Its strings may hold references; Setup resolves them.
type Stack struct {
	Options Options

	NodeRole       *Role // nil if it exists already
	ControllerRole *Role
	Policies       []Policy // the controller's

	Key             *Key
	Queue           Queue // without a name if it exists already
	DeadLetter      *Queue
	Rules           []Rule
	Alarms          []Alarm
	AccessEntryType string
	PodIdentity     bool
}

// Role is an IAM role.
type Role struct {
	LogicalID, Name, Path, Boundary string
	Trust                           *iampolicy.Document
	ManagedPolicies                 []string // ARNs
	Tags                            []Tag
}

// Policy is a managed policy of the controller.
type Policy struct {
	LogicalID, Name, Path string
	Document              *iampolicy.Document
	// Characters is its size without white space: with the region and account of the options, or where these are not
	// given, the largest that any partition makes of it. IAM takes 6,144.
	Characters int
}

// Queue is an SQS queue with its policy.
type Queue struct {
	LogicalID, PolicyID, Name string
	Retention, Visibility     time.Duration // Visibility zero: SQS's own
	KMSKey                    string        // ARN; empty means SSE-SQS
	DeadLetter                string        // ARN
	MaxReceives               int
	Policy                    *iampolicy.Document
	Tags                      []Tag
}

// Key is the KMS key of the queue.
type Key struct {
	LogicalID, AliasID, Alias, Description string
	Policy                                 *iampolicy.Document
	Tags                                   []Tag
}

// Rule is an EventBridge rule on the default bus with the queue as its target.
type Rule struct {
	LogicalID, Kind, Description string
	Source, DetailType           string
	DeadLetter                   string // ARN
}

// Pattern is the rule's event pattern.
func (r Rule) Pattern() json.RawMessage {
	b, _ := json.Marshal(struct {
		Source     []string `json:"source"`
		DetailType []string `json:"detail-type"`
	}{[]string{r.Source}, []string{r.DetailType}})
	return b
}

// Alarm is a CloudWatch alarm with one dimension.
type Alarm struct {
	LogicalID, Name, Description string
	Namespace, Metric, Statistic string
	Dimension, Value             string
	Threshold                    int // raised above it
	Period                       time.Duration
	Periods                      int // in a row
	Actions                      []string
}

// Tag is a tag of a resource.
type Tag struct{ Key, Value string }

// New makes the stack that the options ask for.
//
// Errors name the option, as the flag that sets it, and the way out.
func New(o Options) (*Stack, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	s := &Stack{Options: o}
	if o.NodeRole == "" {
		s.NodeRole = nodeRole(&o)
	}
	if o.QueueARN == "" {
		s.Key, s.Queue, s.DeadLetter = queues(&o)
		s.Rules = rules(&o)
		allowSending(s)
	} else {
		s.Queue.KMSKey = o.KMSKey
	}
	policies, err := controllerPolicies(s)
	if err != nil {
		return nil, err
	}
	s.Policies = policies
	s.ControllerRole = controllerRole(&o, policies)
	s.PodIdentity = o.Controller == PodIdentity
	s.AccessEntryType = o.AccessEntry
	s.Alarms = alarms(s)
	if err := s.checkRoles(); err != nil {
		return nil, err
	}
	return s, nil
}
