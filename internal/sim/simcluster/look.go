package simcluster

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

func keyOf(o client.Object) types.NamespacedName { return client.ObjectKeyFromObject(o) }

// Deploy makes a Deployment in the namespace default, or changes it to so many replicas.
func (h *Cluster) Deploy(app string, replicas int, cpu, memory string) {
	h.T.Helper()
	h.Apply(fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: default}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      containers:
      - {name: main, image: none, resources: {requests: {cpu: %[3]q, memory: %[4]q}}}
`, app, replicas, cpu, memory))
}

// Scale changes how many pods a deployment wants.
func (h *Cluster) Scale(app string, replicas int) {
	h.T.Helper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	if err := h.Client.Patch(h.T.Context(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: app, Namespace: "default"}}, patch); err != nil {
		h.T.Fatal(err)
	}
}

// Pods are all pods, Nodes all nodes, Claims all NodeClaims.
func (h *Cluster) Pods() []corev1.Pod {
	h.T.Helper()
	var l corev1.PodList
	h.list(&l)
	return l.Items
}

// Nodes are all nodes.
func (h *Cluster) Nodes() []corev1.Node {
	h.T.Helper()
	var l corev1.NodeList
	h.list(&l)
	return l.Items
}

// Claims are all NodeClaims.
func (h *Cluster) Claims() []karpv1.NodeClaim {
	h.T.Helper()
	var l karpv1.NodeClaimList
	h.list(&l)
	return l.Items
}

func (h *Cluster) list(l client.ObjectList) {
	h.T.Helper()
	if err := h.Client.List(h.T.Context(), l); err != nil {
		h.T.Fatal(err)
	}
}

// Instances are the instances that run or begin to.
func (h *Cluster) Instances() []world.Instance {
	var out []world.Instance
	for _, i := range h.AWS.World.Instances() {
		if i.State == world.StateRunning || i.State == world.StatePending {
			out = append(out, i)
		}
	}
	return out
}

// Running waits until exactly n pods of an app run and none of it waits or goes. An empty app means all pods.
func (h *Cluster) Running(timeout time.Duration, app string, n int) {
	h.T.Helper()
	h.Eventually(timeout, fmt.Sprintf("%d pods of %q run", n, app), func() (bool, string) {
		running, others := 0, []string{}
		for _, p := range h.Pods() {
			switch {
			case app != "" && p.Labels["app"] != app:
			case p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil:
				running++
			default:
				others = append(others, fmt.Sprintf("%s %s", p.Name, p.Status.Phase))
			}
		}
		return running == n && len(others) == 0, fmt.Sprintf("%d run; not: %s", running, strings.Join(others, ", "))
	})
}
