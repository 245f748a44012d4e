package disrupt

import (
	"time"

	"github.com/kerf-sh/kerf/internal/disrupt"
)

// onePerNodes is one of how many nodes may be on its way at a time where little is to be saved.
const onePerNodes = 50

// careful leaves few of the moves of pods where little is to be saved, and none while pods of earlier ones are on their
// way: where each of them comes to lie is the scheduler's choice, and the next move is better planned once that is known.
func careful(v *view, d *disrupt.Decision, moves []disrupt.Move) []disrupt.Move {
	if !d.Little() {
		return moves
	}
	taken, most := onTheWay(v), len(v.problem.Nodes)/onePerNodes
	var out []disrupt.Move
	for i := range moves {
		m := &moves[i]
		if m.Cause != disrupt.Empty {
			if taken > 0 && taken+len(m.Nodes) > most {
				continue
			}
			taken += len(m.Nodes)
		}
		out = append(out, *m)
	}
	return out
}

// onTheWay is how many nodes that are to go hold pods still.
func onTheWay(v *view) int {
	out := 0
	for _, n := range v.problem.Cluster.Nodes {
		if n.Claim != "" && (n.Leaving || n.Deleting) && !empty(n) {
			out++
		}
	}
	return out
}

// long is how long a move has to stand.
func long(m *disrupt.Move) time.Duration { return max(patience, m.Wait) }
