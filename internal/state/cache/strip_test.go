package cache

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/kerf-sh/kerf/internal/state/intake"
)

func TestStripKeepsTheClass(t *testing.T) {
	p := unschedulable("p", "u")
	p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "x"}}
	c := &p.Spec.Containers[0]
	c.Image, c.Env, c.Ports = "img", []corev1.EnvVar{{Name: "a"}}, []corev1.ContainerPort{{HostPort: 80}}
	p.Spec.InitContainers = []corev1.Container{{Name: "i", RestartPolicy: new(corev1.ContainerRestartPolicyAlways), Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("2")}}}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "a", Image: "img", AllocatedResources: corev1.ResourceList{"cpu": resource.MustParse("3")}, Resources: &corev1.ResourceRequirements{}}}
	before := intake.NewCompiler().Class(p, intake.NoLookup{})
	strip := Strip()
	if _, err := strip(p); err != nil {
		t.Fatal(err)
	}
	if after := intake.NewCompiler().Class(p, intake.NoLookup{}); after.ID != before.ID {
		t.Errorf("the class changed: %+v, %+v", before, after)
	}
	if p.ManagedFields != nil || p.Spec.Containers[0].Image != "" {
		t.Error("nothing was dropped")
	}
	if o, err := strip(toolscache.DeletedFinalStateUnknown{Key: "k"}); err != nil || o == nil {
		t.Errorf("got %v, %v", o, err)
	}
}

// runningPod is a pod as a real cluster has them, the i-th of its owner.
func runningPod(owner string, i int) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("%s-%d", owner, i), Namespace: "ns", UID: types.UID(fmt.Sprintf("%s-%d", owner, i)), ResourceVersion: fmt.Sprint(i),
		Labels:          map[string]string{"app": owner, "pod-template-hash": "5dcf74bc69", "app.kubernetes.io/part-of": "shop"},
		Annotations:     map[string]string{"prometheus.io/scrape": "true"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: owner + "-5dcf74bc69", UID: types.UID(owner), Controller: new(true)}},
		ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: metav1.NewFieldsV1(strings.Repeat("x", 2000))}},
	}}
	asks := corev1.ResourceList{"cpu": resource.MustParse("250m"), "memory": resource.MustParse("512Mi")}
	resources := corev1.ResourceRequirements{Requests: asks.DeepCopy(), Limits: corev1.ResourceList{"memory": resource.MustParse("1Gi")}}
	for _, name := range []string{"main", "proxy"} {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: name, Image: "registry/" + name, Resources: *resources.DeepCopy(), Env: make([]corev1.EnvVar, 10)})
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: name, Image: "registry/" + name, Resources: resources.DeepCopy(), AllocatedResources: asks.DeepCopy()})
	}
	p.Spec.NodeName = fmt.Sprintf("node-%d", i%100)
	p.Spec.Tolerations = []corev1.Toleration{{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists, TolerationSeconds: new(int64(300))}}
	p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": owner}}}}
	p.Spec.Volumes = []corev1.Volume{{Name: fmt.Sprintf("kube-api-access-%d", i), VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: make([]corev1.VolumeProjection, 3)}}}}
	for _, t := range []corev1.PodConditionType{"PodReadyToStartContainers", corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: t, Status: corev1.ConditionTrue})
	}
	p.Status.Phase = corev1.PodRunning
	return p
}

func stripped(t testing.TB, f func(any) (any, error), p *corev1.Pod) *corev1.Pod {
	t.Helper()
	if _, err := f(p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPodsOfAnOwnerShareWhatIsTheSame(t *testing.T) {
	one := func(p *corev1.Pod) [4]unsafe.Pointer {
		return [4]unsafe.Pointer{unsafe.Pointer(&p.Spec.Containers[0]), unsafe.Pointer(&p.Status.ContainerStatuses[0]), unsafe.Pointer(&p.OwnerReferences[0]), unsafe.Pointer(&p.Spec.Tolerations[0])}
	}
	f := Strip()
	first := stripped(t, f, runningPod("web", 1))
	before := first.DeepCopy()
	for sentence, tt := range map[string]struct {
		pod  *corev1.Pod
		edit func(*corev1.Pod)
		want bool
	}{
		"another one of the owner": {pod: runningPod("web", 2), want: true},
		"one of another owner":     {pod: runningPod("db", 1)},
		"the pod again":            {pod: first, want: true},
	} {
		want := stripped(t, Strip(), tt.pod.DeepCopy())
		got := stripped(t, f, tt.pod)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: sharing changed it: %s", sentence, diff)
		}
		if same := one(first) == one(got); same != tt.want {
			t.Errorf("%s: shares %v", sentence, same)
		}
	}
	for sentence, edit := range map[string]func(*metav1.OwnerReference){
		"an owner reference differs":         func(r *metav1.OwnerReference) { r.BlockOwnerDeletion = new(true) },
		"the owner is of another API's kind": func(r *metav1.OwnerReference) { r.APIVersion = "apps.kruise.io/v1" },
	} {
		p := runningPod("web", 4)
		edit(&p.OwnerReferences[0])
		want := stripped(t, Strip(), p.DeepCopy())
		if diff := cmp.Diff(want, stripped(t, f, p)); diff != "" {
			t.Errorf("%s: sharing changed it: %s", sentence, diff)
		}
	}
	other := runningPod("web", 3)
	other.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("4")
	want := stripped(t, Strip(), other.DeepCopy())
	if diff := cmp.Diff(want, stripped(t, f, other)); diff != "" {
		t.Errorf("a pod that was resized: %s", diff)
	}
	if diff := cmp.Diff(before, first); diff != "" {
		t.Errorf("the first pod changed: %s", diff)
	}
}

// TestOwnersAreForgottenOnceTheirPodsAreGone: as long as there are pods, others share their parts, however many owners there are.
func TestOwnersAreForgottenOnceTheirPodsAreGone(t *testing.T) {
	const owners = 5 * fewTemplates
	var known templates
	pod := func(i int) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": fmt.Sprint(i)}, OwnerReferences: []metav1.OwnerReference{{UID: types.UID(fmt.Sprint(i)), Controller: new(true)}}}}
		known.share(p)
		return p
	}
	pods, scans := make([]*corev1.Pod, owners), 0
	for i := range pods {
		if known.pod != nil && len(known.pod) >= known.most {
			scans++
		}
		pods[i] = pod(i)
	}
	if scans > 4 { // at 1,000, and whenever there are twice as many
		t.Errorf("%d owners, all with pods, were looked through %d times", owners, scans)
	}
	runtime.GC()
	for i := range pods {
		if p := pod(i); &p.OwnerReferences[0] != &pods[i].OwnerReferences[0] {
			t.Fatalf("a pod of owner %d of %d shares nothing with the one before", i, owners)
		}
	}
	runtime.KeepAlive(pods)
	most := 0
	for i := range 10 * owners {
		if i%fewTemplates == 0 {
			runtime.GC()
		}
		pod(owners + i)
		if i >= 3*owners {
			most = max(most, len(known.pod))
		}
	}
	if most > 3*fewTemplates {
		t.Errorf("%d owners are remembered, though all their pods are gone", most)
	}
}

// BenchmarkPodsInMemory is what informers hold of a pod: as it comes, and stripped.
func BenchmarkPodsInMemory(b *testing.B) {
	const owners, each = 50, 100
	for name, f := range map[string]func(any) (any, error){"asTheyCome": func(o any) (any, error) { return o, nil }, "stripped": Strip()} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				var held []*corev1.Pod
				for o := range owners {
					for i := range each {
						held = append(held, stripped(b, f, runningPod(fmt.Sprintf("owner-%d", o), i)))
					}
				}
				runtime.GC()
				runtime.ReadMemStats(&after)
				b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(len(held)), "B/pod")
				runtime.KeepAlive(held)
			}
		})
	}
}
