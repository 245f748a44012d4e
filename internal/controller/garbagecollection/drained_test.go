package garbagecollection

import (
	"log/slog"
	"slices"
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

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// TestANodeThatRunsPodsIsDrainedThoughItsClaimIsGone: somebody may have taken the finalizers off a claim whose drain waited for a budget.
func TestANodeThatRunsPodsIsDrainedThoughItsClaimIsGone(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{karpv1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	node := func(name string, edit func(*corev1.Node)) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u", Labels: map[string]string{awsv1.LabelNodeClass: "default"}, Finalizers: []string{karpv1.TerminationFinalizer}}}
		n.Spec.ProviderID = "i-" + name
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		edit(n)
		return n
	}
	objects := []client.Object{
		node("ready", func(*corev1.Node) {}),
		node("dead", func(n *corev1.Node) { n.Status.Conditions = nil }),
		node("foreign", func(n *corev1.Node) { n.Finalizers = nil }),
		node("unlabelled", func(n *corev1.Node) { n.Labels = nil }),
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithIndex(&corev1.Node{}, index.NodeProviderID, func(o client.Object) []string { return []string{o.(*corev1.Node).Spec.ProviderID} }).Build()
	aws := &listed{}
	for _, o := range objects {
		aws.instances = append(aws.instances, &cloud.Instance{ProviderID: "i-" + o.GetName(), State: "running"})
	}
	clk := testclock.NewFakeClock(time.Now())
	collector := &Collector{
		Client: c, APIReader: c, Cloud: aws, Recorder: record.NewFakeRecorder(10),
		Metrics: obs.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler), Clock: clk,
	}
	rounds := func(n int) {
		for range n {
			if err := collector.Round(t.Context()); err != nil {
				t.Fatal(err)
			}
			clk.Step(eager)
		}
		slices.Sort(aws.ended)
	}
	rounds(8)
	if want := []string{"i-dead", "i-foreign", "i-unlabelled"}; !slices.Equal(slices.Compact(aws.ended), want) {
		t.Errorf("terminated at once are %v, want %v", aws.ended, want)
	}
	n := &corev1.Node{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "ready"}, n); err != nil || n.DeletionTimestamp.IsZero() {
		t.Errorf("the ready node is not being drained: %v", err)
	}
	rounds(8)
	if !slices.Contains(aws.ended, "i-ready") {
		t.Error("an instance that nobody owns runs on while a pod can not be evicted")
	}
}
