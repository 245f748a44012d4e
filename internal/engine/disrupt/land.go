package disrupt

import "github.com/kerf-sh/kerf/internal/engine/plan"

// mostLandingScores bounds what is spent on foreseeing where the scheduler puts pods: some 0.2 s of one core
// (BenchmarkLand). Beyond it the moves keep the places that the search found.
const mostLandingScores = 4_000_000

// land gives the pods that move to nodes which stay the places where kube-scheduler is expected to put them. The moves stay
// what they are: which nodes go, what is launched, and what it costs.
func (s *search) land(moves []Move) {
	before := make([][]plan.Placement, len(moves))
	for i := range moves {
		before[i] = moves[i].Placements
	}
	after, ok := s.w.Land(before, mostLandingScores)
	if !ok {
		return
	}
	for i := range moves {
		moves[i].Placements = after[i]
	}
}
