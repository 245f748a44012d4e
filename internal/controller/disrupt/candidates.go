package disrupt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// CandidateTaint is on nodes that are due to be disrupted, with the effect PreferNoSchedule: pods that would only have to move
// again go elsewhere where there is room. Users of Cluster Autoscaler know the like as DeletionCandidateOfClusterAutoscaler.
const CandidateTaint = "kerf.sh/disruption-candidate"

const (
	// candidateAfter is for how long a node has to be part of moves before it gets the taint, and candidateFor for how long it
	// may be part of none before it loses it: each is two writes to the node.
	candidateAfter, candidateFor = 5 * time.Second, 30 * time.Second
	// candidateEvery is how often nodes are written to, and candidateWrites how many each time.
	candidateEvery, candidateWrites = time.Second, 10
)

// Candidates keeps CandidateTaint on the nodes that drifted or are part of a move that is not begun yet, and on no others. It takes
// the taint of intake.TurnKey off new nodes whose turn has come.
// What is to be done is read from the nodes, so that a new leader goes on with it.
type Candidates struct {
	Queue *Queue
	State LoopState
	// Moves is the last decision on consolidation; nil before the first.
	Moves func() *disrupt.Decision
	// Off takes the taint off where it is.
	Off bool
	// Synced reports whether the first list of every kind is in; nil is always.
	Synced  func() bool
	Metrics *obs.Metrics
	Log     *slog.Logger
	Clock   clock.WithTicker

	moving map[string]stretch
	// seen and decision are what the last round looked at, and next is when to look again though neither changes.
	seen     *cluster.Snapshot
	decision *disrupt.Decision
	next     time.Time
}

// stretch is since when a node is part of moves, and since when it is no more; zero while it is.
type stretch struct{ since, left time.Time }

// NeedLeaderElection makes the manager start it on the leader only.
func (c *Candidates) NeedLeaderElection() bool { return true }

// Start writes until ctx ends.
func (c *Candidates) Start(ctx context.Context) error {
	r := rounds{"disruption.candidates", "tainting the nodes that are due to be disrupted", candidateEvery, c.Clock, c.Synced, c.Metrics, c.Log}
	return r.run(ctx, func() error { return c.round(ctx) })
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
		due := !c.Off && c.due(n, now)
		come := awaitsTurn(n) && (c.Off || c.come(n, turns, now))
		if n.Claim == "" || n.Deleting || n.Leaving || due == bearsCandidate(n) && !come {
			continue
		}
		c.next = now // somebody else may write meanwhile
		if writes++; writes > candidateWrites {
			break
		}
		_, err := c.Queue.editNode(ctx, c.Queue.Client, n.Name, func(node *corev1.Node) error {
			without := slices.DeleteFunc(slices.Clone(node.Spec.Taints), isCandidate)
			if due {
				without = append(without, corev1.Taint{Key: CandidateTaint, Effect: corev1.TaintEffectPreferNoSchedule})
			}
			if come {
				without = slices.DeleteFunc(without, intake.IsTurnTaint)
			}
			node.Spec.Taints = without
			return nil
		})
		if client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("tainting node %s as a candidate for disruption: %w", n.Name, err))
		}
	}
	return errors.Join(errs...)
}

// follow notes which nodes are part of moves, and when that next makes a difference.
func (c *Candidates) follow(d *disrupt.Decision, now time.Time) {
	in := map[string]bool{}
	if d != nil {
		for i := range d.Moves {
			for _, name := range d.Moves[i].Nodes {
				in[name] = true
			}
		}
	}
	if c.moving == nil {
		c.moving = map[string]stretch{}
	}
	for name := range in {
		s, ok := c.moving[name]
		if !ok {
			s.since = now
		}
		s.left = time.Time{}
		c.moving[name] = s
	}
	for name, s := range c.moving {
		switch {
		case in[name]:
		case s.left.IsZero():
			s.left = now
			c.moving[name] = s
		case now.Sub(s.left) >= candidateFor:
			delete(c.moving, name)
			continue
		}
		for _, at := range []time.Time{s.since.Add(candidateAfter), s.left.Add(candidateFor)} {
			if at.After(now) && at.Before(c.next) {
				c.next = at
			}
		}
	}
}

// due reports whether pods should rather not go to the node.
func (c *Candidates) due(n *cluster.Node, now time.Time) bool {
	if !n.Initialized || n.DoNotDisrupt {
		return false
	}
	if s, ok := c.moving[n.Name]; ok && now.Sub(s.since) >= candidateAfter {
		return true
	}
	return drifted(c.State.Claim(n.Claim))
}

func bearsCandidate(n *cluster.Node) bool {
	return slices.ContainsFunc(n.Taints, func(t cluster.Taint) bool { return t.Key == CandidateTaint })
}

func isCandidate(t corev1.Taint) bool { return t.Key == CandidateTaint }
