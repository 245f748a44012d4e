package offering

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// UnavailableCount counts what is unavailable for the same reason.
type UnavailableCount struct {
	// Scope is what is closed: pool, policy for a pool that one forbids, quota, subnet, capacity-type, class, placement-group or zone.
	// CapacityType is empty for the last three and for a subnet.
	Scope, CapacityType, Reason string
	Count                       int
	// Opens is when the first of them may be asked for again.
	Opens time.Time
	// Quotas are those that are used up, sorted by name, where the reason is NoQuota.
	Quotas []Quota
	// Policy says which policy forbids pools, and InstanceTypes are their types, sorted; where the scope is policy.
	Policy        string
	InstanceTypes []string
}

// Counts are how much is closed, by scope, capacity type and reason.
func (s *Snapshot) Counts() []UnavailableCount {
	type kind struct{ scope, capacityType, reason string }
	count := map[kind]*UnavailableCount{}
	add := func(n int, scope, capacityType string, c unavailability) *UnavailableCount {
		k := kind{scope, capacityType, c.reason}
		of := count[k]
		if of == nil {
			of = &UnavailableCount{Scope: scope, CapacityType: capacityType, Reason: c.reason, Opens: c.until}
			count[k] = of
		}
		of.Count += n
		if c.until.Before(of.Opens) {
			of.Opens = c.until
		}
		if c.quota.Name != "" {
			of.Quotas = append(of.Quotas, c.quota)
		}
		return of
	}
	for p, c := range s.pools {
		if c.reason != Forbidden {
			add(1, "pool", p.CapacityType, c)
			continue
		}
		of := add(1, "policy", p.CapacityType, c)
		of.InstanceTypes = append(of.InstanceTypes, p.InstanceType)
		if of.Policy == "" || c.policy < of.Policy { // one, and the same each time
			of.Policy = c.policy
		}
	}
	for q, c := range s.quotas {
		add(1, "quota", q.capacityType, c)
	}
	seen := map[string]bool{}
	for key, c := range s.subnets {
		one := 1
		if seen[key.id] {
			one = 0 // one subnet, whatever it can't give
		}
		seen[key.id] = true
		add(one, "subnet", "", c)
	}
	for t, c := range s.capacityTypes {
		add(1, "capacity-type", t, c)
	}
	for _, c := range s.classes {
		add(1, "class", "", c)
	}
	for _, c := range s.groups {
		add(1, "placement-group", "", c)
	}
	for _, c := range s.zones {
		add(1, "zone", "", c)
	}
	out := make([]UnavailableCount, 0, len(count))
	for _, c := range count {
		slices.SortFunc(c.Quotas, func(a, b Quota) int { return cmp.Compare(a.Name, b.Name) })
		slices.Sort(c.InstanceTypes)
		c.InstanceTypes = slices.Compact(c.InstanceTypes)
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b UnavailableCount) int {
		return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.CapacityType, b.CapacityType), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}

// Watch calls f whenever something has closed or opened, until ctx ends. opened tells that something can be asked for
// that could not before, which whoever waits for capacity wants to know at once.
func (u *Unavailable) Watch(ctx context.Context, f func(s *Snapshot, opened bool)) {
	last := u.Snapshot()
	for {
		u.mu.Lock()
		changed := u.changed
		u.mu.Unlock()
		now := u.Snapshot()
		if now.Generation != last.Generation {
			f(now, opened(last, now))
			last = now
			continue
		}
		if !sleep(ctx, now.Opens().Sub(u.now()), !now.Opens().IsZero(), changed) {
			return
		}
	}
}

// sleep waits for a change and, if limited, at most for d; false when ctx is done.
func sleep(ctx context.Context, d time.Duration, limited bool, changed <-chan struct{}) bool {
	var over <-chan time.Time
	if limited {
		t := time.NewTimer(max(d, time.Millisecond))
		defer t.Stop()
		over = t.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-changed:
	case <-over:
	}
	return true
}

// opened reports whether something that was closed in one snapshot is not in the next.
func opened(last, now *Snapshot) bool {
	for p := range last.retried {
		if _, closed := now.pools[p]; !closed && !now.retried[p] {
			return true // it has sold: others may follow
		}
	}
	return missing(last.pools, now.pools) || missing(last.quotas, now.quotas) || missing(last.subnets, now.subnets) ||
		missing(last.capacityTypes, now.capacityTypes) || missing(last.classes, now.classes) ||
		missing(last.zones, now.zones) || missing(last.groups, now.groups)
}

func missing[K comparable](from, in map[K]unavailability) bool {
	for k := range from {
		if _, ok := in[k]; !ok {
			return true
		}
	}
	return false
}
