package disrupt

import (
	"time"

	"github.com/kerf-sh/kerf/internal/catalog"
	"github.com/kerf-sh/kerf/internal/disrupt"
)

const (
	// onePerNodes is one of how many nodes may be on its way at a time where little is to be saved, and awaited how long one
	// that is on its way is waited for: a drain may take for ever.
	onePerNodes, awaited = 50, 10 * time.Minute
	// lasting is for how long every decision must have found a saving for it to be had though the nodes change.
	lasting = 2 * disrupt.LongestWait
)

// care is what is remembered for the times when little is to be saved.
type care struct {
	begun map[string]time.Time // moves of pods, by node
	found []finding            // oldest first
}

// finding is what was to be saved by moving pods, from a time on.
type finding struct {
	at     time.Time
	saving catalog.MicroUSD
}

// note remembers what a decision has found.
func (c *care) note(saving catalog.MicroUSD, now time.Time) {
	for len(c.found) > 1 && now.Sub(c.found[1].at) > lasting {
		c.found = c.found[1:]
	}
	if n := len(c.found); n == 0 || c.found[n-1].saving != saving {
		c.found = append(c.found, finding{now, saving})
	}
}

// lasted is for how long every decision has found at least so much.
func (c *care) lasted(saving catalog.MicroUSD, now time.Time) time.Duration {
	since := now
	for i := len(c.found) - 1; i >= 0 && c.found[i].saving >= saving; i-- {
		since = c.found[i].at
	}
	return now.Sub(since)
}

// begins remembers that pods of nodes are about to move.
func (c *care) begins(nodes []string, now time.Time) {
	if c.begun == nil {
		c.begun = map[string]time.Time{}
	}
	for name, at := range c.begun {
		if now.Sub(at) >= awaited {
			delete(c.begun, name)
		}
	}
	for _, name := range nodes {
		c.begun[name] = now
	}
}

// onTheWay is how many nodes hold pods still of those whose moves began a short time ago.
func (c *care) onTheWay(v *view, now time.Time) int {
	out := 0
	for _, n := range v.problem.Cluster.Nodes {
		if at, ok := c.begun[n.Name]; ok && now.Sub(at) < awaited && (n.Leaving || n.Deleting) && !empty(n) {
			out++
		}
	}
	return out
}

// careful leaves few of the moves of pods that have ripened where little is to be saved, and none while pods of earlier
// ones are on their way: where each of them comes to lie is the scheduler's choice, and the next move is better planned
// once that is known. Where the nodes that could go change faster than they ripen, what could be saved all the time is had.
func (l *Loop) careful(v *view, all, ripe []disrupt.Move, now time.Time) []disrupt.Move {
	var out []disrupt.Move
	var pods []*disrupt.Move
	for i := range ripe {
		if ripe[i].Cause == disrupt.Empty {
			out = append(out, ripe[i])
		} else {
			pods = append(pods, &ripe[i])
		}
	}
	for i := range all {
		m := &all[i]
		if len(pods) == 0 && m.Cause != disrupt.Empty && l.care.lasted(m.Saving, now) >= lasting && l.ripening.Settled(m.Nodes) {
			pods = append(pods, m)
		}
	}
	taken, most := l.care.onTheWay(v, now), len(v.problem.Nodes)/onePerNodes
	for _, m := range pods {
		if taken > 0 && taken+len(m.Nodes) > most {
			break // those behind it wait for it, or it would wait for ever
		}
		taken += len(m.Nodes)
		out = append(out, *m)
	}
	return out
}
