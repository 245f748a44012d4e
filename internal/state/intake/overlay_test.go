package intake

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kerf-sh/kerf/api/karpenter/v1alpha1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

func TestOverlay(t *testing.T) {
	for name, c := range map[string]struct {
		spec v1alpha1.NodeOverlaySpec
		want catalog.Overlay
		err  string
	}{
		"a price":            {v1alpha1.NodeOverlaySpec{Price: new("0.0960001")}, catalog.Overlay{Price: &catalog.PriceRule{Price: 96_000}}, ""},
		"a large price":      {v1alpha1.NodeOverlaySpec{Price: new("1234")}, catalog.Overlay{Price: &catalog.PriceRule{Price: 1_234_000_000}}, ""},
		"an absurd price":    {v1alpha1.NodeOverlaySpec{Price: new("99999999999999999999")}, catalog.Overlay{}, "spec.price"},
		"less":               {v1alpha1.NodeOverlaySpec{PriceAdjustment: new("-.5")}, catalog.Overlay{Price: &catalog.PriceRule{Plus: new(catalog.MicroUSD(-500_000))}}, ""},
		"a discount":         {v1alpha1.NodeOverlaySpec{PriceAdjustment: new("-27.5%")}, catalog.Overlay{Price: &catalog.PriceRule{Percent: new(int64(-27_500_000))}}, ""},
		"a surcharge":        {v1alpha1.NodeOverlaySpec{PriceAdjustment: new("+150%")}, catalog.Overlay{Price: &catalog.PriceRule{Percent: new(int64(150_000_000))}}, ""},
		"more than all":      {v1alpha1.NodeOverlaySpec{PriceAdjustment: new("-100.5%")}, catalog.Overlay{}, "takes off more than all"},
		"no sign":            {v1alpha1.NodeOverlaySpec{PriceAdjustment: new("10%")}, catalog.Overlay{}, "with a sign"},
		"an exponent":        {v1alpha1.NodeOverlaySpec{PriceAdjustment: new("+1e9%")}, catalog.Overlay{}, "with a sign"},
		"both":               {v1alpha1.NodeOverlaySpec{Price: new("1"), PriceAdjustment: new("+1")}, catalog.Overlay{}, "not both"},
		"a negative amount":  {v1alpha1.NodeOverlaySpec{Capacity: corev1.ResourceList{"x.io/y": resource.MustParse("-1")}}, catalog.Overlay{}, "spec.capacity[x.io/y]"},
		"a bound of nothing": {v1alpha1.NodeOverlaySpec{Requirements: []v1alpha1.NodeSelectorRequirement{{Key: "a", Operator: "Gt"}}}, catalog.Overlay{}, "spec.requirements[0]"},
		"all of it": {v1alpha1.NodeOverlaySpec{
			Weight: new(int32(7)), Capacity: corev1.ResourceList{"x.io/y": resource.MustParse("2k")},
			Requirements: []v1alpha1.NodeSelectorRequirement{{Key: "failure-domain.beta.kubernetes.io/zone", Operator: "In", Values: []string{"a"}}},
		}, catalog.Overlay{Weight: 7, Capacity: res.List{"x.io/y": 2000}, Requirements: []requirement.Term{{Key: "topology.kubernetes.io/zone", Operator: "In", Values: []string{"a"}}}}, ""},
	} {
		o := &v1alpha1.NodeOverlay{Spec: c.spec}
		got, err := Overlay(o)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: error %v, want one with %q", name, err, c.err)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}
