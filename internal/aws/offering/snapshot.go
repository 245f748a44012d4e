package offering

import (
	"time"

	"github.com/kerf-sh/kerf/internal/aws/network"
)

// Snapshot is what is closed at a moment. It is immutable.
type Snapshot struct {
	// Generation rises with every change of what is closed.
	Generation uint64

	opens         time.Time // when the first of them ends; zero for none
	pools         map[Pool]unavailability
	retried       map[Pool]bool // open to be asked for again; see Unavailable.Retry
	quotas        map[quotaKey]unavailability
	subnets       map[subnetKey]unavailability
	capacityTypes map[string]unavailability
	classes       map[string]unavailability
	zones         map[string]unavailability // by id
	groups        map[groupZone]unavailability
}

// Opens is when the first thing opens again by itself; zero when nothing is closed.
func (s *Snapshot) Opens() time.Time { return s.opens }

// Why returns the reason why a pool must not be asked for, false when it may be. vcpus are the type's. A pool of a placement
// group may be closed for more reasons; see whyInGroup.
func (s *Snapshot) Why(p Pool, vcpus int) (string, bool) {
	c, ok := s.unavailability(p, vcpus)
	return c.reason, ok
}

func (s *Snapshot) unavailability(p Pool, vcpus int) (unavailability, bool) {
	if c, ok := s.capacityTypes[p.CapacityType]; ok {
		return c, true
	}
	if c, ok := s.pools[p]; ok {
		return c, true
	}
	if len(s.quotas) > 0 {
		if c, ok := s.quotas[quotaKey{p.CapacityType, QuotaGroup(p.InstanceType)}]; ok && vcpus >= c.minVCPUs {
			return c, true
		}
	}
	return unavailability{}, false
}

// ClosedPool reports whether a pool is closed for lack of capacity.
func (s *Snapshot) ClosedPool(p Pool) bool {
	_, closed := s.pools[p]
	return closed
}

// SubnetClosed reports whether a subnet has no addresses for an instance of some demand.
func (s *Snapshot) SubnetClosed(id string, d network.Demand) bool {
	for key := range s.subnets {
		if key.id == id && d.AtLeast(key.demand) {
			return true
		}
	}
	return false
}
