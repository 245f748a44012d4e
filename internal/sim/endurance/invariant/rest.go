package invariant

import (
	"maps"
	"slices"
)

// rest judges what is there when nothing moves any more.
func (j *Judge) rest() {
	for _, name := range slices.Sorted(maps.Keys(j.nodes)) {
		j.nodeAtRest(j.nodes[name])
	}
	unlaunched := 0
	for _, name := range slices.Sorted(maps.Keys(j.claims)) {
		c := j.claims[name]
		if c.gone {
			if !c.everLaunched {
				unlaunched++
			}
			continue
		}
		j.claimAtRest(c)
	}
	orphans := []string{}
	for _, id := range slices.Sorted(maps.Keys(j.instances)) {
		i := j.instances[id]
		if i.State != "" && !i.claimed {
			orphans = append(orphans, id)
		}
		if i.live() && !j.standsFor(i) {
			j.broken(Leaked, i.ID, nil, "instance %s (%s) has no nodeclaim at rest", i.ID, i.State)
		}
	}
	if len(orphans) > unlaunched {
		j.broken(Twice, "orphans", nil, "%d instances (%v) were launched for no nodeclaim, and only %d nodeclaims ended without an instance", len(orphans), orphans, unlaunched)
	}
	for _, uid := range slices.Sorted(maps.Keys(j.pods)) {
		if p := j.pods[uid]; p.Fits && p.Node == "" && p.Phase == "Pending" && !p.Deleting {
			j.broken(Unserved, p.UID, nil, "pod %s has no node at rest", p.Key)
		}
	}
}

func (j *Judge) nodeAtRest(n *nodeState) {
	c := j.claimOf(n.Instance)
	switch {
	case n.Mark != "" && (c == nil || !c.going()):
		j.broken(LeftBehind, n.UID+"mark", nil, "node %s still has the mark %q and nothing takes it away", n.Name, n.Mark)
	case n.Disrupted && !n.Deleting && (c == nil || !c.going()):
		j.broken(LeftBehind, n.UID+"taint", nil, "node %s still has the disrupted taint and nothing takes it away", n.Name)
	}
	i := j.instances[n.Instance]
	switch {
	case n.Finalizers > 0 && c == nil:
		j.broken(LeftBehind, n.UID+"finalizer", nil, "node %s has a finalizer and no nodeclaim", n.Name)
	case i != nil && !i.live():
		j.broken(LeftBehind, n.UID+"instance", nil, "node %s is there although its instance %s is %s", n.Name, i.ID, i.State)
	case n.Deleting && len(j.on(n.Name)) == 0:
		j.broken(LeftBehind, n.UID+"deleting", nil, "node %s is being deleted, holds no pods, and is still there", n.Name)
	}
}

func (j *Judge) claimAtRest(c *claimState) {
	i := j.instances[c.Instance]
	n := j.nodeOf(c.Instance)
	switch {
	case c.Instance == "":
		j.broken(LeftBehind, c.UID, nil, "nodeclaim %s has no instance at rest", c.Name)
	case i != nil && !i.live():
		j.broken(LeftBehind, c.UID, nil, "nodeclaim %s is there although its instance %s is %s", c.Name, i.ID, i.State)
	case !c.Registered || n == nil:
		j.broken(LeftBehind, c.UID, nil, "nodeclaim %s has no node at rest", c.Name)
	case c.Deleting && len(j.on(n.Name)) == 0:
		j.broken(LeftBehind, c.UID, nil, "nodeclaim %s is being deleted, its node holds no pods, and it is still there", c.Name)
	case c.Reason != "" && !c.going():
		j.broken(LeftBehind, c.UID, nil, "nodeclaim %s still says that it is disrupted (%s) and nothing takes it away", c.Name, c.Reason)
	}
}
