package fleet

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// ReservationKind is what one fleet can't mix: EC2 takes each kind of reservation as a market of its own.
type ReservationKind struct {
	// Type is default or capacity-block.
	Type          string `json:",omitempty"`
	Interruptible bool   `json:",omitempty"`
}

// rank orders kinds of equal price: what is there for good comes first, what may be taken back at any time last.
func (k ReservationKind) rank() int {
	switch {
	case k.Interruptible:
		return 2
	case k.Type == awsv1.CapacityReservationTypeCapacityBlock:
		return 1
	}
	return 0
}

func kindOfOffering(o *catalog.Offering) ReservationKind {
	return ReservationKind{o.ReservationType, o.Interruptible}
}

// kindOf is the kind of the first reserved offering.
func kindOf(picks []Pick) ReservationKind {
	for _, p := range picks {
		for i := range p.Offerings {
			if p.Offerings[i].CapacityType == catalog.Reserved {
				return kindOfOffering(&p.Offerings[i])
			}
		}
	}
	return ReservationKind{}
}

// reservedIfEnough is reservedFirst, unless what is reserved has fewer values than minValues demand and there is something
// else to launch: no reservation grows, so the claim would be refused for ever.
func reservedIfEnough(picks []Pick, want Want) []Pick {
	narrowed := reservedFirst(picks)
	if want.RelaxMinValues {
		return narrowed
	}
	if _, missing := coverMinValues(narrowed, want.Requirements); len(missing) == 0 {
		return narrowed
	}
	sold := keep(picks, func(o *catalog.Offering) bool { return o.CapacityType != catalog.Reserved })
	if len(sold) == 0 {
		return narrowed
	}
	return sold
}

// reservedFirst narrows picks to what is reserved, if anything is: to one kind of reservation, the one with the cheapest
// offering; of capacity blocks to one offering, as a fleet takes no more of them; of others to one for each zone, the one
// that holds most instances. Without reserved capacity the picks are returned as they are.
func reservedFirst(picks []Pick) []Pick {
	type found struct {
		pick     int
		offering *catalog.Offering
	}
	var all []found
	for i := range picks {
		for j := range picks[i].Offerings {
			if o := &picks[i].Offerings[j]; o.CapacityType == catalog.Reserved {
				all = append(all, found{i, o})
			}
		}
	}
	if len(all) == 0 {
		return picks
	}
	slices.SortStableFunc(all, func(a, b found) int {
		x, y := a.offering, b.offering
		return cmp.Or(cmp.Compare(x.Price, y.Price), cmp.Compare(kindOfOffering(x).rank(), kindOfOffering(y).rank()),
			-cmp.Compare(x.Reservable, y.Reservable), cmp.Compare(x.Zone, y.Zone), cmp.Compare(x.ReservationID, y.ReservationID))
	})
	kind := kindOfOffering(all[0].offering)
	inZone := map[string]found{}
	for _, f := range all {
		if kindOfOffering(f.offering) != kind {
			continue
		}
		best, ok := inZone[f.offering.Zone]
		if !ok || f.offering.Reservable > best.offering.Reservable {
			inZone[f.offering.Zone] = f
		}
	}
	if kind.Type == awsv1.CapacityReservationTypeCapacityBlock {
		inZone = map[string]found{all[0].offering.Zone: all[0]}
	}
	chosen := map[*catalog.Offering]bool{}
	for _, f := range inZone {
		chosen[f.offering] = true
	}
	var out []Pick
	for i := range picks {
		var offerings []catalog.Offering
		for j := range picks[i].Offerings {
			if chosen[&picks[i].Offerings[j]] {
				offerings = append(offerings, picks[i].Offerings[j])
			}
		}
		if len(offerings) > 0 {
			out = append(out, Pick{picks[i].Type, offerings})
		}
	}
	return out
}

// reservationMeets reports whether what the offering says of reservations is what is demanded.
func reservationMeets(o *catalog.Offering, demands map[string][]requirement.Term) bool {
	is := func(key, value string) bool {
		terms, asked := demands[key]
		if !asked {
			return true
		}
		if o.ReservationID == "" {
			return admitsAbsence(terms)
		}
		return admits(terms, value)
	}
	return is(awsv1.LabelCapacityReservationID, o.ReservationID) &&
		is(awsv1.LabelCapacityReservationType, o.ReservationType) &&
		is(awsv1.LabelCapacityReservationInterruptible, strconv.FormatBool(o.Interruptible))
}

// target is EC2's word for the capacity that is asked for.
func (r *Request) target() types.DefaultTargetCapacityType {
	switch {
	case r.CapacityType != catalog.Reserved:
		return types.DefaultTargetCapacityType(r.CapacityType)
	case r.Reservation.Type == awsv1.CapacityReservationTypeCapacityBlock:
		return types.DefaultTargetCapacityTypeCapacityBlock
	case r.Reservation.Interruptible:
		return types.DefaultTargetCapacityTypeReservedCapacity
	}
	return types.DefaultTargetCapacityTypeOnDemand
}

// reserve names the kind of reservation where EC2 wants it named.
func (r *Request) reserve(in *ec2.CreateFleetInput) {
	if r.Reservation.Interruptible {
		in.ReservedCapacityOptions = &types.ReservedCapacityOptionsRequest{
			ReservationTypes: []types.FleetReservationType{types.FleetReservationTypeInterruptibleCapacityReservation},
		}
	}
}

// reservationOf is what a pool's instances are launched out of; a request has a type in a zone once only.
func (r *Request) reservationOf(instanceType, zone string) string {
	if r.CapacityType != catalog.Reserved {
		return ""
	}
	for _, t := range r.Templates {
		for _, o := range t.Overrides {
			if o.InstanceType == instanceType && o.Zone == zone {
				return o.ReservationID
			}
		}
	}
	return ""
}
