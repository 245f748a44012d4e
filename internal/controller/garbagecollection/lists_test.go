package garbagecollection

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// listed is a cloud with given instances, which notes those that are terminated.
type listed struct {
	cloud.Provider
	instances []*cloud.Instance
	ended     []string
}

func (l *listed) List(context.Context, time.Duration) ([]*cloud.Instance, error) {
	return l.instances, nil
}

func (l *listed) Terminate(_ context.Context, id string) error {
	l.ended = append(l.ended, id)
	return nil
}

// Lists of all claims cost the API server in proportion to the cluster: rounds read what the informer holds, and the API is
// asked once before something is terminated. A claim that only the API knows of keeps its instance.
func TestTheAPIIsAskedForAllClaimsOnlyBeforeSomethingIsTerminated(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{karpv1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	claim := func(name, id string) *karpv1.NodeClaim {
		return &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u"}, Status: karpv1.NodeClaimStatus{ProviderID: id}}
	}
	informer := fake.NewClientBuilder().WithScheme(scheme).WithObjects(claim("a", "i-a")).
		WithIndex(&corev1.Node{}, index.NodeProviderID, func(o client.Object) []string { return []string{o.(*corev1.Node).Spec.ProviderID} }).Build()
	lists := 0
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(claim("a", "i-a"), claim("late", "i-late")).
		WithInterceptorFuncs(interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			lists++
			return c.List(ctx, list, o...)
		}}).Build()
	at := func(id string) *cloud.Instance { return &cloud.Instance{ProviderID: id, State: "running"} }
	aws := &listed{instances: []*cloud.Instance{at("i-a"), at("i-lost"), at("i-late")}}
	clk := testclock.NewFakeClock(time.Now())
	c := &Collector{
		Client: informer, APIReader: api, Cloud: aws, Recorder: record.NewFakeRecorder(10),
		Metrics: obs.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler), Clock: clk,
	}
	round := func() {
		t.Helper()
		if err := c.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		round()
		clk.Step(eager)
	}
	if lists != 0 || len(aws.ended) > 0 {
		t.Fatalf("%d lists of the API, %v terminated before the grace period was over; want none", lists, aws.ended)
	}
	round()
	if lists != 1 {
		t.Errorf("%d lists of the API before a termination, want 1", lists)
	}
	if len(aws.ended) != 1 || aws.ended[0] != "i-lost" {
		t.Errorf("terminated %v, want i-lost alone", aws.ended)
	}
	aws.instances = []*cloud.Instance{at("i-a")}
	for range 100 {
		clk.Step(lazy)
		round()
	}
	if lists != 1 {
		t.Errorf("%d lists of the API in 100 rounds in which nothing is unclaimed, want none", lists-1)
	}
}
