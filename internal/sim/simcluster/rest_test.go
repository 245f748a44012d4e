package simcluster_test

import (
	"context"
	"flag"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

var (
	restNodes   = flag.Int("rest-nodes", 30, "how many nodes the cluster of TestRest has")
	restPods    = flag.Int("rest-pods", 600, "how many pods run on them")
	restPools   = flag.Int("rest-pools", 2, "in how many NodePools")
	restMinutes = flag.Int("rest-minutes", 61, "for how many minutes it is measured; the cache is compared with the API once an hour")
	restSettle  = flag.Duration("rest-settle", 20*time.Minute, "how long a controller may do what a start has to do until it is measured")
	restChurn   = flag.Float64("rest-churn", 0, "how many percent of the pods are replaced in a minute")
	restLog     = flag.String("rest-log", "", "a file for what the controller says")
	restProfile = flag.String("rest-profile", "", "a file for the profile of the processor; that of the heap has .heap behind its name")
)

// compared watches what a comparison of the cache with the API takes: it reads pods page by page.
type compared struct {
	next http.Handler

	mu    sync.Mutex
	pages int
	page  func(n int) // called before a page is answered
}

func (c *compared) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if q := r.URL.Query(); r.Method == http.MethodGet && r.URL.Path == "/api/v1/pods" && q.Get("limit") == "500" && q.Get("watch") == "" && q.Get("resourceVersion") == "" {
		c.mu.Lock()
		c.pages++
		n, f := c.pages, c.page
		c.mu.Unlock()
		if f != nil {
			f(n)
		}
	}
	c.next.ServeHTTP(w, r)
}

// garbage is how much a controller may allocate in a second at rest: some for itself, and some for each node. It is counted,
// and so it holds on a busy instance too; with a copy of each claim every fifteen seconds it is passed.
func garbage(nodes int) int64 { return 40<<10 + int64(nodes)*(2<<10) }

// TestRest measures what a controller takes while nothing happens but what always does: kubelets write the status of their
// nodes. By itself it is small; make bench-rest says what large clusters take.
func TestRest(t *testing.T) {
	out := newOutside()
	defer close(out.ask)
	pprof.Do(t.Context(), pprof.Labels(simcluster.ProfileLabel, "simulated"), func(context.Context) { testRest(t, out) })
}

func testRest(t *testing.T, out outside) {
	simcluster.Run(t, simcluster.Options{World: sold, NoController: true, History: 1000, KubernetesAddress: "compared:80", Log: restSaid(t)}, func(h *simcluster.Cluster) {
		between := &compared{next: h.API}
		h.Serve("compared:80", between)
		began := time.Now()
		l := newLarge(h, *restNodes, *restPods, *restPools)
		l.launch()
		l.fill()
		nodes, pods := len(h.Nodes()), len(l.placed)
		t.Logf("%d nodes and %d pods after %s", nodes, pods, time.Since(began))
		h.StartController()
		l.pass(*restSettle, 0)
		before, instances := h.API.Requests(), len(h.Instances())
		a := &account{outside: out}
		l.must(a.begin())
		var atRest, during int64
		between.page = func(n int) {
			if at := max(1, len(l.placed)/500/4); n%at == 0 {
				during = max(during, live())
			}
		}
		first := min(*restMinutes, 59-int(restSettle.Minutes())) // until just before the comparison
		l.pass(time.Duration(first)*time.Minute, *restChurn)
		atRest = live()
		l.pass(time.Duration(*restMinutes-first)*time.Minute, *restChurn)
		got, err := a.end()
		l.must(err)
		after := live()
		if *restProfile != "" {
			out.do(func() {
				l.must(os.WriteFile(*restProfile, a.cpu.Bytes(), 0o600))
				f, err := os.Create(*restProfile + ".heap")
				l.must(err)
				l.must(pprof.Lookup("heap").WriteTo(f, 0))
				l.must(f.Close())
			})
		}
		calls := map[string]int{}
		for what, n := range h.API.Requests() {
			if n -= before[what]; n > 0 {
				calls[what] = n
			}
		}
		h.StopController()
		h.Controller().Metrics = nil // its collectors hold the state of the cluster
		alone := live()
		passed := time.Duration(*restMinutes) * time.Minute
		t.Logf("%d nodes, %d pods, %d pools, %.1f%% of the pods replaced a minute, %s: %.4f cores (%s; %s of the cluster, %s without a label were split), %d KiB and %d objects allocated a second, heap %d MB (%d MB at the end), %d MB during %d pages of the comparison",
			nodes, pods, *restPools, *restChurn, passed, got.CPU.Seconds()/passed.Seconds(), got.CPU.Round(time.Millisecond), got.Simulated.Round(time.Millisecond), got.Unlabelled.Round(time.Millisecond),
			got.Bytes/1024/int64(passed.Seconds()), got.Objects/int64(passed.Seconds()), (atRest-alone)>>20, (after-alone)>>20, max(during-alone, 0)>>20, between.pages)
		for _, what := range slices.Sorted(maps.Keys(calls)) {
			t.Logf("%6d %s", calls[what], what)
		}
		if each := got.Bytes / int64(passed.Seconds()); *restChurn == 0 && each > garbage(nodes) {
			t.Errorf("%d bytes are allocated a second, want at most %d", each, garbage(nodes))
		}
		if between.pages == 0 && *restMinutes > first {
			t.Error("the cache was not compared with the API")
		}
		if n := len(h.Instances()); n != instances {
			t.Errorf("%d instances became %d: this was no rest", instances, n)
		}
	})
}

// pass lets time pass, in which kubelets and owners of pods are at work.
func (l *large) pass(d time.Duration, churn float64) {
	n := churn / 100 * float64(len(l.placed)) / 60
	owed, at := 0.0, 0
	for second := range int(d / time.Second) {
		next := time.Now().Add(time.Second)
		l.beat(second)
		if owed += n; owed >= 1 {
			l.replace(int(owed), at)
			at += int(owed)
			owed -= float64(int(owed))
		}
		l.h.Pass(time.Until(next))
	}
}

// restSaid is where the controller writes to.
func restSaid(t *testing.T) slog.Handler {
	if *restLog == "" {
		return nil
	}
	f, err := os.Create(*restLog)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return slog.NewTextHandler(f, nil)
}

// While the cache is compared with an API that answers slowly, a pod that comes gets its node as soon as at any other time.
func TestNoDecisionWaitsForTheComparison(t *testing.T) {
	simcluster.Run(t, simcluster.Options{World: few, NoController: true, KubernetesAddress: "compared:80"}, func(h *simcluster.Cluster) {
		const slow = 30 * time.Second
		var under atomic.Bool
		between := &compared{next: h.API, page: func(int) {
			under.Store(true)
			time.Sleep(slow)
			under.Store(false)
		}}
		h.Serve("compared:80", between)
		h.Apply(onDemand)
		h.StartController()
		h.Pass(20 * time.Minute) // the comparison that a new leader begins with is over
		decided := func(app string) time.Duration {
			began, before := time.Now(), len(h.Claims())
			h.Deploy(app, 1, "7", "1Gi")
			for len(h.Claims()) == before {
				if time.Since(began) > 2*slow {
					t.Fatal("no claim comes")
				}
				h.Pass(50 * time.Millisecond)
			}
			return time.Since(began)
		}
		usual := decided("before")
		h.Eventually(2*time.Hour, "the cache is compared with the API", func() (bool, string) { return under.Load(), "" })
		then := decided("meanwhile")
		if !under.Load() {
			t.Fatal("the comparison was over")
		}
		if then > usual+100*time.Millisecond {
			t.Errorf("a pod was decided on after %s while the cache was compared, after %s before", then, usual)
		}
	})
}
