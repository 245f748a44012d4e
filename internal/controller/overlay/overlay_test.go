package overlay

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/karpenter/v1alpha1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/state/cloud/overlay"
)

type region struct{ types []*catalog.Type }

func (r region) Types(context.Context, *awsv1.EC2NodeClass) ([]*catalog.Type, error) {
	return r.types, nil
}

func newOverlay(name, price string, weight int32, zone string) *v1alpha1.NodeOverlay {
	o := &v1alpha1.NodeOverlay{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.NodeOverlaySpec{Price: &price}}
	if weight > 0 {
		o.Spec.Weight = &weight
	}
	if zone != "" {
		o.Spec.Requirements = []v1alpha1.NodeSelectorRequirement{{Key: "topology.kubernetes.io/zone", Operator: "In", Values: []string{zone}}}
	}
	return o
}

func TestOverlaysAreJudgedTogether(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{karpv1.AddToScheme, awsv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "blue"}}
	pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
	class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	class.StatusConditions(false).SetTrue(awsv1.ConditionTypeSubnetsReady)
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.NodeOverlay{}).WithObjects(pool, class,
		newOverlay("first", "1", 0, "a"), newOverlay("second", "2", 0, ""), newOverlay("heavy", "3", 10, "b"), newOverlay("elsewhere", "4", 0, "z"),
		newOverlay("senseless", "1e9", 0, ""),
	).Build()
	m5 := &catalog.Type{Name: "m5.large", Offerings: []catalog.Offering{
		{Zone: "a", CapacityType: catalog.OnDemand, Price: 96_000, Available: true}, {Zone: "b", CapacityType: catalog.OnDemand, Price: 96_000, Available: true},
	}}
	changes := 0
	store := overlay.New()
	loop := &Controller{
		Client: c, Types: region{[]*catalog.Type{m5}}, Store: store, Changed: func() { changes++ }, Log: slog.New(slog.DiscardHandler), Clock: clocktesting.NewFakeClock(metav1.Now().Time),
	}
	judge := func() {
		t.Helper()
		if _, err := loop.Reconcile(t.Context(), reconcile.Request{}); err != nil {
			t.Fatal(err)
		}
	}
	prices := func() [2]catalog.MicroUSD {
		t.Helper()
		got, err := store.Types("blue", []*catalog.Type{m5})
		if err != nil {
			t.Fatal(err)
		}
		return [2]catalog.MicroUSD{got[0].Offerings[0].Price, got[0].Offerings[1].Price}
	}
	said := func() map[string]string {
		t.Helper()
		var list v1alpha1.NodeOverlayList
		if err := c.List(t.Context(), &list); err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for i := range list.Items {
			o := &list.Items[i]
			v := o.StatusConditions().Get(v1alpha1.ConditionTypeValidationSucceeded)
			out[o.Name] = string(o.StatusConditions().Root().Status) + " " + strings.TrimPrefix(v.Reason, v1alpha1.ConditionTypeValidationSucceeded)
			if v.Reason == v1alpha1.ReasonConflict && !strings.Contains(v.Message, `"second"`) {
				t.Errorf("%s: the message does not name the other: %s", o.Name, v.Message)
			}
		}
		return out
	}

	judge()
	if got, want := prices(), ([2]catalog.MicroUSD{2_000_000, 3_000_000}); got != want {
		t.Errorf("prices are %v, want %v", got, want)
	}
	if diff := cmp.Diff(map[string]string{"first": "False Conflict", "second": "True ", "heavy": "True ", "elsewhere": "True ", "senseless": "False RuntimeValidation"}, said()); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	judge()
	if changes != 1 {
		t.Errorf("the same overlays woke the provisioner %d times", changes)
	}

	second := &v1alpha1.NodeOverlay{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "second"}, second); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	judge()
	if got, want := prices(), ([2]catalog.MicroUSD{1_000_000, 3_000_000}); got != want {
		t.Errorf("after the dispute prices are %v, want %v", got, want)
	}
	if got := said()["first"]; got != "True " || changes != 2 {
		t.Errorf("after the dispute first is %q, %d changes", got, changes)
	}
}

// A class whose status is written every minute must not have all overlays compared on all its types each time.
func TestWhatDidNotChangeIsNotJudgedAgain(t *testing.T) {
	overlays := []v1alpha1.NodeOverlay{*newOverlay("a", "1", 0, ""), *newOverlay("b", "2", 0, ""), *newOverlay("c", "3", 5, "a")}
	list := func(n int) []*catalog.Type {
		out := make([]*catalog.Type, n)
		for i := range out {
			out[i] = &catalog.Type{Name: fmt.Sprintf("m5.%d", i), Offerings: []catalog.Offering{{Zone: "a", CapacityType: catalog.OnDemand, Price: 1, Available: true}}}
		}
		return out
	}
	first, other := list(100), list(50)
	pools := map[string]evaluated{"blue": {types: first}, "red": {types: other}}
	var j judge
	conflicts := func() string {
		_, verdicts := j.of(overlays, pools)
		var out []string
		for i, v := range verdicts {
			if v.reason != "" {
				out = append(out, overlays[i].Name+" "+v.reason)
			}
		}
		return strings.Join(out, ", ")
	}
	again := slices.Clone(first)
	again[7] = &catalog.Type{Name: "m5.7", Offerings: []catalog.Offering{{Zone: "a", CapacityType: catalog.OnDemand, Price: 2, Available: true}}}
	for _, step := range []struct {
		says     string
		change   func()
		examined int
		want     string
	}{
		{"at first all types of all pools are looked at", func() {}, 150, "a Conflict"},
		{"when nothing changed none is", func() {}, 0, "a Conflict"},
		{"when the list is another one of the same types none is", func() { pools["blue"] = evaluated{types: slices.Clone(first)} }, 0, "a Conflict"},
		{"when one type changed it alone is", func() { pools["blue"] = evaluated{types: again} }, 1, "a Conflict"},
		{"when a pool comes its types are", func() { pools["green"] = evaluated{types: other} }, 50, "a Conflict"},
		{"when the labels of a pool change its types are", func() { pools["red"] = evaluated{types: other, labels: map[string]string{"team": "x"}} }, 50, "a Conflict"},
		{"when an overlay changes all are", func() { overlays[0] = *newOverlay("a", "1", 7, "") }, 200, ""},
		{"when pools go none is", func() { delete(pools, "green"); delete(pools, "blue") }, 0, ""},
	} {
		step.change()
		j.examined = 0
		if got := conflicts(); got != step.want || j.examined != step.examined {
			t.Errorf("%s: %d were examined, want %d; conflicts %q, want %q", step.says, j.examined, step.examined, got, step.want)
		}
	}
}
