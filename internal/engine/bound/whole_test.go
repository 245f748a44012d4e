package bound

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/lp"

	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// cabin is a small search with one instance and rows of random sizes, some of which share a limit per host.
func cabin(rng *rand.Rand) (*search, *instance, []float64) {
	s := &search{schema: res.NewSchema(res.CPU, res.Pods), scale: []float64{1000, 1}, shared: []sharedLimit{{most: 1}, {most: 2}}}
	s.knapsack = &knapsack{s: s}
	y := make([]float64, 3+rng.IntN(4))
	m := &instance{room: []float64{float64(1+rng.IntN(40)) / 10, float64(1 + rng.IntN(6))}, price: 0.001, ledger: -1}
	for i := range y {
		cpu := int64(100 * (1 + rng.IntN(15)))
		s.rows = append(s.rows, row{exact: res.Vector{cpu, 1}, req: []float64{float64(cpu) / 1000, 1},
			count: float64(1 + rng.IntN(4)), perHost: math.Inf(1), shared: rng.IntN(5) - 3})
		if s.rows[i].shared < 0 {
			s.rows[i].shared = -1
		}
		y[i] = rng.Float64() * float64(cpu)
	}
	s.steps = stepsOf(s.schema, s.rows)
	s.sets = [][]uint64{{1}}
	s.fit(m)
	m.most = m.capped
	return s, m, y
}

// worthiest tries all fillings.
func worthiest(s *search, m *instance, y []float64, at int, room []float64, limits []float64) float64 {
	if at == len(m.rows) {
		return 0
	}
	row := &s.rows[m.rows[at]]
	best := 0.0
	for n := 0.0; n <= m.most[at]; n++ {
		left := []float64{room[0] - n*row.req[0], room[1] - n*row.req[1]}
		rest := []float64{limits[0], limits[1]}
		if row.shared >= 0 {
			rest[row.shared] -= n
		}
		if left[0] < -1e-9 || left[1] < -1e-9 || min(rest[0], rest[1]) < 0 {
			break
		}
		best = max(best, n*y[m.rows[at]]+worthiest(s, m, y, at+1, left, rest))
	}
	return best
}

func TestTheWorthiestFillingWithWholePodsIsFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	short := 0
	for i := range 2000 {
		s, m, y := cabin(rng)
		want := worthiest(s, m, y, 0, m.room, []float64{1, 2})
		cut, _, w := s.knapsack.solve(m, y)
		got, filling, closed := s.knapsack.whole(m, y, w, 0, 10_000)
		if sum := worthOf(y, filling); !closed || math.Abs(got-want) > 1e-6 || math.Abs(sum-want) > 1e-6 {
			t.Fatalf("instance %d: worth %v, its filling %v, closed %v; the worthiest is %v", i, got, sum, closed, want)
		}
		if cut < want-1e-6 {
			t.Fatalf("instance %d: worth %v with pods cut, %v with whole ones", i, cut, want)
		}
		upper, filling, closed := s.knapsack.whole(m, y, w, 0, 1)
		if upper < want-1e-6 || worthOf(y, filling) > want+1e-6 {
			t.Fatalf("instance %d: one way at a time: worth %v, its filling %v; the worthiest is %v", i, upper, worthOf(y, filling), want)
		}
		if !closed {
			short++
		}
		if worth, filling, closed := s.knapsack.whole(m, y, w, want+1, 10_000); !closed || worth != want+1 || filling != nil {
			t.Fatalf("instance %d: finds %v %v beyond a limit that nothing exceeds", i, worth, filling)
		}
	}
	if short == 0 {
		t.Error("one way at a time was always enough: the test can't fail")
	}
}

func worthOf(y []float64, filling []lp.Share) float64 {
	sum := 0.0
	for _, f := range filling {
		sum += f.Amount * y[f.Row]
	}
	return sum
}

func TestLimitsThatNeedFewHostsAreGivenUpWhereRowsAreMany(t *testing.T) {
	p := scenario.Generate(400, 60, 1)
	p.Options.Work = -1
	s := newSearch(p, placedClasses(p, pack.Solve(p)), Budget{Work: DefaultWork, Memory: &Memory{}})
	if len(s.shared) != 8 {
		t.Fatalf("%d shared limits in a problem of %d rows; it has seven spreads and one that keeps apart", len(s.shared), len(s.rows))
	}
	before := len(s.rows)
	s.loosen()
	s.mergeRows(64)
	if len(s.shared) != 1 || s.shared[0].most != 1 || s.shared[0].limit.rule[:8] != `["apart"` {
		t.Errorf("kept %d limits", len(s.shared))
	}
	if 2*len(s.rows) > before {
		t.Errorf("%d rows of %d are left", len(s.rows), before)
	}
	count := 0.0
	for _, r := range s.rows {
		count += r.count
		if r.shared > 0 {
			t.Errorf("a row refers to limit %d", r.shared)
		}
	}
	if count != 400 {
		t.Errorf("the rows count %v pods", count)
	}
}
