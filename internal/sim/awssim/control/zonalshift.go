package control

import (
	"net/http"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// ZonalShiftRequest begins or ends what ARC does with the cluster's traffic.
type ZonalShiftRequest struct {
	// Enabled registers the cluster with ARC.
	Enabled bool `json:"enabled"`
	// ZoneID, if set, is the zone to move traffic away from.
	ZoneID string `json:"zoneId,omitempty"`
	// For is how long; an hour when empty. AWS ends an automatic one.
	For       string `json:"for,omitempty"`
	Automatic bool   `json:"automatic,omitempty"`
}

// postZonalShift puts the request in place of what there was.
func (h *Handler) postZonalShift(r *http.Request) (any, error) {
	var in ZonalShiftRequest
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	lasts := time.Hour
	if in.For != "" {
		var err error
		if lasts, err = time.ParseDuration(in.For); err != nil {
			return nil, badRequest("read how long the zonal shift lasts: %v", err)
		}
	}
	w, cluster := h.world, h.world.ClusterName()
	if err := w.EnableZonalShift(cluster, in.Enabled); err != nil {
		return nil, err
	}
	if err := w.EndZonalShifts(cluster); err != nil {
		return nil, err
	}
	if in.ZoneID == "" {
		return struct{}{}, nil
	}
	return struct{}{}, w.StartZonalShift(cluster, world.ZonalShift{ZoneID: in.ZoneID, Expires: w.Now().Add(lasts), Automatic: in.Automatic})
}
