package offering

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// UnavailableCount counts what is unavailable for the same reason.
type UnavailableCount struct {
	// Scope is what is closed: pool, quota, subnet, capacity-type, class, placement-group or zone. CapacityType is empty for the last
	// three and for a subnet.
	Scope, CapacityType, Reason string
	Count                       int
}

// Counts are how much is closed, by scope, capacity type and reason.
func (s *Snapshot) Counts() []UnavailableCount {
	count := map[UnavailableCount]int{}
	for p, c := range s.pools {
		count[UnavailableCount{Scope: "pool", CapacityType: p.CapacityType, Reason: c.reason}]++
	}
	for q, c := range s.quotas {
		count[UnavailableCount{Scope: "quota", CapacityType: q.capacityType, Reason: c.reason}]++
	}
	seen := map[string]bool{}
	for key, c := range s.subnets {
		if !seen[key.id] { // one subnet, whatever it can't give
			count[UnavailableCount{Scope: "subnet", Reason: c.reason}]++
		}
		seen[key.id] = true
	}
	for t, c := range s.capacityTypes {
		count[UnavailableCount{Scope: "capacity-type", CapacityType: t, Reason: c.reason}]++
	}
	for _, c := range s.classes {
		count[UnavailableCount{Scope: "class", Reason: c.reason}]++
	}
	for _, c := range s.groups {
		count[UnavailableCount{Scope: "placement-group", Reason: c.reason}]++
	}
	for _, c := range s.zones {
		count[UnavailableCount{Scope: "zone", Reason: c.reason}]++
	}
	out := make([]UnavailableCount, 0, len(count))
	for c, n := range count {
		c.Count = n
		out = append(out, c)
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
