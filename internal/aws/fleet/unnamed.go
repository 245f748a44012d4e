package fleet

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// failedLocked tells of what EC2 could not serve of a call that has brought so many instances.
func (b *Launcher) failedLocked(c *call, failures []PoolError, got int) {
	if got < len(c.orders) {
		failures = c.named(failures)
	}
	for _, f := range failures {
		b.opts.Failed(f)
	}
	if got == 0 && len(failures) > 0 && b.opts.Refused != nil {
		b.opts.Refused(&c.orders[0].Request, failures)
	}
}

// named are the failures of a call that is short of instances. Where EC2 has nothing to give and does not say where, they are one
// for each pool that was asked for: if none were closed, the same would be planned and asked for again at once, without end.
func (c *call) named(failures []PoolError) []PoolError {
	if cloud.ClassOf(failure(failures)) != cloud.Exhausted || slices.ContainsFunc(failures, closesSomething) {
		return failures
	}
	r := &c.orders[0].Request
	said := PoolError{CapacityType: r.CapacityType, Group: r.Group, Partition: r.Partition, Class: cloud.Exhausted, Reason: awserr.ReasonInsufficientCapacity}
	if len(failures) > 0 {
		said = failures[0]
	}
	var out []PoolError
	for _, t := range c.input.LaunchTemplateConfigs {
		for _, o := range t.Overrides {
			f := said
			f.InstanceType, f.SubnetID = string(o.InstanceType), aws.ToString(o.SubnetId)
			f.Zone, f.ZoneID = r.zoneOf(f.SubnetID, aws.ToString(o.AvailabilityZone))
			f.ReservationID, f.Demand = r.reservationOf(f.InstanceType, f.Zone), r.demandOf(f.InstanceType, f.Zone)
			out = append(out, f)
		}
	}
	return out
}

// closesSomething reports whether a failure names a pool or a subnet, or is of all pools of a capacity type.
func closesSomething(f PoolError) bool {
	return f.InstanceType != "" || f.SubnetID != "" || f.Reason == awserr.ReasonSpotSLRCreationFailed || f.Quota().Name != ""
}
