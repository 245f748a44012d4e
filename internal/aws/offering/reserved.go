package offering

import (
	"slices"
	"strings"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/instancetype"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// Reasons why what is reserved must not be asked for.
const (
	UsedUp   = "the capacity reservation is used up"
	Unseen   = "it is not known what the capacity reservation still holds, as EC2 has not told yet"
	Expiring = "the capacity block is about to end"
)

// tokenShare is by how much what is reserved is cheaper than the same instance on demand. It is paid for whether it is used
// or not, so that it comes before all that costs money; but it has a price, so that of two reservations the one of the
// smaller instance is used up first.
const tokenShare = 100_000

// Reservation is a capacity reservation that a class selects.
type Reservation struct {
	ID, InstanceType, Zone string
	// Kind is default or capacity-block.
	Kind          string
	Interruptible bool
	Expiring      bool
	// Left is how many instances it still holds, none while Unseen: EC2 has not told yet.
	Left   int
	Unseen bool
}

// ReservationsOf are the reservations of a class, sorted by ID; left says how many instances one still holds, if that is
// known.
func ReservationsOf(class *awsv1.EC2NodeClass, left func(id string) (n int, known bool)) []Reservation {
	out := make([]Reservation, 0, len(class.Status.CapacityReservations))
	for i := range class.Status.CapacityReservations {
		r := &class.Status.CapacityReservations[i]
		kind := r.ReservationType
		if kind == "" {
			kind = awsv1.CapacityReservationTypeDefault
		}
		n, known := left(r.ID)
		out = append(out, Reservation{
			ID: r.ID, InstanceType: r.InstanceType, Zone: r.AvailabilityZone, Kind: kind, Interruptible: r.Interruptible,
			Expiring: r.State == awsv1.CapacityReservationStateExpiring, Left: n, Unseen: !known,
		})
	}
	slices.SortFunc(out, func(a, b Reservation) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// ReservationsChanged lists the types of which there is another reservation, or another count, in now than in before; sorted.
func ReservationsChanged(before, now []Reservation) []string {
	var out []string
	for _, pair := range [2][2][]Reservation{{before, now}, {now, before}} {
		for _, r := range pair[0] {
			if !slices.Contains(pair[1], r) {
				out = append(out, r.InstanceType)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// reserved appends the offerings of reservations of the type in a zone.
func (in *Input) reserved(out []catalog.Offering, s *instancetype.Shape, zone string, zones map[string]zoneState) []catalog.Offering {
	z, selected := zones[zone]
	for i := range in.Reservations {
		r := &in.Reservations[i]
		if r.InstanceType != s.Type.Name || r.Zone != zone {
			continue
		}
		o := catalog.Offering{
			Zone: zone, ZoneID: z.id, CapacityType: catalog.Reserved, Price: tokenPrice(in.Prices, r.InstanceType),
			ReservationID: r.ID, ReservationType: r.Kind, Interruptible: r.Interruptible, Reservable: r.Left,
		}
		switch {
		case s.Refused != "":
			o.Unavailable = s.Refused
		case !selected:
			o.Unavailable = NoSubnet
		case z.reason != "":
			o.Unavailable = z.reason
		case r.Expiring:
			o.Unavailable = Expiring
		case r.Unseen:
			o.Unavailable = Unseen
		case r.Left <= 0:
			o.Unavailable = UsedUp
		default:
			o.Unavailable, _ = in.Unavailable.Why(Pool{CapacityType: catalog.Reserved, InstanceType: r.InstanceType, Zone: zone}, s.VCPUs)
		}
		o.Available = o.Unavailable == ""
		out = in.inGroup(out, o, s)
	}
	return out
}

// tokenPrice is at least 1, as 0 stands for a price that is not known.
func tokenPrice(prices Prices, instanceType string) catalog.MicroUSD {
	full, _ := prices.OnDemand(instanceType)
	return max(1, (full+tokenShare/2)/tokenShare)
}

// reservationLabels are those that only what is launched out of a reservation has.
var reservationLabels = []string{
	awsv1.LabelCapacityReservationID, awsv1.LabelCapacityReservationType, awsv1.LabelCapacityReservationInterruptible,
}

// withReservations takes back, where there are reservations of the type, that a node of it never has their labels: it is the
// offering that says.
func withReservations(terms []requirement.Term, offerings []catalog.Offering) []requirement.Term {
	if !slices.ContainsFunc(offerings, func(o catalog.Offering) bool { return o.CapacityType == catalog.Reserved }) {
		return terms
	}
	return slices.DeleteFunc(terms, func(t requirement.Term) bool { return slices.Contains(reservationLabels, t.Key) })
}
