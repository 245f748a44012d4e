package aws

import (
	"context"
	"strconv"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/offering"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// resolveReservations finds what a class selects. With reserved capacity switched off that is nothing.
func (p *Provider) resolveReservations(ctx context.Context, class *awsv1.EC2NodeClass) ([]awsv1.CapacityReservation, cloud.Finding) {
	if !p.opts.ReservedCapacity {
		return nil, cloud.Finding{}
	}
	return p.reserved.Resolve(ctx, class)
}

// Reservations finds those of the given capacity reservations that are active, with reserved capacity switched off too:
// instances may run out of them.
//
// Errors: *cloud.Error.
func (p *Provider) Reservations(ctx context.Context, ids []string) ([]awsv1.CapacityReservation, error) {
	return p.reserved.Named(ctx, ids)
}

// reservationsOf are a class's reservations, with what they still hold.
func (p *Provider) reservationsOf(class *awsv1.EC2NodeClass) []offering.Reservation {
	if !p.opts.ReservedCapacity || len(class.Status.CapacityReservations) == 0 {
		return nil
	}
	return offering.ReservationsOf(class, p.held.Left)
}

// reservationLabels are those of an instance that was launched out of a reservation; none for other instances.
func reservationLabels(id string, class *awsv1.EC2NodeClass) map[string]string {
	if id == "" {
		return nil
	}
	out := map[string]string{awsv1.LabelCapacityReservationID: id}
	for i := range class.Status.CapacityReservations {
		if r := &class.Status.CapacityReservations[i]; r.ID == id {
			setIf(out, awsv1.LabelCapacityReservationType, r.ReservationType)
			out[awsv1.LabelCapacityReservationInterruptible] = strconv.FormatBool(r.Interruptible)
		}
	}
	return out
}

// EmptyReservation implements cloud.Provider.
func (p *Provider) EmptyReservation(id string) {
	p.log.Info("capacity reservation counts as empty", "capacity_type", catalog.Reserved, "reservation", id)
	p.held.Empty(id)
}
