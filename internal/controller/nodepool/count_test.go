package nodepool

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/state/cache"
)

// What a pool's nodes hold is counted as they come and go: a pass lists nothing, however many claims there are. A limit that
// was taken away is shown no more.
func TestAPassListsNothingAndShowsTheLimitsThatThereAre(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{karpv1.AddToScheme, awsv1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	ref := &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u"}}
	pool.Spec.Template.Spec.NodeClassRef = ref
	pool.Spec.Limits = karpv1.Limits{"cpu": resource.MustParse("9000"), "memory": resource.MustParse("1Ti")}
	lists := 0
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(pool).WithStatusSubresource(pool).
		WithInterceptorFuncs(interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			lists++
			return c.List(ctx, list, o...)
		}}).Build()
	state := cache.New(cache.Options{})
	metrics := obs.NewMetrics(prometheus.NewRegistry())
	c := &Controller{Client: api, State: state, Metrics: metrics, Log: slog.New(slog.DiscardHandler), Clock: clock.RealClock{}, Health: NewHealth()}
	pass := func() *karpv1.NodePool {
		t.Helper()
		if _, err := c.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(pool)}); err != nil {
			t.Fatal(err)
		}
		now := &karpv1.NodePool{}
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(pool), now); err != nil {
			t.Fatal(err)
		}
		return now
	}
	for i := range 1000 {
		name := fmt.Sprintf("c%03d", i)
		state.SetClaim(&karpv1.NodeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{karpv1.NodePoolLabelKey: "p"}},
			Spec:       karpv1.NodeClaimSpec{NodeClassRef: ref},
			Status:     karpv1.NodeClaimStatus{Capacity: corev1.ResourceList{"cpu": resource.MustParse("4"), "vendor.example/gpu": resource.MustParse("0")}},
		})
	}
	now := pass()
	if lists != 0 {
		t.Errorf("a pass listed %d times, want never", lists)
	}
	cpu, nodes, memory := now.Status.Resources["cpu"], now.Status.Resources[karpv1.ResourceNodes], now.Status.Resources["memory"]
	if _, none := now.Status.Resources["vendor.example/gpu"]; cpu.Value() != 4000 || nodes.Value() != 1000 || *now.Status.Nodes != 1000 || !memory.IsZero() || none {
		t.Errorf("the status says %v on %d nodes", now.Status.Resources, *now.Status.Nodes)
	}
	if n := testutil.CollectAndCount(metrics.NodePoolLimit); n != 2 {
		t.Errorf("%d limits are shown, want 2", n)
	}
	now.Spec.Limits = karpv1.Limits{"memory": resource.MustParse("1Ti")}
	if err := api.Update(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	pass()
	if n := testutil.CollectAndCount(metrics.NodePoolLimit); n != 1 || testutil.ToFloat64(metrics.NodePoolLimit.WithLabelValues("memory", "p")) == 0 {
		t.Errorf("%d limits are shown after one was taken away, want that of memory alone", n)
	}
	for _, name := range []string{"p", "other"} {
		metrics.NodesTerminated.WithLabelValues(name, "a").Inc()
		metrics.NodesLifetime.WithLabelValues(name).Observe(1)
		metrics.NodesTermination.WithLabelValues(name).Observe(1)
	}
	if err := api.Delete(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(pool)}); err != nil {
		t.Fatal(err)
	}
	if n := testutil.CollectAndCount(metrics.NodePoolLimit) + testutil.CollectAndCount(metrics.NodePoolUsage); n != 0 {
		t.Errorf("%d series of limits and usage are left of a pool that is gone", n)
	}
	if n := testutil.CollectAndCount(metrics.NodesTerminated); n != 2 {
		t.Errorf("%d pools have a count of nodes that were terminated while nodes of both are there, want 2", n)
	}
	for i := range 1000 {
		name := fmt.Sprintf("c%03d", i)
		state.RemoveClaim(&karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}})
	}
	if _, err := c.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(pool)}); err != nil {
		t.Fatal(err)
	}
	for name, vector := range map[string]prometheus.Collector{"counter": metrics.NodesTerminated, "histogram": metrics.NodesLifetime, "summary": metrics.NodesTermination} {
		if n := testutil.CollectAndCount(vector); n != 1 {
			t.Errorf("a %s has series of %d pools once the last node of one that is gone has gone, want that of the other alone", name, n)
		}
	}
}
