// Package confirmation remembers for how long the nodes have been to go that decisions let go, because a cluster changes all
// the time and one decision is soon had.
package confirmation

import (
	"time"

	"github.com/kerf-sh/kerf/internal/engine/disrupt"
)

const (
	// Moment is how long a node must have been among those that should go before it does, or longer where the decision says so
	// (disrupt.Move.Wait). A cluster in the middle of a rollout looks as if much could be saved; and a node whose pod has just ended
	// looks empty until the successor is on it.
	Moment = 5 * time.Second
	// A node that was to go for a time is forgotten after decay times as long.
	decay = 2
)

// Tracker is how far each node is, decision after decision. The zero value knows of none.
//
// Concurrency: not safe.
type Tracker struct {
	nodes map[string]node
	at    time.Time // of the last decision
}

// node is how far a node is.
type node struct {
	// been is for how long it has been among those that should go, less what has faded in the time that it was not: which
	// of several nodes could go changes with every pod where many come and go.
	been time.Duration
	// short is for how long it has been so without a break while no more than a Moment was asked.
	short time.Duration
	// long is for how long it has to be; in: it is among them now.
	long time.Duration
	in   bool
	// empty: there is nothing to tell of when it gets a pod.
	empty bool
	// settled is when it is known whether a node that is to take its pods goes itself (disrupt.Move.Onto), as of when that was
	// asked first; zero where no move asks that.
	settled time.Time
}

// left is how long the node has to wait yet.
func (n node) left(now time.Time) time.Duration {
	left := n.long - n.been
	if n.long <= Moment {
		left = n.long - n.short
	}
	if !n.settled.IsZero() {
		left = max(left, n.settled.Sub(now))
	}
	return left
}

// Observe notes a decision. It returns the moves whose nodes are all confirmed, how long until the next are, 0 if there are none,
// and the nodes that were to go in a moment and are not any more, but those that were empty.
func (r *Tracker) Observe(moves []disrupt.Move, now time.Time) (done []disrupt.Move, wait time.Duration, dropped []string) {
	before, passed := r.nodes, now.Sub(r.at)
	r.nodes, r.at = map[string]node{}, now
	for i := range moves {
		m := &moves[i]
		left, need := time.Duration(0), max(Moment, m.Wait)
		for _, name := range m.Nodes {
			n := before[name]
			if n.in {
				n.been = min(n.been+passed, max(disrupt.LongestWait, n.long, need))
			}
			if n.in && n.long <= Moment && need <= Moment {
				n.short = min(n.short+passed, Moment)
			} else {
				n.short = 0 // also where there is much to be saved all of a sudden
			}
			switch {
			case m.Onto == 0:
				n.settled = time.Time{}
			case n.settled.IsZero():
				n.settled = now.Add(m.Onto + Moment)
			}
			n.long, n.in, n.empty = need, true, m.Cause == disrupt.Empty
			r.nodes[name] = n
			left = max(left, n.left(now))
		}
		switch {
		case left <= 0:
			done = append(done, *m)
		case wait == 0 || left < wait:
			wait = left
		}
	}
	for name, n := range before {
		if r.nodes[name].in {
			continue
		}
		switch {
		case !n.in:
			n.been -= passed / decay
		case n.long <= Moment && !n.empty:
			dropped = append(dropped, name)
		}
		if n.in, n.short, n.settled = false, 0, (time.Time{}); n.been > 0 {
			r.nodes[name] = n
		}
	}
	return done, wait, dropped
}

// Stood is for how long the nodes have been among those that should go, the last of them.
func (r *Tracker) Stood(nodes []string) time.Duration {
	least := time.Duration(-1)
	for _, name := range nodes {
		if been := r.nodes[name].been; least < 0 || been < least {
			least = been
		}
	}
	return max(0, least)
}

// Forget takes nodes out whose command has begun.
func (r *Tracker) Forget(nodes []string) {
	for _, name := range nodes {
		delete(r.nodes, name)
	}
}

// Asked is how long a move has to stand: where it takes pods to a node that may soon go itself, for a moment longer than
// until then, so that the decision that knows it comes first. Where that node never may, because its pods come and go, it
// is no longer than it was when it was asked first.
func Asked(m *disrupt.Move) time.Duration {
	if m.Onto > 0 {
		return max(m.Wait, m.Onto+Moment)
	}
	return max(Moment, m.Wait)
}
