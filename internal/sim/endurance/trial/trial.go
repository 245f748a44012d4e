package trial

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/sim/endurance/gate"
	"github.com/kerf-sh/kerf/internal/sim/endurance/invariant"
	"github.com/kerf-sh/kerf/internal/sim/endurance/witness"
)

// Result is what came of a trial.
type Result struct {
	Schedule   *Schedule
	Violations []invariant.Violation
	Figures    invariant.Figures
	// Calls are those that were counted; Killed says whether the controller was ended at KillAt.
	Calls  []invariant.Call
	Killed bool
	// Bill and Floor are in micro-USD per hour, of the first rest; zero if there was none.
	Bill, Floor int64
	// Took is by the ground's clock.
	Took time.Duration
}

// trial is one under way.
type trial struct {
	Ground
	s    *Schedule
	pace Pace
	gate *gate.Gate
	kube client.WithWatch

	mu     sync.Mutex
	judge  *invariant.Judge
	states map[string]movement // of each object
	moved  time.Time           // when one of them last changed
	ageing ageing
	ignore map[string]bool

	// keeper is held by the goroutine that begins or ends the controller's life. It is not a mutex: it is held while time
	// passes, which virtual time only does while everybody waits for it.
	keeper semaphore
	killed chan struct{}
	ended  <-chan struct{} // of the present life
	under  sync.WaitGroup  // what lasts
	out    *Result
	errs   []error // of what lasts
}

type semaphore chan struct{}

func (s semaphore) take() { s <- struct{}{} }
func (s semaphore) give() { <-s }

// Play plays a schedule. The ground is left as it was found, but for what violations say.
//
// Errors: what kept the trial itself from being played; what it found is in the result.
func Play(ctx context.Context, g Ground, s *Schedule, p Pace) (*Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := &trial{
		Ground: g, s: s, pace: p, kube: g.Client(), states: map[string]movement{}, ageing: ageing{}, moved: time.Now(), ignore: map[string]bool{}, killed: make(chan struct{}, 1), keeper: make(semaphore, 1),
		judge: invariant.New(invariant.Options{Grace: p.Grace, Serve: p.Serve, Known: p.Known}), out: &Result{Schedule: s},
	}
	counts := gate.Writes
	switch {
	case s.EveryCall:
		counts = gate.All
	case s.NodeCalls:
		counts = gate.NodeWrites
	}
	t.gate = gate.New(gate.Options{
		KillAt: s.KillAt, Kills: s.Kills, Moment: s.Moment, Counts: counts, Kill: func() {
			select {
			case t.killed <- struct{}{}:
			default: // the last one has not been heard of yet
			}
		},
		See: func(c invariant.Call) { t.see(invariant.Event{At: time.Now(), Call: &c}) },
	})
	defer g.Kill()
	began := time.Now()
	err := t.play(ctx)
	cancel()
	t.under.Wait()
	t.gate.End()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.out.Violations, t.out.Figures, t.out.Calls, t.out.Killed, t.out.Took = t.judge.Violations(), t.judge.Figures(), t.gate.Calls(), t.gate.Killed(), time.Since(began)
	return t.out, err
}

func (t *trial) play(ctx context.Context) error {
	witness.Instances(t.World(), t.Cluster(), func(i invariant.Instance) { t.ignore[i.ID] = true })
	witness.Kubernetes(ctx, t.kube, t.see)
	t.under.Go(func() { witness.AWS(ctx, t.World(), t.Cluster(), t.see) })
	for _, p := range t.s.Pools {
		if err := t.kube.Create(ctx, class(p, t.Cluster())); err != nil {
			return fmt.Errorf("make class %s: %w", p.Name, err)
		}
		if err := t.kube.Create(ctx, pool(p, t.pace)); err != nil {
			return fmt.Errorf("make pool %s: %w", p.Name, err)
		}
	}
	t.keeper.take()
	err := t.begin(ctx)
	t.keeper.give()
	if err != nil {
		return err
	}
	t.under.Go(func() { t.keep(ctx) })
	lasting := &sync.WaitGroup{}
	for i, step := range t.s.Steps {
		t.sleep(ctx, t.pace.of(step.Wait))
		t.Logf("%s: step %d of %d: %s", t.s.Name, i+1, len(t.s.Steps), step)
		if err := t.step(ctx, step, lasting); err != nil {
			return fmt.Errorf("step %d, %s: %w", i+1, step, err)
		}
	}
	lasting.Wait()
	if err := t.lasted(); err != nil {
		return err
	}
	if t.settle(ctx) {
		t.rest(ctx)
	}
	if err := t.clear(ctx); err != nil {
		return fmt.Errorf("clear up: %w", err)
	}
	t.settle(ctx)
	t.nothingLeft(ctx)
	return ctx.Err()
}

func (t *trial) sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// see lets the judge see an event and notes when something moves.
func (t *trial) see(e invariant.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Instance != nil && t.ignore[e.Instance.ID] {
		return
	}
	now := time.Now()
	if e.Claim != nil {
		t.ageing.see(e.Claim, e.Gone, now)
	}
	if key, state := stateOf(e); key != "" && !reflect.DeepEqual(t.states[key].state, state) {
		t.states[key], t.moved = movement{state, now}, now
	}
	t.judge.See(e)
}

// stateOf is an object's name and what is known of it.
func stateOf(e invariant.Event) (string, any) {
	gone := func(state any) any {
		if e.Gone {
			return nil
		}
		return state
	}
	switch {
	case e.Instance != nil:
		return "instance " + e.Instance.ID, gone(*e.Instance)
	case e.Claim != nil:
		return "claim " + e.Claim.UID, gone(*e.Claim)
	case e.Node != nil:
		return "node " + e.Node.UID, gone(*e.Node)
	case e.Pod != nil:
		return "pod " + e.Pod.UID, gone(*e.Pod)
	}
	return "", nil
}

func (t *trial) say(w invariant.Word, about string) {
	t.see(invariant.Event{At: time.Now(), Said: w, About: about})
}

// begin starts a life of the controller.
func (t *trial) begin(ctx context.Context) error {
	kubernetes, aws := t.Doors()
	life := t.gate.Begin()
	kubernetes.Open(life)
	aws.Open(life)
	ended, err := t.Start(ctx)
	if err != nil {
		return fmt.Errorf("start the controller: %w", err)
	}
	t.ended = ended
	return nil
}

// downtime is how long the controller is away after it was ended at a call.
const downtime = 2 * time.Second

// keep starts the controller anew after it was ended at its call, and after it has ended by itself, as its Deployment
// would: it does so when it can't reach an API at its start, or loses its lease.
func (t *trial) keep(ctx context.Context) {
	for ctx.Err() == nil {
		t.keeper.take()
		ended := t.ended
		t.keeper.give()
		select {
		case <-ctx.Done():
			return
		case <-t.killed:
		case <-ended:
		}
		t.keeper.take()
		if t.ended == ended && ctx.Err() == nil {
			if err := t.againLocked(ctx, t.Kill, downtime); err != nil && ctx.Err() == nil {
				t.broken(invariant.Restless, "the controller did not start again: %v", err)
			}
		}
		t.keeper.give()
	}
}

// again ends the controller and begins the next life after a time.
func (t *trial) again(ctx context.Context, end func(), after time.Duration) error {
	t.keeper.take()
	defer t.keeper.give()
	return t.againLocked(ctx, end, after)
}

func (t *trial) againLocked(ctx context.Context, end func(), after time.Duration) error {
	t.say(invariant.Disturbed, "")
	defer t.say(invariant.Calm, "")
	end()
	t.gate.End()
	t.sleep(ctx, after)
	return t.begin(ctx)
}

func (t *trial) broken(rule invariant.Rule, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.judge.Broken(rule, format, args...)
}

// settle waits until nothing moves any more, and reports whether that is so. Where instances live so short a time that one
// of them always comes or goes, all that moves has to be explained by that.
func (t *trial) settle(ctx context.Context) bool {
	// What was asked for last may not have been seen to move anything yet.
	t.mu.Lock()
	t.moved = time.Now()
	t.mu.Unlock()
	for began := time.Now(); ctx.Err() == nil; t.sleep(ctx, t.pace.Quiet/20) {
		t.mu.Lock()
		quiet, waits := time.Since(t.moved), t.judge.Waiting()
		t.mu.Unlock()
		if quiet >= t.pace.Quiet && waits == "" {
			return true
		}
		if time.Since(began) > t.pace.Limit {
			if why := t.unexcused(time.Now()); why != "" || waits != "" {
				t.broken(invariant.Restless, "after %s something still moves; %s %s", t.pace.Limit, why, waits)
			} else {
				t.Logf("%s: after %s instances still end because of their age alone", t.s.Name, t.pace.Limit)
			}
			return false
		}
	}
	return false
}

// rest has everything judged that must be so when nothing moves.
func (t *trial) rest(ctx context.Context) {
	t.say(invariant.Rest, "")
	t.bill(ctx)
}

// nothingLeft judges the end, when everything that was asked for has been taken back.
func (t *trial) nothingLeft(context.Context) {
	t.say(invariant.Rest, "")
	t.mu.Lock()
	defer t.mu.Unlock()
	var left []string
	for key, m := range t.states {
		switch s := m.state.(type) {
		case invariant.Instance:
			if s.State != "terminated" {
				left = append(left, key+" ("+s.State+")")
			}
		case invariant.Claim, invariant.Node:
			left = append(left, key)
		}
	}
	if slices.Sort(left); len(left) > 0 {
		t.judge.Broken(invariant.LeftBehind, "all pods, pools and classes are deleted, and there are still %v", left)
	}
}
