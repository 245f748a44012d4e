package crds_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/karpenter/v1/apitest"
	"github.com/kerf-sh/kerf/controlplane/harness"
)

// TestNodePoolsCanBeScaled does what kubectl scale does. It also shows that a pool made with the
// Go types is what the API server stores.
func TestNodePoolsCanBeScaled(t *testing.T) {
	cp := harness.Start(t)
	at := installCRDs(t, cp.Config)["NodePool"]
	client, err := dynamic.NewForConfig(cp.Config)
	if err != nil {
		t.Fatal(err)
	}
	pool := apitest.NodePool("fixed", func(p *karpv1.NodePool) { p.Spec.Replicas = new(int64(2)) })
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pool)
	if err != nil {
		t.Fatal(err)
	}
	pools := client.Resource(at.GroupVersionResource)
	if _, err := pools.Create(t.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	scale, err := pools.Get(t.Context(), "fixed", metav1.GetOptions{}, "scale")
	if err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedField(scale.Object, int64(5), "spec", "replicas"); err != nil {
		t.Fatal(err)
	}
	if _, err := pools.Update(t.Context(), scale, metav1.UpdateOptions{}, "scale"); err != nil {
		t.Fatal(err)
	}
	stored, err := pools.Get(t.Context(), "fixed", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got karpv1.NodePool
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, &got); err != nil {
		t.Fatal(err)
	}
	if got.Spec.Replicas == nil || *got.Spec.Replicas != 5 {
		t.Errorf("replicas are %v, want 5", got.Spec.Replicas)
	}
	if got.Hash() != pool.Hash() {
		t.Errorf("the stored pool hashes to %s, the one made in Go to %s", got.Hash(), pool.Hash())
	}
}
