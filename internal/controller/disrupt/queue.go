package disrupt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/state/cache"
	"github.com/kerf-sh/kerf/internal/trace"
)

// Times of a command.
const (
	// Settle is the least time between the taint and the last look at a node's pods: a scheduler that has not seen the
	// taint yet binds pods until it has.
	Settle = 5 * time.Second
	// look is how often a command that waits looks whether it can go on.
	look = time.Second
	// patience is how long after its begin a command waits for its replacements, whatever they still lack: the nodes that are
	// to go take no new pods meanwhile.
	patience = 10 * time.Minute
	// again is the pause after a step that failed; each further one is twice as long, up to mostAgain.
	again, mostAgain = time.Second, 30 * time.Second
	// takeOverAgain is the pause after the commands of a former leader could not be taken over.
	takeOverAgain = 5 * time.Second
	// beginWithin bounds the beginning of a command: no other decision can be made meanwhile.
	beginWithin = 30 * time.Second
	// atOnce is how many nodes of a command are written to at a time.
	atOnce = 16
)

// Queue carries commands out, any number at a time, each at its own pace. What has been begun is written on the Nodes and
// NodeClaims, so that the next leader goes on with it or takes it back:
//
//	mark nodes ─▶ launch replacements ─▶ wait until each is initialized ─▶ look at the pods once more ─▶ delete the claims
//	     └──────────────┴───────────────────┴────────────────────────────────┴─▶ or take the mark back
//
// Concurrency: safe.
type Queue struct {
	Client    client.Client
	APIReader client.Reader
	State     *cache.Cache
	Launcher  *apply.Applier
	Recorder  record.EventRecorder
	Metrics   *obs.Metrics
	Log       *slog.Logger
	Clock     clock.Clock
	// InTurn has new nodes take the pods of their command one after the other; see Candidates.
	InTurn bool
	// Trace may be nil.
	Trace *trace.Tracer
	// Finished, if set, is told of each command when it is over, with why it was taken back, if it was. It must not block.
	Finished func(c Command, failed string)

	mu         sync.Mutex
	ctx        context.Context       // of Run; nil while nothing may be started
	executions map[string]*execution // by claim
	awaited    map[string]bool       // claims of replacements
	wait       guard.Group
}

// execution is a command that is under way.
type execution struct {
	Command
	order  order
	claims []string // of the replacements
	// failed says why the command is being taken back.
	failed string
	// takenOver: it is a former leader's, and its pods have to be reserved for the room again before they leave.
	takenOver bool
	// going: the removal of some of its nodes had begun when it was taken over.
	going bool
	// moot: it was not begun because a node had gone already, which says nothing about the others.
	moot    bool
	all     []Going        // that were to go
	told    bool           // that replacements are waited for
	said    bool           // that it is under way, in the log
	reached bool           // that its replacements are initialized, as a span
	moves   map[string]int // pods that leave with a node, by its name, as they were last counted

	span *trace.Span // of its begin; nil where that is another process's
}

// whole is the command with all nodes that it began with.
func (f *execution) whole() Command {
	c := f.Command
	c.Nodes = f.all
	return c
}

// UnderWay are the commands that have been begun and are not over, the oldest first, each with all nodes that it began with.
func (q *Queue) UnderWay() []Command {
	q.mu.Lock()
	defer q.mu.Unlock()
	byAge := slices.SortedFunc(maps.Values(q.executions), func(a, b *execution) int {
		return cmp.Or(a.order.Begun.Compare(b.order.Begun), strings.Compare(a.ID, b.ID))
	})
	var out []Command
	for _, x := range slices.Compact(byAge) { // each is there once for each of its nodes
		out = append(out, x.whole())
	}
	return out
}

// Errors of Start.
var (
	ErrNotRunning = errors.New("commands of the former leader are not taken over yet")
	ErrBusy       = errors.New("a node of it is part of another command")
)

// Run takes over what a former leader had begun, and carries out commands until ctx ends. Whatever is under way then is
// left as it is, for the next leader.
func (q *Queue) Run(ctx context.Context) error {
	resumed, suspects := false, map[string]bool(nil)
	loop := obs.Rounds{Metrics: q.Metrics, Log: q.Log, Clock: q.Clock, Name: "disruption.queue", Doing: "looking for marks of disruptions", Every: sweepEvery}
	_ = loop.RunPaced(ctx, func(ctx context.Context) (pause time.Duration, err error) {
		if !resumed {
			// After a panic as well it is tried again soon.
			if err := q.Metrics.Recover(q.Log, "disruption.queue", func() error { return q.resume(ctx) }); err != nil {
				return takeOverAgain, fmt.Errorf("taking over those of a former leader, before which none is begun: %w", err)
			}
			resumed = true
			return sweepEvery, nil
		}
		before := suspects
		suspects = nil // lost if this panics
		suspects, err = q.sweep(ctx, before)
		return sweepEvery, err
	})
	q.mu.Lock()
	q.ctx = nil
	q.mu.Unlock()
	_ = q.wait.Wait() // each tells what failed
	return nil
}

// running reports whether commands can be begun: those of a former leader are taken over.
func (q *Queue) running() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ctx != nil
}

// Busy reports whether a claim's node is part of a command that is under way.
func (q *Queue) Busy(claim string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.executions[claim] != nil
}

// Awaited reports whether a claim is a replacement that a command which is under way waits for. It holds no pods yet and is
// not to go for that: a new leader does not know who was reserved for its room.
func (q *Queue) Awaited(claim string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.awaited[claim]
}

// Start begins a command: its nodes are marked and its replacements launched when it returns; the rest goes on by itself. When it
// returns an error, nothing was begun, or what was is being taken back.
//
// Errors: ErrNotRunning, ErrBusy, a *apply.RefusedError, those of the API.
func (q *Queue) Start(ctx context.Context, c Command) error {
	c.ID = cmp.Or(c.ID, story.NewID())
	f := &execution{Command: c, all: slices.Clone(c.Nodes), moves: map[string]int{}}
	f.order = order{Begun: q.Clock.Now().UTC(), Replacements: len(c.NewNodes), Policy: c.Policy}
	if err := q.admit(f); err != nil {
		return err
	}
	short, cancel := context.WithTimeout(ctx, beginWithin)
	defer cancel()
	short, span := q.Trace.StartAt(trace.WithID(short, f.ID), "disruption", f.order.Begun)
	defer span.End()
	f.describe(span)
	f.span = span
	f.order.Traceparent = span.Traceparent()
	// Its nodes are entered and would stay so: what fails from here on, and be it by a panic, leads to execute or to finish.
	guarded := func(do func() error) error { return q.Metrics.Recover(q.Log, "disruption.queue", do) }
	err := guarded(func() error {
		err := q.begin(short, f)
		if err == nil {
			q.begun(f)
		}
		return err
	})
	if err != nil {
		span.Fail(err)
		f.moot, f.failed = moot(err), err.Error()
		if short.Err() == nil && guarded(func() error { return q.undo(short, f) }) == nil {
			q.finish(f)
		} else {
			q.execute(f) // takes it back as soon as that can be done
		}
		if f.moot && !f.said { // else its begin is in the log, and so is that it was taken back
			q.Log.Info("a disruption was not begun: the cluster has changed", "what", c.String(), "why", err)
		}
		return fmt.Errorf("disruption %s: %w", f.ID, err)
	}
	q.execute(f)
	return nil
}

// admit enters a command unless one of its nodes is part of another.
func (q *Queue) admit(f *execution) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ctx == nil {
		return ErrNotRunning
	}
	for _, g := range f.Nodes {
		if q.executions[g.Claim] != nil {
			return fmt.Errorf("%w: %s", ErrBusy, g.Node)
		}
	}
	for _, g := range f.Nodes {
		q.executions[g.Claim] = f
	}
	return nil
}

func (q *Queue) begin(ctx context.Context, f *execution) error {
	if err := q.holdFilled(ctx, f); err != nil {
		return err
	}
	marking, span := q.Trace.Start(ctx, "disruption.mark")
	errs := each(q, f.Nodes, func(g Going) error { return q.mark(marking, f, g) })
	err := errors.Join(errs...)
	span.Fail(err)
	span.End()
	if !f.apart() && err != nil || !slices.Contains(errs, nil) {
		return err
	}
	// Empty nodes do not need each other: the others go.
	for i, g := range slices.Clone(f.Nodes) {
		if errs[i] == nil {
			continue
		}
		if err := q.release(ctx, f, g, errs[i].Error()); err != nil {
			return err
		}
	}
	// Said before its replacements are, so that the log has them in the order in which they came.
	f.said = true
	q.Log.Info("disrupting node(s)", f.line()...)
	if len(f.NewNodes) == 0 && len(f.Placements) == 0 {
		return nil
	}
	o := apply.Order{Command: f.ID, NewNodes: f.NewNodes, Placements: f.Placements, Pools: f.Pools}
	// A single new node that takes all pods is where they go anyhow.
	o.InTurn = q.InTurn && (len(f.NewNodes) > 1 || len(f.NewNodes) == 1 && len(f.Placements) > 0)
	if f.Hold > 0 {
		o.Hold = f.order.Begun.Add(f.Hold)
	}
	launching, span := q.Trace.Start(ctx, "disruption.launch")
	created, err := q.Launcher.Replace(launching, o)
	span.Fail(err)
	span.End()
	q.mu.Lock()
	for _, c := range created {
		f.claims = append(f.claims, c.Claim)
		q.awaited[c.Claim] = true
		if !c.Unsure {
			q.Metrics.NodeClaimsCreated.WithLabelValues(strings.ToLower(string(f.Cause)), c.Pool, fmt.Sprint(c.Relaxed)).Inc()
		}
	}
	q.mu.Unlock()
	if err != nil {
		return fmt.Errorf("launching replacements: %w", err)
	}
	for _, g := range f.Nodes {
		if len(f.claims) > 0 {
			q.tell(g, corev1.EventTypeNormal, events.DisruptionLaunching, "launching "+strings.Join(f.claims, ", ")+" so that it can go: "+f.Why)
		}
	}
	return nil
}

// apart reports whether each node of the command may go or stay by itself.
func (f *execution) apart() bool {
	return f.Cause == karpv1.DisruptionReasonEmpty
}

// each calls do for all nodes or claims, so many at a time.
func each[T any](q *Queue, what []T, do func(T) error) []error {
	errs := make([]error, len(what))
	all := guard.Group{Limit: atOnce}
	for i, one := range what {
		all.Go("disruption.queue", func() error {
			errs[i] = q.Metrics.Recover(q.Log, "disruption.queue", func() error { return do(one) })
			return nil
		})
	}
	_ = all.Wait() // each has its own
	return errs
}

// finish ends a command: its nodes may be part of another.
func (q *Queue) finish(f *execution) {
	q.mu.Lock()
	maps.DeleteFunc(q.executions, func(_ string, other *execution) bool { return other == f })
	for _, name := range f.claims {
		delete(q.awaited, name)
	}
	q.mu.Unlock()
	if q.Finished != nil && !f.moot {
		q.Finished(f.whole(), f.failed)
	}
}

// execute carries the command on until it ends or this process does, which leaves it to the next leader.
func (q *Queue) execute(f *execution) {
	q.mu.Lock()
	defer q.mu.Unlock()
	ctx := q.ctx
	if ctx == nil {
		return // the next leader takes it over
	}
	q.Metrics.Disruption.InFlight.Inc()
	q.wait.Go("disruption.queue", func() error {
		defer q.Metrics.Disruption.InFlight.Dec()
		pause := again
		for {
			after, done := look, false
			err := q.Metrics.Recover(q.Log, "disruption.queue", func() (err error) {
				after, done, err = q.step(ctx, f)
				return err
			})
			switch {
			case err == nil && done:
				q.finish(f)
				return nil
			case err == nil:
				pause = again
			case ctx.Err() == nil:
				q.Log.Error("carrying out a disruption failed; it is tried again", "command-id", f.ID, "reason", f.Cause, "what", f.Command.String(), "error", err, "retry_in", pause)
				after, pause = pause, min(2*pause, mostAgain)
			}
			select {
			case <-ctx.Done():
				return nil
			case <-q.Clock.After(after):
			}
		}
	})
}
