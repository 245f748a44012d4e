// Package arc answers requests to Amazon Application Recovery Controller's zonal shift from the simulated world.
package arc

import (
	"context"
	"net/http"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// Register adds the operations to a server.
//
// Source: ARC Zonal Shift API Reference, GetManagedResource, checked 2026-11.
func Register(s *wire.Server, w *world.World) {
	s.HandleREST(wire.ARCZonalShift, "GetManagedResource", "GET /managedresources/{resourceIdentifier}", func(_ context.Context, r *wire.Request) (any, error) {
		arn := r.Path["resourceIdentifier"]
		r.Detail = arn
		shifts, ok := w.ZonalShifts(arn)
		if !ok {
			return nil, &wire.Error{Code: "ResourceNotFoundException", Status: http.StatusNotFound, Message: "The resource " + arn + " was not found."}
		}
		return describe(arn, w.Zones(), shifts), nil
	})
}

type managed struct {
	ARN                  string             `json:"arn"`
	Name                 string             `json:"name"`
	AppliedWeights       map[string]float64 `json:"appliedWeights"` // by zone id
	ZonalShifts          []shift            `json:"zonalShifts"`
	Autoshifts           []shift            `json:"autoshifts"`
	ZonalAutoshiftStatus string             `json:"zonalAutoshiftStatus"`
}

type shift struct {
	AppliedStatus      string  `json:"appliedStatus"`
	AwayFrom           string  `json:"awayFrom"`
	StartTime          float64 `json:"startTime"`
	ExpiryTime         float64 `json:"expiryTime,omitempty"`
	Comment            string  `json:"comment,omitempty"`
	ResourceIdentifier string  `json:"resourceIdentifier,omitempty"`
	ZonalShiftID       string  `json:"zonalShiftId,omitempty"`
}

// describe tells of the shifts: one that people began goes before one that AWS began.
func describe(arn string, zones []world.Zone, shifts []world.ZonalShift) managed {
	out := managed{ARN: arn, Name: arn, AppliedWeights: map[string]float64{}, ZonalShifts: []shift{}, Autoshifts: []shift{}, ZonalAutoshiftStatus: "ENABLED"}
	for _, z := range zones {
		out.AppliedWeights[z.ID] = 1
	}
	for _, s := range shifts {
		if !s.Automatic {
			out.ZonalShifts = append(out.ZonalShifts, shift{
				AppliedStatus: "APPLIED", AwayFrom: s.ZoneID, StartTime: seconds(s.Started), ExpiryTime: seconds(s.Expires),
				Comment: "simulated", ResourceIdentifier: arn, ZonalShiftID: "00000000-0000-4000-8000-000000000000",
			})
			out.AppliedWeights[s.ZoneID] = 0
		}
	}
	for _, s := range shifts {
		if s.Automatic {
			status := "APPLIED"
			if len(out.ZonalShifts) > 0 {
				status = "NOT_APPLIED"
			} else {
				out.AppliedWeights[s.ZoneID] = 0
			}
			out.Autoshifts = append(out.Autoshifts, shift{AppliedStatus: status, AwayFrom: s.ZoneID, StartTime: seconds(s.Started)})
		}
	}
	return out
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
