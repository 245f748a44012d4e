// Package disrupt takes away nodes that are not needed. In this package today: nodes that hold no pods.
//
// A node goes in three steps, each safe to repeat after a crash: it is tainted and marked with the reason; its pods are
// read once more from the API; its NodeClaim is deleted, or the mark is taken back. The mark is on the Node, so that a
// new leader finds what the old one had begun, and so that a taint that a person put there is never touched.
package disrupt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/obs"
	"github.com/kerf-sh/kerf/internal/res"
)

const (
	// markKey is the annotation on a Node that Kerf has begun to take away; its value is the reason.
	markKey = "kerf.sh/disrupting"
	// tick is how often the loop looks whether the state has moved or a wait is over.
	tick = time.Second
	// quiet is the least time without pods: a rollout leaves nodes empty for a moment.
	quiet = 2 * time.Second
	// unseen is how long a removal is counted that the cache does not show yet.
	unseen = 30 * time.Second
	// youth protects a node that has just come for pods which the scheduler has not bound yet.
	youth = 20 * time.Second
)

// Snapshots gives the state of the cluster.
type Snapshots interface {
	Snapshot() *cluster.Snapshot
}

// Emptiness removes nodes without pods, within the budgets of their pools.
type Emptiness struct {
	Client    client.Client
	APIReader client.Reader
	State     Snapshots
	Recorder  record.EventRecorder
	Metrics   *obs.Metrics
	Log       *slog.Logger
	Clock     clock.WithTicker
	// LeftAlone tells of machines that have to stay where they are for now, by provider ID; nil: there are none.
	LeftAlone func(providerID string) bool

	emptySince map[string]time.Time
	// removing holds nodes whose claim was deleted here until the cache has seen it; unfinished those that were marked, and
	// then something failed.
	removing   map[string]time.Time
	unfinished map[string]bool
}

// NeedLeaderElection makes the manager start the loop on the leader only.
func (e *Emptiness) NeedLeaderElection() bool { return true }

// Start runs the loop until ctx ends.
func (e *Emptiness) Start(ctx context.Context) error {
	e.emptySince, e.removing, e.unfinished = map[string]time.Time{}, map[string]time.Time{}, map[string]bool{}
	t := e.Clock.NewTicker(tick)
	defer t.Stop()
	resumed := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C():
		}
		err := e.Metrics.Recover(e.Log, "disruption", func() error {
			if !resumed {
				if err := e.Resume(ctx); err != nil {
					return err
				}
				resumed = true
			}
			return e.round(ctx)
		})
		if err != nil && ctx.Err() == nil {
			e.Log.Error("looking for empty nodes", "error", err)
		}
	}
}

// round looks at every node once.
func (e *Emptiness) round(ctx context.Context) error {
	var pools karpv1.NodePoolList
	if err := e.Client.List(ctx, &pools); err != nil {
		return fmt.Errorf("listing nodepools: %w", err)
	}
	snapshot := e.State.Snapshot()
	nodes := snapshot.Nodes
	now := e.Clock.Now()
	e.observe(nodes, now)
	errs := []error{e.takeBack(ctx)}
	if snapshot.Unsettled > 0 {
		return errors.Join(errs...) // which nodes virtual pods need is decided any moment
	}
	for i := range pools.Items {
		pool := &pools.Items[i]
		if !index.ManagedPool(pool) || pool.IsStatic() {
			continue
		}
		errs = append(errs, e.pool(ctx, pool, nodes, now))
	}
	return errors.Join(errs...)
}

// observe notes since when each node has been without pods.
func (e *Emptiness) observe(nodes []*cluster.Node, now time.Time) {
	seen := make(map[string]bool, len(nodes))
	for _, n := range nodes {
		if n.Claim == "" || !n.Initialized || !empty(n) {
			continue
		}
		seen[n.Name] = true
		if _, ok := e.emptySince[n.Name]; !ok {
			e.emptySince[n.Name] = now
		}
	}
	for name := range e.emptySince {
		if !seen[name] {
			delete(e.emptySince, name)
		}
	}
	for name, at := range e.removing {
		if now.Sub(at) >= unseen {
			delete(e.removing, name)
		}
	}
}

// empty reports whether no pod would need another place if the node went. Pods that are promised to the node count, and
// so do virtual ones that have their room there.
func empty(n *cluster.Node) bool {
	return n.Virtual == 0 && !slices.ContainsFunc(n.Pods, func(p *cluster.Pod) bool { return !p.Daemon && !p.Mirror && !p.Terminating })
}

func (e *Emptiness) pool(ctx context.Context, pool *karpv1.NodePool, nodes []*cluster.Node, now time.Time) error {
	total, going := 0, 0
	var due []*cluster.Node
	for _, n := range nodes {
		if n.Pool != pool.Name || n.Claim == "" {
			continue
		}
		total++
		switch {
		case n.Deleting || (n.Registered && !n.Ready):
			going++
			delete(e.removing, n.Name)
		case now.Sub(e.removing[n.Name]) < unseen:
			going++
		case e.due(pool, n, now):
			due = append(due, n)
		}
	}
	if len(due) == 0 {
		return nil
	}
	most, err := allowed(pool, karpv1.DisruptionReasonEmpty, total, now)
	if err != nil {
		e.Recorder.Event(pool, corev1.EventTypeWarning, "DisruptionBlocked", err.Error())
		return err
	}
	if most <= going {
		e.Recorder.Eventf(pool, corev1.EventTypeNormal, "DisruptionBlocked", "%d empty nodes stay: the disruption budget allows %d and %d are under way", len(due), most, going)
		return nil
	}
	// The largest first: as far as sizes tell, that is what the budget should be spent on.
	slices.SortFunc(due, func(a, b *cluster.Node) int {
		return cmp.Or(cmp.Compare(b.Capacity[res.CPU], a.Capacity[res.CPU]), cmp.Compare(b.Capacity[res.Memory], a.Capacity[res.Memory]), cmp.Compare(a.Name, b.Name))
	})
	var errs []error
	for _, n := range due[:min(len(due), most-going)] {
		if err := e.remove(ctx, n); err != nil {
			e.unfinished[n.Name] = true
			errs = append(errs, err)
			continue
		}
		e.removing[n.Name] = now
	}
	return errors.Join(errs...)
}

// takeBack gives back nodes that were marked when something failed afterwards.
func (e *Emptiness) takeBack(ctx context.Context) error {
	var errs []error
	for name := range e.unfinished {
		node := &corev1.Node{}
		err := e.APIReader.Get(ctx, client.ObjectKey{Name: name}, node)
		if err == nil && node.DeletionTimestamp.IsZero() && node.Annotations[markKey] != "" {
			err = e.unmark(ctx, node)
		}
		if client.IgnoreNotFound(err) != nil {
			errs = append(errs, err)
			continue
		}
		delete(e.unfinished, name)
	}
	return errors.Join(errs...)
}

// due reports whether an empty node has been so for as long as its pool asks.
func (e *Emptiness) due(pool *karpv1.NodePool, n *cluster.Node, now time.Time) bool {
	since, ok := e.emptySince[n.Name]
	after := pool.Spec.Disruption.ConsolidateAfter
	if !ok || after.IsNever() || n.DoNotDisrupt || now.Sub(n.CreatedAt) < youth {
		return false
	}
	if e.LeftAlone != nil && e.LeftAlone(n.ProviderID) {
		return false
	}
	return now.Sub(since) >= max(*after.Duration, quiet)
}

// remove takes one empty node away. The cache may be behind: what counts is what the API says after the taint is set.
func (e *Emptiness) remove(ctx context.Context, n *cluster.Node) error {
	node := &corev1.Node{}
	if err := e.APIReader.Get(ctx, client.ObjectKey{Name: n.Name}, node); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("reading node %q: %w", n.Name, err))
	}
	if err := e.mark(ctx, node); err != nil {
		return client.IgnoreNotFound(err)
	}
	busy, err := e.busy(ctx, node.Name)
	if err != nil {
		return err
	}
	if busy != "" {
		e.Log.Info("kept a node that a pod had just reached", "node", node.Name, "pod", busy)
		return e.unmark(ctx, node)
	}
	claim := &karpv1.NodeClaim{}
	if err := e.Client.Get(ctx, client.ObjectKey{Name: n.Claim}, claim); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("reading nodeclaim %q: %w", n.Claim, err))
	}
	if err := e.Client.Delete(ctx, claim.DeepCopy(), client.Preconditions{UID: &claim.UID}); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("deleting nodeclaim %q of an empty node: %w", n.Claim, err))
	}
	e.Recorder.Eventf(claim, corev1.EventTypeNormal, "DisruptionTerminating", "node %s (%s, %s) holds no pods", n.Name, n.InstanceType, n.CapacityType)
	e.Metrics.NodeClaimsDisrupted.WithLabelValues("empty", n.Pool, n.CapacityType, "", "graceful").Inc()
	e.Log.Info("removing empty node", "node", n.Name, "nodeclaim", n.Claim, "instance_type", n.InstanceType, "capacity_type", n.CapacityType)
	return nil
}

func (e *Emptiness) mark(ctx context.Context, node *corev1.Node) error {
	taint := karpv1.DisruptedNoScheduleTaint()
	stored := node.DeepCopy()
	if !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) }) {
		node.Spec.Taints = append(node.Spec.Taints, taint)
	}
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	node.Annotations[markKey] = string(karpv1.DisruptionReasonEmpty)
	if err := e.Client.Patch(ctx, node, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("tainting empty node %q: %w", node.Name, err)
	}
	return nil
}

func (e *Emptiness) unmark(ctx context.Context, node *corev1.Node) error {
	taint := karpv1.DisruptedNoScheduleTaint()
	stored := node.DeepCopy()
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) })
	delete(node.Annotations, markKey)
	if err := e.Client.Patch(ctx, node, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("giving node %q back: %w", node.Name, err))
	}
	return nil
}

// busy names a pod that needs the node, read from the API itself.
func (e *Emptiness) busy(ctx context.Context, node string) (string, error) {
	var pods corev1.PodList
	if err := e.APIReader.List(ctx, &pods, client.MatchingFields{index.PodNode: node}); err != nil {
		return "", fmt.Errorf("listing pods of node %q: %w", node, err)
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		own := slices.ContainsFunc(p.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "DaemonSet" || o.Kind == "Node" })
		if !own && p.DeletionTimestamp.IsZero() && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			return p.Namespace + "/" + p.Name, nil
		}
	}
	return "", nil
}

// Resume takes back or finishes what a former leader had begun: marked nodes whose claim is not being deleted.
func (e *Emptiness) Resume(ctx context.Context) error {
	var nodes corev1.NodeList
	if err := e.APIReader.List(ctx, &nodes); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	var errs []error
	for i := range nodes.Items {
		node := &nodes.Items[i]
		if node.Annotations[markKey] == "" || !node.DeletionTimestamp.IsZero() {
			continue
		}
		claims, err := index.ClaimsOfNode(ctx, e.Client, node)
		if err != nil || (len(claims) > 0 && !claims[0].DeletionTimestamp.IsZero()) {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, e.unmark(ctx, node))
	}
	return errors.Join(errs...)
}
