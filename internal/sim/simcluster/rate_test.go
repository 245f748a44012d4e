package simcluster_test

import (
	"flag"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

var hours = flag.Int("hours", 0, "measure how much faster than real time a cluster is, over so many hours of virtual time")

// TestHowFastTimePasses tells how many seconds pass in a cluster for each second outside and for each second of the
// processor, while every quarter of an hour a tenth of the pods goes and comes back. It runs when it is asked to:
//
//	go test ./internal/sim/simcluster -run HowFast -hours 6 -v
func TestHowFastTimePasses(t *testing.T) {
	if *hours == 0 {
		t.Skip("-hours is not set")
	}
	for _, nodes := range []int{10, 100} {
		t.Run(fmt.Sprintf("%d nodes", nodes), func(t *testing.T) {
			outside, processor := time.Now(), used(t)
			var inside time.Duration
			eights := func(o *world.Options) { o.Types = []string{"c6i.2xlarge", "m6i.2xlarge", "r6i.2xlarge"} }
			simcluster.Run(t, simcluster.Options{World: eights}, func(h *simcluster.Cluster) {
				began := time.Now()
				h.Apply(simcluster.Defaults)
				h.Deploy("web", 10*nodes, "700m", "700Mi")
				h.Running(10*time.Minute, "web", 10*nodes)
				for range *hours * 4 {
					h.Scale("web", 9*nodes)
					h.Pass(5 * time.Minute)
					h.Scale("web", 10*nodes)
					h.Pass(10 * time.Minute)
				}
				inside = time.Since(began)
				h.T.Logf("%d nodes, %d pods, %d calls to Kubernetes, %d to AWS, %d instances ever", len(h.Nodes()), len(h.Pods()), calls(h), len(h.AWS.World.Calls("")), len(h.AWS.World.AllInstances()))
			})
			took, cpu := time.Since(outside), used(t)-processor
			t.Logf("%s passed in %s, %s of the processor: %.0f and %.0f times as fast as real time", inside.Round(time.Minute), took.Round(100*time.Millisecond), cpu.Round(100*time.Millisecond), inside.Seconds()/took.Seconds(), inside.Seconds()/cpu.Seconds())
		})
	}
}

// used is the processor's time that this process has used.
func used(t *testing.T) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func calls(h *simcluster.Cluster) int {
	n := 0
	for _, c := range h.API.Requests() {
		n += c
	}
	return n
}
