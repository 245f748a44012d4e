// Package cluster holds the cluster as the engine sees it: pod classes, pods, nodes, pools, and the immutable Snapshot
// that joins them. It knows nothing of Kubernetes API types; package intake makes these values from API objects.
package cluster

import (
	"slices"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// Effect is a taint's effect.
type Effect string

// The three taint effects of Kubernetes.
const (
	NoSchedule       Effect = "NoSchedule"
	PreferNoSchedule Effect = "PreferNoSchedule"
	NoExecute        Effect = "NoExecute"
)

// Taint keeps pods away from a node.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect Effect `json:"effect"`
}

// Toleration lets a pod bear a taint. Exists with an empty key bears all. An empty effect matches every effect.
type Toleration struct {
	Key    string `json:"key,omitempty"`
	Exists bool   `json:"exists,omitempty"` // operator Exists; otherwise Equal with Value
	Value  string `json:"value,omitempty"`
	Effect Effect `json:"effect,omitempty"`
}

// HostPort is a port that a pod takes on its node. IP empty or 0.0.0.0 or :: takes it on all addresses.
type HostPort struct {
	IP       string `json:"ip,omitempty"`
	Port     int32  `json:"port"`
	Protocol string `json:"protocol"` // TCP, UDP, SCTP
}

// Selector selects pods by label: all terms must hold; operators In, NotIn, Exists, DoesNotExist.
// A nil Selector selects nothing; one without terms selects everything.
type Selector struct {
	Terms []requirement.Term `json:"terms,omitempty"`
}

// Spread is a topology spread constraint.
type Spread struct {
	Key         string    `json:"key"`
	MaxSkew     int       `json:"maxSkew"`
	MinDomains  int       `json:"minDomains,omitempty"` // 0: not set
	Selector    *Selector `json:"selector,omitempty"`   // matchLabelKeys are already merged in
	Soft        bool      `json:"soft,omitempty"`       // ScheduleAnyway
	HonorTaints bool      `json:"honorTaints,omitempty"`
	// IgnoreAffinity is nodeAffinityPolicy: Ignore.
	IgnoreAffinity bool `json:"ignoreAffinity,omitempty"`
}

// PodAffinity is one required pod affinity or anti-affinity term.
type PodAffinity struct {
	Key      string    `json:"key"`
	Selector *Selector `json:"selector,omitempty"`
	// Namespaces in which pods are looked at, sorted, resolved from the list and the namespace selector.
	Namespaces []string `json:"namespaces,omitempty"`
	// Weight is 0 for a required term, 1 to 100 for a preferred one.
	Weight int `json:"weight,omitempty"`
}

// WeightedTerms is one preferred node affinity term.
type WeightedTerms struct {
	Weight int                `json:"weight"`
	Terms  []requirement.Term `json:"terms"`
}

// SharedVolume is a volume that several pods use.
type SharedVolume struct {
	Driver string `json:"driver"`
	Volume string `json:"volume"` // a name that is the same for all that use it
}

// Class is everything of a pod that a scheduler can see. Pods of one class are interchangeable.
type Class struct {
	// ID is a hash of all other fields: equal classes have equal IDs, in every process.
	ID        string            `json:"id"`
	Namespace string            `json:"namespace"`
	Labels    map[string]string `json:"labels,omitempty"`
	// Requests include init containers, sidecars, pod-level resources, overhead, and pods: 1.
	Requests res.List `json:"requests"`
	// Selector holds nodeSelector as In terms.
	Selector []requirement.Term `json:"selector,omitempty"`
	// Affinity is required node affinity: the alternatives are ORed, the terms inside one are ANDed. Empty: no demand.
	Affinity [][]requirement.Term `json:"affinity,omitempty"`
	// Preferred is preferred node affinity.
	Preferred    []WeightedTerms `json:"preferred,omitempty"`
	Tolerations  []Toleration    `json:"tolerations,omitempty"`
	HostPorts    []HostPort      `json:"hostPorts,omitempty"`
	Spreads      []Spread        `json:"spreads,omitempty"`
	PodAffinity  []PodAffinity   `json:"podAffinity,omitempty"`
	AntiAffinity []PodAffinity   `json:"antiAffinity,omitempty"`
	// Volumes are alternatives of node requirements that the pod's volumes impose, ORed. Empty: no demand.
	Volumes [][]requirement.Term `json:"volumes,omitempty"`
	// Attach is how many volumes of its own the pod attaches to its node, by CSI driver. Shared are volumes that other pods
	// use too; a node attaches each of them once.
	Attach   res.List       `json:"attach,omitempty"`
	Shared   []SharedVolume `json:"shared,omitempty"`
	Priority int32          `json:"priority,omitempty"`
	// Virtual pods stand for room that is to be kept free: they count like pods where nodes are launched, but are never
	// bound, and the scheduler knows nothing of them.
	Virtual bool `json:"virtual,omitempty"`
	// Unplaceable, when set, is why no node can ever serve this class (a claim that does not exist, a selector that Kerf
	// does not know); such pods are reported and not tried.
	Unplaceable string `json:"unplaceable,omitempty"`
}

// Tied reports whether more than requests and taints decides which nodes suit the class. Such pods are evicted before others, which
// would take their room; controller/terminate goes by the pods themselves.
func (c *Class) Tied() bool {
	required := func(t PodAffinity) bool { return t.Weight == 0 }
	return len(c.Selector)+len(c.Affinity)+len(c.Volumes)+len(c.Attach)+len(c.Shared)+len(c.HostPorts) > 0 ||
		slices.ContainsFunc(c.PodAffinity, required) || slices.ContainsFunc(c.AntiAffinity, required) ||
		slices.ContainsFunc(c.Spreads, func(s Spread) bool { return !s.Soft })
}

// PodRef names a pod.
type PodRef struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
}

// String is namespace/name.
func (p PodRef) String() string { return p.Namespace + "/" + p.Name }

// Pod is a pod together with its class.
type Pod struct {
	PodRef
	Class     *Class    `json:"class"`
	CreatedAt time.Time `json:"createdAt"`
	// Node is the name of the node that the pod is bound to; empty while pending.
	Node string `json:"node,omitempty"`
	// Daemon is set for pods of a DaemonSet, Mirror for static pods; neither is ever moved or counted as pending.
	Daemon bool `json:"daemon,omitempty"`
	Mirror bool `json:"mirror,omitempty"`
	// Terminating pods hold their resources until they are gone but need no new place.
	Terminating bool `json:"terminating,omitempty"`
	// Lingers is set for terminating pods that have longer to end than a new node takes. Like kube-scheduler, plans count them for
	// pod affinity and anti-affinity, and not for spreads.
	Lingers bool `json:"lingers,omitempty"`
}

// InCompany reports whether pod affinity and anti-affinity, its own and that of other pods, count the pod.
func (p *Pod) InCompany() bool { return !p.Terminating || p.Lingers }

// Daemon is a DaemonSet's pod as it would look on a node; the engine counts it on every node it fits.
type Daemon struct {
	Name  string `json:"name"` // namespace/name of the DaemonSet
	Class *Class `json:"class"`
}
