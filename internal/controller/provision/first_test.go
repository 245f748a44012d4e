package provision

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestPodsOfAStaticPoolsNodeGoWhereItIsReplaced: the replacement is there before they are decided on, and nothing else is launched for them.
func TestPodsOfAStaticPoolsNodeGoWhereItIsReplaced(t *testing.T) {
	var h *testCluster
	node := func(name string, leaves *metav1.Time) {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: h.version(), DeletionTimestamp: leaves}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		n.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("8"), "pods": resource.MustParse("10")}
		h.cache.SetNode(n)
	}
	h = newTestCluster(t, func(o *Options) { o.First = func(context.Context) { node("replacement", nil) } })
	h.pool("default")
	node("n", new(metav1.Now()))
	h.pod("a", "3", func(p *corev1.Pod) { p.Spec.NodeName = "n"; p.Status.Conditions = nil })
	if out, err := h.Decide(t.Context()); err != nil || len(out.Created) != 0 {
		t.Errorf("outcome %+v, %v; want the pod on the replacement", out, err)
	}
}
