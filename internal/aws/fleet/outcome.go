package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/aws/network"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// PoolError is why EC2 did not launch from a pool.
type PoolError struct {
	// InstanceType, Zone, ZoneID and SubnetID are empty when the whole request was refused.
	CapacityType, InstanceType, Zone, ZoneID, SubnetID string
	// ReservationID is what was to be launched out of, empty where the capacity is not reserved.
	ReservationID string
	// Group and Partition are those of the request; empty and 0 for instances that stand in no placement group.
	Group     string
	Partition int32
	// Demand is what the instance would have taken of its subnet by itself.
	Demand network.Demand

	Class         cloud.ErrorClass
	Reason        string
	Code, Message string
}

// Forbidden reports whether a policy does not let the controller launch from the pool; it may allow others. EC2 names a pool in every
// refusal of a launch, also where a role or a subnet was refused and no pool can be launched from.
func (f *PoolError) Forbidden() bool {
	return f.InstanceType != "" && f.Reason == awserr.ReasonUnauthorized && awserr.RefusesInstance(f.Message)
}

// instancesOf are the instances of a fleet, sorted by id.
func instancesOf(out *ec2.CreateFleetOutput, c *call) []*Launched {
	var all []*Launched
	for i := range out.Instances {
		set := &out.Instances[i]
		b := Launched{InstanceType: string(set.InstanceType), Zone: aws.ToString(set.AvailabilityZone), SubnetID: aws.ToString(set.SubnetId)}
		if t := set.LaunchTemplateAndOverrides; t != nil && t.Overrides != nil {
			o := t.Overrides
			b.ImageID = aws.ToString(o.ImageId)
			b.Zone = cmp.Or(b.Zone, aws.ToString(o.AvailabilityZone))
			b.SubnetID = cmp.Or(b.SubnetID, aws.ToString(o.SubnetId))
			b.InstanceType = cmp.Or(b.InstanceType, string(o.InstanceType))
		}
		r := &c.orders[0].Request
		b.CapacityType = lifecycle(set.Lifecycle, r.CapacityType)
		b.ReservationID = r.reservationOf(b.InstanceType, b.Zone)
		b.Group, b.Partition = r.Group, r.Partition
		b.Tags = c.tags
		for _, id := range set.InstanceIds {
			one := b
			one.InstanceID = id
			all = append(all, &one)
		}
	}
	slices.SortFunc(all, compareLaunched)
	return slices.CompactFunc(all, func(a, b *Launched) bool { return a.InstanceID == b.InstanceID })
}

func lifecycle(l types.InstanceLifecycle, asked string) string {
	if asked == catalog.Reserved {
		return asked // EC2 calls it on-demand
	}
	switch l {
	case types.InstanceLifecycleSpot:
		return catalog.Spot
	case types.InstanceLifecycleOnDemand:
		return catalog.OnDemand
	}
	return asked
}

func failuresOf(errs []types.CreateFleetError, r *Request) []PoolError {
	out := make([]PoolError, len(errs))
	var unknown []int
	for i, e := range errs {
		f := PoolError{Code: aws.ToString(e.ErrorCode), Message: aws.ToString(e.ErrorMessage), CapacityType: lifecycle(e.Lifecycle, r.CapacityType)}
		f.Group, f.Partition = r.Group, r.Partition
		var known bool
		f.Class, f.Reason, known = awserr.Classify(f.Code, f.Message)
		if t := e.LaunchTemplateAndOverrides; t != nil && t.Overrides != nil {
			o := t.Overrides
			f.InstanceType, f.Zone, f.SubnetID = string(o.InstanceType), aws.ToString(o.AvailabilityZone), aws.ToString(o.SubnetId)
			f.Zone, f.ZoneID = r.zoneOf(f.SubnetID, f.Zone)
			f.ReservationID, f.Demand = r.reservationOf(f.InstanceType, f.Zone), r.demandOf(f.InstanceType, f.Zone)
		}
		if f.ReservationID != "" && f.Class == cloud.NotFound && f.Reason != awserr.ReasonLaunchTemplateNotFound {
			// The reservation is gone. EC2 would be asked for it again, for it costs least.
			f.Class, f.Reason = cloud.Exhausted, awserr.ReasonReservationExceeded
		}
		if f.Forbidden() {
			f.Class = cloud.Exhausted // of this pool: another try has to ask for others
		}
		if !known && f.InstanceType != "" {
			unknown = append(unknown, i)
		}
		out[i] = f
	}
	if len(unknown) < len(out) {
		// What the table does not know is of the pool where others had something else: one pool would keep the claim from all others until
		// its launch timeout. Where all have it, it is of the class or the account: to close pools would take them from other classes.
		for _, i := range unknown {
			out[i].Class = cloud.Exhausted
		}
	}
	return out
}

// zoneOf is the zone of a subnet, by name and id, the name if it is known already.
func (r *Request) zoneOf(subnet, zone string) (name, id string) {
	for _, s := range r.Subnets {
		if s.ID == subnet {
			return cmp.Or(zone, s.Zone), s.ZoneID
		}
	}
	return zone, ""
}

// refusal is what a request that was refused as a whole has to say of the pools: that it was for a capacity type.
func refusal(r *Request, err error) PoolError {
	f := PoolError{CapacityType: r.CapacityType, Code: awserr.Code(err), Message: err.Error(), Class: cloud.Unavailable, Reason: awserr.ReasonLaunchFailed}
	if e, ok := errors.AsType[*cloud.Error](awserr.Wrap("", err)); ok {
		f.Class, f.Reason = e.Class, e.Reason
	}
	return f
}

// worst orders classes by how much they say about a launch that brought nothing: what must be fixed before another try
// can succeed comes before what may be otherwise in a moment, and both before what other pools may have; of that, what a policy
// forbids comes before a mere lack of capacity.
var worst = []cloud.ErrorClass{cloud.Denied, cloud.Invalid, cloud.NotFound, cloud.Conflict, cloud.Throttled, cloud.Unavailable, cloud.Exhausted}

// failure is the error of a claim that a fleet brought nothing for.
func failure(failures []PoolError) error {
	out := &cloud.Error{Op: "creating a fleet", Class: cloud.Exhausted, Reason: awserr.ReasonUnfulfillableCapacity}
	if len(failures) == 0 {
		out.Err = errors.New("EC2 launched fewer instances than it was asked for and did not say why")
		return out
	}
	first := slices.MinFunc(failures, func(a, b PoolError) int {
		return cmp.Or(cmp.Compare(slices.Index(worst, a.Class), slices.Index(worst, b.Class)), -boolCompare(a.Forbidden(), b.Forbidden()))
	})
	out.Class, out.Reason = first.Class, first.Reason
	text := summary(failures, first)
	if first.Forbidden() || first.Class == cloud.Denied && first.Reason != awserr.ReasonCredentialsRefused {
		// In front, for conditions are cut.
		text = awserr.Refusal(first.Message, "ec2:RunInstances") + ": " + text
	}
	if first.Class == cloud.Exhausted {
		text += quotaHint(failures)
	}
	out.Err = errors.New(text)
	return out
}

// shown is how many pools a message names for one error.
const shown = 3

// summary says, per error, in how many pools it came, with examples.
func summary(failures []PoolError, first PoolError) string {
	type group struct {
		code, message string
		pools         []string
	}
	var groups []*group
	for _, f := range failures {
		i := slices.IndexFunc(groups, func(g *group) bool { return g.code == f.Code })
		if i < 0 {
			groups = append(groups, &group{code: f.Code, message: f.Message})
			i = len(groups) - 1
		}
		if f.InstanceType != "" {
			groups[i].pools = append(groups[i].pools, f.InstanceType+" in "+f.Zone)
		}
	}
	slices.SortStableFunc(groups, func(a, b *group) int {
		return cmp.Or(-boolCompare(a.code == first.Code, b.code == first.Code), -cmp.Compare(len(a.pools), len(b.pools)))
	})
	parts := make([]string, len(groups))
	for i, g := range groups {
		parts[i] = g.code
		if len(g.pools) > 0 {
			parts[i] += fmt.Sprintf(" for %d pools (%s)", len(g.pools), examples(g.pools))
		}
		if i == 0 && g.message != "" {
			parts[i] += ": " + g.message
		}
	}
	return strings.Join(parts, "; ")
}

func examples(pools []string) string {
	slices.Sort(pools)
	if len(pools) > shown {
		return strings.Join(pools[:shown], ", ") + ", …"
	}
	return strings.Join(pools, ", ")
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
