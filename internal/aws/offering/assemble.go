package offering

import (
	"slices"
	"strings"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/instancetype"
	"github.com/kerf-sh/kerf/internal/aws/network"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// Prices per hour; false when none is known.
type Prices interface {
	OnDemand(instanceType string) (catalog.MicroUSD, bool)
	Spot(instanceType, zone string) (catalog.MicroUSD, bool)
	// SpotLately is the least and the most of the last hours; nil when that is not known, or the price did not move.
	SpotLately(instanceType, zone string) *catalog.Range
}

// Input is everything that offerings depend on, besides the shapes. Nothing is kept between calls, so nothing of one class
// can leak into the answer for another.
type Input struct {
	// Subnets of the class.
	Subnets []awsv1.Subnet
	// Full are the IDs of those subnets that can't meet the least that the class's instances demand.
	Full []string
	// Demand is the most that an instance of a type may demand of its subnet; nil stands for one address.
	Demand      func(*catalog.Type) network.Demand
	Prices      Prices
	Unavailable *Snapshot
	// Reservations that the class selects, sorted by ID.
	Reservations []Reservation
	// Group is the placement group of the class, nil for none.
	Group *awsv1.PlacementGroup
}

// zoneState is what a class's subnets say of a zone.
type zoneState struct {
	id     string
	reason string
}

// Assemble gives every shape its offerings and the requirements that they decide. Types come out in the shapes' order;
// those that can't be launched at all are among them, with the reasons. The shapes are not changed.
func Assemble(shapes []instancetype.Shape, in Input) []*catalog.Type {
	zones := in.zones(network.Demand{})
	// One array each for all types and all offerings: this is done anew whenever a pool closes or opens.
	types := make([]catalog.Type, len(shapes))
	out := make([]*catalog.Type, len(shapes))
	n := 0
	for i := range shapes {
		n += 2 * len(shapes[i].Zones)
	}
	if in.Group != nil {
		n *= max(1, int(in.Group.PartitionCount))
	}
	all := make([]catalog.Offering, 0, n)
	for i := range shapes {
		all, types[i] = in.assemble(all, &shapes[i], zones)
		out[i] = &types[i]
	}
	return out
}

// assemble makes one type; its offerings are appended to list.
func (in *Input) assemble(list []catalog.Offering, s *instancetype.Shape, zones map[string]zoneState) ([]catalog.Offering, catalog.Type) {
	from := len(list)
	zones = in.zonesFor(&s.Type, zones)
	list = in.offerings(list, s, zones)
	t := s.Type
	t.Offerings = list[from:len(list):len(list)]
	if in.Demand != nil {
		if n := in.Demand(&t).Total(); n > 1 {
			t.Addresses = int64(n)
		}
	}
	t.Requirements = in.requirements(s, zones, t.Offerings)
	return list, t
}

// zonesFor are the zones as they are for a type, usual as they are for one that demands one address.
func (in *Input) zonesFor(t *catalog.Type, usual map[string]zoneState) map[string]zoneState {
	if in.Demand == nil || in.Unavailable == nil || len(in.Unavailable.subnets) == 0 {
		return usual
	}
	d := in.Demand(t)
	if d.Total() == 1 {
		return usual
	}
	return in.zones(d)
}

func (in *Input) zones(d network.Demand) map[string]zoneState {
	out := map[string]zoneState{}
	for _, s := range in.Subnets {
		z, seen := out[s.Zone]
		if z.id == "" {
			z.id = s.ZoneID
		}
		switch {
		case !in.Unavailable.SubnetClosed(s.ID, d) && !slices.Contains(in.Full, s.ID):
			z.reason = ""
		case !seen:
			z.reason = NoAddresses
		}
		if in.Unavailable.ZoneShifted(s.ZoneID) {
			z.reason = Shifted
		}
		out[s.Zone] = z
	}
	return out
}

// offerings appends the offerings of one type, sorted by zone, capacity type, reservation and partition.
func (in *Input) offerings(out []catalog.Offering, s *instancetype.Shape, zones map[string]zoneState) []catalog.Offering {
	for _, zone := range s.Zones {
		z, selected := zones[zone]
		for _, capacityType := range []string{catalog.OnDemand, catalog.Spot} { // in the order of their names
			if capacityType == catalog.Spot && len(in.Reservations) > 0 {
				out = in.reserved(out, s, zone, zones) // their name stands between the two
			}
			if !slices.Contains(s.UsageClasses, capacityType) {
				continue
			}
			o := catalog.Offering{Zone: zone, ZoneID: z.id, CapacityType: capacityType}
			var priced bool
			if capacityType == catalog.Spot {
				o.Price, priced = in.Prices.Spot(s.Type.Name, zone)
				o.Lately = in.Prices.SpotLately(s.Type.Name, zone)
			} else {
				o.Price, priced = in.Prices.OnDemand(s.Type.Name)
			}
			switch {
			case s.Refused != "":
				o.Unavailable = s.Refused
			case !selected:
				o.Unavailable = NoSubnet
			case z.reason != "":
				o.Unavailable, o.ForNow = z.reason, true
			default:
				pool := Pool{CapacityType: capacityType, InstanceType: s.Type.Name, Zone: zone}
				c, _ := in.Unavailable.unavailability(pool, s.VCPUs)
				o.Unavailable, o.Retried = c.reason, in.Unavailable.retried[pool]
				o.ForNow = c.reason != ""
				if c.reason == NoCapacity {
					o.Opens = c.until.UTC()
				}
			}
			if o.Unavailable == "" && !priced {
				o.Unavailable = NoPrice // last, for a price may be set later and must not open what is closed for another reason
			}
			o.Available = o.Unavailable == ""
			out = in.inGroup(out, o, s)
		}
	}
	return out
}

// Labels that offerings decide.
const (
	labelZone         = "topology.kubernetes.io/zone"
	labelCapacityType = "karpenter.sh/capacity-type"
)

// requirements adds zones, zone IDs and capacity types to those of the shape.
func (in *Input) requirements(s *instancetype.Shape, zones map[string]zoneState, offerings []catalog.Offering) []requirement.Term {
	var names, ids, capacityTypes []string
	for i := range offerings {
		o := &offerings[i]
		capacityTypes = addOnce(capacityTypes, o.CapacityType)
		if _, selected := zones[o.Zone]; !selected {
			continue
		}
		names = addOnce(names, o.Zone)
		if o.ZoneID != "" {
			ids = addOnce(ids, o.ZoneID)
		}
	}
	out := make([]requirement.Term, 0, len(s.Type.Requirements)+3)
	out = append(append(out, s.Type.Requirements...),
		oneOf(labelCapacityType, capacityTypes), oneOf(labelZone, names), oneOf(awsv1.LabelTopologyZoneID, ids))
	out = in.withGroup(withReservations(out, offerings))
	slices.SortFunc(out, func(a, b requirement.Term) int { return strings.Compare(a.Key, b.Key) })
	return out
}

func addOnce(list []string, value string) []string {
	if at, found := slices.BinarySearch(list, value); !found {
		return slices.Insert(list, at, value)
	}
	return list
}

func oneOf(key string, values []string) requirement.Term {
	if len(values) == 0 {
		return requirement.Term{Key: key, Operator: requirement.DoesNotExist}
	}
	return requirement.Term{Key: key, Operator: requirement.In, Values: values}
}
