package changeplan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	controller "github.com/kerf-sh/kerf/internal/controller/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/budget"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// assumedLaunch is how long a new node is held to take where no node tells.
const assumedLaunch = 2 * time.Minute

// instanceEnd is how long EC2 is held to take to end an instance, after which its node is gone and no longer takes part of a
// budget: it is a matter of 5 to 60 seconds, and no API tells how long others took.
const instanceEnd = 30 * time.Second

// budgets are the disruption budgets of a pool of so many nodes, from a moment on.
type budgets struct {
	of    []budget.Budget
	pool  string
	nodes int
	from  time.Time
}

// Allowed implements rules. A budget that can't be read allows nothing, as for the controller.
func (b budgets) Allowed(at time.Duration) int {
	n, err := b.allowed(b.from.Add(at))
	if err != nil {
		return 0
	}
	return n
}

func (b budgets) allowed(at time.Time) (int, error) {
	n, err := budget.Allowed(b.of, string(karpv1.DisruptionReasonDrifted), b.nodes, at)
	if err != nil {
		return 0, fmt.Errorf("nodepool %q: %w", b.pool, err)
	}
	return n, nil
}

// Changes implements rules.
func (b budgets) Changes(after time.Duration) time.Duration {
	at := budget.Changes(b.of, b.from.Add(after))
	if at.IsZero() {
		return 0
	}
	return at.Sub(b.from)
}

// text says what the budgets allow for drift now, and from when on that is something else.
func (b budgets) text() string {
	n, err := b.allowed(b.from)
	if err != nil {
		return "nothing may go: " + err.Error()
	}
	text := b.words(n)
	for at := budget.Changes(b.of, b.from); !at.IsZero() && at.Sub(b.from) <= horizon; at = budget.Changes(b.of, at) {
		if then, err := b.allowed(at); err == nil && then != n {
			return text + fmt.Sprintf(", until a schedule changes that at %s; then %s", at.UTC().Format("2006-01-02 15:04 MST"), b.words(then))
		}
	}
	return text
}

// words say how many nodes may go at a time.
func (b budgets) words(n int) string {
	switch {
	case n == math.MaxInt:
		return "no budget bounds how many go at a time"
	case n == 0 && b.nodes > 0:
		return fmt.Sprintf("frozen by a budget of 0 nodes: none of %d may go", b.nodes)
	}
	return fmt.Sprintf("%d of %d may go at a time", n, b.nodes)
}

// takeTurns follows the budgets of the pools, and sums the bill up.
func (l *look) takeTurns(moves []disrupt.Move) {
	units := map[string]*cluster.Node{}
	for _, n := range l.now.snapshot.Nodes {
		units[n.Name] = n
	}
	launched, position := map[string]catalog.MicroUSD{}, map[string]int{}
	for _, m := range moves {
		price := catalog.MicroUSD(0)
		for i := range m.NewNodes {
			price += m.NewNodes[i].Price
		}
		for _, name := range m.Nodes {
			position[name] = len(position) + 1
			launched[name] = price / catalog.MicroUSD(len(m.Nodes))
		}
	}
	bill := &l.report.Bill
	byPool := map[string][]*Node{}
	for i := range l.report.Nodes {
		n := &l.report.Nodes[i]
		byPool[n.Pool] = append(byPool[n.Pool], n)
		if n.Going {
			bill.Going++
			continue
		}
		bill.Now += n.Price
		if n.Price == 0 && n.CapacityType != catalog.Reserved {
			bill.Unknown++
		}
	}
	bill.After = bill.Now
	var all []turn
	for name, nodes := range byPool {
		pool := l.then.pools[name]
		if pool == nil {
			continue
		}
		p := l.note(name)
		launch, from := l.launchTime(name)
		p.Launch, p.LaunchFrom, p.InstanceEnd = seconds(launch), from, seconds(instanceEnd)
		var jobs []job
		var busy []time.Duration
		for _, n := range nodes {
			if unit := units[n.Name]; unit != nil && budget.Counts(unit) {
				p.Nodes++
				switch {
				case unit.Deleting:
					busy = append(busy, l.drain(n)+instanceEnd)
				case unit.Leaving:
					busy = append(busy, max(launch, controller.Settle)+l.drain(n)+instanceEnd)
				case !unit.Ready:
					busy = append(busy, launch)
				}
			}
			switch {
			case !n.Rolls:
				continue
			case len(n.Blocks) > 0:
				p.Roll++
				p.Blocked++
				continue
			}
			p.Roll++
			drain := l.drain(n)
			p.Drain = max(p.Drain, seconds(drain))
			j := job{node: n.Name, runs: max(launch, controller.Settle) + drain, ends: instanceEnd, extra: launched[n.Name]}
			if pool.IsStatic() {
				j.extra = n.Price // one for one
			} else if j.extra == 0 {
				j.runs = controller.Settle + drain
			}
			jobs = append(jobs, j)
		}
		slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Compare(position[a.node], position[b.node]) })
		b := budgets{intake.Budgets(pool), name, p.Nodes, l.Now}
		p.Budget = b.text()
		turns, rest := schedule(jobs, busy, b)
		p.Never = len(rest)
		for _, t := range turns {
			p.Takes = max(p.Takes, seconds(t.end))
			i := slices.IndexFunc(nodes, func(n *Node) bool { return n.Name == t.node })
			nodes[i].Turn = &Turn{Start: seconds(t.start), End: seconds(t.end)}
			if !pool.IsStatic() {
				bill.After += t.extra - nodes[i].Price
			}
		}
		for _, j := range rest {
			i := slices.IndexFunc(nodes, func(n *Node) bool { return n.Name == j.node })
			nodes[i].Blocks = append(nodes[i].Blocks, fmt.Sprintf("the disruption budgets of its pool give it no turn within %d days", int(horizon.Hours()/24)))
		}
		all = append(all, turns...)
	}
	bill.Surge, bill.Extra = surge(all)
}

func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// launchTime is how long nodes took from the NodeClaim until they were ready: the median of the pool's, or of all pools'.
func (l *look) launchTime(pool string) (time.Duration, string) {
	var own, any []time.Duration
	for _, c := range l.seen.claims {
		ready := c.StatusConditions().Get(karpv1.ConditionTypeInitialized)
		took := time.Duration(0)
		if ready.IsTrue() {
			took = ready.LastTransitionTime.Sub(c.CreationTimestamp.Time)
		}
		if took <= 0 {
			continue
		}
		any = append(any, took)
		if c.Labels[karpv1.NodePoolLabelKey] == pool {
			own = append(own, took)
		}
	}
	switch {
	case len(own) > 0:
		return median(own), fmt.Sprintf("measured on %d of its nodes", len(own))
	case len(any) > 0:
		return median(any), fmt.Sprintf("measured on %d nodes of other pools", len(any))
	}
	return assumedLaunch, "assumed: no node tells"
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// drain is how long the pods of a node may take to end: the longest of their grace periods, within that of the node and the horizon.
func (l *look) drain(n *Node) time.Duration {
	longest := time.Duration(0)
	for _, unit := range l.now.snapshot.Nodes {
		if unit.Name != n.Name {
			continue
		}
		moving := map[string]bool{}
		for _, p := range unit.Pods {
			if !p.Daemon && !p.Mirror && !p.Terminating {
				moving[p.UID] = true
			}
		}
		for _, p := range l.seen.pods[n.Name] {
			if s := p.Spec.TerminationGracePeriodSeconds; s != nil && moving[string(p.UID)] {
				longest = max(longest, time.Duration(min(*s, int64(horizon/time.Second)))*time.Second)
			}
		}
	}
	for _, c := range l.seen.claims {
		if c.Name == n.Claim && c.Spec.TerminationGracePeriod != nil {
			longest = min(longest, c.Spec.TerminationGracePeriod.Duration)
		}
	}
	return longest
}
