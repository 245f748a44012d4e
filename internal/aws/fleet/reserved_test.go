package fleet

import (
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

func reservedOffering(zone, id, kind string, price catalog.MicroUSD, left int) catalog.Offering {
	o := catalog.Offering{Zone: zone, CapacityType: catalog.Reserved, ReservationID: id, ReservationType: kind, Price: price, Reservable: left, Available: left > 0}
	if kind == "interruptible" {
		o.ReservationType, o.Interruptible = "default", true
	}
	return o
}

func TestWhichReservationsAFleetIsOffered(t *testing.T) {
	const typeOf, lent = "karpenter.k8s.aws/capacity-reservation-type", "karpenter.k8s.aws/capacity-reservation-interruptible"
	for name, c := range map[string]struct {
		small, large []catalog.Offering // of m5.large and m5.xlarge
		terms        []requirement.Term
		want         []string
		capacityType string
		target       types.DefaultTargetCapacityType
	}{
		"what is reserved comes before all that costs money": {
			small: []catalog.Offering{reservedOffering("a", "cr-1", "default", 1, 1)}, want: []string{"cr-1"}, capacityType: "reserved", target: "on-demand",
		},
		"what is used up is not asked for": {
			small: []catalog.Offering{reservedOffering("a", "cr-1", "default", 1, 0)}, capacityType: "spot", target: "spot",
		},
		"one kind only, the cheapest": {
			small: []catalog.Offering{reservedOffering("a", "cr-1", "capacity-block", 1, 1)}, large: []catalog.Offering{reservedOffering("b", "cr-2", "default", 2, 9)},
			want: []string{"cr-1"}, capacityType: "reserved", target: "capacity-block",
		},
		"at one price plain ones come before blocks, and blocks before what may be taken back": {
			small: []catalog.Offering{reservedOffering("a", "cr-1", "interruptible", 1, 9), reservedOffering("a", "cr-2", "capacity-block", 1, 9), reservedOffering("b", "cr-3", "default", 1, 1)},
			want:  []string{"cr-3"}, capacityType: "reserved", target: "on-demand",
		},
		"of capacity blocks one, the cheapest": {
			small: []catalog.Offering{reservedOffering("a", "cr-1", "capacity-block", 2, 9), reservedOffering("b", "cr-2", "capacity-block", 1, 1)},
			want:  []string{"cr-2"}, capacityType: "reserved", target: "capacity-block",
		},
		"of others one in each zone, the one with most instances": {
			small: []catalog.Offering{reservedOffering("a", "cr-1", "default", 1, 1), reservedOffering("a", "cr-2", "default", 1, 5), reservedOffering("b", "cr-3", "default", 1, 1)},
			large: []catalog.Offering{reservedOffering("a", "cr-4", "default", 2, 9)},
			want:  []string{"cr-3", "cr-4"}, capacityType: "reserved", target: "on-demand",
		},
		"the kind that is demanded": {
			small: []catalog.Offering{reservedOffering("a", "cr-1", "default", 1, 1), reservedOffering("a", "cr-2", "interruptible", 1, 1)},
			terms: []requirement.Term{in(lent, "true")}, want: []string{"cr-2"}, capacityType: "reserved", target: "reserved-capacity",
		},
		"none, when the label must not be there": {
			small: []catalog.Offering{reservedOffering("a", "cr-1", "default", 1, 1)},
			terms: []requirement.Term{{Key: typeOf, Operator: requirement.DoesNotExist}}, capacityType: "spot", target: "spot",
		},
		"none, when it has too few types and there are others": {
			small: []catalog.Offering{reservedOffering("a", "cr-1", "default", 1, 1)},
			terms: []requirement.Term{{Key: typeKey, Operator: requirement.Exists, MinValues: 2}}, capacityType: "spot", target: "spot",
		},
		"what is reserved, when it has types enough": {
			small: []catalog.Offering{reservedOffering("a", "cr-1", "default", 1, 1)}, large: []catalog.Offering{reservedOffering("b", "cr-2", "default", 2, 1)},
			terms: []requirement.Term{{Key: typeKey, Operator: requirement.Exists, MinValues: 2}}, want: []string{"cr-1", "cr-2"}, capacityType: "reserved", target: "on-demand",
		},
		"none, when the capacity type is another": {
			small: []catalog.Offering{reservedOffering("a", "cr-1", "default", 1, 1)},
			terms: []requirement.Term{in(capacityKey, "on-demand")}, capacityType: "on-demand", target: "on-demand",
		},
	} {
		t.Run(name, func(t *testing.T) {
			small, large := newType("m5.large", 2, 96_000), newType("m5.xlarge", 4, 192_000)
			small.Offerings, large.Offerings = append(small.Offerings, c.small...), append(large.Offerings, c.large...)
			for _, x := range []*catalog.Type{small, large} {
				at := slices.IndexFunc(x.Requirements, func(r requirement.Term) bool { return r.Key == capacityKey })
				x.Requirements[at] = in(capacityKey, "on-demand", "reserved", "spot")
			}
			choice, err := Choose([]*catalog.Type{small, large}, Want{Requirements: c.terms})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range choice.Picks {
				for _, o := range p.Offerings {
					if o.CapacityType != choice.CapacityType {
						t.Errorf("a fleet of %s is offered %s", choice.CapacityType, o.CapacityType)
					}
					if o.ReservationID != "" {
						got = append(got, o.ReservationID)
					}
				}
			}
			slices.Sort(got)
			r := Request{CapacityType: choice.CapacityType, Reservation: choice.Reservation}
			if fmt.Sprint(got) != fmt.Sprint(c.want) || choice.CapacityType != c.capacityType || r.target() != c.target {
				t.Errorf("offered %v as %s (target %s), want %v as %s (%s)", got, choice.CapacityType, r.target(), c.want, c.capacityType, c.target)
			}
		})
	}
}

func TestWhatAFleetOfReservedCapacitySays(t *testing.T) {
	for name, c := range map[string]struct {
		kind     ReservationKind
		target   types.DefaultTargetCapacityType
		strategy bool
		types    int
	}{
		"a plain reservation":  {ReservationKind{Type: "default"}, "on-demand", true, 0},
		"a capacity block":     {ReservationKind{Type: "capacity-block"}, "capacity-block", false, 0},
		"an interruptible one": {ReservationKind{Type: "default", Interruptible: true}, "reserved-capacity", true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := Request{CapacityType: catalog.Reserved, Reservation: c.kind, Templates: []Template{{Name: "t", Overrides: []Override{{InstanceType: "m5.large", Zone: "a", ReservationID: "cr-1"}}}}}
			in := r.input(map[string]string{"a": "subnet-1"}, nil, "token", 1)
			if got := in.TargetCapacitySpecification.DefaultTargetCapacityType; got != c.target || (in.OnDemandOptions != nil) != c.strategy || in.SpotOptions != nil {
				t.Errorf("target %s, on-demand options %+v", got, in.OnDemandOptions)
			}
			if n := in.ReservedCapacityOptions; (n == nil) != (c.types == 0) || n != nil && len(n.ReservationTypes) != c.types {
				t.Errorf("reserved capacity options %+v", n)
			}
			if id := r.reservationOf("m5.large", "a"); id != "cr-1" {
				t.Errorf("m5.large in a is of %q", id)
			}
		})
	}
}

// A reservation that is gone has nothing to give. A launch template that is gone is another matter: it can be made again.
func TestAReservationThatIsGoneIsUsedUp(t *testing.T) {
	r := &Request{CapacityType: catalog.Reserved, Reservation: ReservationKind{Type: "default"}, Templates: []Template{{Name: "t", Overrides: []Override{{InstanceType: "m5.large", Zone: "a", ReservationID: "cr-1"}}}}}
	for code, want := range map[string]struct {
		class  cloud.ErrorClass
		reason string
	}{
		"InvalidCapacityReservationId.NotFound":       {cloud.Exhausted, awserr.ReasonReservationExceeded},
		"InvalidLaunchTemplateName.NotFoundException": {cloud.NotFound, awserr.ReasonLaunchTemplateNotFound},
	} {
		f := failuresOf([]types.CreateFleetError{fleetError("m5.large", code, "")}, r)[0]
		if f.ReservationID != "cr-1" || f.Class != want.class || f.Reason != want.reason {
			t.Errorf("%s: %+v, want class %s and reason %s", code, f, want.class, want.reason)
		}
	}
}
