package daemon

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

func TestWhichDaemonsAreToldOf(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*corev1.Pod, *cluster.Node)
		told bool
	}{
		"one whose node is full":              {func(*corev1.Pod, *cluster.Node) {}, true},
		"one whose node has room":             {func(_ *corev1.Pod, n *cluster.Node) { n.Used["cpu"] = 500 }, false},
		"one that the scheduler has not seen": {func(p *corev1.Pod, _ *cluster.Node) { p.Status.Conditions = nil }, false},
		"one that runs":                       {func(p *corev1.Pod, _ *cluster.Node) { p.Spec.NodeName = "n" }, false},
		"a pod of a Deployment":               {func(p *corev1.Pod, _ *cluster.Node) { p.OwnerReferences = nil }, false},
		"one on a node that is not Kerf's":    {func(_ *corev1.Pod, n *cluster.Node) { n.Claim = "" }, false},
		"one on a node that is replaced":      {func(_ *corev1.Pod, n *cluster.Node) { n.Leaving = true }, false},
		"one on a node that is gone":          {func(_ *corev1.Pod, n *cluster.Node) { n.Name = "other" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns", Name: "log-x", CreationTimestamp: metav1.Time{Time: time.Unix(1, 0)},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "DaemonSet", Name: "log"}},
			}}
			pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("500m")}}}}
			pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: "In", Values: []string{"n"}}}}},
			}}}
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
			node := &cluster.Node{Name: "n", Claim: "c", Allocatable: res.List{"cpu": 1930, "pods": 29}, Used: res.List{"cpu": 1830, "pods": 5}}
			tc.edit(pod, node)
			text := Waits(pod, &cluster.Snapshot{Nodes: []*cluster.Node{node}})
			if (text != "") != tc.told {
				t.Fatalf("said %q", text)
			}
			for _, want := range []string{"DaemonSet log", "node n only", "500m of cpu", "100m of 1.93 are free", "nodeclaim c"} {
				if tc.told && !strings.Contains(text, want) {
					t.Errorf("%q lacks %q", text, want)
				}
			}
		})
	}
}
