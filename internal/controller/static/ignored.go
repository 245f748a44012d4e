package static

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// Ignored tells of static NodePools while the feature gate is off: whoever set spec.replicas waits for nodes.
type Ignored struct {
	State    interface{ Pools() []*karpv1.NodePool }
	Recorder record.EventRecorder
	Clock    clock.Clock

	told map[types.UID]time.Time
}

// NeedLeaderElection makes the manager start the loop on the leader only.
func (i *Ignored) NeedLeaderElection() bool { return true }

// Start runs the loop until ctx ends.
func (i *Ignored) Start(ctx context.Context) error {
	for {
		i.Round()
		select {
		case <-ctx.Done():
			return nil
		case <-i.Clock.After(10 * time.Second):
		}
	}
}

// Round tells of each pool, once an hour.
func (i *Ignored) Round() {
	now, told := i.Clock.Now(), map[types.UID]time.Time{}
	for _, p := range i.State.Pools() {
		if !p.IsStatic() {
			continue
		}
		at, ok := i.told[p.UID]
		if !ok || now.Sub(at) >= time.Hour {
			at = now
			i.Recorder.Event(p, corev1.EventTypeWarning, "ReplicasIgnored", "spec.replicas has no effect: the feature gate StaticCapacity is off (FEATURE_GATES=StaticCapacity=true)")
		}
		told[p.UID] = at
	}
	i.told = told
}
