package pack_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
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

// few is a random problem of 1 to 60 pods in sizes of web servers, stores and batch work, for types of a region. What says
// which constraints the pods have: plain, zone, host, apart, gather, limits (mixed ones and a limit far away), or mixed.
func few(types []*catalog.Type, seed uint64, what string) *pack.Problem {
	rng := rand.New(rand.NewPCG(seed, 77))
	pool := &cluster.Pool{Name: "small", Types: types}
	if rng.IntN(3) == 0 {
		pool.Requirements = append(pool.Requirements, in(requirement.CapacityType, catalog.OnDemand))
	}
	if rng.IntN(4) == 0 {
		pool.Requirements = append(pool.Requirements, in(requirement.Arch, "amd64"))
	}
	mixed := what == "mixed" || what == "limits"
	if rng.IntN(6) == 0 && mixed {
		pool.Requirements = append(pool.Requirements, requirement.Term{Key: "karpenter.k8s.aws/instance-family", Operator: requirement.Exists, MinValues: 3 + rng.IntN(8)})
	}
	if what == "limits" {
		pool.Limits = res.List{res.CPU: 10_000_000}
	}
	p := &pack.Problem{Now: time.Unix(100_000, 0), Pools: []*cluster.Pool{pool}, Options: pack.Options{WellKnown: scenario.WellKnown()}}
	for i, left := 0, 1+rng.IntN(60); left > 0; i++ {
		c, name := drawSize(rng), "class-"+strconv.Itoa(i)
		n := min(left, 1+rng.IntN(1+rng.IntN(20)))
		left -= n
		kind := rng.IntN(12)
		if at := slices.Index([]string{"zone", "", "host", "apart", "gather", "plain"}, what); at >= 0 {
			kind = at
		}
		switch kind {
		case 0, 1:
			c.Spreads = []cluster.Spread{{Key: requirement.Zone, MaxSkew: 1, Selector: named(name)}}
		case 2:
			c.Spreads = []cluster.Spread{{Key: requirement.Hostname, MaxSkew: 1 + rng.IntN(2), Selector: named(name)}}
		case 3:
			c.AntiAffinity = []cluster.PodAffinity{{Key: requirement.Hostname, Namespaces: []string{"default"}, Selector: named(name)}}
		case 4:
			c.PodAffinity = []cluster.PodAffinity{{Key: requirement.Zone, Namespaces: []string{"default"}, Selector: named(name)}}
		}
		if label := rng.IntN(10); mixed {
			switch label {
			case 0:
				c.Selector = append(c.Selector, in(requirement.CapacityType, catalog.OnDemand))
			case 1:
				c.Selector = append(c.Selector, in(requirement.Arch, "amd64"))
			case 2:
				c.Selector = append(c.Selector, in(requirement.Zone, "us-east-1a"))
			}
		}
		deploy(p, name, n, c)
	}
	return p
}

func drawSize(rng *rand.Rand) *cluster.Class {
	kinds := []struct{ cpu, perCPU []int64 }{ // millicores, MiB per core
		{[]int64{100, 200, 250, 400, 500, 750, 1000}, []int64{2048, 3072, 4096}},
		{[]int64{250, 500, 1000, 2000, 4000}, []int64{7168, 8192, 12288, 16384}},
		{[]int64{500, 1000, 1500, 2000, 4000, 8000}, []int64{512, 1024, 1536}},
	}
	k := kinds[[]int{0, 0, 1, 2}[rng.IntN(4)]]
	cpu := k.cpu[rng.IntN(len(k.cpu))]
	return asking(cpu, cpu*k.perCPU[rng.IntN(len(k.perCPU))]/1000)
}

// optimum is the least price for pods without constraints, found by going through all ways to part them; false if there
// are too many.
func optimum(p *pack.Problem) (catalog.MicroUSD, bool) {
	const most = 3000
	var classes []*cluster.Class
	var n []int
	for _, pod := range p.Pending {
		i := slices.Index(classes, pod.Class)
		if i < 0 {
			i = len(classes)
			classes, n = append(classes, pod.Class), append(n, 0)
		}
		n[i]++
	}
	states := 1
	for _, x := range n {
		if states *= x + 1; states > most {
			return 0, false
		}
	}
	launches := waysToLaunch(p.Pools[0])
	parts, price, best := make([][]int, states), make([]catalog.MicroUSD, states), make([]catalog.MicroUSD, states)
	for s := range states {
		part, ask := make([]int, len(n)), [3]int64{}
		for i, rest := 0, s; i < len(n); i++ {
			part[i] = rest % (n[i] + 1)
			rest /= n[i] + 1
			for r, name := range []string{res.CPU, res.Memory, res.Pods} {
				ask[r] += classes[i].Requests[name] * int64(part[i])
			}
		}
		parts[s], price[s] = part, catalog.NoPrice
		if at := slices.IndexFunc(launches, func(b way) bool { return ask[0] <= b.net[0] && ask[1] <= b.net[1] && ask[2] <= b.net[2] }); at >= 0 {
			price[s] = launches[at].price
		}
	}
	for s := 1; s < states; s++ {
		best[s] = catalog.NoPrice
		for one := 1; one <= s; one++ {
			within := price[one] < best[s]
			for i := 0; within && i < len(n); i++ {
				within = parts[one][i] <= parts[s][i]
			}
			if within {
				best[s] = min(best[s], price[one]+best[s-one])
			}
		}
	}
	return best[states-1], true
}

type way struct {
	net   [3]int64
	price catalog.MicroUSD
}

// waysToLaunch are the types of the pool at their cheapest, the cheapest first.
func waysToLaunch(pool *cluster.Pool) []way {
	allows := func(key, value string) bool {
		return !slices.ContainsFunc(pool.Requirements, func(r requirement.Term) bool { return r.Key == key && !slices.Contains(r.Values, value) })
	}
	var out []way
	for _, t := range pool.Types {
		if slices.ContainsFunc(t.Requirements, func(r requirement.Term) bool { return r.Key == requirement.Arch && !allows(r.Key, r.Values[0]) }) {
			continue
		}
		b := way{price: catalog.NoPrice}
		for _, o := range t.Offerings {
			if o.Available && allows(requirement.CapacityType, o.CapacityType) {
				b.price = min(b.price, o.Price)
			}
		}
		for i, r := range []string{res.CPU, res.Memory, res.Pods} {
			b.net[i] = t.Capacity[r] - t.Overhead[r]
		}
		out = append(out, b)
	}
	slices.SortStableFunc(out, func(a, b way) int { return cmp.Compare(a.price, b.price) })
	return out
}

func TestFewPodsCostHardlyMoreThanTheirOptimum(t *testing.T) {
	pool, solved := generalPool(t), 0
	price, least := catalog.MicroUSD(0), catalog.MicroUSD(0)
	for seed := range uint64(80) {
		p := few(pool.Types, seed, "plain")
		want, ok := optimum(p)
		if !ok {
			continue
		}
		got := pack.Solve(p).Price
		if got < want {
			t.Errorf("seed %d: %d, which is less than the least", seed, got)
		}
		if got > want*110/100 {
			t.Errorf("seed %d: %d, the optimum is %d", seed, got, want)
		}
		price, least, solved = price+got, least+want, solved+1
	}
	if solved < 20 {
		t.Fatalf("only %d problems were small enough", solved)
	}
	if price > least*101/100 {
		t.Errorf("%d problems cost %d, at best %d", solved, price, least)
	}
}

// BenchmarkFew prints how far the plans of small problems are from the bound.
func BenchmarkFew(b *testing.B) {
	types, err := scenario.ServerTypes("us-east-1", 3)
	if err != nil {
		b.Fatal(err)
	}
	for _, what := range []string{"mixed", "limits", "plain", "zone", "host", "apart", "gather"} {
		const problems = 60
		floors := map[uint64]catalog.MicroUSD{}
		for _, work := range []int64{-1, 0} {
			b.Run(fmt.Sprintf("%s/work=%d", what, work), func(b *testing.B) {
				var gaps []float64
				sum, used, spent := 0.0, time.Duration(0), int64(0)
				for seed := range uint64(problems) {
					p := few(types, seed, what)
					p.Options.Work = work
					before := processorTime(b)
					out := pack.Solve(p)
					used += processorTime(b) - before
					spent += out.Stats.Work
					for _, v := range verify.Check(p, out) {
						b.Fatal(v)
					}
					if floors[seed] == 0 {
						floors[seed] = bound.Lower(p, out, bound.Budget{Work: 100_000_000}).Bound
					}
					gaps = append(gaps, 100*(float64(out.Price)/float64(floors[seed])-1))
					sum += gaps[len(gaps)-1]
				}
				slices.Sort(gaps)
				b.ReportMetric(sum/problems, "mean-gap-%")
				b.ReportMetric(gaps[problems*95/100], "p95-gap-%")
				b.ReportMetric(float64(used.Microseconds())/1000/problems, "cpu-ms/problem")
				b.ReportMetric(float64(spent)/problems, "work/problem")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
