package images

import (
	"context"
	"fmt"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// Instances in capacity that the account holds: a plain reservation, and a block of instances with GPUs for a day.
const (
	reservedType = "m5.xlarge"
	blockType    = "p5.48xlarge"
)

func reserved() []kind {
	class := "  amiSelectorTerms: [{alias: al2023@latest}]\n  capacityReservationSelectorTerms: [{id: $RESERVATION}]" + selected
	of := func(instanceType string) string {
		return fmt.Sprintf("\n      - {key: node.kubernetes.io/instance-type, operator: In, values: [%s]}", instanceType)
	}
	return []kind{
		{name: "reserved", title: "reserved", class: class, prepare: reserve(world.Reservation{Type: reservedType, Total: 1, MatchCriteria: "targeted"}),
			requirements: of(reservedType), capacity: "reserved", family: world.FamilyAL2023, labels: map[string]string{"karpenter.k8s.aws/capacity-reservation-type": "default"}, proof: reservedProof},
		{name: "block", title: "capacity block", class: class, prepare: reserve(world.Reservation{Type: blockType, Total: 1, MatchCriteria: "targeted", Kind: world.CapacityBlock}),
			requirements: of(blockType), capacity: "reserved", resource: "nvidia.com/gpu: 8", family: world.FamilyAL2023, variant: world.VariantNVIDIA,
			labels: map[string]string{"karpenter.k8s.aws/capacity-reservation-type": "capacity-block"}, proof: reservedProof},
	}
}

// reserve makes the reservation, in the first zone that has its type.
func reserve(r world.Reservation) func(context.Context, *run) ([]string, error) {
	return func(_ context.Context, demo *run) ([]string, error) {
		for _, z := range demo.world.Zones() {
			if !demo.world.Offered(r.Type, z.Name) {
				continue
			}
			r.Zone = z.Name
			if r.Kind == world.CapacityBlock {
				r.End = time.Now().Add(24 * time.Hour)
			}
			made, err := demo.world.AddReservation(r)
			return []string{"$RESERVATION", made.ID}, err
		}
		return nil, fmt.Errorf("no zone has %s", r.Type)
	}
}

func reservedProof(b *booted, i *world.Instance) string {
	if id := b.node.Labels["karpenter.k8s.aws/capacity-reservation-id"]; i.CapacityReservationID == "" || id != i.CapacityReservationID {
		return fmt.Sprintf("EC2 has it in reservation %q, its label says %q", i.CapacityReservationID, id)
	}
	return ""
}
