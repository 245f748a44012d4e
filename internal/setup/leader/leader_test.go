package leader

import (
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kerf-sh/kerf/internal/settings"
	"github.com/kerf-sh/kerf/internal/setup/manifests"
)

func lease(namespace, holder string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: settings.LeaseName}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
}

func pod(namespace, name string, change func(*corev1.PodSpec)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.PodSpec{
		NodeName:   "ip-10-0-0-1.ec2.internal",
		Containers: []corev1.Container{{Name: "controller", Ports: []corev1.ContainerPort{{Name: manifests.MetricsPort, ContainerPort: 8000}}}},
	}}
	if change != nil {
		change(&p.Spec)
	}
	return p
}

func TestTheLeaderIsFound(t *testing.T) {
	onHost := func(s *corev1.PodSpec) { s.HostNetwork = true }
	for name, tc := range map[string]struct {
		namespace string
		objects   []runtime.Object
		want      string // a pod, or a part of the error
	}{
		"where charts install it":        {"", []runtime.Object{lease("kube-system", "karpenter-1_x"), pod("kube-system", "karpenter-1", nil)}, "karpenter-1"},
		"in a namespace that is named":   {"kerf", []runtime.Object{lease("kerf", "karpenter-1_x"), lease("kube-system", "other_y"), pod("kerf", "karpenter-1", nil)}, "karpenter-1"},
		"in another that has one":        {"", []runtime.Object{lease("kerf", "karpenter-1_x"), pod("kerf", "karpenter-1", nil)}, "karpenter-1"},
		"on the network of its node":     {"", []runtime.Object{lease("kube-system", "ip-10-0-0-1_x"), pod("kube-system", "karpenter-1", onHost)}, "karpenter-1"},
		"not by the node of another pod": {"", []runtime.Object{lease("kube-system", "ip-10-0-0-1_x"), pod("kube-system", "karpenter-1", nil)}, "is no pod there"},
		"nowhere":                        {"", nil, "no controller has led this cluster"},
		"not there":                      {"kerf", []runtime.Object{lease("kube-system", "karpenter-1_x")}, "no controller has led there"},
		"two of them":                    {"", []runtime.Object{lease("a", "x_1"), lease("b", "y_1")}, "namespaces a, b"},
		"held by nobody":                 {"", []runtime.Object{lease("kube-system", "")}, "nobody holds"},
		"held by a pod that has gone":    {"", []runtime.Object{lease("kube-system", "karpenter-0_x")}, "--server"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Pod(t.Context(), fake.NewClientset(tc.objects...), tc.namespace)
			var got string
			if err != nil {
				got = err.Error()
			} else {
				got = p.Name
			}
			if !strings.Contains(got, tc.want) || err == nil && got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
