package ec2

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type describeCapacityReservationsInput struct {
	paging
	Filters []filter `query:"Filter"`
	IDs     []string `query:"CapacityReservationId"`
}

type describeCapacityReservationsOutput struct {
	Reservations []capacityReservation `xml:"capacityReservationSet>item"`
	NextToken    string                `xml:"nextToken,omitempty"`
}

type capacityReservation struct {
	ID            string    `xml:"capacityReservationId"`
	ARN           string    `xml:"capacityReservationArn"`
	OwnerID       string    `xml:"ownerId"`
	Zone          string    `xml:"availabilityZone"`
	ZoneID        string    `xml:"availabilityZoneId"`
	InstanceType  string    `xml:"instanceType"`
	Platform      string    `xml:"instancePlatform"`
	MatchCriteria string    `xml:"instanceMatchCriteria"`
	Tenancy       string    `xml:"tenancy"`
	Total         int       `xml:"totalInstanceCount"`
	Available     int       `xml:"availableInstanceCount"`
	State         string    `xml:"state"`
	Kind          string    `xml:"reservationType"`
	Interruptible bool      `xml:"interruptible"`
	CreateDate    string    `xml:"createDate"`
	StartDate     string    `xml:"startDate"`
	EndDate       string    `xml:"endDate,omitempty"`
	EndDateType   string    `xml:"endDateType"`
	Tags          []tagItem `xml:"tagSet>item"`
}

var reservationFilters = filterable[world.Reservation]{
	attributes: map[string]func(*world.Reservation) []string{
		"availability-zone":       one(func(r *world.Reservation) string { return r.Zone }),
		"end-date":                one(func(r *world.Reservation) string { return stamp(r.End) }),
		"instance-match-criteria": one(func(r *world.Reservation) string { return r.MatchCriteria }),
		"instance-platform":       one(func(r *world.Reservation) string { return r.Platform }),
		"instance-type":           one(func(r *world.Reservation) string { return r.Type }),
		"owner-id":                one(func(r *world.Reservation) string { return r.OwnerID }),
		"start-date":              one(func(r *world.Reservation) string { return stamp(r.Start) }),
		"state":                   one(func(r *world.Reservation) string { return r.State }),
		"tenancy":                 one(func(r *world.Reservation) string { return r.Tenancy }),
	},
	tags: func(r *world.Reservation) map[string]string { return r.Tags },
}

func (s *service) describeCapacityReservations(_ *wire.Request, in *describeCapacityReservationsInput) (any, error) {
	all, token, err := describe(s.world.Reservations(), in.IDs, in.Filters, in.paging, describing[world.Reservation]{
		id: func(r *world.Reservation) string { return r.ID }, filters: reservationFilters, limits: limits{min: 1, max: 1000},
		missing: "InvalidCapacityReservationId.NotFound", what: "capacity reservation ID", exclusive: true,
	})
	if err != nil {
		return nil, err
	}
	out := describeCapacityReservationsOutput{NextToken: token}
	for _, r := range all {
		ends := "unlimited"
		if !r.End.IsZero() {
			ends = "limited"
		}
		out.Reservations = append(out.Reservations, capacityReservation{
			ID: r.ID, ARN: s.arn("capacity-reservation/" + r.ID), OwnerID: r.OwnerID, Zone: r.Zone, ZoneID: s.world.ZoneID(r.Zone),
			InstanceType: r.Type, Platform: r.Platform, MatchCriteria: r.MatchCriteria, Tenancy: r.Tenancy, Total: r.Total, Available: r.Available,
			State: r.State, Kind: r.Kind, Interruptible: r.Interruptible, CreateDate: stamp(r.Created), StartDate: stamp(r.Start),
			EndDate: stamp(r.End), EndDateType: ends, Tags: tagItems(r.Tags),
		})
	}
	return out, nil
}

type describePlacementGroupsInput struct {
	Filters []filter `query:"Filter"`
	IDs     []string `query:"GroupId"`
	Names   []string `query:"GroupName"`
}

type describePlacementGroupsOutput struct {
	Groups []placementGroup `xml:"placementGroupSet>item"`
}

type placementGroup struct {
	GroupID    string    `xml:"groupId"`
	Name       string    `xml:"groupName"`
	ARN        string    `xml:"groupArn"`
	Strategy   string    `xml:"strategy"`
	Partitions int32     `xml:"partitionCount,omitempty"`
	State      string    `xml:"state"`
	Tags       []tagItem `xml:"tagSet>item"`
}

var placementGroupFilters = filterable[world.PlacementGroup]{
	attributes: map[string]func(*world.PlacementGroup) []string{
		"group-name": one(func(g *world.PlacementGroup) string { return g.Name }),
		"state":      one(func(g *world.PlacementGroup) string { return g.State }),
		"strategy":   one(func(g *world.PlacementGroup) string { return g.Strategy }),
	},
	tags: func(g *world.PlacementGroup) map[string]string { return g.Tags },
}

func (s *service) describePlacementGroups(_ *wire.Request, in *describePlacementGroupsInput) (any, error) {
	all := s.world.PlacementGroups()
	if len(in.Names) > 0 {
		if missing := without(in.Names, all, func(g world.PlacementGroup) string { return g.Name }); len(missing) > 0 {
			return nil, wire.Errorf("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", missing[0])
		}
		all = slices.DeleteFunc(all, func(g world.PlacementGroup) bool { return !slices.Contains(in.Names, g.Name) })
	}
	all, _, err := describe(all, in.IDs, in.Filters, paging{}, describing[world.PlacementGroup]{
		id: func(g *world.PlacementGroup) string { return g.ID }, filters: placementGroupFilters,
		missing: "InvalidPlacementGroupId.NotFound", what: "placement group ID",
	})
	if err != nil {
		return nil, err
	}
	out := describePlacementGroupsOutput{}
	for _, g := range all {
		arn := s.arn("placement-group/" + g.Name)
		out.Groups = append(out.Groups, placementGroup{g.ID, g.Name, arn, g.Strategy, g.Partitions, g.State, tagItems(g.Tags)})
	}
	return out, nil
}
