// Package reservation keeps what decisions have given out and nobody has taken yet: room for pods on instances, NodeClaims that
// no watch has told of, room for the successors of evicted pods, and nominations.
//
// It owns these facts, and nothing else: which pods, nodes and claims there are is the business of the package cache, which
// feeds on watches. Cache asks the table when it makes a node's value, and ends reservations when an event says that they are
// over. The table never asks back, so that its lock is always the inner one. Nothing in here outlives the process: after a
// restart, pods without a place are pending again.
package reservation

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Reservation is room on an instance for a pod that a decision gave it and that has not taken it yet.
type Reservation struct {
	Pod  types.NamespacedName
	UID  types.UID // of the pod
	Unit Unit
	// Until is when the reservation ends by itself.
	Until time.Time
}

// Table holds the reservations. Each pod has one at most.
//
// Concurrency: all methods are safe for use by many goroutines, also while the caller holds a lock of its own.
type Table struct {
	mu          sync.Mutex
	pods        map[types.UID]Reservation
	byUnit      map[Unit]map[types.UID]struct{}
	claims      map[string]claim // by name
	successions map[types.UID][]succession
	nominations map[types.UID]*nomination // by pod

	podsDue, claimsDue earliest // before these no reservation is over, and no claim that is not confirmed lapses
	looked             int      // at reservations and claims, whether their time has come; tests count them
}

// earliest is a time before which none of some things ends; zero when there are none. One that ends later than it did, or is gone,
// leaves it as it is: it is set anew when it has come.
type earliest struct{ time.Time }

func (e *earliest) include(t time.Time) {
	if e.IsZero() || t.Before(e.Time) {
		e.Time = t
	}
}

func (e *earliest) come(now time.Time) bool { return !e.IsZero() && !now.Before(e.Time) }

// New returns an empty table.
func New() *Table {
	return &Table{
		pods: map[types.UID]Reservation{}, byUnit: map[Unit]map[types.UID]struct{}{}, claims: map[string]claim{},
		successions: map[types.UID][]succession{}, nominations: map[types.UID]*nomination{},
	}
}

// Reserve gives a pod room. What it had before ends and is returned; ok is false when it had none.
func (t *Table) Reserve(r Reservation) (before Reservation, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before, ok = t.end(r.UID)
	t.put(r)
	return before, ok
}

// Of is the reservation of a pod; ok is false when it has none.
func (t *Table) Of(pod types.UID) (r Reservation, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok = t.pods[pod]
	return r, ok
}

// Has reports whether a pod has a reservation.
func (t *Table) Has(pod types.UID) bool {
	_, ok := t.Of(pod)
	return ok
}

// On are the reservations of room on units, in order of the pods.
func (t *Table) On(units ...Unit) []Reservation {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []Reservation
	for _, unit := range units {
		for pod := range t.byUnit[unit] {
			out = append(out, t.pods[pod])
		}
	}
	slices.SortFunc(out, func(a, b Reservation) int {
		return cmp.Or(cmp.Compare(a.Pod.Namespace, b.Pod.Namespace), cmp.Compare(a.Pod.Name, b.Pod.Name), cmp.Compare(a.UID, b.UID))
	})
	return out
}

// Units are those on which room is reserved, in no order.
func (t *Table) Units() []Unit {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]Unit, 0, len(t.byUnit))
	for unit := range t.byUnit {
		out = append(out, unit)
	}
	return out
}

// End ends the reservation of a pod and returns it; ok is false when it has none.
func (t *Table) End(pod types.UID) (r Reservation, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.end(pod)
}

// Shorten has a pod's reservation end at a time, unless it ends earlier.
func (t *Table) Shorten(pod types.UID, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r, ok := t.pods[pod]; ok && r.Until.After(until) {
		r.Until = until
		t.pods[pod] = r
		t.podsDue.include(until)
	}
}

// Exchange swaps the rooms of two pods that both have a reservation, with the times at which these end. It does nothing
// when one of them has none.
func (t *Table) Exchange(a, b types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x, ok := t.pods[a]
	y, both := t.pods[b]
	if !ok || !both {
		return
	}
	t.end(a)
	t.end(b)
	x.Unit, y.Unit, x.Until, y.Until = y.Unit, x.Unit, y.Until, x.Until
	t.put(x)
	t.put(y)
}

// Over are the reservations whose time has come, in no order. They last until they are ended.
//
// Cost: nothing while none is over.
func (t *Table) Over(now time.Time) []Reservation {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.podsDue.come(now) {
		return nil
	}
	t.podsDue = earliest{}
	var out []Reservation
	for _, r := range t.pods {
		t.looked++
		t.podsDue.include(r.Until)
		if !now.Before(r.Until) {
			out = append(out, r)
		}
	}
	return out
}

// Sizes is how much a table holds: reservations of pods, claims, owners of evicted pods, and nominations.
type Sizes struct{ Pods, Claims, Successions, Nominations int }

// Sizes is how much the table holds now.
func (t *Table) Sizes() Sizes {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Sizes{len(t.pods), len(t.claims), len(t.successions), len(t.nominations)}
}

func (t *Table) put(r Reservation) {
	t.pods[r.UID] = r
	t.podsDue.include(r.Until)
	if t.byUnit[r.Unit] == nil {
		t.byUnit[r.Unit] = map[types.UID]struct{}{}
	}
	t.byUnit[r.Unit][r.UID] = struct{}{}
}

func (t *Table) end(pod types.UID) (Reservation, bool) {
	r, ok := t.pods[pod]
	if !ok {
		return Reservation{}, false
	}
	delete(t.pods, pod)
	delete(t.byUnit[r.Unit], pod)
	if len(t.byUnit[r.Unit]) == 0 {
		delete(t.byUnit, r.Unit)
	}
	return r, true
}
