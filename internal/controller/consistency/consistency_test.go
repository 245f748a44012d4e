package consistency_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/consistency"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/obs"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

type indexer struct{ *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	i.WithIndex(obj, field, extract)
	return nil
}

type testCluster struct {
	*consistency.Loop
	t      *testing.T
	clock  *clocktesting.FakeClock
	events *record.FakeRecorder
}

func newTestCluster(t *testing.T, objects ...client.Object) *testCluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(karpv1.AddToScheme(scheme), awsv1.AddToScheme(scheme), corev1.AddToScheme(scheme), storagev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&karpv1.NodeClaim{})
	if err := index.Add(t.Context(), indexer{b}); err != nil {
		t.Fatal(err)
	}
	h := &testCluster{t: t, clock: clocktesting.NewFakeClock(start), events: record.NewFakeRecorder(1000)}
	h.Loop = &consistency.Loop{Client: b.Build(), Recorder: h.events, Metrics: obs.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler), Clock: h.clock}
	return h
}

func (h *testCluster) round() {
	h.t.Helper()
	if err := h.Round(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
}

func (h *testCluster) claim(name string) *karpv1.NodeClaim {
	h.t.Helper()
	out := &karpv1.NodeClaim{}
	if err := h.Client.Get(h.t.Context(), client.ObjectKey{Name: name}, out); err != nil {
		h.t.Fatal(err)
	}
	return out
}

// told are the reasons of the events since the last call.
func (h *testCluster) told() []string {
	var out []string
	for len(h.events.Events) > 0 {
		e := strings.Fields(<-h.events.Events)
		out = append(out, e[1])
	}
	return out
}

// instance is a claim whose node joined at the start; it is initialized or waits for a start-up taint.
func instance(name string, initialized bool) (*karpv1.NodeClaim, *corev1.Node) {
	c := &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{karpv1.NodePoolLabelKey: "p", awsv1.LabelNodeClass: "default"}, Finalizers: []string{karpv1.TerminationFinalizer}},
		Spec: karpv1.NodeClaimSpec{
			NodeClassRef: &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"},
			Resources:    karpv1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1"), "nvidia.com/gpu": resource.MustParse("1")}},
		},
	}
	c.Status.ProviderID = "aws:///us-east-1a/" + name
	c.Status.Capacity = corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("16Gi"), "nvidia.com/gpu": resource.MustParse("4")}
	conditions := c.StatusConditions().WithClock(func() time.Time { return start })
	conditions.SetTrue(karpv1.ConditionTypeLaunched)
	conditions.SetTrue(karpv1.ConditionTypeRegistered)
	if initialized {
		conditions.SetTrue(karpv1.ConditionTypeInitialized)
	} else {
		conditions.SetUnknownWithReason(karpv1.ConditionTypeInitialized, karpv1.ReasonStartupTaintsExist, "start-up taint x is still there")
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-" + name, UID: types.UID("node-" + name), Labels: map[string]string{awsv1.LabelNodeClass: "default"}}}
	n.Spec.ProviderID = c.Status.ProviderID
	n.Status.Capacity = c.Status.Capacity.DeepCopy()
	return c, n
}

func TestANodeThatHasLessThanWasLaunchedSaysSo(t *testing.T) {
	for sentence, c := range map[string]struct {
		edit func(*karpv1.NodeClaim, *corev1.Node)
		want string // part of the message; empty: consistent
	}{
		"all is there": {func(*karpv1.NodeClaim, *corev1.Node) {}, ""},
		"a GPU is missing": {func(_ *karpv1.NodeClaim, n *corev1.Node) {
			n.Status.Capacity["nvidia.com/gpu"] = resource.MustParse("3")
		}, "nvidia.com/gpu: expected 4, found 3 (75.0%)"},
		"a resource is not there at all":     {func(_ *karpv1.NodeClaim, n *corev1.Node) { delete(n.Status.Capacity, "nvidia.com/gpu") }, "found 0 (0.0%)"},
		"nine tenths are enough":             {func(_ *karpv1.NodeClaim, n *corev1.Node) { n.Status.Capacity["cpu"] = resource.MustParse("3600m") }, ""},
		"what nobody asked for is not asked": {func(_ *karpv1.NodeClaim, n *corev1.Node) { n.Status.Capacity["memory"] = resource.MustParse("1Gi") }, ""},
		"what was not promised is not asked": {func(c *karpv1.NodeClaim, n *corev1.Node) {
			delete(c.Status.Capacity, "nvidia.com/gpu")
			delete(n.Status.Capacity, "nvidia.com/gpu")
		}, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			claim, node := instance("c", true)
			c.edit(claim, node)
			h := newTestCluster(t, claim, node)
			h.round()
			h.round()
			got := h.claim("c").StatusConditions().Get(karpv1.ConditionTypeConsistentStateFound)
			if got.IsTrue() != (c.want == "") || !strings.Contains(got.Message, c.want) {
				t.Errorf("condition %+v, want %q", got, c.want)
			}
			var want []string
			if c.want != "" {
				want = []string{"FailedConsistencyCheck", "FailedConsistencyCheck"} // on the claim and on the node, once
			}
			if d := cmp.Diff(want, h.told()); d != "" {
				t.Errorf("told (-want +got):\n%s", d)
			}
		})
	}
}

func TestAnInconsistentNodeThatMendsSaysSo(t *testing.T) {
	claim, node := instance("c", true)
	node.Status.Capacity["nvidia.com/gpu"] = resource.MustParse("0")
	h := newTestCluster(t, claim, node)
	h.round()
	if err := h.Client.Get(t.Context(), client.ObjectKeyFromObject(node), node); err != nil {
		t.Fatal(err)
	}
	node.Status.Capacity["nvidia.com/gpu"] = resource.MustParse("4")
	if err := h.Client.Status().Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	h.round()
	if c := h.claim("c").StatusConditions().Get(karpv1.ConditionTypeConsistentStateFound); !c.IsTrue() {
		t.Errorf("condition %+v", c)
	}
}

func TestANodeThatIsNotInitializedIsNotCompared(t *testing.T) {
	claim, node := instance("c", false)
	delete(node.Status.Capacity, "nvidia.com/gpu")
	h := newTestCluster(t, claim, node)
	h.round()
	if c := h.claim("c").StatusConditions().Get(karpv1.ConditionTypeConsistentStateFound); c != nil {
		t.Errorf("condition %+v", c)
	}
}

func TestObjectsFromOldReleasesGetTheirLabel(t *testing.T) {
	var objects []client.Object
	for i := range 30 {
		claim, node := instance(fmt.Sprint("c", i), false)
		delete(claim.Labels, awsv1.LabelNodeClass)
		node.Labels = nil
		objects = append(objects, claim, node)
	}
	h := newTestCluster(t, objects...)
	labelled := func() (n int) {
		t.Helper()
		var claims karpv1.NodeClaimList
		var nodes corev1.NodeList
		if err := errors.Join(h.Client.List(t.Context(), &claims), h.Client.List(t.Context(), &nodes)); err != nil {
			t.Fatal(err)
		}
		for _, c := range claims.Items {
			if c.Labels[awsv1.LabelNodeClass] == "default" {
				n++
			}
		}
		for _, x := range nodes.Items {
			if x.Labels[awsv1.LabelNodeClass] == "default" {
				n++
			}
		}
		return n
	}
	h.round()
	if n := labelled(); n != 50 {
		t.Errorf("%d objects were labelled in a round, want as many as it may write", n)
	}
	h.round()
	if n := labelled(); n != 60 {
		t.Errorf("%d objects are labelled, want all 60", n)
	}
}

func TestANodeThatNeverGetsReadyIsToldAndEndedWhereThatIsWished(t *testing.T) {
	claim, node := instance("c", false)
	well, other := instance("well", true)
	h := newTestCluster(t, claim, node, well, other)
	h.Timeout = time.Hour
	after := func(d time.Duration, told int, count float64) {
		t.Helper()
		h.clock.SetTime(start.Add(d))
		h.round()
		h.round()
		if n := len(h.told()); n != told {
			t.Errorf("after %s: %d events, want %d", d, n, told)
		}
		if n := testutil.ToFloat64(h.Metrics.Uninitialized.WithLabelValues("p", karpv1.ReasonStartupTaintsExist)); n != count {
			t.Errorf("after %s: the metric says %v, want %v", d, n, count)
		}
	}
	after(14*time.Minute, 0, 0)
	after(15*time.Minute, 2, 1)
	after(29*time.Minute, 0, 1)
	after(30*time.Minute, 2, 1)
	if !h.claim("c").DeletionTimestamp.IsZero() {
		t.Fatal("ended before its time")
	}
	after(time.Hour, 2, 0)
	if h.claim("c").DeletionTimestamp.IsZero() {
		t.Error("not ended after its time")
	}
	if !h.claim("well").DeletionTimestamp.IsZero() {
		t.Error("a node that is well was ended")
	}
}

func TestWithoutATimeoutANodeThatNeverGetsReadyStays(t *testing.T) {
	claim, node := instance("c", false)
	h := newTestCluster(t, claim, node)
	h.clock.SetTime(start.Add(1000 * time.Hour))
	h.round()
	if !h.claim("c").DeletionTimestamp.IsZero() {
		t.Error("ended though no setting asks for it")
	}
}

func TestWhereTrafficIsShiftedAwayANodeThatNeverGetsReadyStays(t *testing.T) {
	claim, node := instance("c", false)
	h := newTestCluster(t, claim, node)
	h.Timeout = time.Hour
	shifted := true
	h.LeftAlone = func(id string) bool { return shifted && id == claim.Status.ProviderID }
	h.clock.SetTime(start.Add(2 * time.Hour))
	h.round()
	if told := h.told(); len(told) != 2 || !h.claim("c").DeletionTimestamp.IsZero() {
		t.Errorf("ended, or nothing is said: %q", told)
	}
	shifted = false
	h.round()
	if h.claim("c").DeletionTimestamp.IsZero() {
		t.Error("not ended when the shift is over")
	}
}
