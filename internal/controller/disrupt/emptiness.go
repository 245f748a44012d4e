// Package disrupt takes away nodes that are not needed. In this package today: nodes that hold no pods.
//
// What goes is decided as a Command, and a Queue carries it out in steps that are each safe to repeat after a crash.
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
	// tick is how often the loop looks whether the state has moved or a wait is over.
	tick = time.Second
	// quiet is the least time without pods: a rollout leaves nodes empty for a moment.
	quiet = 2 * time.Second
	// youth protects a node that has just come for pods which the scheduler has not bound yet.
	youth = 20 * time.Second
)

// Snapshots gives the state of the cluster.
type Snapshots interface {
	Snapshot() *cluster.Snapshot
}

// Emptiness removes nodes without pods, within the budgets of their pools.
type Emptiness struct {
	Client   client.Client
	Queue    *Queue
	State    Snapshots
	Recorder record.EventRecorder
	Metrics  *obs.Metrics
	Log      *slog.Logger
	Clock    clock.WithTicker
	// LeftAlone tells of machines that have to stay where they are for now, by provider ID; nil: there are none.
	LeftAlone func(providerID string) bool

	emptySince map[string]time.Time
}

// NeedLeaderElection makes the manager start the loop on the leader only.
func (e *Emptiness) NeedLeaderElection() bool { return true }

// Start runs the loop until ctx ends.
func (e *Emptiness) Start(ctx context.Context) error {
	e.emptySince = map[string]time.Time{}
	t := e.Clock.NewTicker(tick)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C():
		}
		err := e.Metrics.Recover(e.Log, "disruption", func() error {
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
	if snapshot.Unsettled > 0 {
		return nil // which nodes virtual pods need is decided any moment
	}
	var errs []error
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
		case n.Deleting || n.Leaving || (n.Registered && !n.Ready) || e.Queue.Busy(n.Claim):
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
	c := Command{Cause: karpv1.DisruptionReasonEmpty, Kind: "empty", Policy: pool.Spec.Disruption.ConsolidationPolicy, Why: "it holds no pods"}
	for _, n := range due[:min(len(due), most-going)] {
		c.Nodes = append(c.Nodes, GoingNode(n))
		c.Saving += n.Price
	}
	err = e.Queue.Start(ctx, c)
	if errors.Is(err, ErrNotRunning) {
		return nil
	}
	return err
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
