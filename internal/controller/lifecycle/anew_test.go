package lifecycle

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// A kubelet that starts again after somebody deleted its Node makes it with the taint that nobody else takes away.
func TestANodeThatIsMadeAnewIsAdoptedAgain(t *testing.T) {
	h := admit(t)
	look := func() { // as each event of the node makes it do
		t.Helper()
		for range 2 {
			if _, err := h.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "c"}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	// made is the node as its kubelet makes it.
	made := func(n *corev1.Node) {
		n.Labels, n.Annotations, n.OwnerReferences, n.Finalizers = map[string]string{}, nil, nil, nil
		n.Name, n.Spec.ProviderID = "n", h.claim(t).Status.ProviderID
		n.Spec.Taints = []corev1.Taint{karpv1.UnregisteredNoExecuteTaint()}
	}
	want := func(when string) *corev1.Node {
		t.Helper()
		look()
		node := &corev1.Node{}
		if err := h.Client.Get(t.Context(), client.ObjectKey{Name: "n"}, node); err != nil {
			t.Fatal(err)
		}
		if len(node.Spec.Taints) > 0 || node.Labels[karpv1.NodeRegisteredLabelKey] != "true" || node.Labels[karpv1.NodeInitializedLabelKey] != "true" ||
			!controllerutil.ContainsFinalizer(node, karpv1.TerminationFinalizer) || !h.claim(t).StatusConditions().IsTrue(karpv1.ConditionTypeInitialized) {
			t.Errorf("%s the node has the taints %v, the labels %v and the finalizers %v", when, node.Spec.Taints, node.Labels, node.Finalizers)
		}
		return node
	}
	if err := h.Client.Create(t.Context(), readyNode(made)); err != nil {
		t.Fatal(err)
	}
	node := want("at first")
	made(node)
	if err := h.Client.Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	want("made anew")
}

// Without the finalizer the end of the claim would end the instance under its pods.
func TestANodeThatLostTheFinalizerGetsItBack(t *testing.T) {
	h := admit(t)
	look := func() *corev1.Node {
		t.Helper()
		for range 2 {
			if _, err := h.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "c"}}); err != nil {
				t.Fatal(err)
			}
		}
		node := &corev1.Node{}
		if err := h.Client.Get(t.Context(), client.ObjectKey{Name: "n"}, node); err != nil {
			t.Fatal(err)
		}
		return node
	}
	claim := h.claim(t)
	claim.Spec.StartupTaints = []corev1.Taint{{Key: "cni", Effect: corev1.TaintEffectNoExecute}}
	if err := h.Client.Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	if err := h.Client.Create(t.Context(), readyNode(func(n *corev1.Node) {
		n.Spec.ProviderID, n.Spec.Taints = claim.Status.ProviderID, []corev1.Taint{karpv1.UnregisteredNoExecuteTaint()}
	})); err != nil {
		t.Fatal(err)
	}
	node := look()
	if len(node.Spec.Taints) != 1 {
		t.Fatalf("the node has the taints %v, want that of its start", node.Spec.Taints)
	}
	node.Finalizers, node.OwnerReferences, node.Spec.Taints = nil, nil, nil // the start is over
	node.Labels = map[string]string{"from": "kubelet"}
	if err := h.Client.Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	node = look()
	if !controllerutil.ContainsFinalizer(node, karpv1.TerminationFinalizer) || len(node.OwnerReferences) != 1 || node.Labels[karpv1.NodeRegisteredLabelKey] != "true" || node.Labels["from"] != "kubelet" {
		t.Errorf("the finalizers %v, the owners %v and the labels %v are back", node.Finalizers, node.OwnerReferences, node.Labels)
	}
	if len(node.Spec.Taints) != 0 {
		t.Errorf("the node of running pods got the taints %v", node.Spec.Taints)
	}
	if version := node.ResourceVersion; look().ResourceVersion != version {
		t.Error("it is written to again")
	}
}
