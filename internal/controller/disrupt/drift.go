package disrupt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/verify"
	"github.com/kerf-sh/kerf/internal/state/cache"
)

const (
	// driftRest is the least time between two searches for places of which the first found none, and driftShare how much
	// longer than the search took it is: a node that is stuck must not keep the controller busy.
	driftRest  = 5 * time.Second
	driftShare = 50
)

// Drift replaces nodes whose claims are marked Drifted, within the budgets of their pools. Replacements are ready before the
// first eviction. Any number of pools is under way at once; one whose replacements fail waits by itself.
type Drift struct {
	Queue *Queue
	State *cache.Cache
	// Problem makes the cluster's part of a problem in which so many nodes may be replaced; it is called by one goroutine at a time, see
	// Queue.Alone.
	Problem func(ctx context.Context, snapshot *cluster.Snapshot, nodes int) *pack.Problem
	// Bare makes n instances for no pods in particular of a static pool, and the pool as they are offered in it; nil where
	// there are no static pools. What can't be had has its reasons.
	Bare func(ctx context.Context, pool *karpv1.NodePool, n int, snapshot *cluster.Snapshot) ([]plan.NewNode, []plan.Reason, *cluster.Pool, error)
	// LeftAlone tells of instances that have to stay where they are for now, by provider ID; nil: there are none.
	LeftAlone func(providerID string) bool
	// Record, if set, is told of each decision of which something is begun.
	Record Recorded
	// Synced reports whether the first list of every kind is in; nil is always.
	Synced   func() bool
	Recorder record.EventRecorder
	Metrics  *obs.Metrics
	Log      *slog.Logger
	Clock    clock.WithTicker

	mu      sync.Mutex
	backoff backoff
	// searched is when the last search ended that found nothing, rest how long the next one waits.
	searched time.Time
	rest     time.Duration
	// seen is the snapshot at the last look, marked how many nodes were due, and again when to look though neither changes.
	seen   *cluster.Snapshot
	marked int
	again  time.Time
	told   *reporter
	held   heldUp
}

// NeedLeaderElection makes the manager start the loop on the leader only.
func (d *Drift) NeedLeaderElection() bool { return true }

// Start runs the loop until ctx ends.
func (d *Drift) Start(ctx context.Context) error {
	d.told = d.newReporter()
	r := rounds{"disruption.drift", "replacing nodes that drifted", tick, d.Clock, d.Synced, d.Metrics, d.Log}
	return r.run(ctx, func() error { return d.Round(ctx) })
}

func (d *Drift) newReporter() *reporter {
	return newReporter(d.Queue.Client, d.State, d.Recorder, d.Metrics, d.Clock)
}

// Finished notes how a command ended.
func (d *Drift) Finished(c Command, failed string) {
	if c.Cause != karpv1.DisruptionReasonDrifted {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if failed == "" {
		d.backoff.succeeded(c.Nodes)
	} else {
		d.backoff.failed(c.Nodes, failed, d.Clock.Now())
	}
}

// Round looks once at all that drifted and starts what can go.
func (d *Drift) Round(ctx context.Context) error {
	marked := d.countDrifted()
	if marked == 0 {
		d.Metrics.Disruption.Eligible.WithLabelValues("drifted").Set(0)
	}
	if marked == 0 || d.Clock.Now().Before(d.again) && d.marked == marked && d.seen == d.State.Snapshot() {
		return nil
	}
	return d.Queue.Alone(ctx, func() error {
		begun := d.Clock.Now()
		v := d.look()
		d.seen, d.marked = v.snapshot, marked
		rests := false
		defer func() { d.holds(v, rests) }()
		if !slices.ContainsFunc(v.due, v.may) {
			d.again = begun.Add(safety)
			return nil
		}
		d.again = begun
		if rests = d.Clock.Since(d.searched) < d.rest; rests {
			return nil
		}
		defer d.evaluated(begun)
		started, err := d.replace(ctx, v)
		static, errStatic := d.replaceStatic(ctx, v)
		d.rest = 0
		if started+static == 0 {
			d.searched = d.Clock.Now()
			d.rest = max(driftRest, driftShare*d.searched.Sub(begun))
		}
		return errors.Join(err, errStatic)
	})
}

// evaluated notes how long it took to evaluate what drifted.
func (d *Drift) evaluated(begun time.Time) {
	d.Metrics.Disruption.Evaluation.WithLabelValues("drifted", "").Observe(d.Clock.Since(begun).Seconds())
}

// countDrifted is how many nodes drifted that are not going.
func (d *Drift) countDrifted() int {
	count := 0
	for _, n := range d.State.Snapshot().Nodes {
		if n.Claim != "" && !n.Deleting && !n.Leaving && drifted(d.State.Claim(n.Claim)) {
			count++
		}
	}
	return count
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

// budget is how many drifted nodes of a pool may go now; bound is false where nothing limits that.
func (v *driftView) budget(pool string) (left int, bound bool) {
	if s := v.spending[pool]; s != nil {
		left, bound = s.Left[karpv1.DisruptionReasonDrifted]
	}
	return left, bound
}

// look finds what drifted, and what stands against letting it go.
func (d *Drift) look() *driftView {
	v := &driftView{view: *newView(d.State, d.Queue, d.State.Snapshot(), d.Clock.Now()), blocks: map[string][]disrupt.Reason{}, held: heldUp{nodes: map[string]string{}, pools: map[string]string{}}}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.backoff.forget(v.now)
	for _, n := range v.snapshot.Nodes {
		if n.Claim == "" {
			continue
		}
		claim := d.State.Claim(n.Claim)
		if !drifted(claim) {
			continue
		}
		s := v.subject(n, claim, d.Queue, d.LeftAlone)
		v.blocks[n.Name] = s.eventual()
		if until, why := d.backoff.waits(n.Pool, v.now); !until.IsZero() {
			at := until.UTC().Format(time.TimeOnly)
			d.poolWaits(v, s.pool, "backoff "+at, fmt.Sprintf("drifted nodes wait until %s, because the last replacement failed: %s", at, why))
			continue
		}
		since := claim.StatusConditions().Get(karpv1.ConditionTypeDrifted).LastTransitionTime.Time
		v.due = append(v.due, candidate{Going: GoingNode(n), since: since, static: s.pool != nil && s.pool.IsStatic()})
	}
	d.backoff.order(v.due, v.now)
	d.tell(v)
	return v
}

// tell says what stands against nodes that are due, and which pools' budgets are used up.
func (d *Drift) tell(v *driftView) {
	d.told.forget()
	short := map[string]bool{}
	eligible := 0
	for _, c := range v.due {
		blocks := v.blocks[c.Node]
		if len(blocks) == 0 {
			eligible++
		}
		left, bound := v.budget(c.Pool)
		switch {
		case len(blocks) > 0 && !passing(blocks[0].Code):
			d.nodeStays(v, c.Node, blocks[0])
		case len(blocks) == 0 && bound && left == 0:
			short[c.Pool] = true
		}
	}
	d.Metrics.Disruption.Eligible.WithLabelValues("drifted").Set(float64(eligible))
	for name := range short {
		s, pool := v.spending[name], v.pools[name]
		switch {
		case s.Err != nil:
			d.poolWaits(v, pool, "budget", s.Err.Error())
		case s.Used == 0:
			d.poolWaits(v, pool, "budget", "drifted nodes wait: the disruption budget allows none to go now")
		default:
			d.poolWaits(v, pool, "budget", fmt.Sprintf("drifted nodes wait: the disruption budget is used up, %d of %d nodes are going or not ready", s.Used, s.Nodes))
		}
	}
}

// nodeStays says why a node that drifted stays.
func (d *Drift) nodeStays(v *driftView, name string, why disrupt.Reason) {
	v.held.nodes[name] = why.Text()
	d.told.node(&v.view, name, events.DisruptionBlocked, "it drifted, and stays", why)
}

// poolWaits says on a pool, if there is one, what its drifted nodes wait for.
func (d *Drift) poolWaits(v *driftView, pool *karpv1.NodePool, gist, text string) {
	if pool != nil {
		v.held.pools[pool.Name] = text
		d.told.other(pool, pool.UID, corev1.EventTypeNormal, events.DisruptionBlocked, gist, text)
	}
}

// passing tells of reasons that end by themselves within moments and are no news.
func passing(code disrupt.Code) bool {
	return code == disrupt.Deleting || code == disrupt.InProgress || code == disrupt.Nominated
}

// may reports whether nothing that is known before places are looked for stands against a node.
func (v *driftView) may(c candidate) bool {
	left, bound := v.budget(c.Pool)
	return len(v.blocks[c.Node]) == 0 && (!bound || left > 0)
}

// replace finds places for the pods of what is due and starts the commands; it returns how many.
func (d *Drift) replace(ctx context.Context, v *driftView) (started int, err error) {
	var due []string
	for _, c := range v.due {
		if !c.static {
			due = append(due, c.Node)
		}
	}
	if len(due) == 0 {
		return 0, nil
	}
	v.problem = v.rolling(d.Problem(ctx, v.snapshot, len(due)))
	decision := disrupt.Replace(v.problem, disrupt.Drifted, due)
	var moves []disrupt.Move
	if len(decision.Moves) > 0 {
		moves = sound(d.Metrics, d.Log, "drift", decision, decision.Moves, verify.Replace(v.problem, disrupt.Drifted, due, decision))
	}
	begun := commands(moves, &v.view)
	if len(moves) > 0 {
		d.Record.of(v.problem, disrupt.Drifted, due, decision, moves, begun)
	}
	for _, k := range decision.Kept {
		if r := k.Reasons[len(k.Reasons)-1]; slices.Contains([]disrupt.Code{disrupt.PodHasNoPlace, disrupt.NoAddresses, disrupt.OthersFollow, disrupt.NotLookedAt, disrupt.Other}, r.Code) {
			d.nodeStays(v, k.Node, r)
		}
	}
	return d.start(ctx, begun)
}

// start begins commands, and returns how many were.
func (d *Drift) start(ctx context.Context, commands []Command) (started int, err error) {
	_, err = d.Queue.startAll(ctx, "disruption.drift", commands, func(int) { started++ })
	return started, err
}

// rolling is the cluster with what is known of the nodes that are due.
func (v *driftView) rolling(cl *pack.Problem) *disrupt.Problem {
	v.shield(cl)
	p := &disrupt.Problem{Cluster: cl, Pools: v.poolsOf()}
	for _, n := range cl.Nodes {
		if n.Claim != "" {
			p.Nodes = append(p.Nodes, disrupt.Node{Name: n.Name, Blocks: v.blocks[n.Name]})
		}
	}
	return p
}
