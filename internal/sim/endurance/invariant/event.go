// Package invariant judges a run of the controller by what both APIs saw of it: it is fed with the states of objects and
// with every call that changed something, in the order in which they were seen, and says which rule was broken, when, and
// by which call.
//
// It knows nothing of clients and clocks, so that a history that was written down can be judged again.
package invariant

import "time"

// Event is one thing that was seen. Exactly one of its pointers is set, or one of the words of Said.
type Event struct {
	At time.Time `json:"at"`

	Instance *Instance `json:"instance,omitempty"`
	Claim    *Claim    `json:"claim,omitempty"`
	Node     *Node     `json:"node,omitempty"`
	Pod      *Pod      `json:"pod,omitempty"`
	Guard    *Guard    `json:"guard,omitempty"`
	Pool     *Pool     `json:"pool,omitempty"`
	Call     *Call     `json:"call,omitempty"`

	// Gone says that the object no longer exists.
	Gone bool `json:"gone,omitempty"`

	Said Word `json:"said,omitempty"`
	// About is what the word is about.
	About string `json:"about,omitempty"`
}

// Word is what whoever drives a run tells the judge besides what the APIs show.
type Word string

// The words.
const (
	// Disturbed begins a time in which nothing can be asked of the controller: it does not run, or an API fails. Times in
	// which something has to be done do not pass meanwhile. Disturbances may overlap; each is ended by Calm.
	Disturbed Word = "disturbed"
	Calm      Word = "calm"
	// Reclaimed: AWS takes the instance that About names, or a person has ended it.
	Reclaimed Word = "reclaimed"
	// Removed: a person has deleted the nodeclaim or node that About names.
	Removed Word = "removed"
	// Rest: the driver has waited until nothing moves any more; nothing half done may be left.
	Rest Word = "rest"
)

// Instance is an instance of this cluster.
type Instance struct {
	ID string `json:"id"`
	// State is EC2's word: pending, running, shutting-down, terminated, ...
	State string `json:"state"`
	// Claim is the nodeclaim that its tag names, if it has that tag.
	Claim string `json:"claim,omitempty"`
	// PriceMicroUSD is its price per hour.
	PriceMicroUSD int64 `json:"priceMicroUSD,omitempty"`
}

// Claim is a NodeClaim.
type Claim struct {
	Name     string    `json:"name"`
	UID      string    `json:"uid"`
	Pool     string    `json:"pool,omitempty"`
	Instance string    `json:"instance,omitempty"` // id, from status.providerID
	Created  time.Time `json:"created"`
	Deleting bool      `json:"deleting,omitempty"`
	// Registered and Initialized are its conditions.
	Registered  bool `json:"registered,omitempty"`
	Initialized bool `json:"initialized,omitempty"`
	// Reason is that of its DisruptionReason condition.
	Reason string `json:"reason,omitempty"`
	// ExpireAfter is zero when it never expires, Grace when there is no termination grace period.
	ExpireAfter time.Duration `json:"expireAfter,omitempty"`
	Grace       time.Duration `json:"grace,omitempty"`
	// Deadline is when its instance goes whatever is still on it; zero without one.
	Deadline time.Time `json:"deadline,omitzero"`
	// Interrupted: the claim says that AWS takes the instance back or works on it.
	Interrupted bool `json:"interrupted,omitempty"`
	// Expired: the claim says that it has reached its age.
	Expired bool `json:"expired,omitempty"`
	// Held: it must not be disrupted.
	Held bool `json:"held,omitempty"`
	// Finalizers are those that Kerf answers for.
	Finalizers int `json:"finalizers,omitempty"`
}

// Node is a Node with an instance of this cluster.
type Node struct {
	Name     string `json:"name"`
	UID      string `json:"uid"`
	Instance string `json:"instance,omitempty"`
	Pool     string `json:"pool,omitempty"`
	Ready    bool   `json:"ready,omitempty"`
	Deleting bool   `json:"deleting,omitempty"`
	// Mark is the annotation by which Kerf says that it takes the node away; its value is the reason.
	Mark string `json:"mark,omitempty"`
	// Disrupted: it has the taint that keeps pods off nodes that go.
	Disrupted bool `json:"disrupted,omitempty"`
	// Persons are taints, as key=value:effect, that a person put there.
	Persons []string `json:"persons,omitempty"`
	Held    bool     `json:"held,omitempty"`
	// Finalizers are those that Kerf answers for.
	Finalizers int `json:"finalizers,omitempty"`
}

// Pod is a pod.
type Pod struct {
	Key  string `json:"key"` // namespace/name
	UID  string `json:"uid"`
	Node string `json:"node,omitempty"`
	// Phase is Pending, Running, Succeeded or Failed.
	Phase    string        `json:"phase"`
	Deleting bool          `json:"deleting,omitempty"`
	Held     bool          `json:"held,omitempty"`  // do-not-disrupt is in force
	Stays    bool          `json:"stays,omitempty"` // a daemon's, a static one, or one that tolerates the disrupted taint
	Grace    time.Duration `json:"grace,omitempty"`
	// Guards are the disruption budgets that select it.
	Guards []string `json:"guards,omitempty"`
	// Fits: some pool can serve it, as far as the driver knows.
	Fits bool `json:"fits,omitempty"`
}

// ended reports whether a pod has nothing more to lose.
func (p *Pod) ended() bool { return p.Phase == "Succeeded" || p.Phase == "Failed" }

// Guard is a PodDisruptionBudget.
type Guard struct {
	Key     string `json:"key"` // namespace/name
	Allowed int    `json:"allowed"`
}

// Pool is a NodePool.
type Pool struct {
	Name     string   `json:"name"`
	Deleting bool     `json:"deleting,omitempty"`
	Budgets  []Budget `json:"budgets,omitempty"`
	// Replicas says that the pool is static: what it scales down goes past the budgets.
	Replicas bool `json:"replicas,omitempty"`
}

// Budget is a disruption budget of a pool that is in force.
type Budget struct {
	Nodes   string   `json:"nodes"` // a number or a percentage
	Reasons []string `json:"reasons,omitempty"`
}

// Call is a call of the controller that may have changed something.
type Call struct {
	// Number counts the calls of a run, from 1; Life counts the controller's processes, from 1.
	Number int `json:"number"`
	Life   int `json:"life"`
	// API is kubernetes or aws.
	API string `json:"api"`
	// Verb is create, update, patch, delete or evict, or AWS's name of the operation.
	Verb string `json:"verb"`
	// Resource is pods, nodes, nodeclaims, ...; empty for AWS.
	Resource string `json:"resource,omitempty"`
	Key      string `json:"key,omitempty"` // name, or namespace/name
	// Instances are those that a call to AWS names.
	Instances []string `json:"instances,omitempty"`
	// Code is the HTTP status, 0 if no answer came.
	Code int `json:"code,omitempty"`
	// Dry: the call was one that only asks whether it would be allowed.
	Dry bool `json:"dry,omitempty"`
}

// took reports whether the call may have had its effect.
func (c *Call) took() bool { return !c.Dry && (c.Code == 0 || c.Code/100 == 2) }
