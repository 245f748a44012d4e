package plan_test

import (
	"slices"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/plan"
)

func TestASetOfRefusalsHasEachOnceAndInOrder(t *testing.T) {
	spot, both := plan.Refusal{CapacityType: "spot", Why: "quota exceeded"}, plan.Refusal{CapacityType: "on-demand", Why: "no subnet in zone"}
	one, other := plan.RefusalsOf([]plan.Refusal{spot, both, spot}), plan.RefusalsOf([]plan.Refusal{both, spot})
	if got, want := one.All(), []plan.Refusal{both, spot}; !slices.Equal(got, want) || one != other {
		t.Errorf("%v, want %v", got, want)
	}
	if got := plan.RefusalsOf(nil); got != "" || got.All() != nil {
		t.Errorf("the empty set is %q with %v", got, got.All())
	}
}
