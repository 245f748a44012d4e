package simcluster

import (
	"fmt"
	"strings"
	"sync"
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

// Pods are all pods. Nothing that they point to may be changed.
func (h *Cluster) Pods() []corev1.Pod { h.T.Helper(); return h.pods.look(h, "/v1/pods") }

// Nodes are all nodes. Nothing that they point to may be changed.
func (h *Cluster) Nodes() []corev1.Node { h.T.Helper(); return h.nodes.look(h, "/v1/nodes") }

// Claims are all NodeClaims. Nothing that they point to may be changed.
func (h *Cluster) Claims() []karpv1.NodeClaim {
	h.T.Helper()
	return h.claims.look(h, "karpenter.sh/v1/nodeclaims")
}

// seen are objects of a kind as they were last looked at: only those that have changed since are decoded again.
type seen[T any] struct {
	mu sync.Mutex
	by map[types.UID]version[T]
}

type version[T any] struct {
	number uint64
	object *T
}

func (s *seen[T]) look(h *Cluster, path string) []T {
	h.T.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	out, now := make([]T, 0, len(s.by)), make(map[types.UID]version[T], len(s.by))
	err := h.API.Each(path, func(id types.UID, number uint64, decode func(any) error) error {
		v := s.by[id]
		if v.object == nil || v.number != number {
			v = version[T]{number, new(T)}
			if err := decode(v.object); err != nil {
				return err
			}
		}
		now[id] = v
		out = append(out, *v.object)
		return nil
	})
	if err != nil {
		h.T.Fatal(err)
	}
	s.by = now
	return out
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
