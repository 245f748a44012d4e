package network

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

// settleTime is how long after a launch EC2's count of free addresses may not show it yet.
const settleTime = 10 * time.Second

// Ledger predicts the free addresses of subnets: what EC2 last counted, less what launches in flight, and launches that
// the count can't hold yet, will take. All methods may be called from many goroutines.
type Ledger struct {
	now func() time.Time

	mu      sync.Mutex
	subnets map[string]*account
}

// account is one subnet's part of the ledger.
type account struct {
	known     bool
	free      int // as counted
	countedAt time.Time
	exhausted time.Time // when EC2 last refused an address
	holds     map[*Reservation]hold
}

// hold is what one launch takes of a subnet: addresses of its own and, probably, of its pods.
type hold struct {
	nodes, pods int
	settled     time.Time // zero while the launch is in flight
}

// NewLedger returns an empty ledger; now is the clock, nil for time.Now.
func NewLedger(now func() time.Time) *Ledger {
	if now == nil {
		now = time.Now
	}
	return &Ledger{now: now, subnets: map[string]*account{}}
}

func (l *Ledger) account(id string) *account {
	a := l.subnets[id]
	if a == nil {
		a = &account{holds: map[*Reservation]hold{}}
		l.subnets[id] = a
	}
	return a
}

// Observe tells how many addresses EC2 counted as free, and when it was asked.
func (l *Ledger) Observe(id string, free int, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(id)
	if a.known && at.Before(a.countedAt) {
		return
	}
	a.known, a.free, a.countedAt = true, free, at
	for r, h := range a.holds {
		if !h.settled.IsZero() && at.Sub(h.settled) >= settleTime {
			delete(a.holds, r)
		}
	}
}

// Exhausted tells that EC2 had no address left in a subnet; it counts as empty until EC2 is asked again.
func (l *Ledger) Exhausted(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.account(id).exhausted = l.now()
}

// predict returns the addresses that will probably be free, and those that certainly will be taken by machines alone.
func (a *account) predict() (likely, machines int) {
	if !a.exhausted.IsZero() && !a.countedAt.After(a.exhausted) {
		return 0, 0
	}
	likely, machines = a.free, a.free
	for _, h := range a.holds {
		likely -= h.nodes + h.pods
		machines -= h.nodes
	}
	return likely, machines
}

// Free predicts the free addresses of a subnet, machines and their pods counted; it may be negative. It is false for a
// subnet that was never observed.
func (l *Ledger) Free(id string) (int, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.subnets[id]
	if a == nil || !a.known {
		return 0, false
	}
	likely, _ := a.predict()
	return likely, true
}

// Reservation is the addresses that a launch holds until it is settled.
type Reservation struct {
	ledger *Ledger
	// Subnets is the subnet chosen in each zone.
	Subnets map[string]string
}

// Reserve chooses a subnet in each zone, the one that will have the most free addresses, and holds addresses for nodes
// machines there. pods is how many pods, each with an address, the smallest machine that may be launched in a zone takes.
// Subnets without an address for even the machines are chosen only when no zone has a better one. A subnet that was never
// observed counts as empty but usable.
func (l *Ledger) Reserve(subnets []awsv1.Subnet, nodes int, pods func(zone string) int) *Reservation {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &Reservation{ledger: l, Subnets: map[string]string{}}
	type choice struct {
		id     string
		likely int
		room   bool
	}
	best := map[string]choice{}
	anyRoom := false
	for _, s := range subnets {
		a := l.account(s.ID)
		likely, machines := a.predict()
		c := choice{s.ID, likely, machines >= nodes || !a.known && a.exhausted.IsZero()}
		anyRoom = anyRoom || c.room
		if old, ok := best[s.Zone]; !ok || better(c.room, old.room, cmp.Compare(c.likely, old.likely), strings.Compare(old.id, c.id)) {
			best[s.Zone] = c
		}
	}
	for zone, c := range best {
		if anyRoom && !c.room {
			continue
		}
		r.Subnets[zone] = c.id
		l.account(c.id).holds[r] = hold{nodes: nodes, pods: nodes * max(0, pods(zone))}
	}
	return r
}

// better orders choices: room first, then more free addresses, then the lesser id.
func better(room, oldRoom bool, free, id int) bool {
	if room != oldRoom {
		return room
	}
	return cmp.Or(free, id) > 0
}

// Settle ends a reservation: launched has the number of machines that came to be in each subnet. The rest is given back.
// What was launched keeps its addresses until a later count of EC2 holds it. Settling twice does nothing.
func (r *Reservation) Settle(launched map[string]int) {
	l := r.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range slices.Sorted(maps.Values(r.Subnets)) {
		a := l.account(id)
		h, ok := a.holds[r]
		if !ok || !h.settled.IsZero() {
			continue
		}
		n := min(launched[id], h.nodes)
		if n <= 0 {
			delete(a.holds, r)
			continue
		}
		h.pods = h.pods / h.nodes * n
		h.nodes, h.settled = n, l.now()
		a.holds[r] = h
	}
}
