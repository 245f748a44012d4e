package app

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// A cache lists in no order: here backwards.
func TestListsOfTheCacheComeByName(t *testing.T) {
	pod := func(namespace, name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.PodSpec{NodeName: "node-of-" + name}}
	}
	inner := fake.NewClientBuilder().WithObjects(pod("b", "a"), pod("a", "d"), pod("a", "c"), pod("c", "b")).Build()
	backwards := interceptor.NewClient(inner, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		err := c.List(ctx, list, opts...)
		if pods, ok := list.(*corev1.PodList); ok {
			slices.Reverse(pods.Items)
		}
		return err
	}})
	{
		var list corev1.PodList
		if err := (sorted{backwards}).List(t.Context(), &list); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range list.Items {
			if p.Spec.NodeName != "node-of-"+p.Name {
				t.Errorf("%s is with the rest of another: %s", p.Name, p.Spec.NodeName)
			}
			got = append(got, p.Namespace+"/"+p.Name)
		}
		if want := []string{"a/c", "a/d", "b/a", "c/b"}; !slices.Equal(got, want) {
			t.Errorf("listed %v, not %v", got, want)
		}
	}
	var few corev1.PodList
	if err := (sorted{backwards}).List(t.Context(), &few, client.InNamespace("c")); err != nil || len(few.Items) != 1 {
		t.Errorf("one alone: %v, %v", few.Items, err)
	}
	var none corev1.NodeList
	if err := (sorted{backwards}).List(t.Context(), &none); err != nil || len(none.Items) != 0 {
		t.Errorf("none at all: %v, %v", none.Items, err)
	}
}
