package e2e

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autoscalingv1beta1 "github.com/kerf-sh/kerf/api/autoscaling/v1beta1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
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

// sentinelPool is a pool that the buffer does not use. Its empty nodes are removed as soon as the buffer's would be.
const sentinelPool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: sentinel}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m5]}
      taints: [{key: sentinel, effect: NoSchedule}]
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 0s, budgets: [{nodes: "100%"}]}
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
	// A node that was as empty, and that no buffer needs, is removed. So the buffer's nodes had their turn, too.
	e.apply(sentinelPool)
	e.ready("sentinel")
	e.apply(deployment("sentinel", 1, "500m", "100Mi", `
      nodeSelector: {karpenter.sh/nodepool: sentinel}
      tolerations: [{key: sentinel, operator: Exists}]`))
	e.running(60*time.Second, "default", 1)
	sentinels := func() int {
		return len(list[corev1.NodeList](e, client.MatchingLabels{karpv1.NodePoolLabelKey: "sentinel"}).Items)
	}
	if sentinels() != 1 {
		t.Fatalf("%d nodes of the pool sentinel, want 1", sentinels())
	}
	e.scale("sentinel", 0)
	e.eventually(60*time.Second, "the node that nothing needs is removed", func() (bool, string) { return sentinels() == 0, fmt.Sprint(sentinels()) })
	e.eventually(30*time.Second, "its instance is terminated", func() (bool, string) { return len(e.instances()) <= warm, fmt.Sprint(len(e.instances())) })
	if n := len(e.instances()); n != warm {
		t.Fatalf("%d instances with nothing but the buffer, later %d", warm, n)
	}

	e.apply(deployment("web", 2, "1500m", "1Gi", ""))
	e.running(10*time.Second, "default", 2)
	e.eventually(60*time.Second, "the buffer has room again", func() (bool, string) {
		ok, seen := filled()
		return ok && len(e.instances()) > warm, fmt.Sprintf("%d instances, %s", len(e.instances()), seen)
	})

	if err := e.client.Delete(t.Context(), &autoscalingv1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}); err != nil {
		t.Fatal(err)
	}
	e.scale("web", 0)
	e.nothingLeft(90 * time.Second)
}
