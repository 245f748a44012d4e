package terminate

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

func pod(name string, change ...func(*corev1.Pod)) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name}}
	for _, f := range change {
		f(&p)
	}
	return p
}

func ownedBy(version, kind string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: kind}}
	}
}

func priority(v int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Priority = &v }
}

func TestDrainSet(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	deleted := func(ago time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: now.Add(-ago)} }
	}
	tolerating := func(tol corev1.Toleration) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{tol} }
	}
	for name, tc := range map[string]struct {
		pod  corev1.Pod
		want bool
	}{
		"an ordinary pod leaves":                      {pod("a"), true},
		"a daemon's pod leaves":                       {pod("a", ownedBy("apps/v1", "DaemonSet")), true},
		"a static pod stays":                          {pod("a", ownedBy("v1", "Node")), false},
		"a finished pod is not waited for":            {pod("a", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }), false},
		"a pod that bears every taint stays":          {pod("a", tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists})), false},
		"a pod that bears the disrupted taint stays":  {pod("a", tolerating(corev1.Toleration{Key: karpv1.DisruptedTaintKey, Operator: corev1.TolerationOpExists})), false},
		"a pod that bears another taint leaves":       {pod("a", tolerating(corev1.Toleration{Key: "other", Operator: corev1.TolerationOpExists})), true},
		"a toleration of another effect does not do":  {pod("a", tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute})), true},
		"a pod that is ending is waited for":          {pod("a", deleted(30*time.Second)), true},
		"a pod that has been stuck too long is not":   {pod("a", deleted(2*time.Minute)), false},
		"do-not-disrupt does not take it out of here": {pod("a", func(p *corev1.Pod) { p.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"} }), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := len(drainSet([]corev1.Pod{tc.pod}, end{}, now)) == 1; got != tc.want {
				t.Errorf("leaves: %v, want %v", got, tc.want)
			}
		})
	}
}

func TestGroupsLeaveTheCriticalForTheEnd(t *testing.T) {
	pods := []corev1.Pod{
		pod("critical-daemon", ownedBy("apps/v1", "DaemonSet"), priority(2_000_001_000)),
		pod("critical", priority(2_000_000_000)),
		pod("daemon", ownedBy("apps/v1", "DaemonSet")),
		pod("web", priority(1_999_999_999)),
	}
	var refs []*corev1.Pod
	for i := range pods {
		refs = append(refs, &pods[i])
	}
	var order []string
	for _, g := range groups(refs) {
		for _, p := range g {
			order = append(order, p.Name)
		}
	}
	if want := []string{"web", "daemon", "critical", "critical-daemon"}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}
