package disrupt

import (
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
)

// Recorded is told what was asked, what was decided and which of its moves are begun. Cause and due are those of
// disrupt.Replace; the cause is empty where disrupt.Decide was asked. Nothing of it changes any more.
type Recorded func(p *disrupt.Problem, cause disrupt.Cause, due []string, d *disrupt.Decision, begun []disrupt.Move, ids []string)

func (r Recorded) of(p *disrupt.Problem, cause disrupt.Cause, due []string, d *disrupt.Decision, begun []disrupt.Move, ids []string) {
	if r != nil {
		r(p, cause, due, d, begun, ids)
	}
}

// newIDs are IDs of commands, which are recorded before they begin.
func newIDs(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = story.NewID()
	}
	return out
}
