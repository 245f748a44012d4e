package cache

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// leave is a rig with a pod on a node that is to go, and a claim that is launched for the pod.
func leave(t *testing.T) (*rig, *corev1.Node, *karpv1.NodeClaim, cluster.PodRef) {
	t.Helper()
	r := newRig()
	node := newNode("n0", "n0", "")
	node.Annotations = map[string]string{intake.DisruptingAnnotation: "Underutilized"}
	r.version(node)
	r.SetNode(node)
	ref := r.pod("p0", bound("n0"))
	claim := r.claim("c0")
	r.Assume(claim, intake.Expected{}, []cluster.PodRef{ref}, r.clock.Add(time.Hour))
	return r, node, claim, ref
}

func TestAPodOfALeavingNodeKeepsItsReservationAndIsNotPending(t *testing.T) {
	r, _, claim, _ := leave(t)
	if n := r.pending(); n != 0 {
		t.Errorf("%d pods pending: it runs where it is", n)
	}
	if m := r.instance("c0"); m == nil || len(m.Pods) != 1 {
		t.Errorf("the room for it is not kept: %+v", m)
	}
	if m := r.instance("n0"); !m.Leaving || m.Deleting || len(m.Pods) != 1 {
		t.Errorf("its node is %+v, want one that is leaving", m)
	}
	launch(claim)
	r.version(claim)
	r.SetClaim(claim)
	ready := newNode("n1", "n1", "id-1")
	ready.Labels = map[string]string{karpv1.NodeRegisteredLabelKey: "true", karpv1.NodeInitializedLabelKey: "true"}
	ready.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	r.version(ready)
	r.SetNode(ready)
	r.Snapshot()
	r.clock = r.clock.Add(DefaultBindGrace + time.Second)
	if m := r.instance("n1"); len(m.Pods) != 1 {
		t.Error("the reservation was broken because the scheduler did not bind a pod that still runs elsewhere")
	}
}

func TestAReservationEndsWhenTheNodeStaysAfterAll(t *testing.T) {
	r, node, _, _ := leave(t)
	node = node.DeepCopy()
	node.Annotations = nil
	r.version(node)
	r.SetNode(node)
	if m := r.instance("c0"); len(m.Pods) != 0 {
		t.Error("room is kept for a pod that is not going to move")
	}
}
