package pack_test

import (
	"runtime"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// BenchmarkMemory is what stays in memory of a cluster of 5,000 nodes with 100,000 pods and 50 pools once decisions on it are
// made again and again: live-MB is the problem with all that the engine keeps, engine-MB what the engine keeps of it. It is to
// stay below 400 MB, better 200.
func BenchmarkMemory(b *testing.B) {
	live := func() float64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / 1e6
	}
	empty := live()
	p := must(b)(scenario.Large(500, 50, 5000, 50, 1))
	pods := 0
	for _, n := range p.Nodes { // pods that ask for nothing more than is used already
		for i := 0; len(n.Pods) < 20; i++ {
			twin := *n.Pods[i]
			twin.Name, twin.UID = twin.Name+"-twin", twin.UID+"-twin"
			n.Pods = append(n.Pods, &twin)
		}
		pods += len(n.Pods)
	}
	problem := live()
	e := pack.NewEngine()
	for b.Loop() {
		e.Solve(p)
	}
	all := live()
	b.ReportMetric(all-empty, "live-MB")
	b.ReportMetric(all-problem, "engine-MB")
	b.ReportMetric(float64(pods), "pods")
	runtime.KeepAlive(e)
	runtime.KeepAlive(p)
}
