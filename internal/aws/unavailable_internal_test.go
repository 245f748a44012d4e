package aws

import (
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/aws/fleet"
	"github.com/kerf-sh/kerf/internal/aws/offering"
	"github.com/kerf-sh/kerf/internal/aws/reservation"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// What a policy forbids to launch out of a reservation says nothing of what the reservation holds.
func TestAForbiddenLaunchLeavesItsReservation(t *testing.T) {
	for name, c := range map[string]struct {
		reason, message string
		left, closed    int
	}{
		"forbidden": {awserr.ReasonUnauthorized, "with an explicit deny in a service control policy", 2, 1},
		"used up":   {awserr.ReasonReservationExceeded, "", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Provider{held: reservation.NewLedger(time.Now), unavailable: offering.NewUnavailable(nil)}
			p.opts.LaunchFailed = func(fleet.PoolError) {}
			p.held.Seen("cr-1", 2, time.Now())
			p.launchFailed(fleet.PoolError{
				CapacityType: catalog.Reserved, InstanceType: "m5.large", Zone: "us-east-1a", ReservationID: "cr-1",
				Class: cloud.Exhausted, Reason: c.reason, Message: c.message,
			})
			if left, known := p.held.Left("cr-1"); left != c.left || !known {
				t.Errorf("the reservation holds %d, known: %t; want %d", left, known, c.left)
			}
			if closed := p.Unavailable(); len(closed) != c.closed {
				t.Errorf("closed: %+v, want %d", closed, c.closed)
			}
		})
	}
}
