package buffer

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	autoscalingv1beta1 "github.com/kerf-sh/kerf/api/autoscaling/v1beta1"
	"github.com/kerf-sh/kerf/internal/state/cache"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

type state []cache.BufferState

func (s state) Buffers() []cache.BufferState { return s }
func (s state) Listen(func(cache.Change))    {}

func TestTheStatusTellsWhatBecameOfABuffer(t *testing.T) {
	resolved := intake.Buffer{Reason: autoscalingv1beta1.ReasonResolved, Replicas: 3,
		PodTemplate: &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Name: "t", Generation: 7}}}
	for sentence, tt := range map[string]struct {
		state cache.BufferState
		// want are the conditions as Type=Status/Reason/Message.
		want     []string
		replicas *int32
	}{
		"all have room": {cache.BufferState{Buffer: resolved, Pods: 3, Ready: 3}, []string{
			"ReadyForProvisioning=True/Resolved/", "Provisioning=True/FitsExistingCapacity/ready nodes have room for all 3 pods"}, new(int32(3))},
		"some wait for instances and some for ever": {cache.BufferState{Buffer: resolved, Pods: 3, Ready: 1, Ordered: 1, Why: "pool default: its limit on cpu is reached"}, []string{
			"ReadyForProvisioning=True/Resolved/",
			"Provisioning=False/RequiresNewCapacity/ready nodes have room for 1 of 3 pods; instances for 1 are on their way; 1 have no place: pool default: its limit on cpu is reached"}, new(int32(3))},
		"nothing has been decided yet": {cache.BufferState{Buffer: resolved, Pods: 3, Unsettled: 3}, []string{"ReadyForProvisioning=True/Resolved/"}, new(int32(3))},
		"it comes to nothing": {cache.BufferState{Buffer: intake.Buffer{Reason: autoscalingv1beta1.ReasonResolved}}, []string{
			"ReadyForProvisioning=True/Resolved/", "Provisioning=False/BufferEmpty/there is nothing to keep room for: replicas, percentage and limits come to 0 pods"}, new(int32(0))},
		"it can't be resolved": {cache.BufferState{Buffer: intake.Buffer{Reason: autoscalingv1beta1.ReasonPodTemplateNotFound, Message: "create it"}}, []string{
			"ReadyForProvisioning=False/PodTemplateNotFound/create it", "Provisioning=False/NotReadyForProvisioning/create it"}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := autoscalingv1beta1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			b := &autoscalingv1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "b"}}
			c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(b).WithObjects(b).Build()
			key := client.ObjectKeyFromObject(b)
			tt.state.Object = &autoscalingv1beta1.CapacityBuffer{}
			if err := c.Get(t.Context(), key, tt.state.Object); err != nil {
				t.Fatal(err)
			}
			round := func(s cache.BufferState) *autoscalingv1beta1.CapacityBuffer {
				t.Helper()
				if err := New(Options{Client: c, State: state{s}, Now: time.Now}).Round(t.Context()); err != nil {
					t.Fatal(err)
				}
				got := &autoscalingv1beta1.CapacityBuffer{}
				if err := c.Get(t.Context(), key, got); err != nil {
					t.Fatal(err)
				}
				return got
			}
			got := round(tt.state)
			var conditions []string
			for _, kind := range []string{"ReadyForProvisioning", "Provisioning"} {
				if x := got.StatusConditions().Get(kind); x != nil {
					conditions = append(conditions, kind+"="+string(x.Status)+"/"+x.Reason+"/"+x.Message)
				}
			}
			if diff := cmp.Diff(tt.want, conditions); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.replicas, got.Status.Replicas); diff != "" {
				t.Errorf("replicas: %s", diff)
			}
			again := tt.state
			again.Object = got
			if second := round(again); second.ResourceVersion != got.ResourceVersion {
				t.Errorf("the same status was written twice")
			}
		})
	}
}
