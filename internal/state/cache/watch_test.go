package cache

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/kerf-sh/kerf/internal/state/intake"
)

func TestHandlersTakeInWhatInformersTell(t *testing.T) {
	r := newRig()
	for _, w := range r.watches() {
		if _, ok := w.kind.(*corev1.Pod); !ok {
			continue
		}
		p := unschedulable("p", "u")
		w.handler.OnAdd(p, true)
		if r.pending() != 1 {
			t.Fatal("an added pod is not pending")
		}
		q := p.DeepCopy()
		q.Spec.NodeName, q.ResourceVersion = "n", "2"
		w.handler.OnUpdate(p, q)
		if r.pending() != 0 {
			t.Fatal("a bound pod is still pending")
		}
		w.handler.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "ns/p", Obj: q})
		if r.Pod(intake.PodRef(q)) != nil {
			t.Fatal("a pod whose deletion was missed is still there")
		}
		return
	}
	t.Fatal("nobody watches pods")
}

func TestPodsThatAreOverAreNotWatched(t *testing.T) {
	for kind, by := range Selection() {
		if _, ok := kind.(*corev1.Pod); !ok {
			t.Fatalf("%T is watched in part", kind)
		}
		for _, phase := range []corev1.PodPhase{"", corev1.PodPending, corev1.PodRunning, corev1.PodUnknown, corev1.PodSucceeded, corev1.PodFailed} {
			p := &corev1.Pod{Status: corev1.PodStatus{Phase: phase}}
			if got := by.Field.Matches(fields.Set{"status.phase": string(phase)}); got != intake.IsActive(p) {
				t.Errorf("a pod in phase %q is watched: %t", phase, got)
			}
		}
		return
	}
	t.Error("all pods are watched")
}
