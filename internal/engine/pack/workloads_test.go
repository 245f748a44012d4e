package pack_test

import (
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/bound"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/engine/verify"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// workload is an input of the benchmarks.
type workload struct {
	name string
	make func(testing.TB) *pack.Problem
}

func must(tb testing.TB) func(p *pack.Problem, err error) *pack.Problem {
	return func(p *pack.Problem, err error) *pack.Problem {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return p
	}
}

var workloads = []workload{
	{"generic-1000", func(testing.TB) *pack.Problem { return scenario.Generate(1000, 400, 1) }},
	{"generic-5000", func(testing.TB) *pack.Problem { return scenario.Generate(5000, 400, 1) }},
	{"generic-20000", func(testing.TB) *pack.Problem { return scenario.Generate(20000, 400, 1) }},
	{"generic-ec2-2000", func(tb testing.TB) *pack.Problem { return genericOnEC2(tb, 2000, 5) }},
	{"plain-ec2-2000", func(tb testing.TB) *pack.Problem { return genericOnEC2(tb, 2000, 1) }},
	{"mix-10000", func(tb testing.TB) *pack.Problem { return must(tb)(scenario.Mix(10000, 1)) }},
	{"mix-500", func(tb testing.TB) *pack.Problem { return must(tb)(scenario.Mix(500, 1)) }},
	{"openb-all", func(tb testing.TB) *pack.Problem { return openb(tb, 0, 1<<30) }},
	{"openb-500", func(tb testing.TB) *pack.Problem { return openb(tb, 2000, 500) }},
	{"spread-50", func(testing.TB) *pack.Problem { return spreadOverSmallTypes(50) }},
	{"field", func(tb testing.TB) *pack.Problem { return must(tb)(scenario.Field(1060, 1700, 470, 1)) }},
	{"large", func(tb testing.TB) *pack.Problem { return must(tb)(scenario.Large(100_000, 2000, 5000, 50, 1)) }},
}

// genericOnEC2 is the first of so many parts of the usual pods, over the real types of a region.
func genericOnEC2(tb testing.TB, pods, parts int) *pack.Problem {
	p := scenario.Generate(pods*5/parts, 1, 1)
	p.Pending = p.Pending[:pods]
	types, err := scenario.ServerTypes("us-east-1", 3)
	if err != nil {
		tb.Fatal(err)
	}
	p.Pools[0].Types = types
	return p
}

// spreadOverSmallTypes is a web tier spread over zones on a catalog that ends at 8 cores.
func spreadOverSmallTypes(n int) *pack.Problem {
	p := scenario.Generate(1, 1, 1)
	p.Pools[0].Types = nil
	for i, name := range []string{"small", "medium", "large"} {
		t := &catalog.Type{Name: name, Capacity: res.List{res.CPU: 2000 << i, res.Memory: 4 << 30 << i, res.Pods: 110}, Overhead: res.List{res.CPU: 80, res.Memory: 400 << 20}}
		t.Requirements = []requirement.Term{in(requirement.InstanceType, name), in(requirement.Arch, "amd64"), in(requirement.OS, "linux"),
			in(requirement.Zone, zones...), in(requirement.CapacityType, catalog.OnDemand)}
		for _, z := range zones {
			t.Offerings = append(t.Offerings, catalog.Offering{Zone: z, CapacityType: catalog.OnDemand, Price: 100_000 << i, Available: true})
		}
		p.Pools[0].Types = append(p.Pools[0].Types, t)
	}
	c := &cluster.Class{Namespace: "default", Labels: map[string]string{"app": "web"}, Requests: res.List{res.CPU: 500, res.Memory: 512 << 20, res.Pods: 1}}
	c.Spreads = []cluster.Spread{{Key: requirement.Zone, MaxSkew: 1, Selector: &cluster.Selector{Terms: []requirement.Term{in("app", "web")}}}}
	c.ID = c.Hash()
	p.Pending = nil
	for i := range n {
		p.Pending = append(p.Pending, &cluster.Pod{PodRef: cluster.PodRef{Namespace: "default", Name: fmt.Sprint("web-", i), UID: fmt.Sprint(i)}, Class: c, CreatedAt: time.Unix(int64(i), 0)})
	}
	return p
}

// openb reads rows of a trace of a real cluster, which is not part of this project: the path to it is found beside the
// repository or in KERF_WORKLOADS. A share of a GPU counts as a whole one.
func openb(tb testing.TB, from, n int) *pack.Problem {
	dir := os.Getenv("KERF_WORKLOADS")
	if dir == "" {
		dir = "../../../../shared/workloads"
	}
	f, err := os.Open(dir + "/openb-gpu-cluster.csv.gz")
	if errors.Is(err, fs.ErrNotExist) {
		tb.Skip("the trace is not here; set KERF_WORKLOADS to its folder")
	}
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	rows, err := csv.NewReader(z).ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	types, err := scenario.RegionTypes("us-east-1", 3)
	if err != nil {
		tb.Fatal(err)
	}
	p := scenario.Generate(1, 1, 1)
	p.Pools[0].Types = types
	p.Pending = nil
	interned := map[string]*cluster.Class{}
	rows = rows[1:]
	rows = rows[min(from, len(rows)):]
	for i, row := range rows[:min(n, len(rows))] {
		num := func(at int) int64 {
			x, err := strconv.ParseInt(row[at], 10, 64)
			if err != nil {
				tb.Fatal(err)
			}
			return x
		}
		c := &cluster.Class{Namespace: "default", Requests: res.List{res.CPU: num(2), res.Memory: num(3) << 20, res.Pods: 1, "nvidia.com/gpu": num(4)}}
		c.ID = c.Hash()
		if interned[c.ID] == nil {
			interned[c.ID] = c
		}
		p.Pending = append(p.Pending, &cluster.Pod{PodRef: cluster.PodRef{Namespace: "default", Name: fmt.Sprint("task-", i), UID: fmt.Sprint(i)}, Class: interned[c.ID], CreatedAt: time.Unix(int64(i), 0)})
	}
	return p
}

// processorTime is what the process has used of the processors: the figure that a busy neighbour changes least.
func processorTime(tb testing.TB) time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// BenchmarkPlan prints for every workload what its plan costs, how far that is from the bound, and what the plan took to
// make.
func BenchmarkPlan(b *testing.B) {
	for _, w := range workloads {
		b.Run(w.name, func(b *testing.B) {
			p := w.make(b)
			out := pack.Solve(p)
			if len(p.Pending) <= 5_000 {
				for _, v := range verify.Check(p, out) {
					b.Fatal(v)
				}
			}
			unplaced := 0
			for _, u := range out.Unplaced {
				unplaced += len(u.Pods)
			}
			floor := bound.Lower(p, out, bound.Budget{})
			b.ReportAllocs()
			b.ResetTimer()
			before := processorTime(b)
			for b.Loop() {
				pack.Solve(p)
			}
			used := processorTime(b) - before
			b.ReportMetric(float64(used.Milliseconds())/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(len(p.Pending)*b.N)/used.Seconds(), "pods/cpu-s")
			b.ReportMetric(float64(len(out.NewNodes)), "nodes")
			b.ReportMetric(float64(out.Price)/1e6, "$/h")
			b.ReportMetric(float64(floor.Bound)/1e6, "bound-$/h")
			b.ReportMetric(100*floor.Gap, "gap-%")
			b.ReportMetric(float64(unplaced), "unplaced")
		})
	}
}
