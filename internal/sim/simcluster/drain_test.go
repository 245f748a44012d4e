package simcluster_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

const evictions = "create pods/eviction"

// budget makes a disruption budget for the pods of web.
func budget(h *simcluster.Cluster, minAvailable int) {
	h.T.Helper()
	h.Apply(fmt.Sprintf(`
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: default}
spec: {minAvailable: %d, selector: {matchLabels: {app: web}}}
`, minAvailable))
}

func pool() client.Object { return &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}} }

func change(h *simcluster.Cluster, o client.Object, patch string) {
	h.T.Helper()
	if err := h.Client.Patch(h.T.Context(), o, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		h.T.Fatal(err)
	}
}

func remove(h *simcluster.Cluster, o client.Object) {
	h.T.Helper()
	if err := h.Client.Delete(h.T.Context(), o); err != nil {
		h.T.Fatal(err)
	}
}

// on lists the pods of a node.
func on(h *simcluster.Cluster, node string) []corev1.Pod {
	h.T.Helper()
	var out []corev1.Pod
	for _, p := range h.Pods() {
		if p.Spec.NodeName == node {
			out = append(out, p)
		}
	}
	return out
}

// busiest is the node with the most pods: instances that were launched may be more than the scheduler then uses.
func busiest(h *simcluster.Cluster) corev1.Node {
	h.T.Helper()
	nodes := h.Nodes()
	return slices.MaxFunc(nodes, func(a, b corev1.Node) int { return cmp.Compare(len(on(h, a.Name)), len(on(h, b.Name))) })
}

// gone waits until a node and its instance are gone, and says after what time.
func gone(h *simcluster.Cluster, timeout time.Duration, node corev1.Node) time.Duration {
	h.T.Helper()
	began := time.Now()
	h.Eventually(timeout, "the node is gone", func() (bool, string) {
		for _, n := range h.Nodes() {
			if n.Name == node.Name {
				return false, fmt.Sprintf("%d pods on it", len(on(h, n.Name)))
			}
		}
		return true, ""
	})
	return time.Since(began)
}

func TestABudgetThatFreesUpLetsTheDrainGoOn(t *testing.T) {
	simcluster.Run(t, simcluster.Options{World: few}, func(h *simcluster.Cluster) {
		h.Apply(simcluster.Defaults)
		h.Deploy("web", 3, "1", "1Gi")
		h.Running(time.Minute, "web", 3)
		budget(h, 3)
		h.Pass(10 * time.Second)
		node := busiest(h)
		pods := len(on(h, node.Name))
		remove(h, &node)
		h.Pass(10 * time.Minute)
		if n := len(on(h, node.Name)); n != pods {
			h.T.Fatalf("%d pods are left of %d that must not go", n, pods)
		}
		// One now and then, in case an event was lost: every 15 seconds at most.
		asked := h.API.Requests()[evictions]
		if asked == 0 || asked > 41 {
			h.T.Errorf("%d evictions were asked for in vain in ten minutes", asked)
		}
		budget(h, 0)
		began := time.Now()
		h.Eventually(time.Second, "all are evicted", func() (bool, string) {
			n := 0
			for _, p := range on(h, node.Name) {
				if p.DeletionTimestamp == nil {
					n++
				}
			}
			return n == 0, fmt.Sprint(n, " are not")
		})
		h.T.Logf("went on after %s, %d evictions", time.Since(began), h.API.Requests()[evictions])
		gone(h, 30*time.Second, node)
		h.Running(time.Minute, "web", 3)
	})
}

func TestManyPodsUnderATightBudgetCostOneCallEach(t *testing.T) {
	const pods = 300
	simcluster.Run(t, simcluster.Options{World: few}, func(h *simcluster.Cluster) {
		h.Apply(simcluster.Defaults)
		change(h, pool(), `{"spec":{"disruption":{"consolidateAfter":"Never"}}}`)
		h.Deploy("web", pods, "500m", "1Gi")
		h.Running(3*time.Minute, "web", pods)
		budget(h, pods-3)
		h.Pass(10 * time.Second)
		nodes := h.Nodes()
		for i := range nodes {
			remove(h, &nodes[i])
		}
		for _, n := range nodes {
			gone(h, 30*time.Minute, n)
		}
		h.Running(time.Minute, "web", pods)
		asked := h.API.Requests()[evictions]
		h.T.Logf("%d nodes, %d pods: %d evictions", len(nodes), pods, asked)
		if asked < pods || asked > pods*6/5 {
			h.T.Errorf("%d evictions were asked for to move %d pods", asked, pods)
		}
	})
}

func TestTheGracePeriodEndsADrainThatIsForbidden(t *testing.T) {
	const grace = 5 * time.Minute
	simcluster.Run(t, simcluster.Options{World: few}, func(h *simcluster.Cluster) {
		h.Apply(simcluster.Defaults)
		change(h, pool(), `{"spec":{"template":{"spec":{"terminationGracePeriod":"5m"}}}}`)
		h.Deploy("web", 2, "1", "1Gi")
		h.Running(time.Minute, "web", 2)
		pods := h.Pods()
		for i := range pods {
			change(h, &pods[i], `{"metadata":{"annotations":{"karpenter.sh/do-not-disrupt":"true"}}}`)
		}
		h.Pass(time.Second) // pods and nodes are watched apart: the controller has seen the annotations
		node := busiest(h)
		there := len(on(h, node.Name))
		remove(h, &node)
		began := time.Now()
		h.Pass(grace - 33*time.Second)
		if n := h.API.Requests()[evictions]; n != 0 {
			h.T.Errorf("%d evictions were asked for of pods that must not be disrupted and have time left", n)
		}
		h.Eventually(time.Minute, "the first pod is deleted", func() (bool, string) {
			left := on(h, node.Name)
			for _, p := range left {
				if p.DeletionTimestamp != nil {
					return true, ""
				}
			}
			return len(left) < there, fmt.Sprintf("%d of %d pods", len(left), there)
		})
		// Its own grace period is 30 seconds, and times are written in whole seconds.
		if took := time.Since(began); took < grace-32*time.Second || took > grace-28*time.Second {
			h.T.Errorf("the first pod was deleted after %s, want its grace period before %s", took, grace)
		}
		gone(h, time.Minute, node)
		if n := h.API.Requests()[evictions]; n != there {
			h.T.Errorf("%d evictions were asked for of %d pods", n, there)
		}
		h.Running(time.Minute, "web", 2)
	})
}

func TestAVolumeIsDetachedBeforeItsInstanceEnds(t *testing.T) {
	simcluster.Run(t, simcluster.Options{World: few}, func(h *simcluster.Cluster) {
		h.Apply(simcluster.Defaults)
		h.Deploy("web", 2, "1", "1Gi")
		h.Running(time.Minute, "web", 2)
		node := busiest(h)
		attachment := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "disk"}, Spec: storagev1.VolumeAttachmentSpec{
			Attacher: "ebs.csi.aws.com", NodeName: node.Name, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: new("disk")},
		}}
		if err := h.Client.Create(h.T.Context(), attachment); err != nil {
			h.T.Fatal(err)
		}
		instances := len(h.Instances())
		remove(h, &node)
		h.Pass(10 * time.Minute)
		if n := len(on(h, node.Name)); n != 0 {
			h.T.Errorf("%d pods are still on the node", n)
		}
		if n := len(h.Instances()); n < instances {
			h.T.Errorf("%d instances are left of %d while a volume is attached", n, instances)
		}
		remove(h, attachment)
		if took := gone(h, time.Minute, node); took > 30*time.Second {
			h.T.Errorf("the node went %s after its volume", took)
		}
	})
}
