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
	// refused is when EC2 last could not meet a demand.
	refused map[Demand]time.Time
	holds   map[*Reservation]hold
}

// hold is what one launch takes of a subnet: addresses of its instances and of the pods that it is for, and, probably, of
// more pods.
type hold struct {
	nodes, planned, pods int
	each                 int       // how many addresses an instance takes by itself
	settled              time.Time // zero while the launch is in flight
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
		a = &account{holds: map[*Reservation]hold{}, refused: map[Demand]time.Time{}}
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
	for d, when := range a.refused {
		if at.After(when) {
			delete(a.refused, d)
		}
	}
}

// Exhausted tells that EC2 could not meet a demand in a subnet; it counts as empty for all that demand as much, until EC2
// is asked again.
func (l *Ledger) Exhausted(id string, d Demand) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.account(id).refused[d] = l.now()
}

// left is how many addresses a subnet will have, by how much is counted as taken.
type left struct {
	// likely counts all pods that instances can run, planned those that they are launched for, instances none.
	likely, planned, instances int
}

// refuses reports whether EC2 could not meet such a demand when it was asked last.
func (a *account) refuses(d Demand) bool {
	for refused := range a.refused {
		if d.AtLeast(refused) {
			return true
		}
	}
	return false
}

// sure is how many addresses are left once those are gone that certainly will be: a launch in flight that may go to one of
// several zones takes them in one only, so that it must not shut them all.
func (a *account) sure(d Demand) int {
	if a.refuses(d) {
		return 0
	}
	n := a.free
	for r, h := range a.holds {
		if !h.settled.IsZero() || len(r.Subnets) == 1 {
			n -= h.nodes*h.each + h.planned
		}
	}
	return n
}

// predict is what is left for instances of some demand.
func (a *account) predict(d Demand) left {
	if a.refuses(d) {
		return left{}
	}
	l := left{a.free, a.free, a.free}
	for _, h := range a.holds {
		instances := h.nodes * h.each
		l.likely -= instances + h.pods
		l.planned -= instances + h.planned
		l.instances -= instances
	}
	return l
}

// room says what a subnet has room for: 2 for instances and the pods that they are for, 1 for instances alone, 0 for less.
// One that was never observed is taken to have room.
func (a *account) room(n Need) int {
	l, instances := a.predict(n.Each), n.Nodes*n.Each.Total()
	switch {
	case !a.known && len(a.refused) == 0 || l.planned >= instances+n.Planned:
		return 2
	case l.instances >= instances:
		return 1
	}
	return 0
}

// Free predicts the free addresses of a subnet, instances and their pods counted; it may be negative. It is false for a
// subnet that was never observed.
func (l *Ledger) Free(id string) (int, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.subnets[id]
	if a == nil || !a.known {
		return 0, false
	}
	return a.predict(Demand{}).likely, true
}

// Full lists those of some subnets that can't meet an instance's demand once those have theirs that were launched, or are in
// flight to that subnet and no other.
func (l *Ledger) Full(subnets []awsv1.Subnet, d Demand) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, s := range subnets {
		if a := l.subnets[s.ID]; a != nil && a.known && a.sure(d) < d.Total() {
			out = append(out, s.ID)
		}
	}
	return out
}

// Reservation is the addresses that a launch holds until it is settled.
type Reservation struct {
	ledger *Ledger
	// Subnets is the subnet chosen in each zone.
	Subnets map[string]string
}

// Need is what a launch takes of a subnet.
type Need struct {
	Nodes int
	// Each is what a node takes by itself.
	Each Demand
	// Planned is how many addresses the pods take that the nodes are launched for, all together.
	Planned int
	// Pods is how many addresses the pods of one node in a zone may take in the end.
	Pods func(zone string) int
}

// Reserve chooses a subnet in each zone, the one that will have the most free addresses, and holds addresses there. Zones
// whose subnets have no room for the instances with the pods that they are launched for are left out while another zone has;
// if none has, those that have no room for the instances alone are. When all are full EC2 shall decide. A subnet that was
// never observed counts as empty but usable.
func (l *Ledger) Reserve(subnets []awsv1.Subnet, n Need) *Reservation {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &Reservation{ledger: l, Subnets: map[string]string{}}
	type choice struct {
		id           string
		room, likely int
	}
	best := map[string]choice{}
	most := 0
	for _, s := range subnets {
		a := l.account(s.ID)
		c := choice{s.ID, a.room(n), a.predict(n.Each).likely}
		most = max(most, c.room)
		old, ok := best[s.Zone]
		if !ok || cmp.Or(cmp.Compare(c.room, old.room), cmp.Compare(c.likely, old.likely), strings.Compare(old.id, c.id)) > 0 {
			best[s.Zone] = c
		}
	}
	for zone, c := range best {
		if c.room < most {
			continue
		}
		r.Subnets[zone] = c.id
		l.account(c.id).holds[r] = hold{nodes: n.Nodes, each: n.Each.Total(), planned: n.Planned, pods: max(n.Planned, n.Nodes*max(0, n.Pods(zone)))}
	}
	return r
}

// Settle ends a reservation: launched has the number of instances that came to be in each subnet. The rest is given back.
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
		h.pods, h.planned = h.pods/h.nodes*n, h.planned/h.nodes*n
		h.nodes, h.settled = n, l.now()
		a.holds[r] = h
	}
}
