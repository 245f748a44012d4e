package simcluster_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// protect makes a Deployment of one pod that must not be disrupted and that stays on a node that is not ready, and waits for it.
func protect(h *simcluster.Cluster) corev1.Node {
	h.T.Helper()
	h.Apply(onDemand)
	h.Apply(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {karpenter.sh/do-not-disrupt: "true"}}
    spec:
      tolerations:
      - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute}
      - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute}
      containers:
      - {name: main, image: none, resources: {requests: {cpu: "1", memory: 1Gi}}}
`)
	h.Running(2*time.Minute, "web", 1)
	h.Pass(time.Minute)
	return busiest(h)
}

// instanceOf is the ID of a node's instance.
func instanceOf(n corev1.Node) string {
	return n.Spec.ProviderID[len(n.Spec.ProviderID)-len("i-0123456789abcdef0"):]
}

// Nothing brings a drain on that waits for a pod which must not be disrupted. Its instance may end meanwhile, by other hands.
func TestADrainThatWaitsEndsWithItsInstance(t *testing.T) {
	for _, queue := range []bool{true, false} {
		t.Run(fmt.Sprintf("queue %t", queue), func(t *testing.T) {
			o := simcluster.Options{World: few}
			if !queue {
				o.Env = map[string]string{"INTERRUPTION_QUEUE": ""}
			}
			simcluster.Run(t, o, func(h *simcluster.Cluster) {
				node := protect(h)
				remove(h, &node)
				h.Pass(10 * time.Minute)
				if n := len(on(h, node.Name)); n != 1 {
					h.T.Fatalf("%d pods are on the node, want the one that must not be disrupted", n)
				}
				if _, err := h.AWS.World.Terminate([]string{instanceOf(node)}); err != nil {
					h.T.Fatal(err)
				}
				h.T.Logf("the node went after %s", gone(h, 2*time.Minute, node))
				h.Pass(3 * time.Minute) // the pod is collected, and comes back
				h.Running(time.Minute, "web", 1)
				if n, m := len(h.Claims()), len(h.Nodes()); n != 1 || m != 1 {
					h.T.Errorf("%d nodeclaims and %d nodes are there, want one of each", n, m)
				}
			})
		})
	}
}

// Evictions of pods on an instance that was stopped come to nothing, and a pod that must not be disrupted would hold it for ever.
func TestADrainThatWaitsEndsWhenItsInstanceIsStopped(t *testing.T) {
	simcluster.Run(t, simcluster.Options{World: few}, func(h *simcluster.Cluster) {
		node := protect(h)
		remove(h, &node)
		h.Pass(10 * time.Minute)
		if n := len(on(h, node.Name)); n != 1 {
			h.T.Fatalf("%d pods are on the node, want the one that must not be disrupted", n)
		}
		if !h.AWS.World.Stop(instanceOf(node)) {
			h.T.Fatalf("%s does not run", instanceOf(node))
		}
		h.T.Logf("the node went after %s", gone(h, 2*time.Minute, node))
		h.Pass(3 * time.Minute)
		h.Running(time.Minute, "web", 1)
		if n, m := len(h.Claims()), len(h.Instances()); n != 1 || m != 1 {
			h.T.Errorf("%d nodeclaims and %d instances are there, want one of each", n, m)
		}
	})
}
