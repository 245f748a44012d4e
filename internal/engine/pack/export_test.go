package pack

import (
	"fmt"

	"github.com/kerf-sh/kerf/internal/engine/res"
)

// NodeToll is what a new node costs besides its price.
const NodeToll = nodeToll

// FillBothWays fills new nodes of several types for the items of the problem, once as the solver does and once by looking
// at every item in order, and tells what came along.
func FillBothWays(p *Problem) (got, want []string) {
	s := newSolver(p, newMemory())
	s.compile()
	s.sumDemand(bears, nil)
	s.assemble(0, nil)
	for i := 0; i < len(s.podGroups); i += 7 {
		it := s.podGroups[i]
		v := s.view(it, it.pool)
		for _, t := range s.targets(it, v, it.pool, it.left) {
			for _, efficiency := range []float64{0, 0.95} {
				start := func() (*newNode, res.Vector) {
					m := &newNode{pool: it.pool, shape: v.shape, used: make(res.Vector, s.schema.Len())}
					room := it.pool.net[t].Clone()
					s.take(m, it, t, room, it.left)
					return m, room
				}
				m, room := start()
				s.fill(m, it, t, room, efficiency*it.costEfficiency(m.shape, t))
				got = append(got, m.passengers())
				m, room = start()
				s.fillInOrder(m, it, t, room, efficiency*it.costEfficiency(m.shape, t))
				want = append(want, m.passengers())
			}
		}
	}
	return got, want
}

func (s *solver) fillInOrder(m *newNode, it *podGroup, t int, room res.Vector, efficiency float64) {
	for _, other := range s.podGroups {
		left := other.left - m.count(other)
		if left > 0 && other != it && other.pool == m.pool && other.costEfficiency(m.shape, t) >= efficiency {
			s.take(m, other, t, room, left)
		}
	}
}

// passengers are the pods beyond those that the new node was opened for.
func (m *newNode) passengers() string {
	text := ""
	for _, q := range m.parts[min(1, len(m.parts)):] {
		text += fmt.Sprintf("%d×%s%s ", q.n, q.item.class.src.ID, q.item.pin)
	}
	return text
}

// Visited is how many nodes the first plan looks at for pods that are placed one by one.
func Visited(p *Problem) int { return newMemory().place(p, choice{}, nil).visited }
