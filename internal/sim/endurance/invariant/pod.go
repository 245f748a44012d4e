package invariant

import (
	"maps"
	"slices"
	"time"
)

type podState struct {
	Pod
	// boundAt is since when it has been on its node, heldAt since when it is protected; zero when not.
	boundAt, heldAt time.Time
	unserved        waiting
}

func (j *Judge) seePod(seen *Pod, gone bool) {
	if gone {
		delete(j.pods, seen.UID)
		return
	}
	p := j.pods[seen.UID]
	if p == nil {
		p = &podState{}
		j.pods[seen.UID] = p
	}
	if seen.Node != "" && p.Node != seen.Node {
		p.boundAt = j.now
	}
	switch {
	case !seen.Held:
		p.heldAt = time.Time{}
	case p.heldAt.IsZero():
		p.heldAt = j.now
	}
	p.Pod = *seen
}

// known reports whether something has been so for long enough to be heeded.
func (j *Judge) known(since time.Time) bool {
	return !since.IsZero() && j.now.Sub(since) >= j.o.Known
}

// held reports whether the pod is protected, and has been for long enough to be heeded.
func (j *Judge) held(p *podState) bool {
	return p.Held && j.known(p.heldAt) && !p.Deleting && !p.ended()
}

// waitForNode judges how long a pod that fits has waited.
func (j *Judge) waitForNode(p *podState) {
	d := p.unserved.is(p.Fits && p.Node == "" && !p.Deleting && p.Phase == "Pending", j.quiet.total)
	j.figures.LongestWait = max(j.figures.LongestWait, d)
	if d > j.o.Serve {
		j.broken(Unserved, p.UID, nil, "pod %s has waited for a node for %s", p.Key, d.Round(time.Second))
	}
}

func (j *Judge) podNamed(key string) *podState {
	for _, p := range j.pods {
		if p.Key == key {
			return p
		}
	}
	return nil
}

// on lists the pods of a node that have to leave before it goes.
func (j *Judge) on(node string) []*podState {
	var out []*podState
	for _, uid := range slices.Sorted(maps.Keys(j.pods)) {
		if p := j.pods[uid]; p.Node == node && node != "" && !p.Stays && !p.ended() {
			out = append(out, p)
		}
	}
	return out
}

// evicted judges an eviction: a protected pod is not asked to go before its node's deadline has it deleted.
func (j *Judge) evicted(c *Call) {
	j.figures.Evictions++
	if p := j.podNamed(c.Key); p != nil && j.held(p) && !j.mustEnd(p) {
		j.broken(Forced, p.UID, c, "pod %s was evicted although it must not be disrupted since %s", p.Key, p.heldAt.UTC().Format(time.TimeOnly))
	}
}

// slack is by how much clocks and whole seconds may put a deadline off.
const slack = 2 * time.Second

// mustEnd reports whether only the pod's own grace period is left before its node's deadline.
func (j *Judge) mustEnd(p *podState) bool {
	n := j.nodes[p.Node]
	if n == nil {
		return false
	}
	claim := j.claimOf(n.Instance)
	return claim != nil && !claim.Deadline.IsZero() && !j.now.Before(claim.Deadline.Add(-p.Grace).Add(-slack))
}

// deleted judges a deletion past all budgets: only a deadline of the node gives the right to it.
func (j *Judge) deleted(c *Call) {
	p := j.podNamed(c.Key)
	if p == nil || p.ended() {
		return
	}
	n := j.nodes[p.Node]
	if n == nil {
		j.broken(Forced, p.UID, c, "pod %s, which is on no node of ours, was deleted", p.Key)
		return
	}
	claim := j.claimOf(n.Instance)
	switch {
	case claim == nil || claim.Deadline.IsZero():
		j.broken(Forced, p.UID, c, "pod %s was deleted although its node %s has no deadline", p.Key, n.Name)
	case !j.mustEnd(p):
		j.broken(Forced, p.UID, c, "pod %s was deleted %s before it had to be: its node's deadline is %s, its grace %s", p.Key,
			claim.Deadline.Add(-p.Grace).Sub(j.now).Round(time.Second), claim.Deadline.UTC().Format(time.TimeOnly), p.Grace)
	}
}

// ended judges the end of an instance: its pods must have left.
func (j *Judge) ended(c *Call, id string) {
	i := j.instances[id]
	if i == nil || i.reclaimed || !i.live() {
		return
	}
	n := j.nodeOf(id)
	claim := j.claimOf(id)
	if n == nil || claim == nil || !claim.Registered || !n.Ready || claim.Interrupted || !claim.Deadline.IsZero() && !j.now.Before(claim.Deadline.Add(-slack)) {
		return
	}
	for _, p := range j.on(n.Name) {
		// A pod past its own end whose node does not let it go is not waited for.
		if j.known(p.boundAt) && !p.Deleting {
			j.broken(UnderPods, id, c, "instance %s was ended while pod %s ran on it", id, p.Key)
		}
	}
}

// Waiting names a pod that fits and still waits in time, so that it is too early to call it rest; empty if there is none.
func (j *Judge) Waiting() string {
	for _, uid := range slices.Sorted(maps.Keys(j.pods)) {
		p := j.pods[uid]
		if p.unserved.on && j.quiet.total-p.unserved.since <= j.o.Serve {
			return "pod " + p.Key + " waits for a node"
		}
	}
	return ""
}
