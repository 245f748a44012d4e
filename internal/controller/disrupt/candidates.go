package disrupt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/state/cache"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// CandidateTaint is on nodes that are due to be disrupted, with the effect PreferNoSchedule: pods that would only have to move
// again go elsewhere where there is room. Users of Cluster Autoscaler know the like as DeletionCandidateOfClusterAutoscaler.
const CandidateTaint = "kerf.sh/disruption-candidate"

const (
	// candidateAfter is for how long a move has to stand before its nodes get the taint, and candidateFor for how long a node may
	// be part of none before it loses it: each is two writes to the node.
	candidateAfter, candidateFor = 5 * time.Second, 30 * time.Second
	// candidateEvery is how often nodes are written to, and candidateWrites how many each time.
	candidateEvery, candidateWrites = time.Second, 10
)

// Candidates keeps CandidateTaint on the nodes that drifted or are part of a move that is not begun yet, and on no others. It takes
// the taint of intake.TurnKey off new nodes whose turn has come.
// What is to be done is read from the nodes, so that a new leader goes on with it.
type Candidates struct {
	Queue *Queue
	State *cache.Cache
	// Moves is the last decision on consolidation; nil before the first.
	Moves func() *disrupt.Decision
	// Off takes the taint off where it is.
	Off bool
	// Synced reports whether the first list of every kind is in; nil is always.
	Synced  func() bool
	Metrics *obs.Metrics
	Log     *slog.Logger
	Clock   clock.WithTicker

	// moving is when nodes were seen last to be part of a move that had stood for candidateAfter.
	moving map[string]time.Time
	// seen and decision are what the last round looked at, and next is when to look again though neither changes.
	seen     *cluster.Snapshot
	decision *disrupt.Decision
	next     time.Time
}

// NeedLeaderElection makes the manager start it on the leader only.
func (c *Candidates) NeedLeaderElection() bool { return true }

// Start writes until ctx ends.
func (c *Candidates) Start(ctx context.Context) error {
	return obs.Rounds{
		Metrics: c.Metrics, Log: c.Log, Clock: c.Clock, Name: "disruption.candidates", Doing: "tainting the nodes that are due to be disrupted", Every: candidateEvery, Synced: c.Synced,
	}.Run(ctx, c.round)
}

// round writes to the nodes that bear the taint and should not, or the other way round.
//
// Cost: nothing while nothing changes; else a look at each node.
func (c *Candidates) round(ctx context.Context) error {
	now, snapshot, decision := c.Clock.Now(), c.State.Snapshot(), c.Moves()
	if snapshot == c.seen && decision == c.decision && now.Before(c.next) {
		return nil
	}
	c.seen, c.decision, c.next = snapshot, decision, now.Add(safety)
	c.follow(decision, now)
	turns := c.turns(snapshot.Nodes)
	var errs []error
	writes := 0
	for _, n := range snapshot.Nodes {
		due := !c.Off && c.due(n)
		come := bears(n, intake.TurnKey) && (c.Off || c.come(n, turns, now))
		if n.Claim == "" || n.Deleting || n.Leaving || due == bears(n, CandidateTaint) && !come {
			continue
		}
		c.next = now // somebody else may write meanwhile
		if writes++; writes > candidateWrites {
			break
		}
		err := c.Queue.editNode(ctx, c.Queue.Client, n.Name, func(node *corev1.Node) error {
			node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == CandidateTaint || come && intake.IsTurnTaint(t) })
			if due {
				node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: CandidateTaint, Effect: corev1.TaintEffectPreferNoSchedule})
			}
			return nil
		})
		if client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("tainting node %s as a candidate for disruption: %w", n.Name, err))
		}
	}
	return errors.Join(errs...)
}

// follow notes which nodes are part of moves that have stood for long enough.
func (c *Candidates) follow(d *disrupt.Decision, now time.Time) {
	if c.moving == nil {
		c.moving = map[string]time.Time{}
	}
	maps.DeleteFunc(c.moving, func(_ string, seen time.Time) bool { return now.Sub(seen) >= candidateFor })
	if d == nil {
		return
	}
	for i := range d.Moves {
		if m := &d.Moves[i]; m.Stood >= candidateAfter {
			for _, name := range m.Nodes {
				c.moving[name] = now
			}
		}
	}
}

// due reports whether pods should rather not go to the node.
func (c *Candidates) due(n *cluster.Node) bool {
	if !n.Initialized || n.DoNotDisrupt {
		return false
	}
	_, moves := c.moving[n.Name]
	return moves || drifted(c.State.Claim(n.Claim))
}

// bears reports whether a node has a taint of a key.
func bears(n *cluster.Node, key string) bool {
	return slices.ContainsFunc(n.Taints, func(t cluster.Taint) bool { return t.Key == key })
}
