package pack_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// BenchmarkResolve is what comes after a change: 5,000 nodes with 15 pods each, of which a share has changed, and pending
// pods, of which the same share has. In "backlog" 10,000 pods of 500 classes wait for new nodes all the time; in "quiet"
// only those wait that are new.
func BenchmarkResolve(b *testing.B) {
	for _, percent := range []int{0, 1, 10, 100} {
		for _, waiting := range []string{"quiet", "backlog"} {
			b.Run(fmt.Sprintf("%s/changed=%d%%", waiting, percent), func(b *testing.B) {
				pending := 10_000
				if waiting == "quiet" {
					pending = 10_000 * percent / 100
				}
				benchResolve(b, pending, 10_000*percent/100, 5_000*percent/100)
			})
		}
	}
}

func benchResolve(b *testing.B, pending, pods, nodes int) {
	s, err := scenario.NewSteady(5000, pending, 500, 50, 1)
	if err != nil {
		b.Fatal(err)
	}
	e := pack.NewEngine()
	e.Solve(s.Problem())
	var before, after runtime.MemStats
	b.ReportAllocs()
	b.ResetTimer()
	allocs, bytes := uint64(0), uint64(0)
	for b.Loop() {
		b.StopTimer()
		s.ChangePods(pods)
		s.ChangeNodes(nodes)
		p := s.Problem()
		runtime.ReadMemStats(&before)
		b.StartTimer()
		e.Solve(p)
		b.StopTimer()
		runtime.ReadMemStats(&after)
		allocs += after.Mallocs - before.Mallocs
		bytes += after.TotalAlloc - before.TotalAlloc
		b.StartTimer()
	}
	each := float64(b.N) * float64(max(1, pods+nodes))
	b.ReportMetric(float64(allocs)/each, "allocs/change")
	b.ReportMetric(float64(bytes)/each, "B/change")
}
