package images

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// The demo is worth something only if it sees what is amiss.
func TestANodeThatIsNotAsPlannedIsSeen(t *testing.T) {
	amounts := func(cpu, memory, pods, disk, gpus string) corev1.ResourceList {
		return corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory), corev1.ResourcePods: resource.MustParse(pods),
			corev1.ResourceEphemeralStorage: resource.MustParse(disk), "nvidia.com/gpu": resource.MustParse(gpus),
		}
	}
	for name, tc := range map[string]struct {
		change func(*corev1.Node)
		want   string // empty: nothing is amiss
	}{
		"as planned":                          {func(*corev1.Node) {}, ""},
		"more memory":                         {func(n *corev1.Node) { n.Status.Allocatable = amounts("2", "5Gi", "29", "17Gi", "1") }, ""},
		"what a file system takes of a disk":  {func(n *corev1.Node) { n.Status.Allocatable = amounts("2", "4Gi", "29", "16.7Gi", "1") }, ""},
		"less disk than that":                 {func(n *corev1.Node) { n.Status.Allocatable = amounts("2", "4Gi", "29", "16Gi", "1") }, "ephemeral-storage"},
		"less memory":                         {func(n *corev1.Node) { n.Status.Allocatable = amounts("2", "4095Mi", "29", "17Gi", "1") }, "memory: it has 4095Mi"},
		"fewer pods":                          {func(n *corev1.Node) { n.Status.Allocatable = amounts("2", "4Gi", "28", "17Gi", "1") }, "pods"},
		"no GPU":                              {func(n *corev1.Node) { n.Status.Allocatable = amounts("2", "4Gi", "29", "17Gi", "0") }, "nvidia.com/gpu"},
		"a label of the claim is missing":     {func(n *corev1.Node) { delete(n.Labels, "zone") }, "label zone"},
		"a label that the image should set":   {func(n *corev1.Node) { n.Labels["build"] = "2" }, `label build is "2", want "1"`},
		"another operating system":            {func(n *corev1.Node) { n.Labels[corev1.LabelOSStable] = "windows" }, "kubernetes.io/os"},
		"the pool's taint is missing":         {func(n *corev1.Node) { n.Spec.Taints = nil }, "taints"},
		"a taint of the start is still there": {func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, karpv1.UnregisteredNoExecuteTaint()) }, "unregistered"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &booted{
				kind:  &kind{name: "gpu", system: "linux", resource: "nvidia.com/gpu: 1", labels: map[string]string{"build": "1"}},
				claim: &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"zone": "a"}}},
				node: &corev1.Node{
					ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"zone": "a", "build": "1", "kerf.sh/demo": "gpu", corev1.LabelOSStable: "linux"}},
					Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: taint, Value: "gpu", Effect: corev1.TaintEffectNoSchedule}}},
				},
			}
			b.claim.Status.Allocatable, b.node.Status.Allocatable = amounts("2", "4Gi", "29", "17Gi", "1"), amounts("2", "4Gi", "29", "17Gi", "1")
			tc.change(b.node)
			b.labels()
			b.taints()
			b.allocatable()
			got := strings.Join(b.amiss, "; ")
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("amiss: %q, want %q", got, tc.want)
			}
		})
	}
}
