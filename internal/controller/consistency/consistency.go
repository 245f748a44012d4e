// Package consistency compares nodes with what was launched: a node that has less than its instance reserved for says so, one
// that joined long ago and still can't take pods says so and, where a setting asks for it, is ended, an instance whose node was deleted
// is ended, and claims and nodes from older releases get the label of their node class.
package consistency

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/obs"
)

const (
	// period is how often all claims are looked at.
	period = 30 * time.Second
	// writes is how many objects a round writes to at the most: a cluster that is taken over is not written all at once.
	writes = 50
	// slow is how long after it has joined a node that can't take pods is told of, and again how soon the same is said
	// again.
	slow, again = 15 * time.Minute, 15 * time.Minute
)

// Loop is the loop.
type Loop struct {
	Client   client.Client
	Recorder record.EventRecorder
	Metrics  *obs.Metrics
	Log      *slog.Logger
	Clock    clock.Clock
	// Timeout is how long after it has joined a node that can't take pods is ended; 0: never.
	Timeout time.Duration
	// LeftAlone tells of instances that have to stay where they are for now, by provider ID; nil: there are none.
	LeftAlone func(providerID string) bool

	told map[types.UID]time.Time
	// ended holds the claims that were deleted here and that the cache may not show as going yet.
	ended map[types.UID]bool
	// alone says since when registered claims have no Node.
	alone map[types.UID]time.Time
	left  int // writes of this round
}

// NeedLeaderElection makes the manager start the loop on the leader only.
func (l *Loop) NeedLeaderElection() bool { return true }

// Start runs the loop until ctx ends.
func (l *Loop) Start(ctx context.Context) error {
	return obs.Rounds{Metrics: l.Metrics, Log: l.Log, Clock: l.Clock, Name: "consistency", Doing: "comparing nodes with what was launched", Every: period}.Run(ctx, l.Round)
}

// Round looks at every claim once.
func (l *Loop) Round(ctx context.Context) error {
	var claims karpv1.NodeClaimList
	// The claims are only read here; copies are made of those that are written.
	if err := l.Client.List(ctx, &claims, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing nodeclaims: %w", err)
	}
	nodes, err := l.nodes(ctx)
	if err != nil {
		return err
	}
	now := l.Clock.Now()
	l.left = writes
	l.forget(claims.Items, now)
	l.awaitNodes(claims.Items, nodes, now)
	stuck := map[[2]string]float64{}
	var errs []error
	for i := range claims.Items {
		claim := &claims.Items[i]
		if !index.Managed(claim) || !claim.DeletionTimestamp.IsZero() || l.ended[claim.UID] {
			continue
		}
		if ended, err := l.nodeGone(ctx, claim, now); ended || err != nil {
			errs = append(errs, err)
			continue
		}
		if l.left > 0 {
			errs = append(errs, l.look(ctx, claim, nodes[claim.Status.ProviderID]))
		}
		if reason, long := l.uninitialized(claim, now); long {
			stuck[[2]string{claim.Labels[karpv1.NodePoolLabelKey], reason}]++
			errs = append(errs, l.slow(ctx, claim, now))
		}
	}
	l.Metrics.Replace(l.Metrics.Uninitialized, func(set func(float64, ...string)) {
		for k, n := range stuck {
			set(n, k[0], k[1])
		}
	})
	return errors.Join(errs...)
}

// forget drops what was remembered of claims that are gone, and what may be said again.
func (l *Loop) forget(claims []karpv1.NodeClaim, now time.Time) {
	told, ended := map[types.UID]time.Time{}, map[types.UID]bool{}
	for i := range claims {
		uid := claims[i].UID
		if at, ok := l.told[uid]; ok && now.Sub(at) < again {
			told[uid] = at
		}
		if l.ended[uid] {
			ended[uid] = true
		}
	}
	l.told, l.ended = told, ended
}

// nodes are those with a provider ID, by that. They must not be changed.
func (l *Loop) nodes(ctx context.Context) (map[string][]*corev1.Node, error) {
	var list corev1.NodeList
	if err := l.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	out := make(map[string][]*corev1.Node, len(list.Items))
	for i := range list.Items {
		if n := &list.Items[i]; n.Spec.ProviderID != "" {
			out[n.Spec.ProviderID] = append(out[n.Spec.ProviderID], n)
		}
	}
	return out, nil
}

// look labels a claim and its nodes, and compares their shapes.
func (l *Loop) look(ctx context.Context, claim *karpv1.NodeClaim, nodes []*corev1.Node) error {
	errs := []error{l.hydrate(ctx, claim, claim.Spec.NodeClassRef.Name)}
	for _, n := range nodes {
		errs = append(errs, l.hydrate(ctx, n, claim.Spec.NodeClassRef.Name))
	}
	if len(nodes) == 1 && claim.StatusConditions().IsTrue(karpv1.ConditionTypeInitialized) {
		errs = append(errs, l.compare(ctx, claim, nodes[0]))
	}
	return errors.Join(errs...)
}

// hydrate gives an object the label of its node class, which releases of old did not write.
func (l *Loop) hydrate(ctx context.Context, o client.Object, class string) error {
	if o.GetLabels()[awsv1.LabelNodeClass] != "" || l.left <= 0 {
		return nil
	}
	l.left--
	changed := o.DeepCopyObject().(client.Object)
	labels := changed.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[awsv1.LabelNodeClass] = class
	changed.SetLabels(labels)
	if err := l.Client.Patch(ctx, changed, client.MergeFrom(o)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("labelling %T %q with its node class: %w", o, o.GetName(), err)
	}
	return nil
}

// compare writes to the claim whether its node is what was launched.
func (l *Loop) compare(ctx context.Context, stored *karpv1.NodeClaim, node *corev1.Node) error {
	what := missing(stored, node)
	if was := stored.StatusConditions(); what == "" && was.IsTrue(karpv1.ConditionTypeConsistentStateFound) {
		return nil
	}
	claim := stored.DeepCopy()
	conditions := claim.StatusConditions().WithClock(l.Clock.Now)
	var changed bool
	if what == "" {
		changed = conditions.SetTrue(karpv1.ConditionTypeConsistentStateFound)
	} else {
		what = "the node has less than its instance promised: " + what
		changed = conditions.SetFalse(karpv1.ConditionTypeConsistentStateFound, karpv1.ReasonConsistencyCheckFailed, what)
		if l.speak(claim.UID) {
			index.Tell(ctx, l.Client, l.Recorder, claim, corev1.EventTypeWarning, events.FailedConsistencyCheck, what)
		}
	}
	if !changed || l.left <= 0 {
		return nil
	}
	l.left--
	err := l.Client.Status().Patch(ctx, claim, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) {
		return nil // the next round sees what the other wrote
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing the status of nodeclaim %q: %w", claim.Name, err)
	}
	return nil
}

// speak reports whether it is time to say something of a claim again.
func (l *Loop) speak(uid types.UID) bool {
	if _, ok := l.told[uid]; ok {
		return false
	}
	l.told[uid] = l.Clock.Now()
	return true
}
