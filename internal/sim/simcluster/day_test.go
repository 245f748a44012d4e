package simcluster_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"hash"
	"log/slog"
	"maps"
	"math"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

var (
	dayPods    = flag.Int("day-pods", 60, "how many pods the cluster of TestDay has in its busiest hour")
	dayStart   = flag.Int("day-start", 0, "how many hours after a Friday, 06:00, it begins")
	dayHours   = flag.Int("day-hours", 1, "for how many hours it is played")
	daySeed    = flag.Uint64("day-seed", 1, "what its load and its prices are drawn from")
	dayAlike   = flag.Bool("day-alike", false, "draw names and IDs from the seed, too")
	dayTypes   = flag.String("day-types", "all", "the instance types that are sold: all, or few (24 of three families)")
	dayProfile = flag.String("day-profile", "", "a file for the profile of the processor; that of the heap has .heap behind its name")
	dayLog     = flag.String("day-log", "", "a file for what the controller says")
)

// TestDay plays a cluster under a load with a curve of days and weekends, rollouts, jobs and prices that walk, and prints what that takes of the
// processor and of memory. By itself it plays an hour of a small one; the target is a day of 1,000 pods in a minute of one core:
//
//	make bench-day
func TestDay(t *testing.T) {
	if *dayAlike {
		simcluster.DrawAlike(*daySeed) // for the rest of the process
	}
	out := newOutside()
	defer close(out.ask)
	var cpu bytes.Buffer
	var err error
	if out.do(func() { err = pprof.StartCPUProfile(&cpu) }); err != nil {
		t.Fatal(err)
	}
	var d *day
	before, began := used(t), time.Now()
	pprof.Do(t.Context(), pprof.Labels(simcluster.ProfileLabel, "simulated"), func(context.Context) { d = playDay(t, out) })
	took, wall := used(t)-before, time.Since(began)
	out.do(pprof.StopCPUProfile)
	var by map[string]time.Duration
	if by, err = byLabel(cpu.Bytes(), simcluster.ProfileLabel); err != nil {
		t.Fatal(err)
	}
	if *dayProfile != "" {
		if err := os.WriteFile(*dayProfile, cpu.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all := (by["controller"] + by["simulated"] + by[""]).Seconds()
	share := func(part string) float64 { return 100 * by[part].Seconds() / math.Max(all, 1e-9) }
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	days := float64(*dayHours) / 24
	t.Logf("%d pods at most, %.0f in the mean; %d nodes at most, %.0f in the mean; %d hours: %.1f s of the processor (%.1f s a day, %.1f s passed): controller %.0f %%, simulated %.0f %%, collection of garbage and scheduler %.0f %%; %d MB at most; bill $%.2f a day; sum of all samples %x",
		d.mostPods, d.pods/float64(d.samples), d.mostNodes, d.nodes/float64(d.samples), *dayHours, took.Seconds(), took.Seconds()/days, wall.Seconds(),
		share("controller"), share("simulated"), share(""), r.Maxrss>>10, d.bill/days, d.sum.Sum(nil)[:6])
	if d.bill <= 0 || d.waited > d.samples/4 {
		t.Errorf("this was no usual day: bill $%.2f, pods waited in %d of %d samples", d.bill, d.waited, d.samples)
	}
}

// day is what was seen of a day, each five minutes.
type day struct {
	samples             int
	pods, nodes         float64 // sums
	mostPods, mostNodes int
	waited              int     // samples in which a pod had no node for more than five minutes
	bill                float64 // dollars
	sum                 hash.Hash
}

func playDay(t *testing.T, out outside) *day {
	d := &day{sum: sha256.New()}
	// What nobody asks for in a simulation is left out: another replica, and the decisions that kerf explain and kerf replay read.
	o := simcluster.Options{Seed: *daySeed, Ordered: true, History: 500, Env: map[string]string{"DISABLE_LEADER_ELECTION": "true", "KERF_DECISIONS": "0"}}
	if *dayTypes == "few" {
		o.World = many
	}
	if *dayLog != "" {
		f, err := os.Create(*dayLog)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		o.Log = slog.NewTextHandler(f, nil)
	}
	simcluster.Run(t, o, func(h *simcluster.Cluster) {
		h.Apply(simcluster.Defaults)
		c := newChurn(h, load{seed: *daySeed, hours: *dayHours, size: max(1, *dayPods/18), swing: 3, daily: true})
		h.Pass(5 * time.Minute)
		calls := map[string]int{} // of which there were any
		count := func(sign int) {
			for _, of := range []map[string]int{h.API.Requests(), h.AWS.World.CallCounts()} {
				for what, n := range of {
					if calls[what] += sign * n; calls[what] == 0 {
						delete(calls, what)
					}
				}
			}
		}
		count(-1)
		for n := range *dayHours * 60 {
			c.minute(60**dayStart + n)
			h.Pass(time.Minute)
			if n%5 == 4 {
				d.look(h)
			}
		}
		count(1)
		if *dayProfile != "" {
			out.do(func() {
				f, err := os.Create(*dayProfile + ".heap")
				if err != nil {
					t.Fatal(err)
				}
				runtime.GC()
				if err := errors.Join(pprof.Lookup("heap").WriteTo(f, 0), f.Close()); err != nil {
					t.Fatal(err)
				}
			})
		}
		for _, what := range slices.Sorted(maps.Keys(calls)) {
			t.Logf("%7d %s", calls[what], what)
		}
	})
	return d
}

func (d *day) look(h *simcluster.Cluster) {
	pods, nodes, price := h.Pods(), h.Nodes(), 0.0
	for _, i := range h.Instances() {
		price += float64(i.PriceMicroUSD) / 1e6
	}
	for _, p := range pods {
		if p.Spec.NodeName == "" && p.DeletionTimestamp == nil && time.Since(p.CreationTimestamp.Time) > 5*time.Minute {
			d.waited++
			break
		}
	}
	d.samples++
	d.pods, d.nodes = d.pods+float64(len(pods)), d.nodes+float64(len(nodes))
	d.mostPods, d.mostNodes = max(d.mostPods, len(pods)), max(d.mostNodes, len(nodes))
	d.bill += price / 12
	fmt.Fprintln(d.sum, len(pods), len(nodes), price)
}
