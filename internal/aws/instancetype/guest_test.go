package instancetype_test

import (
	"testing"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/instancetype"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// An instance of the simulated account has the memory that was measured, or, where nobody did, what its nearest relative
// leaves. No node may be reserved for more than it will have.
func TestNoNodeIsPromisedMoreThanItWillHave(t *testing.T) {
	w, err := world.NewDefault(world.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	facts, err := ec2facts.Load()
	if err != nil {
		t.Fatal(err)
	}
	class := &awsv1.EC2NodeClass{}
	class.Spec.AMIFamily = new(awsv1.AMIFamilyAL2023)
	cfg, err := instancetype.ConfigOf(class, instancetype.Options{MemoryOverhead: instancetype.DefaultMemoryOverhead})
	if err != nil {
		t.Fatal(err)
	}
	better, flat := 0, int64(0)
	for _, x := range w.Types() {
		k, _ := facts.Type(x.Name)
		s := instancetype.NewShape(k, nil, cfg)
		promised, real := s.Type.Capacity[res.Memory]>>20, w.GuestMemoryMiB(x.Name)
		if promised > real {
			t.Errorf("%s is promised %d MiB and will have %d", x.Name, promised, real)
		}
		if usual := int64(x.MemoryMiB) * 925 / 1000; promised > usual {
			better++
			flat += promised - usual
		}
	}
	t.Logf("%d types offer more than under the flat share, %d GiB in all", better, flat>>10)
	if better < 900 {
		t.Errorf("only %d types profit from having been measured", better)
	}
}
