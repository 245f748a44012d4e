package intake

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

const listed = `
defaultConstraints:
- maxSkew: 2
  topologyKey: topology.kubernetes.io/zone
  whenUnsatisfiable: DoNotSchedule
`

func TestDefaultSpreadsAreRead(t *testing.T) {
	want := []corev1.TopologySpreadConstraint{{MaxSkew: 2, TopologyKey: "topology.kubernetes.io/zone", WhenUnsatisfiable: corev1.DoNotSchedule}}
	for name, text := range map[string]string{
		"the plug-in's arguments alone": listed + "defaultingType: List\n",
		"as JSON":                       `{"defaultConstraints":[{"maxSkew":2,"topologyKey":"topology.kubernetes.io/zone","whenUnsatisfiable":"DoNotSchedule"}]}`,
		"a scheduler's configuration": "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- schedulerName: default-scheduler\n" +
			"  pluginConfig:\n  - name: NodeResourcesFit\n    args: {}\n  - name: PodTopologySpread\n    args:" + strings.ReplaceAll(listed, "\n", "\n      ") + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseDefaultSpreads(text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	for name, text := range map[string]string{"nothing": "", "the scheduler's own": "defaultingType: System\n"} {
		if got, err := ParseDefaultSpreads(text); err != nil || got != nil {
			t.Errorf("%s: got %v, %v; want no constraints", name, got, err)
		}
	}
}

func TestMistakesInDefaultSpreadsAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"{":                                  "neither YAML nor JSON",
		"defaultConstraint: []":              "defaultConstraint",
		"defaultConstraints: []":             "no defaultConstraints",
		"defaultingType: Sometimes":          "Sometimes",
		"profiles: [{schedulerName: x}]":     "no pluginConfig",
		strings.Replace(listed, "2", "0", 1): "defaultConstraints[0].maxSkew",
		strings.Replace(listed, "DoNotSchedule", "Perhaps", 1):                                 "whenUnsatisfiable",
		listed + "  labelSelector: {}\n":                                                       "neither labelSelector",
		listed + strings.TrimPrefix(strings.TrimPrefix(listed, "\n"), "defaultConstraints:\n"): "defaultConstraints[1] repeats",
		strings.Replace(listed, "topology.kubernetes.io/zone", `""`, 1):                        "topologyKey",
	} {
		if _, err := ParseDefaultSpreads(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one that says %q", text, err, want)
		}
	}
}

type belonging struct {
	NoLookup
	selector *metav1.LabelSelector
}

func (b belonging) SpreadSelector(*corev1.Pod) *metav1.LabelSelector { return b.selector }

func TestPodsWithoutSpreadsGetTheDefault(t *testing.T) {
	constraints, err := ParseDefaultSpreads(listed)
	if err != nil {
		t.Fatal(err)
	}
	service := JoinSelectors([]map[string]string{{"app": "web"}, {"tier": "front"}}, &metav1.LabelSelector{MatchLabels: map[string]string{"hash": "1"}})
	in := func(k, v string) requirement.Term {
		return requirement.Term{Key: k, Operator: requirement.In, Values: []string{v}}
	}
	spread := []cluster.Spread{{Key: "topology.kubernetes.io/zone", MaxSkew: 2,
		Selector: &cluster.Selector{Terms: []requirement.Term{in("app", "web"), in("hash", "1"), in("tier", "front")}}}}
	own := []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "rack", WhenUnsatisfiable: corev1.DoNotSchedule}}
	for name, tc := range map[string]struct {
		own  []corev1.TopologySpreadConstraint
		look Lookup
		want []cluster.Spread
	}{
		"a pod that belongs to something":       {look: belonging{selector: service}, want: spread},
		"a pod that belongs to nothing":         {look: belonging{selector: JoinSelectors(nil, nil)}},
		"a pod with a constraint of its own":    {own: own, look: belonging{selector: service}, want: []cluster.Spread{{Key: "rack", MaxSkew: 1}}},
		"when nobody knows what pods belong to": {look: NoLookup{}},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewCompiler()
			c.DefaultSpreads = constraints
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", Labels: map[string]string{"app": "web"}},
				Spec: corev1.PodSpec{TopologySpreadConstraints: tc.own}}
			if diff := cmp.Diff(tc.want, c.Class(pod, tc.look).Spreads); diff != "" {
				t.Error(diff)
			}
		})
	}
}
