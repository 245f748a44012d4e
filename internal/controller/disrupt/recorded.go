package disrupt

import "github.com/kerf-sh/kerf/internal/engine/disrupt"

// Recorded is told what was asked, what was decided, which of its moves are begun, and by which commands. Cause and due are those of
// disrupt.Replace; the cause is empty where disrupt.Decide was asked. Nothing of it changes any more.
type Recorded func(p *disrupt.Problem, cause disrupt.Cause, due []string, d *disrupt.Decision, begun []disrupt.Move, ids []string)

func (r Recorded) of(p *disrupt.Problem, cause disrupt.Cause, due []string, d *disrupt.Decision, begun []disrupt.Move, commands []Command) {
	if r == nil || len(begun) == 0 {
		return
	}
	ids := make([]string, len(commands))
	for i := range commands {
		ids[i] = commands[i].ID
	}
	r(p, cause, due, d, begun, ids)
}
