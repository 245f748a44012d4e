package aws_test

import (
	"testing"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
)

// Two classes on the same subnets that differ in family and CPU options: each sees what is right for it whoever asked
// first, and both see at once that a pool has closed.
func TestClassesOnTheSameSubnetsSeeRightAndFreshOfferings(t *testing.T) {
	s := startSim(t, awssim.Options{})
	p := newProvider(t, s, nil)
	ready(t, p)
	plain := newClass(s)
	resolve(t, p, plain)
	nested := plain.DeepCopy()
	nested.Name, nested.UID = "nested", "nested-uid"
	nested.Spec.CPUOptions = &awsv1.CPUOptions{NestedVirtualization: new("enabled")}
	old := plain.DeepCopy()
	old.Name, old.UID = "old", "old-uid"
	old.Spec.AMISelectorTerms[0].Alias, old.Spec.AMIFamily = "", new(awsv1.AMIFamilyCustom)

	can := func(class *awsv1.EC2NodeClass, instanceType, zone string) bool {
		t.Helper()
		for _, o := range typesOf(t, p, class)[instanceType].Offerings {
			if o.Zone == zone && o.CapacityType == catalog.OnDemand {
				return o.Available
			}
		}
		return false
	}
	zone := plain.Status.Subnets[0].Zone
	for range 2 { // in either order of asking
		for _, c := range []struct {
			class        *awsv1.EC2NodeClass
			instanceType string
			want         bool
		}{{old, "a1.large", true}, {plain, "a1.large", false}, {nested, "m5.large", false}, {plain, "m5.large", true}, {old, "m5.large", true}} {
			if got := can(c.class, c.instanceType, zone); got != c.want {
				t.Errorf("%s for class %s can be launched: %v, want %v", c.instanceType, c.class.Name, got, c.want)
			}
		}
	}
	p.MarkUnavailable(catalog.OnDemand, "m5.large", zone, "test")
	for _, class := range []*awsv1.EC2NodeClass{plain, old} {
		if can(class, "m5.large", zone) {
			t.Errorf("class %s has not seen that the pool closed", class.Name)
		}
	}
}
