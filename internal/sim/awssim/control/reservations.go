package control

import (
	"net/http"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// Reservation is a capacity reservation, as it is shown and made. What is left out when one is made gets EC2's defaults.
type Reservation struct {
	ID            string            `json:"id,omitempty"`
	InstanceType  string            `json:"instanceType"`
	Zone          string            `json:"zone"`
	Total         int               `json:"total"`
	Available     int               `json:"available"`               // shown only
	Kind          string            `json:"kind,omitempty"`          // default or capacity-block
	MatchCriteria string            `json:"matchCriteria,omitempty"` // open or targeted
	Interruptible bool              `json:"interruptible,omitempty"`
	Platform      string            `json:"platform,omitempty"` // Linux/UNIX, Windows, …
	Tenancy       string            `json:"tenancy,omitempty"`  // default or dedicated
	OwnerID       string            `json:"ownerId,omitempty"`
	End           time.Time         `json:"end,omitzero"`    // none: until it is cancelled
	State         string            `json:"state,omitempty"` // shown only
	Tags          map[string]string `json:"tags,omitempty"`
	Instances     []string          `json:"instances,omitempty"` // shown only
}

func (h *Handler) showReservation(r *world.Reservation) Reservation {
	instances, _ := h.world.ReservationInstances(r.ID) // one that is gone has none
	return Reservation{
		ID: r.ID, InstanceType: r.Type, Zone: r.Zone, Total: r.Total, Available: r.Available, Kind: r.Kind, MatchCriteria: r.MatchCriteria,
		Interruptible: r.Interruptible, Platform: r.Platform, Tenancy: r.Tenancy, OwnerID: r.OwnerID, End: r.End, State: r.State, Tags: r.Tags, Instances: instances,
	}
}

func (h *Handler) getReservations(*http.Request) (any, error) {
	out := []Reservation{}
	for _, r := range h.world.Reservations() {
		out = append(out, h.showReservation(&r))
	}
	return out, nil
}

func (h *Handler) postReservation(r *http.Request) (any, error) {
	var in Reservation
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	if in.Kind != "" && in.Kind != "default" && in.Kind != world.CapacityBlock || in.MatchCriteria != "" && in.MatchCriteria != "open" && in.MatchCriteria != "targeted" {
		return nil, badRequest("kind is default or %s, matchCriteria open or targeted", world.CapacityBlock)
	}
	made, err := h.world.AddReservation(world.Reservation{
		ID: in.ID, Type: in.InstanceType, Zone: in.Zone, Total: in.Total, Kind: in.Kind, MatchCriteria: in.MatchCriteria,
		Interruptible: in.Interruptible, Platform: in.Platform, Tenancy: in.Tenancy, OwnerID: in.OwnerID, End: in.End, Tags: in.Tags,
	})
	if err != nil {
		return nil, badRequest("%v", err)
	}
	return h.showReservation(&made), nil
}

func (h *Handler) deleteReservation(r *http.Request) (any, error) {
	if err := h.world.CancelReservation(r.PathValue("id")); err != nil {
		return nil, err
	}
	return struct{}{}, nil
}

// postTakeBack lets the owner of an interruptible reservation have its instances.
func (h *Handler) postTakeBack(r *http.Request) (any, error) {
	notice, err := h.noticeOf(r)
	if err != nil {
		return nil, err
	}
	instances, err := h.bus.TakeBack(r.PathValue("id"), notice)
	if err != nil {
		return nil, err
	}
	return map[string]any{"interrupted": instances, "reclaimed": h.world.Now().Add(notice).Format(time.RFC3339)}, nil
}

// PlacementGroup is a placement group, as it is shown and made.
type PlacementGroup struct {
	ID         string            `json:"id,omitempty"`
	Name       string            `json:"name"`
	Strategy   string            `json:"strategy"` // cluster, partition or spread
	Partitions int32             `json:"partitions,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
}

func showGroup(g world.PlacementGroup) PlacementGroup {
	return PlacementGroup{ID: g.ID, Name: g.Name, Strategy: g.Strategy, Partitions: g.Partitions, Tags: g.Tags}
}

func (h *Handler) getGroups(*http.Request) (any, error) {
	out := []PlacementGroup{}
	for _, g := range h.world.PlacementGroups() {
		out = append(out, showGroup(g))
	}
	return out, nil
}

func (h *Handler) postGroup(r *http.Request) (any, error) {
	var in PlacementGroup
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	g, err := h.world.AddPlacementGroup(in.Name, in.Strategy, in.Partitions, in.Tags)
	if err != nil {
		return nil, badRequest("%v", err)
	}
	return showGroup(g), nil
}

func (h *Handler) deleteGroup(r *http.Request) (any, error) {
	if err := h.world.RemovePlacementGroup(r.PathValue("id")); err != nil {
		return nil, err
	}
	return struct{}{}, nil
}
