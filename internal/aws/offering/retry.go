package offering

import (
	"slices"
	"time"
)

// retryAfter is how long after a launch was refused its pools are asked for again while pods wait for them: capacity that is
// back is used within half a minute. Each retry is one CreateFleet. An account may call it twice a second; where the pods of many
// NodePools wait, the retries of each are as much rarer (retriesAtOnce), so that together they take a quarter of that.
const (
	retryAfter    = 20 * time.Second
	retriesAtOnce = 10
)

// refusal is the last launch for a NodePool that brought nothing: when that was, and what was asked for.
type refusal struct {
	at    time.Time
	pools []Pool
}

// Refused notes the pools in which the last launch for a NodePool found no capacity.
func (u *Unavailable) Refused(nodePool string, pools []Pool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.refused == nil {
		u.refused = map[string]refusal{}
	}
	now := u.now()
	for name, r := range u.refused {
		if now.Sub(r.at) >= lastWait {
			delete(u.refused, name)
		}
	}
	u.refused[nodePool] = refusal{at: now, pools: slices.Clone(pools)}
}

// Retry tells that pods wait for capacity of a NodePool: the pools that were asked for last are asked for again soon, and not
// only when their time is over. It may be called as often as one likes; the time is cut short once.
func (u *Unavailable) Retry(nodePool string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now, r := u.now(), u.refused[nodePool]
	for p, c := range u.pools {
		if c.reason == NoCapacity && now.Before(c.until) && !c.retried {
			c.retried = true
			u.pools[p] = c
		}
	}
	at := r.at.Add(retryAfter * time.Duration(1+len(u.refused)/retriesAtOnce))
	changed := false
	for _, p := range r.pools {
		if c, ok := u.pools[p]; ok && c.retried && now.Before(c.until) && at.Before(c.until) {
			c.until, c.early, changed = at, true, true
			u.pools[p] = c
		}
	}
	if changed {
		u.publish(now)
	}
}

// back forgives all pools that are open to be asked for again, as one of them has sold. Callers hold mu.
func (u *Unavailable) back(now time.Time) {
	for p, c := range u.pools {
		if c.retried && !now.Before(c.until) {
			delete(u.pools, p)
		}
	}
	u.publish(now)
}

// retried are the pools that are open only to be asked for again.
func retried(in map[Pool]unavailability, now time.Time) map[Pool]bool {
	out := map[Pool]bool{}
	for p, c := range in {
		if c.retried && !now.Before(c.until) {
			out[p] = true
		}
	}
	return out
}

// ShortLately reports whether something of a capacity type was found short within so long.
func (u *Unavailable) ShortLately(capacityType string, within time.Duration) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	at, ok := u.shortAt[capacityType]
	return ok && u.now().Sub(at) < within
}
