package disrupt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/verify"
)

const (
	// driftRest is the least time between two searches for places of which the first found none, and driftShare how much
	// longer than the search took it is: a node that is stuck must not keep the controller busy.
	driftRest  = 5 * time.Second
	driftShare = 50
)

// drift is what is known of the replacement of drifted nodes from one round to the next.
type drift struct {
	reporter *reporter // what it says neither hides what consolidation says nor takes its share
	rest     time.Time // until when no places are looked for: the last search found none
	mu       sync.Mutex
	backoff  backoff
	held     heldUp
}

// heldUp is what holds up the replacement of drifted nodes: by node what stands against it, and by pool what all of its nodes wait for.
type heldUp struct{ nodes, pools map[string]string }

// HeldUp says what holds up the replacement of a drifted node, as was found last; empty where nothing is known to. Safe for concurrent use.
func (l *Loop) HeldUp(node, pool string) string {
	l.drift.mu.Lock()
	defer l.drift.mu.Unlock()
	return cmp.Or(l.drift.held.nodes[node], l.drift.held.pools[pool])
}

// Finished notes how a command ended. Safe for concurrent use.
func (l *Loop) Finished(c Command, failed string) {
	if c.Cause != karpv1.DisruptionReasonDrifted {
		return
	}
	l.drift.mu.Lock()
	defer l.drift.mu.Unlock()
	if failed == "" {
		l.drift.backoff.succeeded(c.Nodes)
	} else {
		l.drift.backoff.failed(c.Nodes, failed, l.Clock.Now())
	}
}

// rollOut replaces nodes that drifted, within the budgets of their pools. Replacements are ready before the first eviction. Any
// number of pools is under way at once; one whose replacements fail waits by itself.
func (l *Loop) rollOut(ctx context.Context, snapshot *cluster.Snapshot) error {
	if !l.Queue.running() {
		return nil // each command would be refused
	}
	if !slices.ContainsFunc(snapshot.Nodes, func(n *cluster.Node) bool { return n.Claim != "" && drifted(l.State.Claim(n.Claim)) }) {
		l.Metrics.Disruption.Eligible.WithLabelValues("drifted").Set(0)
		return nil
	}
	begun := l.Clock.Now()
	v := l.lookAtDrift(snapshot)
	defer func() {
		l.drift.mu.Lock()
		defer l.drift.mu.Unlock()
		l.drift.held = v.held
	}()
	if begun.Before(l.drift.rest) {
		v.stillHeld(l.drift.held)
		return nil
	}
	if !slices.ContainsFunc(v.due, v.may) {
		return nil
	}
	started, err := l.replace(ctx, v)
	static, errStatic := l.replaceStatic(ctx, v)
	took := l.Clock.Since(begun)
	l.Metrics.Disruption.Evaluation.WithLabelValues("drifted", "").Observe(took.Seconds())
	if started+static == 0 {
		l.drift.rest = begun.Add(took + max(driftRest, driftShare*took))
	}
	return errors.Join(err, errStatic)
}

// stillHeld keeps what the last search found of nodes that are due and of which nothing else is known now.
func (v *driftView) stillHeld(last heldUp) {
	for _, c := range v.due {
		v.held.nodes[c.Node] = cmp.Or(v.held.nodes[c.Node], last.nodes[c.Node])
		v.held.pools[c.Pool] = cmp.Or(v.held.pools[c.Pool], last.pools[c.Pool])
	}
}

func drifted(claim *karpv1.NodeClaim) bool {
	return claim != nil && claim.StatusConditions().IsTrue(karpv1.ConditionTypeDrifted)
}

// driftView is the cluster as a decision about drift sees it.
type driftView struct {
	view
	due    []candidate                 // in the order in which they go
	blocks map[string][]disrupt.Reason // by node
	held   heldUp
}

// allowed reports whether the budgets of a pool let a drifted node go now.
func (v *driftView) allowed(pool string) bool {
	left, bound := v.spending[pool].Left[karpv1.DisruptionReasonDrifted]
	return !bound || left > 0
}

// lookAtDrift finds what drifted, and says what stands against letting it go.
func (l *Loop) lookAtDrift(snapshot *cluster.Snapshot) *driftView {
	v := &driftView{view: *newView(l.State, l.Queue, snapshot, l.Clock.Now()), blocks: map[string][]disrupt.Reason{}, held: heldUp{nodes: map[string]string{}, pools: map[string]string{}}}
	l.drift.reporter.forget()
	eligible := 0
	l.drift.mu.Lock()
	defer l.drift.mu.Unlock()
	l.drift.backoff.forget(v.now)
	for _, n := range v.snapshot.Nodes {
		claim := l.State.Claim(n.Claim)
		if n.Claim == "" || !drifted(claim) {
			continue
		}
		s := v.subject(n, claim, l.Queue, l.LeftAlone)
		blocks := s.eventual()
		v.blocks[n.Name] = blocks
		if until, why := l.drift.backoff.waits(n.Pool, v.now); !until.IsZero() {
			at := until.UTC().Format(time.TimeOnly)
			l.poolWaits(v, s.pool, "backoff "+at, fmt.Sprintf("drifted nodes wait until %s, because the last replacement failed: %s", at, why))
			continue
		}
		since := claim.StatusConditions().Get(karpv1.ConditionTypeDrifted).LastTransitionTime.Time
		v.due = append(v.due, candidate{Going: GoingNode(n), since: since, static: s.pool != nil && s.pool.IsStatic()})
		switch {
		case len(blocks) == 0:
			if eligible++; !v.allowed(n.Pool) {
				l.poolWaits(v, s.pool, "budget", v.spending[n.Pool].nothingLeft("drifted nodes wait"))
			}
		case !slices.Contains([]disrupt.Code{disrupt.Deleting, disrupt.InProgress, disrupt.Nominated}, blocks[0].Code):
			l.nodeStays(v, n.Name, blocks[0]) // the others end by themselves within moments and are no news
		}
	}
	l.drift.backoff.order(v.due)
	l.Metrics.Disruption.Eligible.WithLabelValues("drifted").Set(float64(eligible))
	return v
}

// nodeStays says why a node that drifted stays.
func (l *Loop) nodeStays(v *driftView, name string, why disrupt.Reason) {
	v.held.nodes[name] = why.Text()
	l.drift.reporter.node(&v.view, name, events.DisruptionBlocked, "it drifted, and stays", why)
}

// poolWaits says on a pool, if there is one, what its drifted nodes wait for.
func (l *Loop) poolWaits(v *driftView, pool *karpv1.NodePool, gist, text string) {
	if pool != nil {
		v.held.pools[pool.Name] = text
		l.drift.reporter.other(pool, corev1.EventTypeNormal, events.DisruptionBlocked, gist, text)
	}
}

// may reports whether nothing that is known before places are looked for stands against a node.
func (v *driftView) may(c candidate) bool { return len(v.blocks[c.Node]) == 0 && v.allowed(c.Pool) }

// replace finds places for the pods of what is due and starts the commands; it returns how many.
func (l *Loop) replace(ctx context.Context, v *driftView) (started int, err error) {
	var due []string
	for _, c := range v.due {
		if !c.static {
			due = append(due, c.Node)
		}
	}
	if len(due) == 0 {
		return 0, nil
	}
	v.problem = v.rolling(l.DriftProblem(ctx, v.snapshot, len(due)))
	decision := disrupt.Replace(v.problem, disrupt.Drifted, due)
	moves := decision.Moves
	if len(moves) > 0 {
		moves = l.sound("drift", decision, moves, verify.Replace(v.problem, disrupt.Drifted, due, decision))
	}
	begun := l.commands(&v.view, disrupt.Drifted, due, decision, moves)
	for _, k := range decision.Kept {
		if r := k.Reasons[len(k.Reasons)-1]; slices.Contains([]disrupt.Code{disrupt.PodHasNoPlace, disrupt.NoAddresses, disrupt.OthersFollow, disrupt.NotLookedAt, disrupt.Other}, r.Code) {
			l.nodeStays(v, k.Node, r)
		}
	}
	return l.startDrift(ctx, begun)
}

// startDrift begins commands, and returns how many were.
func (l *Loop) startDrift(ctx context.Context, commands []Command) (started int, err error) {
	_, err = l.Queue.startAll(ctx, "disruption.drift", commands, func(int) { started++ })
	return started, err
}

// rolling is the cluster with what is known of the nodes that are due.
func (v *driftView) rolling(cl *pack.Problem) *disrupt.Problem {
	p := &disrupt.Problem{Cluster: cl, Pools: v.poolsOf()}
	for _, n := range cl.Nodes {
		if n.Claim != "" {
			p.Nodes = append(p.Nodes, disrupt.Node{Name: n.Name, Blocks: v.blocks[n.Name]})
		}
	}
	return p
}
