package disrupt

import (
	"time"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/disrupt/confirmation"
)

const (
	// onePerNodes is one of how many nodes may be on its way at a time where little is to be saved, and awaited how long one
	// that is on its way is waited for: a drain may take for ever.
	onePerNodes, awaited = 50, 10 * time.Minute
)

// lasting is for how long every decision must have found a saving for it to be had though the nodes change.
func (l *Loop) lasting() time.Duration { return confirmation.Lasting(&l.Options) }

// onTheWay is how many nodes hold pods still whose moves began a short time ago. The queue knows of those that it carries
// out, and the claims tell of all others, also a new leader.
func (l *Loop) onTheWay(v *view, now time.Time) int {
	out := 0
	for _, n := range v.problem.Cluster.Nodes {
		if !n.Leaving && !n.Deleting || empty(n) {
			continue
		}
		if begun, ok := l.Queue.moving(n.Claim); ok && now.Sub(begun) < awaited {
			out++
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

// delaySmallSavings leaves few of the confirmed moves of pods where little is to be saved, and none while pods of earlier
// ones are on their way: where each of them comes to lie is the scheduler's choice, and the next move is better planned
// once that is known. Where the nodes that could go change faster than they ripen, what could be saved all the time is had.
func (l *Loop) delaySmallSavings(v *view, all, confirmed []disrupt.Move, now time.Time) []disrupt.Move {
	var out []disrupt.Move
	var pods []*disrupt.Move
	for i := range confirmed {
		if confirmed[i].Cause == disrupt.Empty {
			out = append(out, confirmed[i])
		} else {
			pods = append(pods, &confirmed[i])
		}
	}
	for i := range all {
		m := &all[i]
		if len(pods) == 0 && !l.without("findings") && m.Cause != disrupt.Empty && l.findings.Lasted(m.Saving, now) >= l.lasting() && l.confirmation.Settled(m.Nodes) {
			pods = append(pods, m)
		}
	}
	taken, most := l.onTheWay(v, now), len(v.problem.Nodes)/onePerNodes
	for _, m := range pods {
		if taken > 0 && !l.without("turns") && taken+len(m.Nodes) > most {
			break // those behind it wait for it, or it would wait for ever
		}
		taken += len(m.Nodes)
		out = append(out, *m)
	}
	return out
}
