package disrupt

import (
	"cmp"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

const (
	// littlePercent of the bill is what all moves of pods together save at most for the decision to be one about little.
	littlePercent = 15
	// LongestWait is the most that a move has to stand where nothing else is said.
	LongestWait = 30 * time.Minute
)

// setWaits says of each move how long it has to stand.
//
// Where all moves of pods together save little, those included that only wait for budgets, the cluster is about as it should be:
// there is time, and more to lose than to gain by haste. Then that is as long as it takes to pay back: who does not know for how
// long something is worth its price loses least by paying it when waiting has cost as much (the ski-rental problem). Much is
// saved at once.
func (d *Decision) setWaits(o *Options) {
	saving, longest := d.OverBudget, max(0, cmp.Or(o.SmallSavingsWait, LongestWait))
	for i := range d.Moves {
		if d.Moves[i].Cause == Underutilized {
			saving += d.Moves[i].Saving
		}
	}
	if saving*100 >= d.Before*littlePercent {
		return
	}
	for i := range d.Moves {
		if m := &d.Moves[i]; m.Cause == Underutilized {
			m.Wait = min(longest, o.Payback(m).Round(time.Second))
		}
	}
}

// keptUsage is the usage from which a node that takes pods is held to stay in any case.
const keptUsage = 0.5

// underutilizedTargets are the nodes that take pods of moves and are used so little that they may soon be the ones to go.
func (s *search) underutilizedTargets(d *Decision) map[string]bool {
	out := map[string]bool{}
	for i := range d.Moves {
		for _, pl := range d.Moves[i].Placements {
			if n := s.named[pl.Node]; n != nil && n.usage() < keptUsage {
				out[pl.Node] = true
			}
		}
	}
	return out
}

// setOnto says of each move that takes pods to nodes that may soon be the ones to go when that is. Where much of the load
// has gone, nodes that have lost no pod may go before those that have just lost all of theirs, and would fill those.
func (d *Decision) setOnto(nodes []Node, littleUsed map[string]bool) {
	soon := map[string]time.Duration{}
	for i := range nodes {
		if n := &nodes[i]; littleUsed[n.Name] {
			soon[n.Name] = n.Soon
		}
	}
	for i := range d.Moves {
		m := &d.Moves[i]
		m.Onto = 0
		for _, pl := range m.Placements {
			m.Onto = max(m.Onto, soon[pl.Node])
		}
	}
}

// evicting is what it is held to cost to move pods of so much disruption.
func (o *Options) evicting(disruption int64) catalog.MicroUSD {
	return catalog.MicroUSD(float64(o.PodPrice) * float64(disruption) / unit)
}

// starting is the least that it is held to cost to start so many new nodes of a price per hour together.
func (o *Options) starting(instances int, price catalog.MicroUSD) catalog.MicroUSD {
	return max(o.NodePrice*catalog.MicroUSD(instances), price*catalog.MicroUSD(o.Overlap/time.Second)/3600)
}

// Payback is how long a move's saving has to last to bring what the move is held to cost; a year at most.
func (o *Options) Payback(m *Move) time.Duration {
	spent := o.evicting(m.Disruption)
	for i := range m.NewNodes {
		spent += o.starting(1, m.NewNodes[i].Price)
	}
	return lasts(spent, m.Saving)
}

// lasts is how long it takes to save so much at so much per hour; a year at most.
func lasts(spent, saving catalog.MicroUSD) time.Duration {
	const year = 365 * 24
	return time.Duration(min(year, float64(spent)/float64(max(1, saving))) * float64(time.Hour))
}
