package offering

import (
	"slices"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/instancetype"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// Reasons why instances can't be had in a placement group.
const (
	GroupFull       = "the placement group holds no more instances in the zone"
	GroupElsewhere  = "the placement group stands in another zone"
	RefusedStrategy = "not supported in a placement group of this strategy"
)

// groupZone is a placement group in a zone.
type groupZone struct{ group, zone string }

// MarkGroup closes a placement group in a zone, for GroupFull or GroupElsewhere, and nothing besides.
func (u *Unavailable) MarkGroup(group, zone, reason string) {
	mark(u, u.groups, groupZone{group, zone}, unavailability{reason: reason})
}

// GroupFreed tells that an instance of a group has ended, so that another may have its place.
func (u *Unavailable) GroupFreed(group, zone string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	key := groupZone{group, zone}
	c, known := u.groups[key]
	now := u.now()
	if !known || c.reason != GroupFull || !now.Before(c.until) {
		return
	}
	c.until = now
	u.groups[key] = c // the next failure is one more in a row
	u.publish(now)
}

// inGroup completes an offering that stands in the class's placement group: of groups with partitions there is one for each.
// Without a group it is appended as it is.
func (in *Input) inGroup(out []catalog.Offering, o catalog.Offering, s *instancetype.Shape) []catalog.Offering {
	g := in.Group
	if g == nil {
		return append(out, o)
	}
	for partition := min(1, g.PartitionCount); partition <= g.PartitionCount; partition++ {
		x := o
		x.Partition = partition
		switch {
		case x.Unavailable != "":
		case !slices.Contains(s.Strategies, g.Strategy):
			x.Unavailable = RefusedStrategy
		default:
			x.Unavailable = in.Unavailable.whyInGroup(Pool{
				CapacityType: o.CapacityType, InstanceType: s.Type.Name, Zone: o.Zone, Group: g.ID, Partition: partition,
			})
			x.ForNow = x.Unavailable != ""
		}
		x.Available = x.Unavailable == ""
		out = append(out, x)
	}
	return out
}

// whyInGroup is the reason why a pool of a placement group must not be asked for in the group, empty when it may be.
func (s *Snapshot) whyInGroup(p Pool) string {
	if c, ok := s.groups[groupZone{p.Group, p.Zone}]; ok {
		return c.reason
	}
	return s.pools[p].reason
}

// withGroup says in the labels of a type what follows from the class's placement group: its id, and that spread groups take no
// dedicated instances. The partition is the offering's to say.
//
// Source: EC2 User Guide, "Placement group rules and limitations".
func (in *Input) withGroup(terms []requirement.Term) []requirement.Term {
	if in.Group == nil {
		return terms
	}
	for i := range terms {
		switch t := &terms[i]; {
		case t.Key == awsv1.LabelPlacementGroupID:
			*t = oneOf(t.Key, []string{in.Group.ID})
		case t.Key == awsv1.LabelInstanceTenancy && in.Group.Strategy == spread:
			*t = oneOf(t.Key, []string{awsv1.TenancyDefault})
		}
	}
	if in.Group.PartitionCount == 0 {
		return terms
	}
	return slices.DeleteFunc(terms, func(t requirement.Term) bool { return t.Key == awsv1.LabelPlacementGroupPartition })
}

// spread is the strategy that puts every instance on hardware of its own.
const spread = "spread"
