package terminate

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// Every event of every pod asks whether its node goes: that must not cost a copy of the node.
func TestAnEventOfAPodCopiesNoNode(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	gets, copies := 0, 0
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "stays"}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "goes", Finalizers: []string{"x/y"}, DeletionTimestamp: &metav1.Time{Time: noon}}},
	).WithInterceptorFuncs(interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		var all client.GetOptions
		all.ApplyOptions(opts)
		if gets++; all.UnsafeDisableDeepCopy == nil || !*all.UnsafeDisableDeepCopy {
			copies++
		}
		return c.Get(ctx, key, o, opts...)
	}}).Build()
	n := &Nodes{Client: api}
	for node, want := range map[string]int{"": 0, "stays": 0, "gone": 0, "goes": 1} {
		p := pod("p", func(p *corev1.Pod) { p.Spec.NodeName = node })
		if got := n.deletingNodeOfPod(t.Context(), &p); len(got) != want {
			t.Errorf("an event of a pod on node %q wakes %v, want %d", node, got, want)
		}
	}
	if gets != 3 || copies != 0 {
		t.Errorf("%d nodes were read and %d copied, want 3 and none", gets, copies)
	}
}
