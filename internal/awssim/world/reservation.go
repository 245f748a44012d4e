package world

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Reservation is a capacity reservation: machines that are held, and paid, for the account.
type Reservation struct {
	ID, Type, Zone, OwnerID string
	Total                   int
	Available               int    // set in values handed out
	MatchCriteria           string // open or targeted
	Kind                    string // default or CapacityBlock
	Interruptible           bool
	Created, Start, End     time.Time // End zero: until cancelled
	State                   string    // active, expired, cancelled, pending, …
	Tags                    map[string]string

	used int
}

func (r *Reservation) available(now time.Time) int {
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
	if r.State == "" {
		r.State = "active"
	}
	if r.Start.IsZero() {
		r.Start = now
	}
	r.Created, r.used, r.Tags = now, 0, maps.Clone(r.Tags)
	w.reservations[r.ID] = &r
	if !r.End.IsZero() {
		w.afterLocked(r.End.Sub(now), func() { w.expireLocked(&r) })
	}
	return w.reservationLocked(&r), nil
}

// expireLocked ends a reservation. Its instances go on as ordinary on-demand ones, except those of a block, which EC2
// reclaims.
func (w *World) expireLocked(r *Reservation) {
	r.State = "expired"
	for _, id := range slices.Sorted(maps.Keys(w.instances)) {
		i := w.instances[id]
		if i.CapacityReservationID != r.ID || !i.Live() {
			continue
		}
		if r.Kind == CapacityBlock {
			w.shutDownLocked(i, "Server.CapacityBlockExpired", "Server.CapacityBlockExpired: the capacity block has ended", "Server.CapacityBlockExpired")
			continue
		}
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
	return sorted(w.reservations, w.reservationLocked)
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
		if l.data.market() == CapacityBlock {
			return Errorf("InvalidParameterCombination", "An instance of market type %s must target a capacity reservation.", CapacityBlock)
		}
		return nil
	}
	r := w.reservations[spec.Target.ID]
	if r == nil {
		return Errorf("InvalidCapacityReservationId.NotFound", "The capacity reservation ID '%s' does not exist", spec.Target.ID)
	}
	if r.Type != l.facts.Name || r.Zone != l.subnet.Zone {
		return Errorf("InvalidParameterValue", "The capacity reservation %s holds %s in %s, not %s in %s.",
			r.ID, r.Type, r.Zone, l.facts.Name, l.subnet.Zone)
	}
	l.reservation = r
	return nil
}

// heldForLocked returns the reservation that the next instance of a kind comes from: the one that it targets or, as EC2
// does unless told otherwise, an open one that matches and has machines left. Nil: from the common stock.
func (w *World) heldForLocked(l *launch) *Reservation {
	spec := l.data.CapacityReservation
	if l.reservation != nil || l.capacityType != OnDemand || spec != nil && spec.Preference != "" && spec.Preference != "open" {
		return l.reservation
	}
	now := w.clock.Now()
	for _, id := range slices.Sorted(maps.Keys(w.reservations)) {
		r := w.reservations[id]
		if r.MatchCriteria == "open" && r.Kind == "default" && r.Type == l.facts.Name && r.Zone == l.subnet.Zone && r.available(now) > 0 {
			return r
		}
	}
	return nil
}

// PlacementGroup says how instances are to stand to each other.
type PlacementGroup struct {
	ID, Name   string
	Strategy   string // cluster, partition, spread
	Partitions int32
	State      string // available
	Tags       map[string]string
}

// AddPlacementGroup makes a placement group.
func (w *World) AddPlacementGroup(name, strategy string, partitions int32, tags map[string]string) PlacementGroup {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := &PlacementGroup{ID: w.newIDLocked("pg"), Name: name, Strategy: strategy, Partitions: partitions, State: "available", Tags: maps.Clone(tags)}
	w.groups[g.ID] = g
	return *g
}

// PlacementGroups returns all placement groups by id.
func (w *World) PlacementGroups() []PlacementGroup {
	w.mu.Lock()
	defer w.mu.Unlock()
	return sorted(w.groups, func(g *PlacementGroup) PlacementGroup { c := *g; c.Tags = maps.Clone(g.Tags); return c })
}

func (w *World) checkPlacementLocked(l *launch) *Error {
	p := l.data.Placement
	if p == nil || p.GroupID == "" && p.GroupName == "" {
		return nil
	}
	for _, g := range w.groups {
		if g.ID == p.GroupID || p.GroupID == "" && g.Name == p.GroupName {
			if !slices.Contains(l.facts.PlacementStrategies, g.Strategy) {
				return Errorf("InvalidParameterCombination", "The instance type %s cannot be used in a placement group of strategy %s.", l.facts.Name, g.Strategy)
			}
			if n := deref(p.PartitionNumber); n > g.Partitions {
				return Errorf("InvalidParameterValue", "The placement group %s has no partition %d.", g.ID, n)
			}
			return nil
		}
	}
	return Errorf("InvalidPlacementGroup.Unknown", "The Placement Group '%s%s' is unknown.", p.GroupID, p.GroupName)
}
