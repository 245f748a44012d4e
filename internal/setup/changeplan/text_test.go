package changeplan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// The answer comes first, in two lines; then what differs, by key, and which guards go; then the nodes.
func TestTheAnswerComesFirst(t *testing.T) {
	require := func(key string, operator corev1.NodeSelectorOperator, values ...string) karpv1.NodeSelectorRequirementWithMinValues {
		return karpv1.NodeSelectorRequirementWithMinValues{Key: key, Operator: operator, Values: values}
	}
	old, now := &karpv1.NodePool{}, &karpv1.NodePool{}
	old.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{
		require("kubernetes.io/arch", corev1.NodeSelectorOpIn, "amd64"), require("karpenter.sh/capacity-type", corev1.NodeSelectorOpIn, "spot", "on-demand"),
		require("karpenter.k8s.aws/instance-generation", corev1.NodeSelectorOpGt, "4"),
	}
	old.Spec.Limits = karpv1.Limits{"cpu": resource.MustParse("10000")}
	old.Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: "100%"}}
	now.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{
		require("karpenter.k8s.aws/instance-family", corev1.NodeSelectorOpIn, "m7i"), require("karpenter.sh/capacity-type", corev1.NodeSelectorOpIn, "on-demand"),
	}
	now.Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: "10%"}}
	r := &Report{
		Changes: []Change{{Kind: KindPool, Name: "default", From: "c7.yaml:1", Fields: poolFields(old, now)}},
		Nodes:   []Node{{Name: "a", Pool: "default", Rolls: true}, {Name: "b", Pool: "default", Rolls: true, Blocks: []string{"pod x asks not to be disrupted"}}},
		Pools:   []Pool{{Name: "default", Nodes: 2, Roll: 2, Blocked: 1, Budget: "1 of 2 may go at a time", Launch: 60, LaunchFrom: "measured", Drain: 30, InstanceEnd: 30, Takes: 94}},
		Bill:    Bill{Now: 60_000, After: 600_000, Surge: 300_000, Extra: 9_000},
	}
	var text strings.Builder
	if err := r.Write(&text, false); err != nil {
		t.Fatal(err)
	}
	want := `1 of 2 nodes replaced in about 1m34s; 1 more to be replaced, and BLOCKED.
Bill: $0.0600/h -> $0.6000/h (+$0.5400/h); meanwhile up to $0.3000/h more, $0.0090 in all

NodePool default (c7.yaml:1)
  ~ disruption.budgets[0].nodes  100% -> 10%                            no drift
  ! limits.cpu                   10k -> none: no limit is left for it   no drift
  + instance-family              In [m7i]                               may roll
  - instance-generation          Gt [4]                                 may roll
  ~ capacity-type                In [spot on-demand] -> In [on-demand]  may roll
  - arch                         In [amd64]                             may roll
`
	got, rest, _ := strings.Cut(text.String(), "    no drift, ")
	if got != want {
		t.Error(cmp.Diff(want, got))
	}
	if !strings.HasPrefix(rest, "disruption.budgets[0].nodes: it decides") {
		t.Errorf("which field it is of is not said: %s", rest)
	}
}

// AWS charges in yuan in China.
func TestAmountsAreInTheCurrencyOfTheRegion(t *testing.T) {
	r := &Report{
		Currency: "CNY", Bill: Bill{Now: 60_000, After: 50_000, Surge: 300_000, Extra: 9_000}, Pools: []Pool{{Name: "default", Nodes: 2, Roll: 1, Takes: 94}},
		Nodes: []Node{
			{Name: "a", Pool: "default", InstanceType: "m5.large", Price: 60_000, Rolls: true, New: []NewInstance{{Pool: "default", InstanceType: "m7i.large", Price: 50_000}}},
			{Name: "b", Pool: "default", InstanceType: "m5.large", Price: 70_000, Stays: "it is as it should be"},
		},
	}
	var text strings.Builder
	if err := r.Write(&text, true); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Bill: ¥0.0600/h -> ¥0.0500/h (-¥0.0100/h); meanwhile up to ¥0.3000/h more, ¥0.0090 in all", ", ¥0.0600/h)", ", ¥0.0700/h)", " at ¥0.0500/h"} {
		if !strings.Contains(text.String(), want) || strings.Contains(text.String(), "$") {
			t.Errorf("without %q:\n%s", want, text.String())
		}
	}
}

// A value that is longer than a column does not push the others out of sight.
func TestALongValueHasALineOfItsOwn(t *testing.T) {
	long := strings.Repeat("ami-0123456789abcdef0 ", 20)
	c := Change{Kind: KindClass, Name: "a", From: "f", Fields: []Field{{Path: "status.amis", Old: long, Effect: "selects", Why: "x"}, {Path: "spec.role", Old: "a", New: "b", Effect: "rolls", Why: "y"}}}
	var b strings.Builder
	c.write(&b)
	want := "EC2NodeClass a (f)\n  - status.amis          selects\n      " + long + "\n  ~ role         a -> b  rolls\n    selects, status.amis: x\n    rolls, role: y\n\n"
	if b.String() != want {
		t.Error(cmp.Diff(want, b.String()))
	}
}

// A budget that loses its schedule and its reasons holds back more than before; one that allows more nodes holds back less.
func TestABudgetThatHoldsAlwaysIsNotRemoved(t *testing.T) {
	was := map[string]any{"spec": map[string]any{"disruption": map[string]any{"budgets": []any{map[string]any{"nodes": "0", "schedule": "@daily", "duration": "8h", "reasons": []any{"Drifted"}}}}}}
	is := map[string]any{"spec": map[string]any{"disruption": map[string]any{"budgets": []any{map[string]any{"nodes": "0"}}}}}
	for _, l := range differences("", was, is) {
		f := Field{Path: l.path, Old: value(l.old), New: value(l.now)}
		if g := guard(&f); g != "" {
			t.Errorf("%s: %s", f.Path, g)
		}
	}
}

func TestABudgetThatAllowsMoreIsAGuardThatGoes(t *testing.T) {
	for _, test := range []struct {
		old, now string
		marked   bool
	}{{"0", "100%", true}, {"1", "2", true}, {"10%", "50%", true}, {"50%", "10%", false}, {"3", "10%", false}, {"1", "", true}, {"", "1", false}} {
		f := Field{Path: "spec.disruption.budgets[0].nodes", Old: test.old, New: test.now}
		if got := guard(&f); (got != "") != test.marked {
			t.Errorf("%q -> %q: %q", test.old, test.now, got)
		}
	}
}
