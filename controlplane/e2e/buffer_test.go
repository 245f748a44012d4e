package e2e

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autoscalingv1beta1 "github.com/kerf-sh/kerf/api/autoscaling/v1beta1"
	"github.com/kerf-sh/kerf/internal/local"
)

const bufferYAML = `
---
apiVersion: v1
kind: PodTemplate
metadata: {name: spare, namespace: default}
template:
  spec:
    containers:
    - {name: c, image: registry.example/c:1, resources: {requests: {cpu: 1500m, memory: 1Gi}}}
---
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: spare, namespace: default}
spec:
  podTemplateRef: {name: spare}
  replicas: 2
`

// TestACapacityBufferKeepsRoomWarm: room is there before any pod, stays, is taken by pods at once, and is made again.
func TestACapacityBufferKeepsRoomWarm(t *testing.T) {
	t.Parallel()
	e := up(t, func(o *local.Options) {
		o.ControllerEnv = append(o.ControllerEnv, "FEATURE_GATES=CapacityBuffer=true")
	})
	key := client.ObjectKey{Namespace: "default", Name: "spare"}
	filled := func() (bool, string) {
		b := &autoscalingv1beta1.CapacityBuffer{}
		if err := e.client.Get(t.Context(), key, b); err != nil {
			return false, err.Error()
		}
		return b.StatusConditions().IsTrue(autoscalingv1beta1.ConditionTypeReadyForProvisioning, autoscalingv1beta1.ConditionTypeProvisioning) &&
			b.Status.Replicas != nil && *b.Status.Replicas == 2, fmt.Sprintf("%+v", b.Status.Conditions)
	}
	e.apply(poolYAML)
	e.ready("default")
	e.apply(bufferYAML)
	e.eventually(60*time.Second, "ready nodes have room for the buffer", filled)
	warm := len(e.instances())
	time.Sleep(25 * time.Second) // longer than any empty node is kept
	if n := len(e.instances()); n != warm {
		t.Fatalf("%d machines with nothing but the buffer, later %d", warm, n)
	}

	e.apply(deployment("web", 2, "1500m", "1Gi", ""))
	e.running(10*time.Second, "default", 2)
	e.eventually(60*time.Second, "the buffer has room again", func() (bool, string) {
		ok, seen := filled()
		return ok && len(e.instances()) > warm, fmt.Sprintf("%d machines, %s", len(e.instances()), seen)
	})

	if err := e.client.Delete(t.Context(), &autoscalingv1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}); err != nil {
		t.Fatal(err)
	}
	e.scale("web", 0)
	e.nothingLeft(90 * time.Second)
}
