package invariant

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

type nodeState struct {
	Node
	heldAt, unreadyAt time.Time
	markedAt          time.Time
	unmarked          waiting // since when it has the taint and no mark
}

// markTime is how long a node may bear the disrupted taint without a mark: both come and go with one write.
const markTime = time.Minute

// waitForMark judges how long a node has been kept from pods though nothing takes it away.
func (j *Judge) waitForMark(n *nodeState) {
	c := j.claimOf(n.Instance)
	if d := n.unmarked.is(n.Disrupted && n.Mark == "" && !n.Deleting && c != nil && !c.going(), j.quiet.total); d > markTime {
		j.broken(LeftBehind, n.UID+"taint", nil, "node %s has had the disrupted taint without a mark for %s", n.Name, d.Round(time.Second))
	}
}

func (j *Judge) seeNode(seen *Node, gone bool) {
	n := j.nodes[seen.Name]
	if gone {
		if n != nil && n.UID == seen.UID {
			delete(j.nodes, seen.Name)
		}
		j.measure(seen.Pool)
		return
	}
	if n == nil || n.UID != seen.UID {
		n = &nodeState{}
		j.nodes[seen.Name] = n
	}
	was := n.Node
	switch {
	case !seen.Held:
		n.heldAt = time.Time{}
	case n.heldAt.IsZero():
		n.heldAt = j.now
	}
	switch {
	case seen.Ready:
		n.unreadyAt = time.Time{}
	case n.unreadyAt.IsZero():
		n.unreadyAt = j.now
	}
	n.Node = *seen
	if was.Mark == "" && seen.Mark != "" {
		n.markedAt = j.now
		j.marked(n)
	}
	for _, taint := range was.Persons {
		if was.UID == seen.UID && !seen.Deleting && !slices.Contains(seen.Persons, taint) {
			j.broken(PersonsTaint, seen.UID+taint, nil, "node %s has lost the taint %s that a person had put there", seen.Name, taint)
		}
	}
	j.measure(seen.Pool)
}

// marked judges the moment in which the controller begins to take a node away.
func (j *Judge) marked(n *nodeState) {
	c := j.claimOf(n.Instance)
	if c == nil || !j.voluntary(c) {
		return
	}
	j.unasked(n, c, nil)
}

// unasked judges whether somebody has forbidden that a node goes. Drift may wait for its pods to be driven out by the
// grace period.
func (j *Judge) unasked(n *nodeState, c *claimState, call *Call) {
	if n.Held && j.known(n.heldAt) || c.Held && j.known(c.Created) {
		j.broken(Unasked, n.UID, call, "node %s is taken away although it must not be disrupted", n.Name)
		return
	}
	if c.Grace > 0 && (strings.EqualFold(n.Mark, "drifted") || strings.EqualFold(c.Reason, "drifted")) {
		return
	}
	for _, p := range j.on(n.Name) {
		if !j.known(p.boundAt) || p.Deleting {
			continue
		}
		if j.held(p) {
			j.broken(Unasked, n.UID, call, "node %s is taken away (%s) although pod %s on it must not be disrupted", n.Name, n.Mark, p.Key)
		}
		for _, key := range p.Guards {
			if g := j.guards[key]; g != nil && g.Allowed == 0 && j.known(g.noneAt) {
				j.broken(Unasked, n.UID, call, "node %s is taken away (%s) although disruption budget %s has let no pod go since %s, pod %s on it neither",
					n.Name, n.Mark, key, g.noneAt.UTC().Format(time.TimeOnly), p.Key)
			}
		}
	}
}

type guardState struct {
	Guard
	noneAt time.Time // since when it lets no pod go
}

func (j *Judge) seeGuard(seen *Guard, gone bool) {
	if gone {
		delete(j.guards, seen.Key)
		return
	}
	g := j.guards[seen.Key]
	if g == nil {
		g = &guardState{}
		j.guards[seen.Key] = g
	}
	g.Guard = *seen
	switch {
	case seen.Allowed > 0:
		g.noneAt = time.Time{}
	case g.noneAt.IsZero():
		g.noneAt = j.now
	}
}

func (j *Judge) seePool(seen *Pool, gone bool) {
	if gone {
		delete(j.pools, seen.Name)
		return
	}
	pool := *seen
	j.pools[seen.Name] = &pool
}

// size is how many nodes a pool had at a time.
type size struct {
	at    time.Time
	nodes int
}

// lately is for how long a decision may go by a former size of the pool.
const lately = 30 * time.Second

// measure notes how many nodes a pool has.
func (j *Judge) measure(pool string) {
	n := 0
	for _, c := range j.claims {
		if c.Pool == pool && !c.gone && c.Registered {
			n++
		}
	}
	list := slices.DeleteFunc(j.sizes[pool], func(s size) bool { return j.now.Sub(s.at) > lately })
	// What was so before the oldest entry still counts until that is old.
	j.sizes[pool] = append(list, size{at: j.now, nodes: n})
}

// claimDeleted judges the deletion of a claim by the controller. What the deletion does may be seen before the call is.
func (j *Judge) claimDeleted(call *Call) {
	c := j.claims[call.Key]
	if c == nil || c.gone || c.asked || c.removed || c.Deleting && j.known(c.goesSince) {
		return
	}
	voluntary := j.voluntary(c)
	c.asked = true
	if !voluntary {
		return
	}
	j.figures.Voluntary++
	n := j.nodeOf(c.Instance)
	if n.Mark == "" {
		j.unasked(n, c, call)
	}
	j.withinBudget(c, n, call)
}

// cameOfAge reports whether a claim has begun to go since a time because of its age, whatever budgets say.
func (c *claimState) cameOfAge(since time.Time) bool {
	return c.going() && !c.goesSince.Before(since) && c.OfAge(c.goesSince)
}

// lostSince reports whether a claim's instance has begun to go since a time for no choice of the controller's. What was begun
// within the budget then goes on.
func (j *Judge) lostSince(c *claimState, n *nodeState, since time.Time) bool {
	i := j.instances[c.Instance]
	return c.cameOfAge(since) || i != nil && i.reclaimed && !i.lostAt.Before(since) || c.removed && !c.removedAt.Before(since) || n != nil && !n.Ready && !n.unreadyAt.Before(since)
}

// withinBudget counts what is under way in the claim's pool.
func (j *Judge) withinBudget(c *claimState, n *nodeState, call *Call) {
	pool := j.pools[c.Pool]
	most := 0
	for _, s := range j.sizes[c.Pool] {
		most = max(most, s.nodes)
	}
	going, names := 0, []string{}
	for _, name := range slices.Sorted(maps.Keys(j.claims)) {
		o := j.claims[name]
		if o.Pool != c.Pool || o.gone || !o.Registered {
			continue
		}
		node := j.nodeOf(o.Instance)
		if i := j.instances[o.Instance]; node == nil && i != nil && !i.live() {
			continue // it has gone, but for the last write to its claim
		}
		if n.Mark != "" && j.lostSince(o, node, n.markedAt) {
			continue
		}
		if o.going() || node != nil && !node.Ready && j.known(node.unreadyAt) {
			going++
			names = append(names, o.Name)
		}
	}
	reason := n.Mark
	if reason == "" {
		reason = c.Reason
	}
	if allowed, text := budgetAllows(pool.Budgets, reason, most); going > allowed {
		j.broken(OverBudget, c.UID, call, "%d nodes of pool %s go at a time (%s), budget %s allows %d of %d", going, c.Pool, strings.Join(names, ", "), text, allowed, most)
	}
}

// budgetAllows is how many of a pool's nodes may go for a reason, by the tightest budget; percentages round up. Budgets for
// certain reasons count when the reason is known to be theirs.
func budgetAllows(budgets []Budget, reason string, nodes int) (least int, text string) {
	least = nodes
	for _, b := range budgets {
		if len(b.Reasons) > 0 && !slices.ContainsFunc(b.Reasons, func(r string) bool { return strings.EqualFold(r, reason) }) {
			continue
		}
		var n int
		if pct, ok := strings.CutSuffix(b.Nodes, "%"); ok {
			p, _ := strconv.Atoi(pct) // the API takes only numbers; anything else allows nothing
			n = (nodes*p + 99) / 100
		} else {
			n, _ = strconv.Atoi(b.Nodes)
		}
		if n <= least {
			least, text = n, b.Nodes
		}
	}
	return least, text
}
