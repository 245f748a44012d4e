package index_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/kerf-sh/kerf/internal/controller/index"
)

// A kubelet that only says that it lives wakes no claim; whatever else changes on a node does.
func TestASignOfLifeWakesNobody(t *testing.T) {
	old := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1", Labels: map[string]string{"zone": "a"}},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{"cpu": resource.MustParse("1")},
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.NewTime(time.Unix(1, 0))}},
		},
	}
	for name, c := range map[string]struct {
		change func(*corev1.Node)
		want   bool
	}{
		"a sign of life": {func(n *corev1.Node) { n.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(time.Unix(300, 0)) }, false},
		"not ready":      {func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse }, true},
		"a condition more": {func(n *corev1.Node) {
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: "GPU"})
		}, true},
		"a label":                {func(n *corev1.Node) { n.Labels["zone"] = "b" }, true},
		"a taint":                {func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "x"}} }, true},
		"a resource":             {func(n *corev1.Node) { n.Status.Allocatable["gpu"] = resource.MustParse("1") }, true},
		"a deletion":             {func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: time.Unix(2, 0)} }, true},
		"nothing, from a resync": {func(n *corev1.Node) { n.ResourceVersion = "1" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			next := old.DeepCopy()
			next.ResourceVersion = "2"
			c.change(next)
			if got := index.MoreThanAlive().Update(event.UpdateEvent{ObjectOld: old, ObjectNew: next}); got != c.want {
				t.Errorf("passes: %t", got)
			}
		})
	}
	if old.Status.Conditions[0].LastHeartbeatTime.IsZero() {
		t.Error("it has written to the node of the cache")
	}
}
