package bound

import (
	"math/rand/v2"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/res"
)

// hold is a small checker with one instance, and the rows of a cabin as classes: whole values, any weights. Some classes are
// of one kind with another that bears no limit.
func hold(rng *rand.Rand) (k *checker, m *carrier, want uint64) {
	s, in, y := cabin(rng)
	for i := range y {
		y[i] = float64(int64(y[i]))
	}
	for i := range y {
		if other := rng.IntN(len(y)); i > 0 && rng.IntN(3) == 0 {
			count, shared := s.rows[i].count, s.rows[i].shared
			s.rows[i], y[i] = s.rows[other], y[other]
			s.rows[i].count, s.rows[i].shared = count, shared
		}
	}
	in.rows, in.fit, in.capped = nil, nil, nil
	s.fit(in)
	in.most = in.capped
	k = &checker{schema: s.schema, searches: maxSearch, groups: []hostGroup{{most: 1, members: 2}, {most: 2, members: 2}}}
	m = &carrier{room: res.Vector{int64(in.room[0]*1000 + 0.5), int64(in.room[1])}}
	for i := range s.rows {
		v := &valued{count: int64(s.rows[i].count), value: uint64(y[i]), req: s.rows[i].exact, group: s.rows[i].shared, kind: i}
		for j := range i {
			if y[j] == y[i] && s.rows[j].exact[0] == s.rows[i].exact[0] {
				v.kind = k.classes[j].kind
				break
			}
		}
		k.classes = append(k.classes, v)
		m.allowed = append(m.allowed, true)
	}
	for range 3 {
		k.weights = append(k.weights, priced{by: []uint64{uint64(rng.Uint32()) >> rng.IntN(24), uint64(rng.Uint32())}})
	}
	return k, m, uint64(worthiest(s, in, y, 0, in.room, []float64{1, 2}))
}

func TestTheCheckerGoesThroughAllFillings(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	for i := range 5000 {
		k, m, want := hold(rng)
		if !k.exhausted(m, (wide{lo: want}).shift(fine)) {
			t.Fatalf("instance %d: does not see that no filling is worth more than %d", i, want)
		}
		if want > 0 && k.exhausted(m, (wide{lo: want - 1}).shift(fine)) {
			t.Fatalf("instance %d: overlooks the filling that is worth %d", i, want)
		}
	}
}
