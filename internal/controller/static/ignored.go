package static

import (
	"context"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/obs"
)

// Ignored tells of static NodePools while the feature gate is off: whoever set spec.replicas waits for nodes.
type Ignored struct {
	State    interface{ Pools() []*karpv1.NodePool }
	Recorder record.EventRecorder
	Metrics  *obs.Metrics
	Log      *slog.Logger
	Clock    clock.Clock

	told map[types.UID]time.Time
}

// NeedLeaderElection makes the manager start the loop on the leader only.
func (i *Ignored) NeedLeaderElection() bool { return true }

// Start runs the loop until ctx ends.
func (i *Ignored) Start(ctx context.Context) error {
	loop := obs.Rounds{Metrics: i.Metrics, Log: i.Log, Clock: i.Clock, Name: "static.ignored", Doing: "telling of static NodePools", Every: 10 * time.Second}
	return loop.Run(ctx, func(context.Context) error { i.Round(); return nil })
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
			i.Recorder.Event(p, corev1.EventTypeWarning, events.ReplicasIgnored, "spec.replicas has no effect: the feature gate StaticCapacity is off (FEATURE_GATES=StaticCapacity=true)")
		}
		told[p.UID] = at
	}
	i.told = told
}
