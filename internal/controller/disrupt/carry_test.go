package disrupt

import (
	"context"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestPodsAreListedFromTheWatchCache: otherwise each node that is removed costs a list of all pods from etcd.
func TestPodsAreListedFromTheWatchCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		defer h.end()
		lists := 0
		raw := map[*metav1.ListOptions]bool{} // the client writes into them, and nodes are looked at side by side
		h.Queue.APIReader = interceptor.NewClient(h.api, interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
				if _, ok := l.(*corev1.PodList); ok {
					o := (&client.ListOptions{}).ApplyOptions(opts)
					if raw[o.Raw] {
						t.Error("two lists share their options")
					}
					raw[o.Raw] = true
					if lists++; o.AsListOptions().ResourceVersion != "0" || o.FieldSelector == nil {
						t.Errorf("pods are listed with %+v", o.AsListOptions())
					}
				}
				return c.List(ctx, l, opts...)
			},
		})
		g := h.instance("c1")
		if why, err := h.lookAgain(t.Context(), &execution{moves: map[string]int{}}, g); why != "" || err != nil || lists != 1 {
			t.Errorf("%q, %v after %d lists", why, err, lists)
		}
		h.bind("p", g.Node, func(p *corev1.Pod) { p.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "true"} })
		if why, _ := h.lookAgain(t.Context(), &execution{moves: map[string]int{}}, g); why != "pod ns/p asks not to be disrupted" {
			t.Errorf("%q", why)
		}
	})
}
