package e2e

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// budgetFreesUp lets a drain wait for a budget, and go on as soon as that allows it.
func budgetFreesUp(t *testing.T, e *env) {
	s := e.stage(t)
	s.apply(fmt.Sprintf(`
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: %s}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: web}}}
`, s.name))
	s.pool("default", "", "")
	s.deploy("web", 1, "1", "")
	s.run(60*time.Second, 1)
	pod, node, instance := s.pods(s.name)[0], s.nodesOf()[0], s.instances(false)[0]
	s.remove(&node)
	s.told(30*time.Second, "FailedDraining", node.Name, s.name+"/web")
	now := &corev1.Pod{}
	if err := s.client.Get(s.Context(), client.ObjectKeyFromObject(&pod), now); err != nil || !now.DeletionTimestamp.IsZero() {
		t.Fatalf("the pod goes against its budget: %v", err)
	}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: objectMeta("web")}
	budget.Namespace = s.name
	if err := s.client.Patch(s.Context(), budget, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"maxUnavailable":1}}`))); err != nil {
		t.Fatal(err)
	}
	// That it is evicted at once and not at the next of the regular tries, a test in virtual time sees (internal/sim/simcluster).
	s.eventually(20*time.Second, "the pod is evicted", func() (bool, string) {
		err := s.client.Get(s.Context(), client.ObjectKeyFromObject(&pod), now)
		return err != nil || !now.DeletionTimestamp.IsZero(), fmt.Sprint(now.Status.Phase)
	})
	s.moved(node.Name, instance.ID)
}

// volumeHoldsInstance has a volume attached to a node whose pods have left.
func volumeHoldsInstance(t *testing.T, e *env) {
	s := e.stage(t)
	s.pool("default", "", "")
	s.deploy("web", 1, "1", "")
	s.run(60*time.Second, 1)
	node, instance := s.nodesOf()[0], s.instances(false)[0]
	volume := s.name + "-disk"
	attachment := &storagev1.VolumeAttachment{ObjectMeta: objectMeta(volume), Spec: storagev1.VolumeAttachmentSpec{
		Attacher: "ebs.csi.aws.com", NodeName: node.Name, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume},
	}}
	if err := s.client.Create(s.Context(), attachment); err != nil {
		t.Fatal(err)
	}
	s.remove(&node)
	s.told(60*time.Second, "AwaitingVolumeDetachment", node.Name, "1 volumes")
	if i, ok := s.cluster.Simulator.World.Instance(instance.ID); !ok || i.State != "running" {
		t.Errorf("the instance is %s while a volume is attached to it", i.State)
	}
	s.remove(attachment)
	s.moved(node.Name, instance.ID)
}
