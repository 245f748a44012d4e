// Package apply carries plans out. It is the only writer for plans: it checks every action against the newest state,
// refuses what that no longer allows, and says so.
package apply

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/state/intake"
	"github.com/kerf-sh/kerf/internal/trace"
)

// StuckAfter is the age at which an instance that is still not initialized is no longer believed to take pods: nothing
// removes it, and pods that are sent there again and again would wait for ever.
const StuckAfter = 25 * time.Minute

// State is what the applier checks actions against and tells what it did.
type State interface {
	Snapshot() *cluster.Snapshot
	Pools() []*karpv1.NodePool
	Pod(cluster.PodRef) *corev1.Pod
	Assume(claim *karpv1.NodeClaim, expected intake.Expected, pods []cluster.PodRef, until time.Time)
	Reserve(node *cluster.Node, pods []cluster.PodRef, until time.Time)
}

// Options of an Applier. Client, State and Recorder are required.
type Options struct {
	Client client.Client
	// Reader reads past the cache; nil is Client.
	Reader   client.Reader
	State    State
	Recorder record.EventRecorder
	Log      *slog.Logger
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Parallel bounds the objects that are being created at a time; 0 is 32.
	Parallel int
	// ClaimTTL is how long a created NodeClaim holds its pods' reservation; 0 is 20 minutes.
	ClaimTTL time.Duration
	// Trace, if set, records what is created.
	Trace *trace.Tracer
	// NominationTTL is how long a pod may stay unbound on an existing node; 0 is 20 seconds.
	NominationTTL time.Duration
	// PriceBound is by how many percent a type may be dearer than the cheapest for a launch to ask for it; 0: whatever it costs.
	PriceBound int64
}

// Applier carries plans out.
//
// Concurrency: safe; one plan is carried out at a time.
type Applier struct {
	o      Options
	events *announcer
	// turn is held while launches are checked and made, so that each counts what the other launched.
	turn chan struct{}
}

// New returns an Applier.
func New(o Options) *Applier {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Reader == nil {
		o.Reader = o.Client
	}
	o.Parallel = cmp.Or(o.Parallel, 32)
	o.ClaimTTL = cmp.Or(o.ClaimTTL, 20*time.Minute)
	o.NominationTTL = cmp.Or(o.NominationTTL, 20*time.Second)
	return &Applier{o: o, events: newAnnouncer(o.Recorder, o.Now), turn: make(chan struct{}, 1)}
}

// Created is a NodeClaim that now exists.
type Created struct {
	Claim   string
	Pool    string
	Pods    int
	Relaxed bool
	// Unsure: the API has not answered, and the claim may come to exist. Only Replace tells of such.
	Unsure bool
	// Planned is the plan's node that it was made for.
	Planned *plan.NewNode
}

// RefusalCode is why an action was not carried out; the set is closed.
type RefusalCode string

// Codes of refusals.
const (
	PoolGone     RefusalCode = "pool_gone"
	PoolNotReady RefusalCode = "pool_not_ready"
	PoolChanged  RefusalCode = "pool_changed"
	PodsGone     RefusalCode = "pods_gone"
	LimitReached RefusalCode = "limit_reached"
	NodeGone     RefusalCode = "node_gone"
	RoomTaken    RefusalCode = "room_taken"
	WriteFailed  RefusalCode = "write_failed"
)

// Refusal is an action that was not carried out.
type Refusal struct {
	Action string // "launch a node for pool x", "place pods on node y"
	Code   RefusalCode
	Err    error // of WriteFailed
	Detail string
}

// Outcome of an Apply.
type Outcome struct {
	Created []Created
	Refused []Refusal
}

// Apply launches the plan's nodes, notes its placements, and tells pods where they go or why they go nowhere. Pools are
// those of the problem that the plan answers. The ID of ctx (trace.WithID) is that of the decision.
func (a *Applier) Apply(ctx context.Context, p *plan.Plan, pools []*cluster.Pool) Outcome {
	var out Outcome
	if !a.take(ctx) {
		return out
	}
	defer a.give()
	check := newChecker(a.o.State, pools, a.o.PriceBound)
	var admitted []*launching
	nodes := check.withinLimits(p.NewNodes)
	for i := range nodes {
		launch, refusal := check.launching(&nodes[i])
		if refusal != nil {
			out.Refused = append(out.Refused, *refusal)
			continue
		}
		admitted = append(admitted, launch)
	}
	a.create(ctx, admitted)
	for _, launch := range admitted {
		if launch.err != nil {
			out.Refused = append(out.Refused, Refusal{Action: launch.action(), Code: WriteFailed, Err: launch.err, Detail: launch.err.Error()})
			continue
		}
		out.Created = append(out.Created, Created{
			Claim: launch.claim.Name, Pool: launch.pool.Name, Pods: len(launch.pods), Planned: launch.node,
			Relaxed: launch.claim.Annotations[karpv1.NodeClaimMinValuesRelaxedAnnotationKey] == "true",
		})
		a.said(launch, "provisioner", launch.pods, story.DecisionKey, trace.IDOf(ctx))
		a.events.nominated(a.o.State, launch.pods, "NodeClaim "+launch.claim.Name)
	}
	out.Refused = append(out.Refused, a.place(check, p.Placements)...)
	for _, r := range out.Refused {
		a.o.Log.Info("refused a planned action; its pods are decided on again", "controller", "provisioner", story.DecisionKey, trace.IDOf(ctx), "action", r.Action, "code", r.Code, "detail", r.Detail)
	}
	a.events.unplaced(a.o.State, p.Unplaced)
	return out
}

// take waits for the turn; false when ctx ends before.
func (a *Applier) take(ctx context.Context) bool {
	select {
	case a.turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (a *Applier) give() { <-a.turn }

// place notes the plan's placements. Kerf binds nothing: the scheduler does, and the room is kept until it has.
func (a *Applier) place(check *checker, placements []plan.Placement) []Refusal {
	var out []Refusal
	until := a.o.Now().Add(a.o.NominationTTL)
	for _, p := range placements {
		pods := check.stillPending(p.Pods)
		if len(pods) == 0 {
			continue
		}
		pods, refused := check.takes(a.o.State, p.Node, pods)
		if refused != nil {
			out = append(out, *refused)
		}
		if len(pods) == 0 {
			continue
		}
		node, u := check.nodes[p.Node], until
		if !node.Initialized && node.Claim != "" {
			u = a.whileStarting(node, until)
		}
		a.o.State.Reserve(node, pods, u)
		a.events.nominated(a.o.State, pods, "node "+p.Node)
	}
	return out
}

// whileStarting is until when room is kept on an instance that is not initialized: until it is believed to be stuck, and no
// shorter than until.
func (a *Applier) whileStarting(node *cluster.Node, until time.Time) time.Time {
	end := a.o.Now().Add(a.o.ClaimTTL)
	if stuck := node.CreatedAt.Add(StuckAfter); !node.CreatedAt.IsZero() && stuck.Before(end) {
		end = stuck
	}
	if end.Before(until) {
		return until
	}
	return end
}

// create writes the claims, so many at a time, and tells the state of each at once. They bear the ID of ctx.
func (a *Applier) create(ctx context.Context, launches []*launching) {
	g := guard.Group{Limit: a.o.Parallel}
	for _, launch := range launches {
		launch.unsure = true // until it is known; so it stays if something panics
		launch.claim.Name = launch.claim.GenerateName + rand.String(5)
		g.Go("apply.create", func() error {
			launch.err = guard.Run("apply.create", func() error {
				ctx, span := a.o.Trace.Start(ctx, "nodeclaim.create")
				defer span.End()
				sign(ctx, launch.claim, span)
				var err error
				launch.unsure, err = a.createOne(ctx, launch.claim)
				span.Fail(err)
				story.Describe(span, launch.claim)
				if err == nil {
					a.o.State.Assume(launch.claim, expected(launch.node, launch.offered, a.o.PriceBound), launch.pods, a.o.Now().Add(a.o.ClaimTTL))
				}
				return err
			})
			return nil
		})
	}
	_ = g.Wait() // each has its own
}

// sign writes on a claim which decision asks for it, and where its trace goes on.
func sign(ctx context.Context, claim *karpv1.NodeClaim, span *trace.Span) {
	for key, value := range map[string]string{story.DecisionAnnotation: trace.IDOf(ctx), story.TraceparentAnnotation: span.Traceparent()} {
		if value != "" {
			claim.Annotations[key] = value
		}
	}
}

// createOne creates the claim, under the name that it has: a call whose reply was lost can be made again without a second
// instance. With an error, unsure says that it may come to exist all the same.
func (a *Applier) createOne(ctx context.Context, claim *karpv1.NodeClaim) (unsure bool, err error) {
	for attempt := 0; ; attempt++ {
		want := claim.DeepCopy()
		err := a.o.Client.Create(ctx, claim)
		switch {
		case err == nil:
			return false, nil
		case apierrors.IsAlreadyExists(err) && unsure:
			if err := a.o.Reader.Get(ctx, client.ObjectKeyFromObject(claim), claim); err == nil {
				return false, nil
			}
		case apierrors.IsAlreadyExists(err):
			want.Name = want.GenerateName + rand.String(5)
		case !retriable(err) || attempt >= 3 || ctx.Err() != nil:
			return unsure || retriable(err), fmt.Errorf("creating nodeclaim %s: %w", claim.Name, err)
		default:
			unsure = true
		}
		if attempt >= 5 {
			return unsure, fmt.Errorf("creating nodeclaim %s: %w", claim.Name, err)
		}
		*claim = *want
		select {
		case <-ctx.Done():
		case <-time.After(retryPause << attempt):
		}
	}
}

// retryPause is the pause after the first try to create an object; each further one is twice as long.
const retryPause = 50 * time.Millisecond

// retriable reports whether the same call may be made again: the server did not judge the object.
func retriable(err error) bool {
	var status apierrors.APIStatus
	if !asStatus(err, &status) {
		return true // no answer at all
	}
	return apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err)
}

// PoolEvent tells on a NodePool that no instance type meets its requirements.
func (a *Applier) PoolEvent(pool string, detail string) {
	i := slices.IndexFunc(a.o.State.Pools(), func(p *karpv1.NodePool) bool { return p.Name == pool })
	if i >= 0 {
		a.events.noTypes(a.o.State.Pools()[i], detail)
	}
}
