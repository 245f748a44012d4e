package disrupt

import (
	"time"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/catalog"
	"github.com/kerf-sh/kerf/internal/disrupt"
)

const (
	// onePerNodes is one of how many nodes may be on its way at a time where little is to be saved, and awaited how long one
	// that is on its way is waited for: a drain may take for ever.
	onePerNodes, awaited = 50, 10 * time.Minute
)

// lasting is for how long every decision must have found a saving for it to be had though the nodes change.
func (l *Loop) lasting() time.Duration { return 2 * l.Options.LongestWait() }

// findings are what decisions have found, oldest first.
type findings []finding

// finding is what was to be saved by moving pods, from a time on.
type finding struct {
	at     time.Time
	saving catalog.MicroUSD
}

// note remembers what a decision has found, for some time.
func (f *findings) note(saving catalog.MicroUSD, now time.Time, memory time.Duration) {
	all := *f
	for len(all) > 1 && now.Sub(all[1].at) > memory {
		all = all[1:]
	}
	if n := len(all); n == 0 || all[n-1].saving != saving {
		all = append(all, finding{now, saving})
	}
	*f = all
}

// lasted is for how long every decision has found at least so much.
func (f findings) lasted(saving catalog.MicroUSD, now time.Time) time.Duration {
	since := now
	for i := len(f) - 1; i >= 0 && f[i].saving >= saving; i-- {
		since = f[i].at
	}
	return now.Sub(since)
}

// onTheWay is how many nodes hold pods still whose moves began a short time ago. Their claims tell, also a new leader.
func (l *Loop) onTheWay(v *view, now time.Time) int {
	out := 0
	for _, n := range v.problem.Cluster.Nodes {
		if !n.Leaving && !n.Deleting || empty(n) {
			continue
		}
		claim := l.State.Claim(n.Claim)
		if claim == nil {
			continue
		}
		why := claim.StatusConditions().Get(karpv1.ConditionTypeDisruptionReason)
		if why.IsTrue() && why.Reason == string(disrupt.Underutilized) && now.Sub(why.LastTransitionTime.Time) < awaited {
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
		if len(pods) == 0 && m.Cause != disrupt.Empty && l.findings.lasted(m.Saving, now) >= l.lasting() && l.ripening.Settled(m.Nodes) {
			pods = append(pods, m)
		}
	}
	taken, most := l.onTheWay(v, now), len(v.problem.Nodes)/onePerNodes
	for _, m := range pods {
		if taken > 0 && taken+len(m.Nodes) > most {
			break // those behind it wait for it, or it would wait for ever
		}
		taken += len(m.Nodes)
		out = append(out, *m)
	}
	return out
}
