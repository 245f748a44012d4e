package fleet

import (
	"errors"
	"slices"
	"sync"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// errShort is what claims are told when all pools that they could be launched from were found short while they waited.
var errShort = &cloud.Error{
	Op: "creating a fleet", Class: cloud.Exhausted, Reason: awserr.ReasonUnfulfillableCapacity,
	Err: errors.New("another launch has just found that EC2 has no capacity in any of the pools; EC2 was not asked again"),
}

// open is a request without the pools that were found short since it was made, and without templates that have no other. What is reserved is not of any pool.
func (b *Launcher) open(r *Request) *Request {
	if b.opts.Closed == nil || r.Reservation != (ReservationKind{}) {
		return r
	}
	out := *r
	out.Templates = nil
	for _, t := range r.Templates {
		t.Overrides = slices.DeleteFunc(slices.Clone(t.Overrides), func(o Override) bool { return b.opts.Closed(r, &o) })
		if len(t.Overrides) > 0 {
			out.Templates = append(out.Templates, t)
		}
	}
	return &out
}

// poolKey is a pool of capacity.
type poolKey struct{ capacityType, instanceType, zone string }

// asking are the pools that requests on their way ask for. The zero value is ready.
//
// Concurrency: safe.
type asking struct {
	mu    sync.Mutex
	count map[poolKey]int
	left  chan struct{} // closed when a request is answered
}

// enter notes that a request is made, and returns what notes that it is answered. A sequential one first waits until no other asks
// for any of its pools.
func (a *asking) enter(r *Request, sequential bool) (leave func()) {
	var pools []poolKey
	for _, t := range r.Templates {
		for _, o := range t.Overrides {
			pools = append(pools, poolKey{r.CapacityType, o.InstanceType, o.Zone})
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.count == nil {
		a.count, a.left = map[poolKey]int{}, make(chan struct{})
	}
	for sequential && slices.ContainsFunc(pools, func(p poolKey) bool { return a.count[p] > 0 }) {
		left := a.left
		a.mu.Unlock()
		<-left
		a.mu.Lock()
	}
	for _, p := range pools {
		a.count[p]++
	}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, p := range pools {
			if a.count[p]--; a.count[p] == 0 {
				delete(a.count, p)
			}
		}
		close(a.left)
		a.left = make(chan struct{})
	}
}
