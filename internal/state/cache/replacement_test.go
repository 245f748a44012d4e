package cache

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

func TestADrainLearnsWhatThePodsStillWaitFor(t *testing.T) {
	r := newRig()
	node := newNode("old", "old", "id-0")
	node.DeletionTimestamp = &metav1.Time{Time: r.clock}
	r.version(node)
	r.SetNode(node)
	ref := r.pod("p", bound("old"))
	snapshot := r.Snapshot() // as that of the decision that gives the pod room
	want := func(sentence string, homeless, coming bool) {
		t.Helper()
		if h, c := r.AwaitingReplacement("old"); h != homeless || c != coming {
			t.Errorf("%s: homeless %v, coming %v; want %v, %v", sentence, h, c, homeless, coming)
		}
	}
	want("a pod for which nothing was reserved", true, false)
	r.pod("another", bound("elsewhere"))
	want("the same, while more changes", true, false)
	if r.last != snapshot {
		t.Error("whoever asks makes a snapshot")
	}

	claim := r.claim("c0")
	r.Assume(claim, intake.Expected{}, []cluster.PodRef{ref}, r.clock.Add(20*time.Minute))
	want("a pod whose instance was only asked for", false, true)

	claim = r.claim("c0", launch)
	r.SetClaim(claim)
	fresh := newNode("fresh", "fresh", "id-1")
	fresh.Labels[karpv1.NodeRegisteredLabelKey] = "true"
	r.version(fresh)
	r.SetNode(fresh)
	want("a pod whose instance has joined and is not initialized", false, true)

	fresh = fresh.DeepCopy()
	fresh.Labels[karpv1.NodeInitializedLabelKey] = "true"
	fresh.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	r.version(fresh)
	r.SetNode(fresh)
	want("a pod whose instance is ready", false, false)
	want("a node without pods", false, false)

	r.pod("done", bound("old"), func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
	want("a pod that has ended", false, false)
	r.clock = r.clock.Add(20 * time.Minute)
	want("a pod that did not take its room in time", true, false)
	r.pod("p", bound("old"), func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: r.clock} })
	want("a pod that is ending", false, false)
}
