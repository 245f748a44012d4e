package world

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Reservation is a capacity reservation: instances that are held, and paid, for the account.
type Reservation struct {
	ID, Type, Zone, OwnerID string
	Total                   int
	Available               int    // set in values handed out
	MatchCriteria           string // open or targeted
	Kind                    string // default or CapacityBlock
	Interruptible           bool
	Platform                string    // Linux/UNIX, Windows, …
	Tenancy                 string    // default or dedicated
	Created, Start, End     time.Time // End zero: until cancelled
	State                   string    // active, expired, cancelled, pending, …
	Tags                    map[string]string

	used int
}

// reclaimBefore is how long before the end of a capacity block its instances are taken.
//
// Source: EC2 User Guide, "How Capacity Blocks work".
const reclaimBefore = 30 * time.Minute

// Platforms of images and reservations, as reservations word them.
const (
	PlatformLinux   = "Linux/UNIX"
	PlatformWindows = "Windows"
)

// platform is that of the image that is launched.
func (l *launch) platform() string {
	if l.image.Platform == "windows" {
		return PlatformWindows
	}
	return PlatformLinux
}

// tenancy is that of the instances to launch.
func (l *launch) tenancy() string {
	if p := l.data.Placement; p != nil && p.Tenancy != "" {
		return p.Tenancy
	}
	return "default"
}

// InterruptibleMarket is the market type of instances out of interruptible reservations.
const InterruptibleMarket = "interruptible-capacity-reservation"

func (r *Reservation) available(now time.Time) int {
	if r.Kind == CapacityBlock && !r.End.IsZero() && !now.Before(r.End.Add(-reclaimBefore)) {
		return 0
	}
	if r.State != "active" || now.Before(r.Start) || !r.End.IsZero() && !now.Before(r.End) {
		return 0
	}
	return max(0, r.Total-r.used)
}

// AddReservation makes a capacity reservation; what is empty gets EC2's defaults.
func (w *World) AddReservation(r Reservation) (Reservation, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.Offered(r.Type, r.Zone) {
		return Reservation{}, fmt.Errorf("make capacity reservation: %q is not offered in zone %q", r.Type, r.Zone)
	}
	if r.Total < 1 {
		return Reservation{}, fmt.Errorf("make capacity reservation of %s: %d instances", r.Type, r.Total)
	}
	now := w.clock.Now()
	if r.ID == "" {
		r.ID = w.newIDLocked("cr")
	}
	if r.OwnerID == "" {
		r.OwnerID = w.opts.Account
	}
	if r.MatchCriteria == "" {
		r.MatchCriteria = "open"
	}
	if r.Kind == "" {
		r.Kind = "default"
	}
	if r.Platform == "" {
		r.Platform = PlatformLinux
	}
	if r.Tenancy == "" {
		r.Tenancy = "default"
	}
	if r.State == "" {
		r.State = "active"
	}
	if r.Start.IsZero() {
		r.Start = now
	}
	r.Created, r.used, r.Tags = now, 0, maps.Clone(r.Tags)
	w.ec2.reservations[r.ID] = &r
	if !r.End.IsZero() {
		w.afterLocked(r.End.Sub(now), func() { w.endReservationLocked(&r, "expired") })
		if r.Kind == CapacityBlock {
			w.afterLocked(r.End.Add(-reclaimBefore).Sub(now), func() { w.reclaimBlockLocked(&r) })
		}
	}
	return w.reservationLocked(&r), nil
}

// reclaimBlockLocked takes the instances of a capacity block.
func (w *World) reclaimBlockLocked(r *Reservation) {
	for _, i := range w.instancesOfLocked(r) {
		w.shutDownLocked(i, "Server.CapacityBlockExpired", "Server.CapacityBlockExpired: the capacity block has ended", "Server.CapacityBlockExpired")
	}
}

// instancesOfLocked are a reservation's live instances by id.
func (w *World) instancesOfLocked(r *Reservation) []*Instance {
	var out []*Instance
	for _, id := range slices.Sorted(maps.Keys(w.ec2.instances)) {
		if i := w.ec2.instances[id]; i.CapacityReservationID == r.ID && i.Live() {
			out = append(out, i)
		}
	}
	return out
}

// CancelReservation ends a reservation before its time, as its owner can.
func (w *World) CancelReservation(id string) error {
	w.mu.Lock()
	defer w.unlock()
	r := w.ec2.reservations[id]
	if r == nil {
		return Errorf("InvalidCapacityReservationId.NotFound", "The capacity reservation ID '%s' does not exist", id)
	}
	w.endReservationLocked(r, "cancelled")
	return nil
}

// ReservationInstances are the live instances of a reservation by id.
func (w *World) ReservationInstances(id string) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.ec2.reservations[id]
	if r == nil {
		return nil, Errorf("InvalidCapacityReservationId.NotFound", "The capacity reservation ID '%s' does not exist", id)
	}
	var out []string
	for _, i := range w.instancesOfLocked(r) {
		out = append(out, i.ID)
	}
	return out, nil
}

// TakeBack lets the owner of an interruptible reservation have its instances: it holds none any more.
func (w *World) TakeBack(id string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.ec2.reservations[id]
	if r == nil {
		return Errorf("InvalidCapacityReservationId.NotFound", "The capacity reservation ID '%s' does not exist", id)
	}
	if !r.Interruptible {
		return Errorf("InvalidParameterValue", "The capacity reservation %s is not interruptible.", id)
	}
	r.Total = r.used
	return nil
}

// endReservationLocked ends a reservation. Its instances go on as ordinary on-demand ones, except those of a block, which
// EC2 has taken before.
func (w *World) endReservationLocked(r *Reservation, state string) {
	if r.State != "active" && r.State != "pending" {
		return
	}
	r.State = state
	if r.Kind == CapacityBlock {
		w.reclaimBlockLocked(r)
		return
	}
	for _, i := range w.instancesOfLocked(r) {
		i.CapacityReservationID = ""
		r.used--
		w.poolFor(i).used++
		i.pooled = true
	}
}

// Reservations returns all capacity reservations by id.
func (w *World) Reservations() []Reservation {
	w.mu.Lock()
	defer w.mu.Unlock()
	return sorted(w.ec2.reservations, w.reservationLocked)
}

func (w *World) reservationLocked(r *Reservation) Reservation {
	c := *r
	c.Tags = maps.Clone(r.Tags)
	c.Available = r.available(w.clock.Now())
	return c
}

func (w *World) checkReservationLocked(l *launch) *Error {
	spec := l.data.CapacityReservation
	if spec == nil || spec.Target == nil || spec.Target.ID == "" {
		if m := l.data.market(); m == CapacityBlock || m == InterruptibleMarket {
			return Errorf("InvalidParameterCombination", "An instance of market type %s must target a capacity reservation.", m)
		}
		if spec != nil && spec.Preference == "capacity-reservations-only" && w.heldForLocked(l) == nil {
			return Errorf("ReservationCapacityExceeded", "There is no open capacity reservation with capacity left for %s in %s.", l.facts.Name, l.subnet.Zone)
		}
		return nil
	}
	r := w.ec2.reservations[spec.Target.ID]
	if r == nil {
		return Errorf("InvalidCapacityReservationId.NotFound", "The capacity reservation ID '%s' does not exist", spec.Target.ID)
	}
	if r.Type != l.facts.Name || r.Zone != l.subnet.Zone {
		return Errorf("InvalidParameterValue", "The capacity reservation %s holds %s in %s, not %s in %s.",
			r.ID, r.Type, r.Zone, l.facts.Name, l.subnet.Zone)
	}
	if r.Platform != l.platform() || r.Tenancy != l.tenancy() {
		return Errorf("InvalidParameterValue", "The capacity reservation %s holds instances of platform %s and tenancy %s, not of %s and %s.",
			r.ID, r.Platform, r.Tenancy, l.platform(), l.tenancy())
	}
	market := ""
	switch {
	case r.Kind == CapacityBlock:
		market = CapacityBlock
	case r.Interruptible:
		market = InterruptibleMarket
	}
	if l.data.market() != market {
		return Errorf("InvalidParameterCombination", "The capacity reservation %s takes instances of market type '%s', not '%s'.", r.ID, market, l.data.market())
	}
	l.reservation = r
	return nil
}

// heldForLocked returns the reservation that the next instance of a kind comes from: the one that it targets or, as EC2
// does unless told otherwise, an open one that matches and has instances left. Nil: from the common stock.
func (w *World) heldForLocked(l *launch) *Reservation {
	spec := l.data.CapacityReservation
	if l.reservation != nil || l.capacityType != OnDemand || spec != nil && spec.Preference != "" && spec.Preference != "open" && spec.Preference != "capacity-reservations-only" {
		return l.reservation
	}
	now := w.clock.Now()
	for _, id := range slices.Sorted(maps.Keys(w.ec2.reservations)) {
		r := w.ec2.reservations[id]
		if r.MatchCriteria == "open" && r.Kind == "default" && !r.Interruptible && r.Type == l.facts.Name && r.Zone == l.subnet.Zone &&
			r.Platform == l.platform() && r.Tenancy == l.tenancy() && r.available(now) > 0 {
			return r
		}
	}
	return nil
}
