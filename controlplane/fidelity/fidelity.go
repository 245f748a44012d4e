// Package fidelity holds the engine against the real kube-scheduler.
//
// A seed gives a Case: a small cluster with pools, instances, daemons, volumes and pods in which the features of
// scheduling meet. It is made of Kubernetes objects, which are read by the controller's own cache and intake into a
// problem; the plan that answers it is then carried out on a real control plane that knows nothing of Kerf. The real
// scheduler must find a place for every pod that was planned, with no further instance, and none for those pods that the
// plan calls impossible, though it is offered one instance of everything that could be launched.
package fidelity

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// Case is a cluster that wants instances, as Kubernetes objects.
type Case struct {
	Seed uint64 `json:"seed"`
	// Features are those that the seed made frequent.
	Features []string           `json:"features"`
	Types    []*catalog.Type    `json:"types"`
	Pools    []*karpv1.NodePool `json:"pools"`
	// AnyOffering launches planned instances at any type and offering that the plan allows in place of the first.
	AnyOffering bool `json:"anyOffering,omitempty"`
	// BestEffort is MIN_VALUES_POLICY, IgnorePreferences PREFERENCE_POLICY=Ignore.
	BestEffort        bool    `json:"bestEffort,omitempty"`
	IgnorePreferences bool    `json:"ignorePreferences,omitempty"`
	PreferenceShare   float64 `json:"preferenceShare,omitempty"`

	Nodes          []*corev1.Node                  `json:"nodes,omitempty"`
	CSINodes       []*storagev1.CSINode            `json:"csiNodes,omitempty"`
	DaemonSets     []*appsv1.DaemonSet             `json:"daemonSets,omitempty"`
	StorageClasses []*storagev1.StorageClass       `json:"storageClasses,omitempty"`
	Volumes        []*corev1.PersistentVolume      `json:"volumes,omitempty"`
	Claims         []*corev1.PersistentVolumeClaim `json:"claims,omitempty"`
	Running        []*corev1.Pod                   `json:"running,omitempty"`
	Pending        []*corev1.Pod                   `json:"pending"`
	// InFlight are instances that were asked for, and Arrived what they are by the time that the plan is carried out.
	InFlight []*karpv1.NodeClaim `json:"inFlight,omitempty"`
	Arrived  []Arrival           `json:"arrived,omitempty"`
	// Leaving are instances that are being deleted, LeavingPods those of Pending that still run there. On the control plane
	// they are gone already.
	Leaving     []*corev1.Node    `json:"leaving,omitempty"`
	LeavingPods map[string]string `json:"leavingPods,omitempty"`
}

// Arrival is an instance that has joined.
type Arrival struct {
	Node *corev1.Node       `json:"node"`
	CSI  *storagev1.CSINode `json:"csi,omitempty"`
}

// Verdict is how a case ended.
type Verdict string

// The verdicts.
const (
	// Agreed: the scheduler bound every planned pod where it liked, and left the impossible ones.
	Agreed Verdict = "agreed"
	// Repacked: the scheduler, left to itself, gave some instances to other pods than the plan did, and had no room for the
	// last ones; but it accepts every pod at its instance in the plan, in whatever order they come.
	Repacked Verdict = "repacked"
	// Ordered: the scheduler accepts every pod at its instance in the plan, but not in every order: a pod that it counts for
	// others' sake, and that may go anywhere itself, must not come first.
	Ordered Verdict = "ordered"
	// Disagreed: the scheduler refuses a place of the plan, or has one for a pod that the plan calls impossible, or the
	// plan fails its own check.
	Disagreed Verdict = "disagreed"
)

// Outcome is what came of a case.
type Outcome struct {
	Seed    uint64  `json:"seed"`
	Verdict Verdict `json:"verdict"`
	// Pods, Instances, Impossible count planned pods, instances launched, and pods that were tried in vain.
	Pods       int `json:"pods"`
	Instances  int `json:"instances"`
	Impossible int `json:"impossible"`
	// Diff says in one paragraph what plan and scheduler do not agree on.
	Diff string `json:"diff,omitempty"`
}

// String is the outcome in one line.
func (o Outcome) String() string {
	s := fmt.Sprintf("seed %d: %s (%d pods on %d new nodes, %d impossible)", o.Seed, o.Verdict, o.Pods, o.Instances, o.Impossible)
	if o.Diff != "" {
		s += ": " + o.Diff
	}
	return s
}

// Tally counts outcomes.
type Tally struct {
	Cases, Disagreed            int
	Repacked, Ordered           int
	Failed                      int // that could not be carried out
	Pods, Instances, Impossible int
}

// Add counts one outcome.
func (t *Tally) Add(o Outcome) {
	t.Cases++
	t.Pods += o.Pods
	t.Instances += o.Instances
	t.Impossible += o.Impossible
	switch o.Verdict {
	case Disagreed:
		t.Disagreed++
	case Repacked:
		t.Repacked++
	case Ordered:
		t.Ordered++
	}
}

// String is the tally in one line.
func (t *Tally) String() string {
	return fmt.Sprintf("%d cases, %d planned pods bound on %d new nodes and those that were there, %d impossible pods checked, %d cases repacked, %d cases ordered, %d disagreements, %d not carried out",
		t.Cases, t.Pods, t.Instances, t.Impossible, t.Repacked, t.Ordered, t.Disagreed, t.Failed)
}
