package aws_test

import (
	"testing"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/state/cloud/overlay"
)

// A price that only we know makes EC2 follow our order: by its own prices it would take the smaller instance. What was
// launched says so.
func TestAPriceOverlayDecidesWhatIsLaunched(t *testing.T) {
	s := startSim(t, awssim.Options{})
	store := overlay.New()
	p := newProvider(t, s, func(o *aws.Options) { o.Overlays = store })
	ready(t, p)
	class := newClass(s)
	resolve(t, p, class)
	if _, err := p.Launch(t.Context(), newClaim(1), class); err == nil {
		t.Fatal("an instance was launched before NodeOverlays were evaluated")
	}
	pools := map[string]map[string]string{"pool": {karpv1.NodePoolLabelKey: "pool"}}
	store.Set(nil, pools)
	plain, err := p.Launch(t.Context(), newClaim(2), class)
	if err != nil {
		t.Fatal(err)
	}
	if plain.InstanceType != "m5.large" && plain.InstanceType != "m6i.large" || plain.Annotations[karpv1.PriceOverlayAppliedAnnotationKey] != "" {
		t.Errorf("without overlays %s was launched, annotations %v", plain.InstanceType, plain.Annotations)
	}
	less := int64(-90_000_000)
	store.Set([]catalog.Overlay{{
		Name: "plan", Price: &catalog.PriceRule{Percent: &less}, Capacity: res.List{"smarter-devices/fuse": 20},
		Requirements: []requirement.Term{{Key: "node.kubernetes.io/instance-type", Operator: requirement.In, Values: []string{"m5.2xlarge"}}},
	}}, pools)
	got, err := p.Launch(t.Context(), newClaim(3), class)
	if err != nil {
		t.Fatal(err)
	}
	if got.InstanceType != "m5.2xlarge" {
		t.Errorf("launched %s", got.InstanceType)
	}
	if got.Annotations[karpv1.PriceOverlayAppliedAnnotationKey] != "true" || got.Annotations[karpv1.CapacityOverlayAppliedAnnotationKey] != "true" {
		t.Errorf("annotations are %v", got.Annotations)
	}
	if got.Capacity["smarter-devices/fuse"] != 20 || got.Allocatable["smarter-devices/fuse"] != 20 {
		t.Errorf("capacity is %v", got.Capacity)
	}
}
