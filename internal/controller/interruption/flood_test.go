package interruption_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/queue"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/controller/interruption"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// flood is a simulated SQS behind real HTTP, with messages of a busy account on it.
type flood struct {
	server *awssim.Server
	queue  *queue.Queue
}

func newFlood(tb testing.TB) *flood {
	tb.Helper()
	s, err := awssim.New(awssim.Options{Queue: "flood", Logger: slog.New(slog.DiscardHandler), World: world.Options{Types: []string{"m5.large"}}})
	if err != nil {
		tb.Fatal(err)
	}
	s.Start()
	tb.Cleanup(func() { s.Close() })
	for _, kv := range s.Env() {
		k, v, _ := strings.Cut(kv, "=")
		tb.Setenv(k, v)
	}
	clients, err := session.New(tb.Context(), session.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return &flood{server: s, queue: queue.New(clients.SQS, queue.Reference{Name: "flood"})}
}

// fill puts state changes of others on the queue, and the warnings among them.
func (f *flood) fill(tb testing.TB, foreign int, warned []string, seed uint64) {
	tb.Helper()
	bodies := make([]string, 0, foreign+len(warned))
	for i := range foreign {
		bodies = append(bodies, state(fmt.Sprintf("i-1%016x", i), []string{"pending", "running", "shutting-down", "terminated"}[i%4], time.Now()))
	}
	for _, id := range warned {
		bodies = append(bodies, spot(id, time.Now()))
	}
	r := rand.New(rand.NewPCG(seed, 1))
	r.Shuffle(len(bodies), func(i, j int) { bodies[i], bodies[j] = bodies[j], bodies[i] })
	for _, b := range bodies {
		if _, err := f.server.World.SendMessage("flood", "events.amazonaws.com", b, nil, -1); err != nil {
			tb.Fatal(err)
		}
	}
}

// fleet makes claims and nodes, ten of which will be warned.
func fleet(n int) (objects []client.Object, warned []string) {
	for i := range n {
		id := fmt.Sprintf("i-0%016x", i)
		c := nodeClaim(fmt.Sprint("c", i), id)
		objects = append(objects, c, nodeOf(c))
		if i%(n/10) == 0 {
			warned = append(warned, id)
		}
	}
	return objects, warned
}

// run starts the loop and waits until so many claims are being deleted and the queue is empty, if that is asked for.
func (f *flood) run(tb testing.TB, h *testCluster, want int, empty bool) (acted time.Duration) {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	stopped := make(chan struct{})
	begun := time.Now()
	go func() {
		defer close(stopped)
		if err := h.Start(ctx); err != nil {
			tb.Error(err)
		}
	}()
	defer func() { cancel(); <-stopped }()
	for time.Since(begun) < time.Minute {
		if acted == 0 && h.metric("karpenter_nodeclaims_disrupted_total", "spot_interrupted") == float64(want) {
			acted = time.Since(begun)
		}
		left, err := f.server.World.Messages("flood")
		if err != nil {
			tb.Fatal(err)
		}
		if acted != 0 && (!empty || len(left) == 0) {
			if empty {
				time.Sleep(200 * time.Millisecond) // the answer to the last deletion is on its way
			}
			return acted
		}
		time.Sleep(5 * time.Millisecond)
	}
	tb.Fatalf("after a minute %v of %d were acted on", h.metric("karpenter_nodeclaims_disrupted_total", "spot_interrupted"), want)
	return 0
}

// realTime lets a cluster live by the clock of this instance and read the flood.
func realTime(tb testing.TB, f *flood, objects []client.Object) *testCluster {
	tb.Helper()
	h := newTestCluster(tb, interruption.Options{Receivers: 4, Silence: 10 * time.Minute}, objects...)
	h.Queue, h.Clock, h.Statuses = f.queue, clock.RealClock{}, nil
	h.Log = slog.New(slog.DiscardHandler)
	for i := range objects {
		if c, ok := objects[i].(*karpv1.NodeClaim); ok {
			h.region.states[c.Status.ProviderID] = "running"
		}
	}
	return h
}

func TestTheFewAreFoundAmongTheMany(t *testing.T) {
	f := newFlood(t)
	objects, warned := fleet(50)
	h := realTime(t, f, objects)
	f.fill(t, 400, warned, 7)
	f.run(t, h, 10, true)
	var claims karpv1.NodeClaimList
	if err := h.Client.List(t.Context(), &claims); err != nil {
		t.Fatal(err)
	}
	for i := range claims.Items {
		c := &claims.Items[i]
		want := false
		for _, id := range warned {
			want = want || strings.HasSuffix(c.Status.ProviderID, id)
		}
		if got := !c.DeletionTimestamp.IsZero(); got != want {
			t.Errorf("%s drained: %v", c.Name, got)
		}
	}
	if n := h.metric("kerf_interruption_foreign_messages_total"); n != 400 {
		t.Errorf("%v dropped unparsed", n)
	}
	if n := h.metric("karpenter_interruption_deleted_messages_total"); n != 410 {
		t.Errorf("%v deleted", n)
	}
	var node corev1.Node
	if err := h.Client.Get(t.Context(), client.ObjectKey{Name: "node-c0"}, &node); err != nil {
		t.Error(err)
	}
}

// BenchmarkFlood measures how long ten warnings among ten thousand state changes of other instances take to be acted on,
// over HTTP and with the real SDK. The whole of it has to be less than five seconds.
func BenchmarkFlood(b *testing.B) {
	worst := time.Duration(0)
	seed := uint64(1)
	for b.Loop() {
		b.StopTimer()
		f := newFlood(b)
		objects, warned := fleet(1000)
		h := realTime(b, f, objects)
		f.fill(b, 10_000, warned, seed)
		b.StartTimer()
		acted := f.run(b, h, 10, false)
		b.StopTimer()
		b.Logf("seed %d: the ten were acted on after %s", seed, acted.Round(time.Millisecond))
		worst = max(worst, acted)
		seed++
		b.StartTimer()
	}
	b.ReportMetric(worst.Seconds(), "s-worst")
	if worst > 5*time.Second {
		b.Errorf("%s is more than 5 s", worst)
	}
}
