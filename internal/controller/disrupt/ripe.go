package disrupt

import (
	"time"

	"github.com/kerf-sh/kerf/internal/disrupt"
)

// patience is how long a node must have been among those that should go before it does, unless it is empty. A cluster in
// the middle of a rollout looks as if much could be saved.
const patience = 5 * time.Second

// ripening remembers since when each node has been among those that should go, decision after decision.
type ripening struct{ since map[string]time.Time }

// take notes a decision. It returns the moves whose nodes are all ripe, how long until the next are, 0 if there are none,
// and the nodes that were to go and are not any more.
func (r *ripening) take(moves []disrupt.Move, now time.Time) (ripe []disrupt.Move, wait time.Duration, dropped []string) {
	before := r.since
	r.since = map[string]time.Time{}
	for i := range moves {
		m := &moves[i]
		left := time.Duration(0)
		for _, name := range m.Nodes {
			since, ok := before[name]
			if !ok {
				since = now
			}
			r.since[name] = since
			left = max(left, patience-now.Sub(since))
		}
		switch {
		case left <= 0 || m.Cause == disrupt.Empty:
			ripe = append(ripe, *m)
		case wait == 0 || left < wait:
			wait = left
		}
	}
	for name := range before {
		if _, ok := r.since[name]; !ok {
			dropped = append(dropped, name)
		}
	}
	return ripe, wait, dropped
}

// ripe are the nodes that have been to go for long enough.
func (r *ripening) ripe(now time.Time) map[string]bool {
	out := map[string]bool{}
	for name, since := range r.since {
		if now.Sub(since) >= patience {
			out[name] = true
		}
	}
	return out
}

// forget takes nodes out whose command has begun.
func (r *ripening) forget(nodes []string) {
	for _, name := range nodes {
		delete(r.since, name)
	}
}
