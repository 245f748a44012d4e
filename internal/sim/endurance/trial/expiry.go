package trial

import (
	"fmt"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/endurance/invariant"
)

// movement is what was last seen of an object, and when that was news.
type movement struct {
	state any // nil: it is gone
	at    time.Time
}

// ageing follows claims, for clusters that never rest because their instances live too short: with ten of them that live for
// twenty minutes there is one always that comes or goes.
type ageing map[string]*ageingClaim // by uid

type ageingClaim struct {
	instance string
	created  time.Time
	expires  bool
	// ending: it is to go, or gone; early: before its age.
	ending, early bool
}

func (a ageing) see(c *invariant.Claim, gone bool, now time.Time) {
	of := a[c.UID]
	if of == nil {
		of = &ageingClaim{created: c.Created, expires: c.ExpireAfter > 0}
		a[c.UID] = of
	}
	if c.Instance != "" {
		of.instance = c.Instance
	}
	if (c.Deleting || gone) && !of.ending {
		of.ending, of.early = true, !c.OfAge(now)
	}
}

// excuses reports whether a claim's age explains that something of it has moved: it has just come, in the place of another,
// or it goes, not before its time.
func (a ageing) excuses(c *ageingClaim, now time.Time, quiet time.Duration) bool {
	return c != nil && c.expires && !c.early && (c.ending || now.Sub(c.created) < 2*quiet)
}

// unexcused is one of the objects that have moved in the last time though no instance's age explains it; "" if there is none.
// Pods are where their instances let them be.
func (t *trial) unexcused(now time.Time) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	byInstance := map[string]*ageingClaim{}
	for _, c := range t.ageing {
		if c.instance != "" {
			byInstance[c.instance] = c
		}
	}
	for key, m := range t.states {
		if now.Sub(m.at) >= t.pace.Quiet {
			continue
		}
		var of *ageingClaim
		switch s := m.state.(type) {
		case nil, invariant.Pod:
			continue // claims that have ended are remembered below
		case invariant.Claim:
			of = t.ageing[s.UID]
		case invariant.Node:
			of = byInstance[s.Instance]
		case invariant.Instance:
			of = byInstance[s.ID]
		}
		if !t.ageing.excuses(of, now, t.pace.Quiet) {
			return fmt.Sprintf("%s moves, which no instance's age explains", key)
		}
	}
	for uid, c := range t.ageing {
		if c.early && now.Sub(t.states["claim "+uid].at) < t.pace.Quiet {
			return fmt.Sprintf("claim %s has ended before its time", uid)
		}
	}
	return ""
}
