package launchtemplate

import (
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

// Reservation is a capacity reservation that instances are taken out of, and out of nothing else.
type Reservation struct {
	ID string
	// Type is default or capacity-block.
	Type          string
	Interruptible bool
}

// put has a template take its instances out of the reservation.
//
// Source: EC2 API, LaunchTemplateCapacityReservationSpecificationRequest and LaunchTemplateInstanceMarketOptionsRequest:
// capacity blocks and interruptible reservations are markets of their own.
func (r *Reservation) put(data *types.RequestLaunchTemplateData) {
	data.CapacityReservationSpecification = &types.LaunchTemplateCapacityReservationSpecificationRequest{
		CapacityReservationPreference: types.CapacityReservationPreferenceCapacityReservationsOnly,
		CapacityReservationTarget:     &types.CapacityReservationTarget{CapacityReservationId: &r.ID},
	}
	switch {
	case r.Type == awsv1.CapacityReservationTypeCapacityBlock:
		data.InstanceMarketOptions = &types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: types.MarketTypeCapacityBlock}
	case r.Interruptible:
		data.InstanceMarketOptions = &types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: types.MarketTypeInterruptibleCapacityReservation}
	}
}
