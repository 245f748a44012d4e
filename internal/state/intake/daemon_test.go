package intake

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// Room is kept for a daemon that asks for devices by claims, as for any other.
func TestADaemonWithResourceClaimsKeepsItsRoom(t *testing.T) {
	ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "agent"}}
	ds.Spec.Template.Spec.Containers = []corev1.Container{container("a", amounts("cpu", "500m"))}
	ds.Spec.Template.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new("admin")}}
	d, ok := Daemon(ds, nil, NewCompiler(), NoLookup{})
	if !ok || d.Class.Requests["cpu"] != 500 || d.Class.Unplaceable != "" {
		t.Errorf("%v, requests %v, unplaceable %q", ok, d.Class.Requests, d.Class.Unplaceable)
	}
	if len(ds.Spec.Template.Spec.ResourceClaims) != 1 {
		t.Error("the DaemonSet was written to")
	}
}

// TestADaemonComesToNodesThatGetItsLabelLater: what every node of Kerf's is labelled with once it has joined keeps no daemon from a new one.
func TestADaemonComesToNodesThatGetItsLabelLater(t *testing.T) {
	in := func(key, value string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}
	}
	initialized := in(karpv1.NodeInitializedLabelKey, "true")
	exists := corev1.NodeSelectorRequirement{Key: karpv1.NodeRegisteredLabelKey, Operator: corev1.NodeSelectorOpExists}
	type terms = [][]corev1.NodeSelectorRequirement
	for name, tt := range map[string]struct {
		terms terms
		want  int // terms with demands
	}{
		"no other demand":             {terms{{initialized}}, 0},
		"it exists":                   {terms{{exists}}, 0},
		"and another demand":          {terms{{initialized, in("os", "linux")}}, 1},
		"one of two terms is for all": {terms{{in("os", "linux")}, {initialized}}, 0},
		"another value":               {terms{{in(karpv1.NodeInitializedLabelKey, "false")}}, 1},
	} {
		ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "agent"}}
		required := &corev1.NodeSelector{}
		for _, e := range tt.terms {
			required.NodeSelectorTerms = append(required.NodeSelectorTerms, corev1.NodeSelectorTerm{MatchExpressions: e})
		}
		ds.Spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}}
		d, ok := Daemon(ds, nil, NewCompiler(), NoLookup{})
		if !ok || len(d.Class.Affinity) != tt.want {
			t.Errorf("%s: %v, affinity %v, want %d terms", name, ok, d.Class.Affinity, tt.want)
		}
		for _, term := range d.Class.Affinity {
			if len(term) != 1 {
				t.Errorf("%s: demands are %v, want one", name, term)
			}
		}
	}
}
