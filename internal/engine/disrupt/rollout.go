package disrupt

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
)

// Replace finds for nodes that have to go where their pods go: to nodes that stay, or to new ones at whatever they cost. due
// names the nodes in the order of their urgency; names that are not nodes of the problem are passed over. What forbids it
// is in the problem: the blocks of the nodes, and how many of a pool may go for the cause.
//
// Nodes that hold nothing go first. The rest has its turn pool by pool, so that one pool with much to do does not take all
// room, and each node by itself; nodes of a pool go together only where that makes new nodes cheaper. A node whose pods
// have no place stays with its reason, and holds up no other. Pods are not moved to nodes that are due themselves, unless
// there is no other way.
//
// Decision.Kept speaks of nodes that are due, and of no others. Virtual pods do not hold their nodes: the room for them is
// launched anew once their node goes.
//
// Cost: the compilation of the cluster, and three questions for each node that is due.
// Concurrency: safe; p is only read.
func Replace(p *Problem, cause Cause, due []string) *Decision {
	if p == nil || p.Cluster == nil {
		return &Decision{}
	}
	q := withoutVirtual(p)
	s := newSearch(q, pack.NewWhatIf(q.Cluster))
	s.stats.Candidates = 0
	r := &rollout{search: s, cause: cause}
	r.queue(due)
	r.setTargets(func(n *nodeState) bool { return n.due && len(n.blocks) == 0 })
	for _, n := range r.due {
		if n.empty {
			r.removeAlone(n)
		}
	}
	r.takeTurns()
	r.together()
	return s.decision(r.due)
}

// rollout is the search for places of the pods of nodes that have to go.
type rollout struct {
	*search
	cause Cause
	due   []*nodeState // in order
}

const (
	// rollTogether is how many nodes may go by one move: the first of them waits until the new nodes for the last are up.
	rollTogether = 8
	// rollGain is how much cheaper new nodes for several nodes together must be for that, in percent.
	rollGain = 2
)

// withoutVirtual is the problem without virtual pods.
func withoutVirtual(p *Problem) *Problem {
	q, c := *p, *p.Cluster
	c.Pending = slices.DeleteFunc(slices.Clone(c.Pending), func(pod *cluster.Pod) bool { return pod.Class != nil && pod.Class.Virtual })
	q.Cluster = &c
	return &q
}

// queue finds the nodes that are due. What a pool's policy says of consolidation does not hold for them.
func (r *rollout) queue(due []string) {
	for _, name := range due {
		n := r.named[name]
		if n == nil || n.due {
			continue
		}
		n.due = true
		r.due = append(r.due, n)
		n.blocks = slices.DeleteFunc(n.blocks, func(b Reason) bool { return b.Code == PolicyForbids })
		if len(n.blocks) == 0 {
			r.stats.Candidates++
		}
	}
}

// find asks where the pods of the nodes would go.
func (r *rollout) find(nodes ...*nodeState) pack.Answer {
	r.stats.Questions++
	rules := pack.Rules{Launch: true, Anyhow: true}
	if len(nodes) > 1 {
		rules.Work = int64(len(nodes)) * workPerNode
	}
	return r.answer(nodes, rules)
}

// mayBeReplaced reports whether the node may go now; if its pool's budget is what forbids it, that is noted.
func (r *rollout) mayBeReplaced(n *nodeState) bool {
	if !n.candidate() || r.ended() {
		return false
	}
	if !r.allowed([]*nodeState{n}, r.cause) {
		n.reason = Reason{Code: BudgetUsed}
		return false
	}
	return true
}

// takeTurns goes through the pools in turn, as many nodes of each at a time as may go together.
func (r *rollout) takeTurns() {
	var lines [][]*nodeState // of the pools
	for _, n := range r.due {
		if n.empty || len(n.blocks) > 0 {
			continue
		}
		i := slices.IndexFunc(lines, func(line []*nodeState) bool { return line[0].pool == n.pool })
		if i < 0 {
			i, lines = len(lines), append(lines, nil)
		}
		lines[i] = append(lines[i], n)
	}
	for len(lines) > 0 {
		for i, line := range lines {
			lines[i] = r.turn(line)
		}
		lines = slices.DeleteFunc(lines, func(line []*nodeState) bool { return len(line) == 0 })
	}
}

// turn lets the first of the line go and returns the rest of it.
func (r *rollout) turn(line []*nodeState) (rest []*nodeState) {
	most := rollTogether
	if left, limited := line[0].pool.Allowed[r.cause]; limited {
		most = min(most, max(1, left))
	}
	set := line[:min(most, len(line))]
	var launching []*nodeState
	alone, instances := catalog.MicroUSD(0), 0
	for _, n := range set {
		if !r.mayBeReplaced(n) {
			continue
		}
		switch a := r.find(n); {
		case a.Refusal != pack.Fine:
			n.reason = r.reasonOf([]*nodeState{n}, a)
		case a.NewNodes == 0:
			r.keep([]*nodeState{n}, r.cause)
		default:
			launching, alone, instances = append(launching, n), alone+a.Price, instances+a.NewNodes
		}
	}
	if instances > 1 && len(launching) > 1 && r.allowed(launching, r.cause) {
		if a := r.find(launching...); a.Refusal == pack.Fine && a.Price*100 < alone*(100-rollGain) {
			r.keep(launching, r.cause)
			return line[len(set):]
		}
	}
	for _, n := range launching {
		r.removeAlone(n)
	}
	return line[len(set):]
}

// removeAlone lets the node go if its pods have a place.
func (r *rollout) removeAlone(n *nodeState) {
	if !r.mayBeReplaced(n) {
		return
	}
	a := r.find(n)
	n.reason = r.reasonOf([]*nodeState{n}, a)
	if a.Refusal == pack.Fine {
		r.keep([]*nodeState{n}, r.cause)
	}
}

// together tries the nodes again whose pods have no place, with those that are due themselves taking pods: moving twice is
// better than never.
func (r *rollout) together() {
	stuck := slices.DeleteFunc(slices.Clone(r.due), func(n *nodeState) bool {
		return !n.candidate() || n.reason.Code != PodHasNoPlace && n.reason.Code != NoAddresses
	})
	if len(stuck) == 0 {
		return
	}
	r.setTargets(func(*nodeState) bool { return false })
	for _, n := range stuck {
		r.removeAlone(n)
	}
}
