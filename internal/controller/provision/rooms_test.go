package provision

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autoscalingv1beta1 "github.com/kerf-sh/kerf/api/autoscaling/v1beta1"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/state/cache"
)

func (h *testCluster) decide() {
	h.t.Helper()
	if _, err := h.Decide(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
}

func (h *testCluster) node(at int) *cluster.Node {
	h.t.Helper()
	nodes := h.cache.Snapshot().Nodes
	if len(nodes) <= at {
		h.t.Fatalf("%d nodes", len(nodes))
	}
	return nodes[at]
}

func TestABufferKeepsRoomThatRealPodsMayTake(t *testing.T) {
	state := cache.New(cache.Options{CapacityBuffers: true})
	h := newTestCluster(t, func(o *Options) {
		o.State, o.Settle = state, state.SettleRooms
	})
	h.cache = state
	h.Controller.o.Applier = apply.New(apply.Options{Client: h.client, State: state, Recorder: h.events})
	h.pool("default")
	template := &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "t", UID: "t", ResourceVersion: h.version()}}
	template.Template.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("900m")}}}}
	h.cache.SetPodTemplate(template)
	b := &autoscalingv1beta1.CapacityBuffer{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "spare", UID: "b", ResourceVersion: h.version()},
		Spec:       autoscalingv1beta1.CapacityBufferSpec{PodTemplateRef: &autoscalingv1beta1.LocalObjectRef{Name: "t"}, Replicas: new(int32(1))},
	}
	h.cache.SetBuffer(b)
	if n := h.cache.Snapshot().Unsettled; n != 1 {
		t.Fatalf("%d virtual pods wait for a first decision, want 1", n)
	}

	h.decide()
	if n := len(h.claims()); n != 1 {
		t.Fatalf("%d claims for the buffer, want 1", n)
	}
	if n := h.node(0); n.Virtual != 1 || len(n.Pods) != 0 {
		t.Errorf("the instance has room for %d virtual pods and promised room to %d pods, want 1 and 0", n.Virtual, len(n.Pods))
	}
	if s := h.cache.Buffers()[0]; s.Ordered != 1 || s.Unsettled != 0 {
		t.Errorf("buffer %+v, want its pod on an instance that is on its way", s)
	}
	generation := h.cache.Snapshot().Generation
	h.decide()
	if n := len(h.claims()); n != 1 {
		t.Fatalf("%d claims after a second look, want 1", n)
	}
	if g := h.cache.Snapshot().Generation; g != generation {
		t.Errorf("a second look that finds the same moved the state from generation %d to %d", generation, g)
	}
	if got := h.count.passes(); len(got) != 2 || got[0] != 0 {
		t.Errorf("passes with %v pods; virtual pods wait for nothing", got)
	}

	// A pod that exists gets the instance that is on its way; the buffer gets another.
	h.pod("p", "900m")
	h.decide()
	if n := len(h.claims()); n != 2 {
		t.Fatalf("%d claims with a real pod, want 2", n)
	}
	rooms, promised := 0, 0
	for _, n := range h.cache.Snapshot().Nodes {
		rooms, promised = rooms+n.Virtual, promised+len(n.Pods)
		if n.Virtual > 0 && len(n.Pods) > 0 {
			t.Errorf("instance %s holds both", n.Name)
		}
	}
	if rooms != 1 || promised != 1 {
		t.Errorf("room for %d virtual pods, promises to %d; want one each", rooms, promised)
	}

	h.cache.RemoveBuffer(b)
	snapshot := h.cache.Snapshot()
	for _, n := range snapshot.Nodes {
		if n.Virtual > 0 {
			t.Errorf("instance %s keeps room for a buffer that is gone", n.Name)
		}
	}
	if len(snapshot.Pending) != 0 || snapshot.Unsettled != 0 {
		t.Errorf("%d pods pending, %d unsettled, want none", len(snapshot.Pending), snapshot.Unsettled)
	}
}

func TestABufferWithoutAPlaceSaysWhy(t *testing.T) {
	state := cache.New(cache.Options{CapacityBuffers: true})
	h := newTestCluster(t, func(o *Options) { o.State, o.Settle = state, state.SettleRooms })
	h.cache = state
	h.pool("default")
	template := &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "t", UID: "t", ResourceVersion: h.version()}}
	template.Template.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("900")}}}}
	h.cache.SetPodTemplate(template)
	h.cache.SetBuffer(&autoscalingv1beta1.CapacityBuffer{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "spare", UID: "b", ResourceVersion: h.version()},
		Spec:       autoscalingv1beta1.CapacityBufferSpec{PodTemplateRef: &autoscalingv1beta1.LocalObjectRef{Name: "t"}, Replicas: new(int32(2))},
	})
	h.decide()
	s := h.cache.Buffers()[0]
	if s.Ready+s.Ordered+s.Unsettled != 0 || s.Why == "" {
		t.Errorf("buffer %+v, want two pods without room and the reason", s)
	}
	if len(h.count.unplaced) != 0 {
		t.Errorf("virtual pods are counted as unplaced: %v", h.count.unplaced)
	}
}
