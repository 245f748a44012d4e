package aws

import (
	"context"
	"maps"
	"slices"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/fleet"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// reasonOverlays is why a launch waits for NodeOverlays.
const reasonOverlays = "NodeOverlaysNotEvaluated"

// shown is the types for a claim, as the NodeOverlays leave them for its NodePool.
func (p *Provider) shown(ctx context.Context, claim *karpv1.NodeClaim, class *awsv1.EC2NodeClass) ([]*catalog.Type, error) {
	types, err := p.Types(ctx, class)
	if err != nil {
		return nil, err
	}
	types, err = p.opts.Overlays.Types(claim.Labels[karpv1.NodePoolLabelKey], types)
	if err != nil {
		return nil, &cloud.Error{Op: "reading NodeOverlays", Class: cloud.Unavailable, Reason: reasonOverlays, Err: err}
	}
	return types, nil
}

// priceOverlaid reports whether an overlay or the price file set the price of anything that may be launched: EC2 knows nothing
// of such prices, and must be told the order.
func priceOverlaid(choice *fleet.Choice) bool {
	for i := range choice.Picks {
		pick := &choice.Picks[i]
		listed := pick.Type.Listed
		if listed == nil {
			continue
		}
		for _, o := range pick.Offerings {
			same := slices.ContainsFunc(listed.Offerings, func(b catalog.Offering) bool {
				return b.Zone == o.Zone && b.CapacityType == o.CapacityType && b.ReservationID == o.ReservationID && b.Partition == o.Partition && b.Price == o.Price && b.Available == o.Available
			})
			if !same {
				return true
			}
		}
	}
	return false
}

// sayOverlays notes on an instance what overlays had a part in.
func sayOverlays(m *cloud.Instance, types []*catalog.Type, plan *launchPlan) {
	if plan.request.ByPriority {
		m.Annotations[karpv1.PriceOverlayAppliedAnnotationKey] = "true"
	}
	i := slices.IndexFunc(types, func(t *catalog.Type) bool { return t.Name == m.InstanceType })
	if i < 0 {
		return
	}
	if listed := types[i].Listed; listed != nil && !maps.Equal(listed.Capacity, types[i].Capacity) {
		m.Annotations[karpv1.CapacityOverlayAppliedAnnotationKey] = "true"
	}
}
