package invariant

import (
	"maps"
	"slices"
	"time"
)

type instanceState struct {
	Instance
	claimed   bool // some nodeclaim has had it
	reclaimed bool // AWS or a person ends it
	lostAt    time.Time
	unclaimed waiting
}

func (i *instanceState) live() bool { return i.State == "pending" || i.State == "running" }

func (j *Judge) instance(id string) *instanceState {
	i := j.instances[id]
	if i == nil {
		i = &instanceState{Instance: Instance{ID: id}}
		j.instances[id] = i
	}
	return i
}

func (j *Judge) seeInstance(seen *Instance, gone bool) {
	i := j.instance(seen.ID)
	if i.State == "" {
		j.figures.Instances++
	}
	tag := i.Claim
	i.Instance = *seen
	if gone {
		i.State = "terminated"
	}
	if seen.Claim == "" {
		i.Claim = tag
		return
	}
	i.claimed = true
	for _, id := range slices.Sorted(maps.Keys(j.instances)) {
		if o := j.instances[id]; o != i && o.Claim == i.Claim {
			j.broken(Twice, "claim "+i.Claim, nil, "instances %s and %s are both tagged with nodeclaim %s", o.ID, i.ID, i.Claim)
		}
	}
}

// waitForClaim judges how long an instance has been without a claim.
func (j *Judge) waitForClaim(i *instanceState) {
	if d := i.unclaimed.is(i.live() && !j.standsFor(i), j.quiet.total); d > j.o.Grace {
		j.broken(Leaked, i.ID, nil, "instance %s (%s) has been without a nodeclaim for %s", i.ID, i.State, d.Round(time.Second))
	}
}

// standsFor reports whether a claim has the instance, or may be about to have it.
func (j *Judge) standsFor(i *instanceState) bool {
	for _, c := range j.claims {
		if !c.gone && (c.Instance == i.ID || c.Instance == "" && i.Claim == c.Name) {
			return true
		}
	}
	return false
}

type claimState struct {
	Claim
	gone bool
	// asked: the controller has asked for its deletion; removed: a person has.
	asked, removed bool
	removedAt      time.Time
	// goesSince is when it was first seen to go.
	goesSince    time.Time
	everLaunched bool
}

// going reports whether the claim's node is on its way out.
func (c *claimState) going() bool { return c.Deleting || c.asked || c.removed }

func (j *Judge) seeClaim(seen *Claim, gone bool) {
	c := j.claims[seen.Name]
	if c == nil || c.UID != seen.UID {
		c = &claimState{}
		j.claims[seen.Name] = c
		j.figures.Claims++
	}
	if c.Instance != "" && seen.Instance != "" && c.Instance != seen.Instance {
		j.broken(Twice, "claim "+seen.Name, nil, "nodeclaim %s had instance %s and now has %s", seen.Name, c.Instance, seen.Instance)
	}
	c.Claim, c.gone = *seen, gone
	if c.going() && c.goesSince.IsZero() {
		c.goesSince = j.now
	}
	if seen.Instance != "" {
		c.everLaunched = true
		j.instance(seen.Instance).claimed = true
		for _, name := range slices.Sorted(maps.Keys(j.claims)) {
			if o := j.claims[name]; o != c && o.Instance == c.Instance {
				j.broken(Twice, "claim "+c.Name, nil, "nodeclaims %s and %s both have instance %s", o.Name, c.Name, c.Instance)
			}
		}
	}
	j.measure(seen.Pool)
}

// removed notes that a person has deleted a claim or a node.
func (j *Judge) removed(name string) {
	if c := j.claims[name]; c != nil {
		c.removed, c.removedAt = true, j.now
	}
	if n := j.nodes[name]; n != nil {
		if c := j.claimOf(n.Instance); c != nil {
			c.removed, c.removedAt = true, j.now
		}
	}
}

func (j *Judge) claimOf(instance string) *claimState {
	if instance == "" {
		return nil
	}
	for _, c := range j.claims {
		if c.Instance == instance && !c.gone {
			return c
		}
	}
	return nil
}

func (j *Judge) nodeOf(instance string) *nodeState {
	if instance == "" {
		return nil
	}
	for _, n := range j.nodes {
		if n.Instance == instance {
			return n
		}
	}
	return nil
}

// early is the part of its life, one in so many, by which an expiring node may go ahead of its time.
const early = 10

// OfAge reports whether a claim goes at a time because of its age, which one of many that come of age together may do ahead
// of it.
func (c *Claim) OfAge(at time.Time) bool {
	return c.ExpireAfter > 0 && at.Sub(c.Created) >= c.ExpireAfter-c.ExpireAfter/early-slack
}

// voluntary reports whether nobody but the controller wants the claim's instance gone.
func (j *Judge) voluntary(c *claimState) bool {
	if !c.Registered || c.Interrupted || c.removed || (!c.Deadline.IsZero() && !c.going()) {
		return false
	}
	if c.OfAge(j.now) {
		return false
	}
	if i := j.instances[c.Instance]; i == nil || i.reclaimed || !i.live() {
		return false
	}
	if n := j.nodeOf(c.Instance); n == nil || !n.Ready || n.Deleting {
		return false
	}
	p := j.pools[c.Pool]
	return p != nil && !p.Deleting && !p.Replicas
}
