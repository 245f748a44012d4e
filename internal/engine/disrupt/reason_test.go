package disrupt_test

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/disrupt"
)

func TestABudgetIsNamedOnce(t *testing.T) {
	for want, r := range map[string]disrupt.Reason{
		"PodDisruptionBudget shop/web keeps pod shop/web-1 from being evicted":           {Code: disrupt.DisruptionBudget, Pod: "shop/web-1", Want: "shop/web"},
		"a PodDisruptionBudget keeps pod shop/web-1 from being evicted":                  {Code: disrupt.DisruptionBudget, Pod: "shop/web-1"},
		"pod shop/web-1 can't be evicted (more than one PodDisruptionBudget selects it)": {Code: disrupt.DisruptionBudget, Pod: "shop/web-1", Detail: "more than one PodDisruptionBudget selects it"},
	} {
		if got := r.Text(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
