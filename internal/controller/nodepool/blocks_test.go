package nodepool

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// A type that is sold as Capacity Blocks only has no offering while no block is running (UsageClasses: capacity-block).
func TestATypeThatIsSoldAsBlocksAloneIsThereBetweenTwoBlocks(t *testing.T) {
	block := &catalog.Type{Name: "p5e.48xlarge", Requirements: []requirement.Term{
		{Key: requirement.InstanceType, Operator: requirement.In, Values: []string{"p5e.48xlarge"}},
		{Key: requirement.Arch, Operator: requirement.In, Values: []string{"amd64"}},
	}}
	term := func(key string, values ...string) karpv1.NodeSelectorRequirementWithMinValues {
		return karpv1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
	}
	pool, class := &karpv1.NodePool{}, &awsv1.EC2NodeClass{}
	class.Spec.CapacityReservationSelectorTerms = []awsv1.CapacityReservationSelectorTerm{{ID: "cr-1"}}
	pool.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{
		term(requirement.CapacityType, "reserved"), term(requirement.InstanceType, "p5e.48xlarge"),
	}
	if got, _ := unlaunchable(pool, class, append(region(), block), ""); got != "" {
		t.Errorf("between two blocks: %s", got)
	}
	asked := pool.Spec.Template.Spec.Requirements
	pool.Spec.Template.Spec.Requirements = append(slices.Clone(asked), term(requirement.Zone, "eu-central-1a"))
	if got, _ := unlaunchable(pool, class, append(region(), block), ""); !strings.Contains(got, "name one of these zones") {
		t.Errorf("in a zone that there is not: %q", got)
	}
	pool.Spec.Template.Spec.Requirements = asked[1:]
	if got, _ := unlaunchable(pool, &awsv1.EC2NodeClass{}, append(region(), block), ""); got == "" {
		t.Error("a class that selects no reservation can launch it")
	}
	pool.Spec.Template.Spec.Requirements = asked
	block.Offerings = []catalog.Offering{{Zone: "us-east-1a", CapacityType: catalog.Reserved, ReservationID: "cr-1", ReservationType: "capacity-block", Unavailable: "used up"}}
	for _, zone := range []string{"us-east-1a", "us-east-1c"} { // the latter without a subnet
		block.Offerings[0].Zone = zone
		if zone == "us-east-1c" {
			block.Offerings[0].Unavailable = catalog.WithoutSubnet
		}
		if got, _ := unlaunchable(pool, class, append(region(), block), ""); got != "" {
			t.Errorf("with a block in %s: %s", zone, got)
		}
	}
}
