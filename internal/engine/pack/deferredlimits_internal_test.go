package pack

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// The parts of a pool share its limits: six new nodes of eight cores take too much of forty, however they are parted.
func TestThePartsOfAPoolTakeOfTheSameLimit(t *testing.T) {
	small := &catalog.Type{Name: "small", Capacity: res.List{res.CPU: 8000}}
	p := &Problem{Pools: []*cluster.Pool{{Name: "general", Types: []*catalog.Type{small}, Limits: res.List{res.CPU: 40_000}}}}
	for name, c := range map[string]struct {
		each int
		want bool
	}{"three each": {3, true}, "two each": {2, false}} {
		s := newSolver(p, newMemory())
		s.compile()
		one := s.pools[0]
		if len(one.deferred) != 1 {
			t.Fatal("the limit is heeded: this shows nothing")
		}
		other := *one
		s.pools = append(s.pools, &other)
		for range c.each {
			s.newNodes = append(s.newNodes, &newNode{pool: one, types: one.cat.All()}, &newNode{pool: &other, types: one.cat.All()})
		}
		if got := s.exceedsLimits(); got != c.want {
			t.Errorf("%s: overdrawn %v, want %v", name, got, c.want)
		}
	}
}
