package simulate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/controller/overview"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
	"github.com/kerf-sh/kerf/internal/simulate/drive"
	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

// settle is how long the controller runs before the warm-up: it reads prices and types, and its classes get ready.
const settle = 2 * time.Minute

// sharpness is how much work goes into one floor, in steps of about a nanosecond.
const sharpness = 50_000_000

// A run asks once in so long whether spot prices walk, and whether spot instances are interrupted.
const (
	marketEvery    = 10 * time.Minute
	interruptEvery = time.Minute
	// spotNotice is how long before its end a spot instance is warned.
	//
	// Source: EC2 User Guide, Spot Instance interruption notices.
	spotNotice = 2 * time.Minute
	// stopEvery is how often a run asks whether it is to end early: a minute of many pods takes long.
	stopEvery = 5 * time.Second
	// history is how many changes of a resource the API keeps for watches that begin anew, which here are rare.
	history = 500
)

// Progress is how far a run is: At is below 0 in its warm-up.
type Progress struct {
	At, Of time.Duration
}

// run is a run inside its bubble.
type run struct {
	s      *Spec
	h      *simcluster.Cluster
	pods   *watcher
	meter  *meter
	log    *journal
	steps  *drive.Driver
	view   *overview.Overview
	market *market
	drawn  *rand.Rand // interruptions
	result *Result
	// spotNote is what is to be said of spot prices if spot instances run.
	spotNote string

	begun  time.Time
	floors *floors
	lastAt time.Time // of the last sample
	hits   int
	hitsAt int // at the last sample
}

// Play runs a Spec in a bubble of virtual time. stop ends it early, with what there is; told hears how far it is.
//
// Errors: an object is refused; no NodePool gets ready. What can't be, such as a controller that ends by itself, fails t.
func Play(t *testing.T, s *Spec, stop *atomic.Bool, told func(Progress)) (*Result, error) {
	t.Helper()
	own, err := ownPrices(s.Settings[priceFile], s.Region)
	if err != nil {
		return nil, err
	}
	r := &run{s: s, pods: newWatcher(), meter: newMeter(own), drawn: rand.New(rand.NewPCG(s.Seed, 0x73706f74))}
	prove := &prover{problem: func(ctx context.Context) *pack.Problem {
		if r.view == nil {
			return nil
		}
		return r.view.Problem(ctx)
	}}
	r.floors = newFloors(s, prove.now, r.pods.weighs)
	r.log = &journal{pods: r.pods, keep: s.Events}
	r.pods.told = func(pod, workload, node, reason string) {
		r.log.say(now(), "pod is moved", "pod", pod, "workload", workload, "node", node, "reason", reason)
	}
	r.result = &Result{
		Configuration: s.Configuration, Workload: s.Workload.Source, Seed: s.Seed, HorizonSeconds: int64(s.Horizon.Seconds()), Drawn: s.drawn(), Rate: s.Interruptions, Settings: s.Settings,
		Notes: slices.Concat(s.Workload.Notes, s.Notes), Warnings: s.Warnings, SampleSeconds: int64(s.sampling().Seconds()),
	}
	types, err := s.launchable()
	if err != nil {
		return nil, err
	}
	facts, err := ec2facts.Load()
	if err != nil {
		return nil, err
	}
	r.result.Region, r.result.RegionUnknown, r.result.Prices = s.Region, s.RegionUnknown, pricesOf(facts, s.Region)
	r.spotNote = spotNote(facts, s.Region, types, own)
	r.result.Currency = catalog.Currency(facts.OnDemand(s.Region).Currency)
	if path := s.Settings[priceFile]; path != "" {
		r.result.Prices += "; changed by the price file " + path
	}
	simcluster.Run(t, simcluster.Options{
		Seed: s.Seed, Ordered: true, History: history, Env: r.env(), Log: r.log, NoController: true, Hear: r.pods.hear, Overview: func(o *overview.Overview) { r.view = o },
		World: func(o *world.Options) {
			o.Region, o.Types = s.Region, types
			o.SubnetZones = 6 // as many as there are
			o.PendingTime, o.BootTime = s.Boot/8, s.Boot-s.Boot/8
		},
	}, func(h *simcluster.Cluster) {
		r.h = h
		r.pods.wake = make(chan struct{}, 1)
		h.AWS.World.AddStateWatcher(r.meter)
		err = r.play(stop, told)
	})
	return r.result, err
}

func (r *run) env() map[string]string {
	// What nobody asks for here is left out: another replica, and the decisions that kerf explain and kerf replay read.
	out := map[string]string{"DISABLE_LEADER_ELECTION": "true", "KERF_DECISIONS": "0"}
	for k, v := range r.s.Settings {
		out[k] = v
	}
	return out
}

func (r *run) play(stop *atomic.Bool, told func(Progress)) error {
	ctx := context.Background()
	begin := r.s.origin().Add(-r.s.Warmup)
	time.Sleep(time.Until(begin.Add(-settle)))
	r.log.zero = r.s.origin()
	if err := r.prepare(ctx); err != nil {
		return err
	}
	r.h.StartController()
	time.Sleep(time.Until(begin))
	if err := r.ready(ctx); err != nil {
		return err
	}
	r.market = newMarket(r.s, r.h.AWS.World)
	r.steps = drive.New(r.s.Workload, r.h.Client, r.s.origin(), r.s.Warmup, nil)
	if err := r.steps.First(ctx); err != nil {
		return err
	}
	if err := r.until(ctx, r.s.origin(), stop, told); err != nil {
		return err
	}
	r.reset()
	r.sample()
	if err := r.until(ctx, r.s.origin().Add(r.s.Horizon), stop, told); err != nil {
		return err
	}
	r.finish(stop.Load())
	return nil
}

// prepare applies what is there from the start.
func (r *run) prepare(ctx context.Context) error {
	for _, m := range r.s.Manifests {
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON([]byte(m.JSON)); err != nil {
			return fmt.Errorf("%s: %w", m.From, err)
		}
		if err := r.h.Client.Create(ctx, o); err != nil {
			return fmt.Errorf("%s: %s %s is refused: %w", m.From, o.GetKind(), o.GetName(), err)
		}
	}
	if err := r.namespaces(ctx); err != nil {
		return err
	}
	for _, o := range r.s.Workload.Objects {
		if err := r.h.Client.Create(ctx, o.DeepCopy()); err != nil {
			return fmt.Errorf("%s %s of the workload is refused: %w", o.GetKind(), o.GetName(), err)
		}
	}
	for _, d := range r.s.Workload.Daemons {
		d = d.DeepCopy()
		d.ResourceVersion, d.UID = "", ""
		if err := r.h.Client.Create(ctx, d); err != nil {
			return fmt.Errorf("DaemonSet %s of the workload is refused: %w", d.Name, err)
		}
	}
	return nil
}

// namespaces makes those that the workload is in.
func (r *run) namespaces(ctx context.Context) error {
	var names []string
	for i := range r.s.Workload.Steps {
		namespace, _ := workload.Split(r.s.Workload.Steps[i].Workload)
		names = append(names, namespace)
	}
	for _, d := range r.s.Workload.Daemons {
		names = append(names, d.Namespace)
	}
	for _, o := range r.s.Workload.Objects {
		names = append(names, o.GetNamespace())
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		n := &corev1.Namespace{}
		n.Name = name
		if err := r.h.Client.Create(ctx, n); name != "" && err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("namespace %s of the workload is refused: %w", name, err)
		}
	}
	return nil
}

// ready fails where no NodePool can launch anything: a run would say only that all pods wait.
func (r *run) ready(ctx context.Context) error {
	var pools karpv1.NodePoolList
	if err := r.h.Client.List(ctx, &pools); err != nil {
		return err
	}
	var why []error
	for i := range pools.Items {
		p := &pools.Items[i]
		root := p.StatusConditions().Root()
		if root.IsTrue() {
			continue
		}
		for _, c := range p.Status.Conditions {
			if c.Status != "True" && c.Type != "Ready" {
				why = append(why, fmt.Errorf("NodePool %s is not ready: %s: %s", p.Name, c.Type, c.Message))
			}
		}
	}
	if len(why) == len(pools.Items) && len(why) > 0 {
		return errors.Join(why...)
	}
	return nil
}

// until lets things happen until a moment.
func (r *run) until(ctx context.Context, end time.Time, stop *atomic.Bool, told func(Progress)) error {
	every := r.s.sampling()
	for !stop.Load() {
		now := time.Now()
		if !now.Before(end) {
			return nil
		}
		if err := r.steps.Due(ctx, now); err != nil {
			return err
		}
		r.floors.at(now)
		since := now.Sub(r.s.origin())
		whole := func(every time.Duration) bool { return since%every == 0 }
		if whole(marketEvery) && r.market.walk() {
			r.meter.reprice(r.market.price)
		}
		if whole(interruptEvery) {
			r.interrupt(now)
			r.pods.look(refusedAfter)
		}
		switch {
		case since > 0 && whole(every):
			r.sample()
			told(Progress{since, r.s.Horizon})
		case since < 0 && whole(interruptEvery): // in the warm-up
			told(Progress{since, r.s.Horizon})
		}
		next := now.Truncate(stopEvery).Add(stopEvery) // a minute and every sample are at one of these
		if at, ok := r.steps.Next(); ok && at.Before(next) {
			next = at
		}
		if next = r.floors.due(next); end.Before(next) {
			next = end
		}
		r.wait(next)
		ended, gone := r.pods.take()
		if err := r.steps.Replace(ctx, ended, gone); err != nil {
			return err
		}
	}
	return nil
}

// wait waits for a moment, or a pod that has ended.
func (r *run) wait(until time.Time) {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.pods.wake:
		time.Sleep(time.Millisecond) // until all that happened at the same moment has been told
	}
}

// interrupt warns spot instances of their end, by chance.
func (r *run) interrupt(now time.Time) {
	if r.s.Interruptions <= 0 {
		return
	}
	chance := r.s.Interruptions * interruptEvery.Hours()
	for _, i := range r.h.AWS.World.Instances() {
		if i.CapacityType != world.Spot || i.State != world.StateRunning {
			continue
		}
		if r.drawn.Float64() >= chance {
			continue
		}
		r.pods.interrupt(i.ID)
		if err := r.h.AWS.Bus.Interrupt(i.ID, spotNotice); err != nil {
			continue // it has ended meanwhile
		}
		r.hits++
		r.log.say(now, "spot instance is interrupted", "instance_type", i.Type, "zone", i.Zone)
	}
}

// reset begins to count.
func (r *run) reset() {
	r.pods.reset()
	r.meter.reset()
	r.hits, r.hitsAt = 0, 0
	r.begun = time.Now()
	r.lastAt = r.begun
	r.floors.reset(r.begun)
}

// sample adds a point to the series.
func (r *run) sample() {
	now, m, least := time.Now(), r.meter.read(), r.floors.last
	r.lastAt = now
	running, pending := r.pods.sums()
	other := 0
	for kind, n := range m.byType {
		if kind != world.Spot && kind != world.OnDemand {
			other += n
		}
	}
	r.result.Series = append(r.result.Series, Sample{
		At: int64(now.Sub(r.begun).Round(time.Second).Seconds()), Bill: rounded(float64(m.hourly)/1e6, 1e6), Floor: rounded(least, 1e6), Spot: m.byType[world.Spot], Demand: m.byType[world.OnDemand],
		Other: other, Running: running, Pending: pending, Lost: r.hits - r.hitsAt,
	})
	r.hitsAt = r.hits
}

// finish makes the totals.
func (r *run) finish(stopped bool) {
	if n := len(r.result.Series); n == 0 || time.Since(r.lastAt) > 0 {
		r.sample()
	}
	out, m := r.result, r.meter.read()
	enough := refusedAtEnd(time.Since(r.s.origin()) + r.s.Warmup)
	r.pods.look(enough)
	out.RefusedAfterSeconds = int64(enough.Seconds())
	out.SimulatedSeconds = int64(time.Since(r.begun).Round(time.Second).Seconds())
	out.Interrupted = stopped && out.SimulatedSeconds < out.HorizonSeconds
	out.Played, out.Partial = Hours(r.s.Start, out.Simulated()), r.s.Workload.Partial
	w := r.pods
	least := r.floors.sum(time.Since(r.begun), w.area())
	w.mu.Lock()
	defer w.mu.Unlock()
	waits := w.waited()
	t := &out.Totals
	t.Bill, t.Floor = rounded(m.dollars, 1e4), rounded(least, 1e4)
	switch {
	case least > 0:
		t.Distance = new(rounded(100*(m.dollars/least-1), 1e2))
	case m.dollars == 0:
		t.Distance = new(0.)
	}
	if m.dollars > 0 {
		t.SpotShare = rounded(100*m.spot/m.dollars, 1e2)
	}
	t.Pods, t.Waiting = len(w.waits), len(waits)-len(w.waits)
	wait := func(q float64) *float64 { return new(rounded(Quantile(waits, q), 1e1)) }
	if t.Pods > 0 {
		t.P50, t.P95, t.P99, t.Max = wait(.5), wait(.95), wait(.99), wait(1)
	}
	out.Pending = buckets(waits)
	for _, n := range w.moved {
		t.Moved += n
	}
	t.Lost, t.Interruptions, t.Disrupted = w.lost, r.hits, w.disrupted
	if m.spotHours > 0 {
		r.result.SpotPrices = r.spotNote
	}
	t.SpotHours, t.Expected = rounded(m.spotHours, 1e2), rounded(m.spotHours*r.s.Interruptions, 1e4)
	t.Launches, t.Terminations, t.NodesMax, t.NodesMean = m.launched, m.ended, m.most, rounded(m.mean, 1e2)
	out.Moved, out.MovedWorkloads = movedOf(w.moved)
	out.Commands = countsOf(w.begun)
	for _, f := range w.refused {
		out.Refused = append(out.Refused, *f)
		t.Refused += f.Count
	}
	slices.SortFunc(out.Refused, func(a, b Refusal) int {
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		if a.Reason < b.Reason {
			return -1
		}
		return 1
	})
	out.Events = r.log.lines()
}

// rounded keeps so many parts of a whole.
func rounded(v, parts float64) float64 {
	if v < 0 {
		return -rounded(-v, parts)
	}
	return float64(int64(v*parts+0.5)) / parts
}
