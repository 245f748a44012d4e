package pack_test

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/verify"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

func TestGeneratedProblemsAreSolvedFeasibly(t *testing.T) {
	for _, pods := range []int{1, 7, 100, 600} {
		for seed := range uint64(3) {
			p := scenario.Generate(pods, 100, seed)
			out := pack.Solve(p)
			for _, v := range verify.Check(p, out) {
				t.Errorf("pods=%d seed=%d: %s", pods, seed, v)
			}
			if len(out.Unplaced) > 0 {
				t.Errorf("pods=%d seed=%d: unplaced: %s", pods, seed, out.Unplaced[0].Reasons[0].Text())
			}
		}
	}
}
