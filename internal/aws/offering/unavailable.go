// Package offering keeps what can't be launched at the moment, and puts together what can: types × zones × capacity types,
// with prices, and for each that must not be asked for the reason.
package offering

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/kerf-sh/kerf/internal/aws/network"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// Back-off of a pool. The first failure closes it for firstWait; each failure soon after it was opened again doubles that
// up to lastWait. A pool that has been open for as long as it was closed, and at least calm, begins from the start.
const (
	firstWait = 3 * time.Minute
	lastWait  = 24 * time.Minute
	calm      = 10 * time.Minute
)

// Reasons why an offering must not be asked for. They are a closed set; see also those of package instancetype.
const (
	NoCapacity   = "insufficient capacity"
	NoQuota      = catalog.OverQuota
	NoAddresses  = "no free addresses in the zone's subnets"
	NotPermitted = "capacity type not permitted"
	Forbidden    = catalog.Forbidden
	Reclaimed    = "capacity is being reclaimed"
	NoPrice      = catalog.WithoutPrice
	NoSubnet     = catalog.WithoutSubnet
)

// Pool is the unit in which EC2 has capacity or not.
type Pool struct {
	CapacityType string
	InstanceType string
	Zone         string
	// Group is the placement group that the instance is to stand in, empty for none, and Partition its partition: in a group
	// capacity may be lacking that there is outside of it.
	Group     string
	Partition int32
}

// quotaKey is a group of families that share a vCPU quota.
type quotaKey struct{ capacityType, group string }

// subnetKey is a demand that a subnet could not meet.
type subnetKey struct {
	id     string
	demand network.Demand
}

// unavailability says until when, why, and how often in a row something was closed. minVCPUs is of use for quotas only: smaller
// instances may still fit.
type unavailability struct {
	until    time.Time
	reason   string
	wait     time.Duration
	minVCPUs int
	// quota is what is used up, where the reason is NoQuota.
	quota Quota
	// policy says which policy it is, where the reason is Forbidden.
	policy string
	// retried is set where pods wait for what is closed, early where it was cut short for them; see Retry.
	retried, early bool
}

// Unavailable collects what failed. All methods may be called from many goroutines.
type Unavailable struct {
	now     func() time.Time
	current atomic.Pointer[Snapshot]

	mu             sync.Mutex
	changed        chan struct{} // closed and made anew with every snapshot
	pools          map[Pool]unavailability
	quotas         map[quotaKey]unavailability
	subnets        map[subnetKey]unavailability
	capacityTypes  map[string]unavailability
	classes        map[string]unavailability
	classHistories map[string]classHistory
	zones          map[string]unavailability // by id; see ShiftZones
	groups         map[groupZone]unavailability
	refused        map[string]refusal   // by NodePool; see Retry
	shortAt        map[string]time.Time // by capacity type, when a pool was last found short
}

// NewUnavailable returns an empty collection; now is the clock, nil for time.Now.
func NewUnavailable(now func() time.Time) *Unavailable {
	if now == nil {
		now = time.Now
	}
	u := &Unavailable{now: now, changed: make(chan struct{}), pools: map[Pool]unavailability{}, quotas: map[quotaKey]unavailability{}, subnets: map[subnetKey]unavailability{}, capacityTypes: map[string]unavailability{}, classes: map[string]unavailability{}, classHistories: map[string]classHistory{}, groups: map[groupZone]unavailability{}}
	u.current.Store(&Snapshot{Generation: 1})
	return u
}

// MarkPool closes a pool, for NoCapacity or Reclaimed.
func (u *Unavailable) MarkPool(p Pool, reason string) {
	if reason == NoCapacity {
		u.mu.Lock()
		if u.shortAt == nil {
			u.shortAt = map[string]time.Time{}
		}
		u.shortAt[p.CapacityType] = u.now()
		u.mu.Unlock()
	}
	mark(u, u.pools, p, unavailability{reason: reason})
}

// MarkForbidden closes a pool that a policy does not let the controller launch from; policy says which one, and what allows it.
func (u *Unavailable) MarkForbidden(p Pool, policy string) {
	mark(u, u.pools, p, unavailability{reason: Forbidden, policy: policy})
}

// MarkQuota closes all types of the quota group of a type that have at least as many vCPUs. q is the quota.
func (u *Unavailable) MarkQuota(capacityType, instanceType string, vcpus int, q Quota) {
	mark(u, u.quotas, quotaKey{capacityType, QuotaGroup(instanceType)}, unavailability{reason: NoQuota, minVCPUs: vcpus, quota: q})
}

// MarkSubnet closes a subnet that could not meet an instance's demand, for all instances that demand as much. A zone is closed
// when all of a class's subnets in it are.
func (u *Unavailable) MarkSubnet(id string, d network.Demand) {
	mark(u, u.subnets, subnetKey{id, d}, unavailability{reason: NoAddresses})
}

// MarkCapacityType closes a whole capacity type: NotPermitted when the account may not use spot, NoQuota when it may have
// no more fleets. q is the quota, if it is for one.
func (u *Unavailable) MarkCapacityType(capacityType, reason string, q Quota) {
	mark(u, u.capacityTypes, capacityType, unavailability{reason: reason, quota: q})
}

// Launched tells that a pool had capacity, and its quota room for so many vCPUs: if they are open, they are forgiven. What
// is closed stays so: nobody asks for it, so the instance is of a request that was made before, and may have been the last
// that there was.
func (u *Unavailable) Launched(p Pool, vcpus int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := u.now()
	if c, ok := u.pools[p]; ok && !now.Before(c.until) {
		delete(u.pools, p)
		if c.retried {
			u.back(now)
		}
	}
	q := quotaKey{p.CapacityType, QuotaGroup(p.InstanceType)}
	if c, ok := u.quotas[q]; ok && !now.Before(c.until) && vcpus >= c.minVCPUs {
		delete(u.quotas, q)
	}
}

// mark closes one thing. What is closed already stays so for no longer than before: one burst of requests brings many
// errors for one shortage.
func mark[K comparable](u *Unavailable, in map[K]unavailability, key K, c unavailability) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := u.now()
	last, known := in[key]
	switch {
	case known && now.Before(last.until):
		c.wait, c.until = last.wait, last.until
		if c.minVCPUs == 0 || last.minVCPUs <= c.minVCPUs {
			return // nothing new
		}
	case known && last.early:
		c.wait, c.until = last.wait, now.Add(last.wait) // asked for early: that it was in vain is no news
	case known && now.Sub(last.until) < max(last.wait, calm):
		c.wait = min(2*last.wait, lastWait)
		c.until = now.Add(c.wait)
	default:
		c.wait, c.until = firstWait, now.Add(firstWait)
	}
	in[key] = c
	u.publish(now)
}

// Snapshot returns what is closed now. As long as nothing is closed or opened it is the same snapshot.
func (u *Unavailable) Snapshot() *Snapshot {
	s, now := u.current.Load(), u.now()
	if s.opens.IsZero() || now.Before(s.opens) {
		return s
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if s = u.current.Load(); s.opens.IsZero() || now.Before(s.opens) {
		return s
	}
	u.publish(now)
	return u.current.Load()
}

// publish stores a new snapshot and forgets what has long been open. Callers hold mu.
func (u *Unavailable) publish(now time.Time) {
	s := &Snapshot{Generation: u.current.Load().Generation + 1}
	s.pools, s.retried = closed(s, u.pools, now), retried(u.pools, now)
	s.quotas = closed(s, u.quotas, now)
	s.subnets = closed(s, u.subnets, now)
	s.capacityTypes = closed(s, u.capacityTypes, now)
	s.classes = closed(s, u.classes, now)
	s.zones = closed(s, u.zones, now)
	s.groups = closed(s, u.groups, now)
	u.current.Store(s)
	close(u.changed)
	u.changed = make(chan struct{})
}

func closed[K comparable](s *Snapshot, in map[K]unavailability, now time.Time) map[K]unavailability {
	out := map[K]unavailability{}
	for key, c := range in {
		switch {
		case now.Before(c.until):
			out[key] = c
			if s.opens.IsZero() || c.until.Before(s.opens) {
				s.opens = c.until
			}
		case now.Sub(c.until) >= max(c.wait, calm):
			delete(in, key)
		}
	}
	return out
}
