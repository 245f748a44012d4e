package bound_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/bound"
	"github.com/kerf-sh/kerf/internal/catalog"
	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/pack"
	"github.com/kerf-sh/kerf/internal/requirement"
	"github.com/kerf-sh/kerf/internal/res"
	"github.com/kerf-sh/kerf/internal/scenario"
)

// family is one kind of workload: sizes drawn from a range, in cores and GiB per core.
type family struct {
	name           string
	share          int // of a hundred pods
	low, high      int // millicores
	gib            float64
	perClass       int
	onDemand, zone bool
}

var families = []family{
	{name: "web", share: 60, low: 100, high: 1000, gib: 2, perClass: 30},
	{name: "memory", share: 20, low: 500, high: 4000, gib: 9, perClass: 10, onDemand: true},
	{name: "batch", share: 20, low: 1000, high: 15000, gib: 1.7, perClass: 20},
}

// mix makes pods of the families, in classes of like pods.
func mix(n int, of []family, types []*catalog.Type, seed uint64) *pack.Problem {
	rng := rand.New(rand.NewPCG(seed, 7))
	p := &pack.Problem{Now: time.Unix(1, 0), Options: pack.Options{WellKnown: scenario.WellKnown()},
		Pools: []*cluster.Pool{{Name: "default", Types: types}},
		Daemons: []cluster.Daemon{{Name: "kube-system/agent", Class: &cluster.Class{ID: "agent", Namespace: "kube-system",
			Requests: res.List{res.CPU: 150, res.Memory: 200 << 20, res.Pods: 1}, Tolerations: []cluster.Toleration{{Exists: true}}}}}}
	for _, f := range of {
		var class *cluster.Class
		for i := range n * f.share / 100 {
			if i%f.perClass == 0 {
				cpu := int64(f.low + rng.IntN(f.high-f.low+1))
				class = &cluster.Class{Namespace: f.name, Labels: map[string]string{"app": fmt.Sprint(f.name, i)},
					Requests: res.List{res.CPU: cpu / 50 * 50, res.Memory: int64(float64(cpu)*f.gib*(0.6+rng.Float64()*0.8)/64) << 26 / 1000 * 64 &^ (1<<24 - 1), res.Pods: 1}}
				if f.onDemand {
					class.Selector = append(class.Selector, in(requirement.CapacityType, catalog.OnDemand))
				}
				class.ID = class.Hash()
			}
			name := fmt.Sprintf("%s-%d", f.name, i)
			p.Pending = append(p.Pending, &cluster.Pod{PodRef: cluster.PodRef{Namespace: f.name, Name: name, UID: name}, Class: class})
		}
	}
	return p
}

func in(key string, values ...string) requirement.Term {
	return requirement.Term{Key: key, Operator: requirement.In, Values: values}
}

func ec2Types(b testing.TB) []*catalog.Type {
	types, err := scenario.EC2Types("us-east-1", nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	return types
}

// BenchmarkBound is the bound for plans of pack.Solve, and how far they are from it.
func BenchmarkBound(b *testing.B) {
	types := ec2Types(b)
	cases := []struct {
		name string
		make func() *pack.Problem
	}{
		{"mix/pods=100", func() *pack.Problem { return mix(100, families, types, 1) }},
		{"mix/pods=1000", func() *pack.Problem { return mix(1000, families, types, 1) }},
		{"mix/pods=10000", func() *pack.Problem { return mix(10000, families, types, 1) }},
		{"web/pods=10000", func() *pack.Problem {
			return mix(10000, []family{{name: "web", share: 100, low: 100, high: 1000, gib: 2, perClass: 30}}, types, 1)
		}},
		{"memory/pods=2000", func() *pack.Problem { return mix(10000, families[1:2], types, 1) }},
		{"batch/pods=2000", func() *pack.Problem { return mix(10000, families[2:], types, 1) }},
		{"generic/pods=5000", func() *pack.Problem { return scenario.Generate(5000, 400, 1) }},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			p := c.make()
			out := pack.Solve(p)
			if len(out.Unplaced) > 0 {
				b.Fatal(out.Unplaced[0].Reasons[0].Text())
			}
			b.ReportAllocs()
			b.ResetTimer()
			var r *bound.Result
			for b.Loop() {
				r = bound.Lower(p, out, bound.Budget{})
			}
			b.ReportMetric(r.Gap*100, "gap-%")
			b.ReportMetric(float64(out.Price)/1e6, "$/h")
			b.ReportMetric(float64(len(r.Certificate.Weights)), "weights")
			b.Logf("%+v converged=%v %s bound %d", r.Work, r.Converged, r.Stopped, r.Bound)
		})
	}
}
