package disrupt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

const (
	// quiet is the least time without pods coming or going: a rollout leaves nodes empty for a moment.
	quiet = 2 * time.Second
	// youth protects a node that no pod has reached yet: pods that the scheduler is about to bind.
	youth = 20 * time.Second
	// leastBetween and mostBetween bound how old the pod event may be that is written to a claim. This process knows better;
	// only the next one has to live with what is written.
	leastBetween = 10 * time.Second
	mostBetween  = time.Minute
	// writesAtOnce is how many claims are written to in a second at most.
	writesAtOnce = 50
)

// consolidatableAt is when a node may be consolidated if no further pod comes or goes; ever is false when it never may.
//
// Source: the condition Consolidatable of the Karpenter v1 API: consolidateAfter after the last pod event, or after
// initialization.
func consolidatableAt(claim *karpv1.NodeClaim, pool *karpv1.NodePool, lastPodEvent time.Time) (at time.Time, ever bool) {
	after := pool.Spec.Disruption.ConsolidateAfter
	begun, initialized := claim.StatusConditions().TrueSince(karpv1.ConditionTypeInitialized)
	if after.IsNever() || pool.IsStatic() || !initialized {
		return time.Time{}, false
	}
	event := claim.Status.LastPodEventTime.Time
	if lastPodEvent.After(event) {
		event = lastPodEvent
	}
	if event.Before(begun) {
		return begun.Add(max(*after.Duration, youth)), true
	}
	return event.Add(max(*after.Duration, quiet)), true
}

// ClaimState is the part of the cache that Consolidatable reads.
type ClaimState interface {
	Snapshot() *cluster.Snapshot
	Pools() []*karpv1.NodePool
	Claim(name string) *karpv1.NodeClaim
	LastPodEvent(node string) time.Time
}

// Consolidatable writes on NodeClaims when a pod last came or went, and whether they may be consolidated. What is already
// written and still true is not written again, so that a start of the controller is no storm of writes.
type Consolidatable struct {
	Client  client.Client
	State   ClaimState
	Metrics *obs.Metrics
	Log     *slog.Logger
	Clock   clock.WithTicker

	from int // where in the list of nodes the next round begins, so that each comes to its turn
	// seen and pools are what the last round looked at, and due is when to look again though neither changes.
	seen  *cluster.Snapshot
	pools []*karpv1.NodePool
	due   time.Time
}

// Run writes until ctx ends.
func (c *Consolidatable) Run(ctx context.Context) error {
	return obs.Rounds{Metrics: c.Metrics, Log: c.Log, Clock: c.Clock, Name: "nodeclaim.consolidatable", Doing: "writing which nodes may be consolidated", Every: time.Second}.Run(ctx, c.round)
}

func (c *Consolidatable) round(ctx context.Context) error {
	now, snapshot, live := c.Clock.Now(), c.State.Snapshot(), c.State.Pools()
	if snapshot == c.seen && now.Before(c.due) && slices.Equal(live, c.pools) {
		return nil
	}
	c.seen, c.pools, c.due = snapshot, live, now.Add(safety)
	pools := map[string]*karpv1.NodePool{}
	for _, p := range live {
		pools[p.Name] = p
	}
	writes := 0
	var errs []error
	nodes := snapshot.Nodes
	for i := range nodes {
		place := (c.from + i) % len(nodes)
		n := nodes[place]
		pool, claim := pools[n.Pool], c.State.Claim(n.Claim)
		if pool == nil || claim == nil || !claim.DeletionTimestamp.IsZero() || n.Deleting {
			continue
		}
		next, at := observed(claim, pool, c.State.LastPodEvent(n.Name), now)
		if at.After(now) && at.Before(c.due) {
			c.due = at
		}
		if next == nil {
			continue
		}
		c.due = now // somebody else may write meanwhile
		if writes++; writes > writesAtOnce {
			c.from = place
			break
		}
		err := c.Client.Status().Patch(ctx, next, statusFrom{claim})
		if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) { // who writes meanwhile is heard of soon
			errs = append(errs, fmt.Errorf("nodeclaim %s: %w", claim.Name, err))
		}
	}
	return errors.Join(errs...)
}

// observed is the claim with what is to be written on it, nil when that is there already, and when it may be consolidated.
func observed(claim *karpv1.NodeClaim, pool *karpv1.NodePool, lastPodEvent, now time.Time) (next *karpv1.NodeClaim, at time.Time) {
	at, ever := consolidatableAt(claim, pool, lastPodEvent)
	may := ever && !now.Before(at)
	told := claim.StatusConditions().IsTrue(karpv1.ConditionTypeConsolidatable)
	if told && ever && at.Sub(now) <= quiet {
		may = true // what is back in a moment is not taken away: where consolidateAfter is 0s each pod would be two writes
	}
	late := lastPodEvent.Sub(claim.Status.LastPodEventTime.Time) >= between(pool)
	if may == told && !late {
		return nil, at
	}
	next = claim.DeepCopy()
	conditions := next.StatusConditions().WithClock(func() time.Time { return now })
	if may {
		conditions.SetTrue(karpv1.ConditionTypeConsolidatable)
	} else {
		conditions.Clear(karpv1.ConditionTypeConsolidatable)
	}
	if lastPodEvent.After(next.Status.LastPodEventTime.Time) {
		next.Status.LastPodEventTime = metav1.NewTime(lastPodEvent)
	}
	return next, at
}

// statusFrom is a patch that changes the status of the claim to that of another, if the claim is still what it was. It is what
// client.MergeFromWithOptimisticLock makes of the two, without encoding all else of both only to find that it is the same: this is
// the write that is made most often.
type statusFrom struct{ *karpv1.NodeClaim }

// Type implements client.Patch.
func (statusFrom) Type() types.PatchType { return types.MergePatchType }

// Data implements client.Patch.
func (p statusFrom) Data(next client.Object) ([]byte, error) {
	only := func(c *karpv1.NodeClaim) *karpv1.NodeClaim {
		return &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: c.Name, ResourceVersion: c.ResourceVersion}, Status: c.Status}
	}
	to, ok := next.(*karpv1.NodeClaim)
	if !ok {
		return nil, fmt.Errorf("a %T has no status of a NodeClaim", next)
	}
	return client.MergeFromWithOptions(only(p.NodeClaim), client.MergeFromWithOptimisticLock{}).Data(only(to))
}

// between is the least time between two pod events that are written.
func between(pool *karpv1.NodePool) time.Duration {
	after := pool.Spec.Disruption.ConsolidateAfter
	if after.IsNever() {
		return mostBetween
	}
	return min(max(leastBetween, *after.Duration/4), mostBetween)
}
