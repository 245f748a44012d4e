// Package expire ends nodes that have reached the age that their NodeClaim sets (expireAfter). It asks neither budgets
// nor do-not-disrupt, as users of the v1 API rely on: that age plus terminationGracePeriod is the longest that a node
// lives. Two things make it gentle all the same. The claim is marked before it is deleted, which makes its drain wait
// until the instances that take the pods over are ready; and the claims of a pool that were born together go one after
// the other, the first of them a little ahead of its time and none of them late.
//
// All that has to outlive this process is on the claims: their age, the mark and their deletion.
package expire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/deadline"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/controller/story"
)

// period is the longest between two looks at the claims; the next expiry that is known comes sooner.
const period = 10 * time.Second

// headStart is the time between the mark and the deletion of a claim of a static NodePool: the mark makes the pool launch
// another instance (package static), and pods are planned onto that only if it was ordered before they need a place.
const headStart = 5 * time.Second

// Loop is the loop.
type Loop struct {
	Client   client.Client
	Recorder record.EventRecorder
	Metrics  *obs.Metrics
	Log      *slog.Logger
	Clock    clock.Clock
	// Ahead is how long before its age, at the most, a node goes so that a crowd does not go at once; 0: all go exactly when
	// they are due.
	Ahead time.Duration
	// StaticCapacity is the feature gate: with it static NodePools replace what was marked.
	StaticCapacity bool
	// LeftAlone tells of instances that have to stay where they are for now, by provider ID; nil: there are none.
	LeftAlone func(providerID string) bool

	// begun holds the claims that were deleted here and that the cache may not show as going yet.
	begun map[types.UID]bool
	// marked is when claims of static pools may be deleted.
	marked map[types.UID]time.Time
	// rested is when a pool may begin its next one.
	rested map[string]time.Time
}

// NeedLeaderElection makes the manager start the loop on the leader only.
func (l *Loop) NeedLeaderElection() bool { return true }

// Start runs the loop until ctx ends.
func (l *Loop) Start(ctx context.Context) error {
	return obs.Rounds{Metrics: l.Metrics, Log: l.Log, Clock: l.Clock, Name: "expire", Doing: "ending expired nodes", Every: period}.RunPaced(ctx, l.Round)
}

// Round begins what is due and says how long nothing else will be.
func (l *Loop) Round(ctx context.Context) (wait time.Duration, err error) {
	var claims karpv1.NodeClaimList
	// The claims are only read here; copies are made of those that go.
	if err := l.Client.List(ctx, &claims, client.UnsafeDisableDeepCopy); err != nil {
		return period, fmt.Errorf("listing nodeclaims: %w", err)
	}
	static, err := l.static(ctx)
	if err != nil {
		return period, err
	}
	now := l.Clock.Now()
	sizes, dues := map[string]int{}, map[string][]*due{}
	begun, marked := map[types.UID]bool{}, map[types.UID]time.Time{}
	for i := range claims.Items {
		claim := &claims.Items[i]
		if !index.Managed(claim) {
			continue
		}
		pool := claim.Labels[karpv1.NodePoolLabelKey]
		sizes[pool]++
		if !claim.DeletionTimestamp.IsZero() || claim.Spec.ExpireAfter.IsNever() {
			continue
		}
		if l.begun[claim.UID] {
			begun[claim.UID] = true
			continue
		}
		if l.LeftAlone != nil && l.LeftAlone(claim.Status.ProviderID) {
			continue // it is due when its zone is open again
		}
		if at, ok := l.marked[claim.UID]; ok {
			marked[claim.UID] = at
		}
		life := *claim.Spec.ExpireAfter.Duration
		dues[pool] = append(dues[pool], &due{claim: claim, at: claim.CreationTimestamp.Add(life), ahead: min(l.Ahead, life/aheadShare), held: static[pool]})
	}
	l.begun, l.marked = begun, marked
	if l.rested == nil {
		l.rested = map[string]time.Time{}
	}
	for pool := range l.rested {
		if sizes[pool] == 0 {
			delete(l.rested, pool)
		}
	}
	wait = period
	var errs []error
	for pool, list := range dues {
		pace(list, sizes[pool])
		next, err := l.pool(ctx, pool, list, sizes[pool], now)
		wait, errs = min(wait, next), append(errs, err)
	}
	return max(wait, 10*time.Millisecond), errors.Join(errs...)
}

// pool begins what is due in one pool and says when the next is.
func (l *Loop) pool(ctx context.Context, pool string, dues []*due, size int, now time.Time) (wait time.Duration, err error) {
	wait = period
	var errs []error
	for _, d := range dues {
		at, marked := l.marked[d.claim.UID]
		// Begun by a former leader, or here without an end so far. Others do not wait for it: what refuses to go would hold
		// up its pool for ever.
		begun := d.claim.Annotations[index.ExpiredAnnotation] == d.text()
		if !marked {
			if at = d.begin; d.held {
				at = at.Add(-headStart)
			}
			if begun {
				at = now
			} else if rested := l.rested[pool]; rested.After(at) {
				at = rested
			}
		}
		if at.After(now) {
			wait = min(wait, at.Sub(now))
			continue
		}
		if !marked {
			if err := l.mark(ctx, d); err != nil {
				errs = append(errs, err)
				continue
			}
			if !begun {
				l.rested[pool] = now.Add(d.rest(size))
			}
			if d.held {
				l.marked[d.claim.UID] = now.Add(headStart)
				wait = min(wait, headStart)
				continue
			}
		}
		if err := l.end(ctx, d, now); err != nil {
			errs = append(errs, err)
			continue
		}
		l.begun[d.claim.UID] = true
	}
	return wait, errors.Join(errs...)
}

// static names the NodePools that replace what was marked.
func (l *Loop) static(ctx context.Context) (map[string]bool, error) {
	if !l.StaticCapacity {
		return nil, nil
	}
	var pools karpv1.NodePoolList
	if err := l.Client.List(ctx, &pools, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing nodepools: %w", err)
	}
	out := map[string]bool{}
	for i := range pools.Items {
		if pools.Items[i].IsStatic() {
			out[pools.Items[i].Name] = true
		}
	}
	return out, nil
}

// mark writes to the claim that it has come of age.
func (l *Loop) mark(ctx context.Context, d *due) error {
	if _, marked := d.claim.Annotations[index.ExpiredAnnotation]; marked {
		return nil
	}
	claim := d.claim.DeepCopy()
	if claim.Annotations == nil {
		claim.Annotations = map[string]string{}
	}
	claim.Annotations[index.ExpiredAnnotation] = d.text()
	if err := l.Client.Patch(ctx, claim, client.MergeFrom(d.claim)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("marking expired nodeclaim %q: %w", claim.Name, err)
	}
	return nil
}

// end deletes the claim.
func (l *Loop) end(ctx context.Context, d *due, now time.Time) error {
	claim := d.claim.DeepCopy()
	if begun, err := deadline.Delete(ctx, l.Client, claim); err != nil || !begun {
		return err
	}
	early := ""
	if at := d.at.Sub(now); at >= time.Second {
		early = fmt.Sprintf(", %s ahead of it because other nodes of its pool are as old", at.Round(time.Second))
	}
	index.Tell(ctx, l.Client, l.Recorder, claim, corev1.EventTypeNormal, events.DisruptionTerminating,
		fmt.Sprintf("the node is replaced at the age that expireAfter sets (%s)%s; its pods move once the instances that take them over are ready", claim.Spec.ExpireAfter.Duration, early))
	index.Disrupted(ctx, l.Client, l.Metrics, claim, "expired", index.TerminationMode(claim))
	l.Log.Info("ending an expired node", append(story.Of(claim), "nodeclaim", claim.Name, "node", claim.Status.NodeName, "due", d.at, "began", now)...)
	return nil
}
