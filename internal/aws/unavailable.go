package aws

import (
	"context"
	"time"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/aws/fleet"
	"github.com/kerf-sh/kerf/internal/aws/offering"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// WatchUnavailable calls f whenever an offering has closed or opened, until ctx ends, with what is closed; opened tells that
// something can be asked for again.
func (p *Provider) WatchUnavailable(ctx context.Context, f func(closed []offering.UnavailableCount, opened bool)) {
	p.unavailable.Watch(ctx, func(s *offering.Snapshot, opened bool) { f(s.Counts(), opened) })
}

// Unavailable counts what is closed now.
func (p *Provider) Unavailable() []offering.UnavailableCount {
	return p.unavailable.Snapshot().Counts()
}

// launchFailed closes what EC2 could not give: a quota closes its families in the whole region, a lack of addresses the
// subnet for instances that take as many, a capacity type that the account may not use all of it, a placement group that takes
// no more instances in a zone that group there, anything else that is exhausted, and what a policy forbids, the one pool, in its
// placement group only if it is in one. What must be fixed, or may be otherwise in a moment, closes nothing.
func (p *Provider) launchFailed(f fleet.PoolError) {
	p.opts.LaunchFailed(f)
	if f.Reason == awserr.ReasonPlacementGroupFull || f.Reason == awserr.ReasonPlacementGroupElsewhere {
		p.groupClosed(f)
		return
	}
	if f.ReservationID != "" && f.Class == cloud.Exhausted && f.Reason != awserr.ReasonInsufficientFreeAddresses && !f.Forbidden() {
		// The reservation has nothing to give. It says nothing of the pool, and no quota counts what is reserved.
		p.held.Empty(f.ReservationID)
		return
	}
	switch f.Reason {
	case awserr.ReasonSpotSLRCreationFailed:
		p.unavailable.MarkCapacityType(catalog.Spot, offering.NotPermitted, offering.Quota{})
	case awserr.ReasonFleetQuotaExceeded:
		// Says nothing of the pools; but asking for others is in vain as well.
		p.unavailable.MarkCapacityType(f.CapacityType, offering.NoQuota, f.Quota())
	case awserr.ReasonInsufficientFreeAddresses:
		if f.SubnetID != "" {
			p.ledger.Exhausted(f.SubnetID, f.Demand)
			p.unavailable.MarkSubnet(f.SubnetID, f.Demand)
		}
	case awserr.ReasonVCPULimitExceeded, awserr.ReasonSpotQuotaExceeded:
		if f.InstanceType == "" {
			p.unavailable.MarkCapacityType(f.CapacityType, offering.NoQuota, f.Quota())
			return
		}
		p.unavailable.MarkQuota(f.CapacityType, f.InstanceType, p.vcpus(f.InstanceType), f.Quota())
	default:
		switch {
		case f.Forbidden():
			p.unavailable.MarkForbidden(poolOf(&f), awserr.Refusal(f.Message, "ec2:RunInstances"))
		case f.Class == cloud.Exhausted && f.InstanceType != "":
			p.unavailable.MarkPool(poolOf(&f), offering.NoCapacity)
		}
	}
}

func poolOf(f *fleet.PoolError) offering.Pool {
	return offering.Pool{CapacityType: f.CapacityType, InstanceType: f.InstanceType, Zone: f.Zone, Group: f.Group, Partition: f.Partition}
}

// sold tells that a pool had an instance.
func (p *Provider) sold(b *fleet.Launched) {
	if b.ReservationID != "" {
		p.held.Launched(b.ReservationID, b.InstanceID)
		return
	}
	p.unavailable.Launched(offering.Pool{
		CapacityType: b.CapacityType, InstanceType: b.InstanceType, Zone: b.Zone, Group: b.Group, Partition: b.Partition,
	}, p.vcpus(b.InstanceType))
}

// vcpus of a type, 0 when it is not known.
func (p *Provider) vcpus(instanceType string) int {
	if s := p.discovery.Snapshot(); s != nil {
		if i, ok := s.Find(instanceType); ok {
			return s.Types[i].VCPUs
		}
	}
	return 0
}

// sequentialFor is how long after EC2 was short of something launches that ask for the same pools wait for each other.
const sequentialFor = 30 * time.Second

func (p *Provider) shortLately(r *fleet.Request) bool {
	return p.unavailable.ShortLately(r.CapacityType, sequentialFor)
}

// poolClosed reports whether a pool of a request has been closed since the request was made.
func (p *Provider) poolClosed(r *fleet.Request, o *fleet.Override) bool {
	return p.unavailable.Snapshot().ClosedPool(offering.Pool{
		CapacityType: r.CapacityType, InstanceType: o.InstanceType, Zone: o.Zone, Group: r.Group, Partition: r.Partition,
	})
}

// launchRefused remembers what a NodePool was refused, to ask for it again while its pods wait. What a policy forbids is asked for
// again only in its own time.
func (p *Provider) launchRefused(r *fleet.Request, failures []fleet.PoolError) {
	var pools []offering.Pool
	for _, f := range failures {
		if f.Class == cloud.Exhausted && f.InstanceType != "" && f.ReservationID == "" && !f.Forbidden() {
			pools = append(pools, poolOf(&f))
		}
	}
	if len(pools) > 0 {
		p.unavailable.Refused(r.Tags[karpv1.NodePoolLabelKey], pools)
	}
}

// Retry tells that pods wait for capacity of a NodePool: what was asked for last is asked for again soon.
func (p *Provider) Retry(nodePool string) { p.unavailable.Retry(nodePool) }
