package audit_test

import (
	"math"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-sh/kerf/api/karpenter/v1alpha1"
	"github.com/kerf-sh/kerf/api/status"
	"github.com/kerf-sh/kerf/internal/audit"
	"github.com/kerf-sh/kerf/internal/state/pricefile"
)

// quick is less work than an audit does: what these tests ask for does not hang on it.
const quick = 20_000_000

// NodeOverlays change prices as they do in the controller: of nodes of NodePools, and only once they are ready.
func TestNodeOverlaysSetPrices(t *testing.T) {
	before := run(t, withKarpenter().Snapshot, audit.Options{Work: quick})
	for name, c := range map[string]struct {
		condition metav1.ConditionStatus
		part      float64 // of the price of legacy's nodes
		note      string
	}{
		"ready":         {metav1.ConditionTrue, 0.5, ""},
		"refused":       {metav1.ConditionFalse, 1, "NodeOverlays that are refused: rates."},
		"not evaluated": {"", 1, "NodeOverlays that no controller has evaluated: rates."},
	} {
		t.Run(name, func(t *testing.T) {
			b := withKarpenter()
			o := &v1alpha1.NodeOverlay{ObjectMeta: b.meta("", "rates")}
			o.Spec.PriceAdjustment = new("-50%")
			o.Spec.Requirements = []v1alpha1.NodeSelectorRequirement{
				{Key: "karpenter.k8s.aws/instance-family", Operator: corev1.NodeSelectorOpIn, Values: []string{"m5"}}, // the node group's, too
				{Key: "karpenter.sh/nodepool", Operator: corev1.NodeSelectorOpIn, Values: []string{"legacy"}},
			}
			if c.condition != "" {
				o.Status.Conditions = []status.Condition{{Type: "ValidationSucceeded", Status: c.condition, ObservedGeneration: 1}, {Type: "Ready", Status: c.condition, ObservedGeneration: 1}}
			}
			b.NodeOverlays = append(b.NodeOverlays, o)
			r := run(t, b.Snapshot, audit.Options{Work: quick})
			addsUp(t, r)
			for group, part := range map[string]float64{"NodePool legacy": c.part, "NodePool default": 1, "node group system": 1} {
				if got, want := shareOf(r.Bill.Groups, group), part*shareOf(before.Bill.Groups, group); math.Abs(got-want) > 1e-5 {
					t.Errorf("%s is $%f/h, want $%f/h", group, got, want)
				}
			}
			if all := strings.Join(r.Unknown, "\n"); strings.Contains(all, "NodeOverlay") != (c.note != "") || !strings.Contains(all, c.note) {
				t.Errorf("not known: %s", all)
			}
			if less := before.Floor.Plan - r.Floor.Plan; (less > 0.1) != (c.part < 1) {
				t.Errorf("the plan costs $%f/h less", less)
			}
		})
	}
}

// What a rule makes free is free, and no unknown price.
func TestAPriceOfNothingIsKnown(t *testing.T) {
	rules, err := pricefile.Parse("p.yaml", []byte("prices: [{match: {family: m5}, price: 0}]"))
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, withKarpenter().Snapshot, audit.Options{Work: quick, Prices: rules})
	addsUp(t, r)
	if len(r.Bill.Unpriced) > 0 || shareOf(r.Bill.Groups, "NodePool legacy") != 0 {
		t.Errorf("without a price: %v; %+v", r.Bill.Unpriced, r.Bill.Groups)
	}
	for _, x := range r.Untouched {
		if strings.Contains(x.Reason, "not known") {
			t.Errorf("%v: %s", x.Nodes, x.Reason)
		}
	}
	all, err := pricefile.Parse("p.yaml", []byte("prices: [{match: {}, price: 0}]"))
	if err != nil {
		t.Fatal(err)
	}
	if r := run(t, withKarpenter().Snapshot, audit.Options{Work: quick, Prices: all}); !r.Bill.Known || r.Bill.PerHour != 0 || !r.Floor.Known {
		t.Errorf("all for nothing: %+v %+v", r.Bill, r.Floor)
	}
}
