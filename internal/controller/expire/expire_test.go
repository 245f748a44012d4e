package expire_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/expire"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/obs"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

type indexer struct{ *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	i.WithIndex(obj, field, extract)
	return nil
}

// cluster is a loop over claims, and when each of them began to go.
type testCluster struct {
	*expire.Loop
	t     *testing.T
	clock *clocktesting.FakeClock
	begun map[string]time.Duration // after start
}

func newTestCluster(t *testing.T, ahead time.Duration, claims ...client.Object) *testCluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(karpv1.AddToScheme(scheme), awsv1.AddToScheme(scheme), corev1.AddToScheme(scheme), storagev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(claims...)
	if err := index.Add(t.Context(), indexer{b}); err != nil {
		t.Fatal(err)
	}
	clk := clocktesting.NewFakeClock(start)
	return &testCluster{t: t, clock: clk, begun: map[string]time.Duration{}, Loop: &expire.Loop{
		Client: b.Build(), Recorder: record.NewFakeRecorder(10000), Metrics: obs.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler), Clock: clk, Ahead: ahead,
	}}
}

// until runs the loop for a time.
func (h *testCluster) until(end time.Duration) {
	h.t.Helper()
	for h.clock.Since(start) <= end {
		wait, err := h.Round(h.t.Context())
		if err != nil {
			h.t.Fatal(err)
		}
		var claims karpv1.NodeClaimList
		if err := h.Client.List(h.t.Context(), &claims); err != nil {
			h.t.Fatal(err)
		}
		for _, c := range claims.Items {
			if _, ok := h.begun[c.Name]; !ok && !c.DeletionTimestamp.IsZero() {
				h.begun[c.Name] = h.clock.Since(start)
				if _, err := time.Parse(time.RFC3339, c.Annotations[index.ExpiredAnnotation]); err != nil {
					h.t.Errorf("nodeclaim %s is deleted without the mark that makes its drain wait: %v", c.Name, c.Annotations)
				}
			}
		}
		h.clock.Step(wait)
	}
}

func claim(name, pool string, age time.Duration, life string) *karpv1.NodeClaim {
	c := &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(name), Labels: map[string]string{karpv1.NodePoolLabelKey: pool}, Finalizers: []string{karpv1.TerminationFinalizer},
			CreationTimestamp: metav1.Time{Time: start.Add(-age)},
		},
		Spec: karpv1.NodeClaimSpec{NodeClassRef: &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}},
	}
	if d, err := time.ParseDuration(life); err == nil {
		c.Spec.ExpireAfter.Duration = &d
	}
	return c
}

func TestWhenNodesGo(t *testing.T) {
	const month = 720 * time.Hour
	foreign := claim("foreign", "a", month, "720h")
	foreign.Spec.NodeClassRef.Kind = "GCENodeClass"
	for sentence, c := range map[string]struct {
		ahead  time.Duration
		claims []client.Object
		want   map[string]time.Duration
	}{
		"one goes exactly when it is due":                   {time.Hour, []client.Object{claim("c", "a", month-time.Minute, "720h")}, map[string]time.Duration{"c": time.Minute}},
		"Never is never":                                    {time.Hour, []client.Object{claim("c", "a", 10*month, "")}, map[string]time.Duration{}},
		"what another controller looks after is left alone": {time.Hour, []client.Object{foreign}, map[string]time.Duration{}},
		"three that were born together go five minutes apart, the last when it is due": {
			time.Hour,
			[]client.Object{claim("c1", "a", month-time.Hour, "720h"), claim("c2", "a", month-time.Hour, "720h"), claim("c3", "a", month-time.Hour, "720h")},
			map[string]time.Duration{"c1": 50 * time.Minute, "c2": 55 * time.Minute, "c3": time.Hour},
		},
		"three that live for two minutes only go four seconds apart": {
			time.Hour,
			[]client.Object{claim("c1", "a", 0, "2m"), claim("c2", "a", 0, "2m"), claim("c3", "a", 0, "2m")},
			map[string]time.Duration{"c1": 112 * time.Second, "c2": 116 * time.Second, "c3": 120 * time.Second},
		},
		"pools do not wait for each other": {
			time.Hour,
			[]client.Object{claim("c1", "a", month-time.Hour, "720h"), claim("c2", "b", month-time.Hour, "720h")},
			map[string]time.Duration{"c1": time.Hour, "c2": time.Hour},
		},
		"without leave to go early all go when they are due": {
			0,
			[]client.Object{claim("c1", "a", month-time.Hour, "720h"), claim("c2", "a", month-time.Hour, "720h")},
			map[string]time.Duration{"c1": time.Hour, "c2": time.Hour},
		},
		"those that are long past their age are begun within ten minutes": {
			time.Hour,
			[]client.Object{claim("c1", "a", 2*month, "720h"), claim("c2", "a", 2*month, "720h"), claim("c3", "a", 2*month, "720h")},
			map[string]time.Duration{"c1": 0, "c2": 200 * time.Second, "c3": 400 * time.Second},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			h := newTestCluster(t, c.ahead, c.claims...)
			h.until(2 * time.Hour)
			if d := cmp.Diff(c.want, h.begun); d != "" {
				t.Errorf("begun (-want +got):\n%s", d)
			}
		})
	}
}

func TestANodeOfAStaticPoolIsMarkedBeforeItGoes(t *testing.T) {
	replicas := int64(1)
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	pool.Spec.Replicas = &replicas
	h := newTestCluster(t, time.Hour, claim("c", "a", 29*time.Minute, "30m"), claim("d", "b", 29*time.Minute, "30m"), pool)
	h.StaticCapacity = true
	h.until(56 * time.Second)
	marked := &karpv1.NodeClaim{}
	if err := h.Client.Get(t.Context(), client.ObjectKey{Name: "c"}, marked); err != nil {
		t.Fatal(err)
	}
	if len(h.begun) != 0 || marked.Annotations[index.ExpiredAnnotation] == "" {
		t.Fatalf("begun %v, annotations %v; want it marked and not begun", h.begun, marked.Annotations)
	}
	h.until(2 * time.Minute)
	if d := cmp.Diff(map[string]time.Duration{"c": time.Minute, "d": time.Minute}, h.begun); d != "" {
		t.Errorf("begun (-want +got):\n%s", d)
	}
}

func TestWhatAFormerLeaderBeganGoesOn(t *testing.T) {
	begun, other := claim("c", "a", 715*time.Hour, "720h"), claim("d", "a", 715*time.Hour, "720h")
	begun.Annotations = map[string]string{index.ExpiredAnnotation: start.Add(5 * time.Hour).Format(time.RFC3339)}
	other.Annotations = map[string]string{index.ExpiredAnnotation: "soon"}
	h := newTestCluster(t, time.Hour, begun, other)
	h.until(0)
	if d := cmp.Diff(map[string]time.Duration{"c": 0}, h.begun); d != "" {
		t.Errorf("begun (-want +got):\n%s", d)
	}
}

// A webhook may refuse to let a claim be written or deleted.
func TestAClaimThatCanNotGoDoesNotHoldUpItsPool(t *testing.T) {
	no := errors.New("a webhook refused it")
	for sentence, refuses := range map[string]interceptor.Funcs{
		"one that can't be marked": {Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if o.GetName() == "c1" {
				return no
			}
			return c.Patch(ctx, o, p, opts...)
		}},
		"one that can't be deleted": {Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if o.GetName() == "c1" {
				return no
			}
			return c.Delete(ctx, o, opts...)
		}},
	} {
		t.Run(sentence, func(t *testing.T) {
			h := newTestCluster(t, time.Hour, claim("c1", "a", 1441*time.Hour, "720h"), claim("c2", "a", 1440*time.Hour, "720h"), claim("c3", "a", 1440*time.Hour, "720h"))
			h.Client = interceptor.NewClient(h.Client.(client.WithWatch), refuses)
			refused := 0
			for h.clock.Since(start) < time.Hour {
				if _, err := h.Round(t.Context()); errors.Is(err, no) {
					refused++
				}
				h.clock.Step(10 * time.Second)
			}
			var claims karpv1.NodeClaimList
			if err := h.Client.List(t.Context(), &claims); err != nil {
				t.Fatal(err)
			}
			for _, c := range claims.Items {
				if going := !c.DeletionTimestamp.IsZero(); going == (c.Name == "c1") {
					t.Errorf("%s goes: %t", c.Name, going)
				}
			}
			if refused < 300 {
				t.Errorf("tried and told %d times in 360 rounds, want nearly all", refused)
			}
		})
	}
}

func TestWhatWasBegunIsCountedOnce(t *testing.T) {
	c := claim("c", "a", time.Hour, "30m")
	c.Status.NodeName = "n"
	pod := func(name string, edit func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: corev1.PodSpec{NodeName: "n"}}
		edit(p)
		return p
	}
	h := newTestCluster(t, 0, c,
		pod("web", func(*corev1.Pod) {}), pod("elsewhere", func(p *corev1.Pod) { p.Spec.NodeName = "other" }), pod("done", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }),
		pod("daemon", func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", UID: "d"}}
		}))
	h.until(time.Minute)
	var got karpv1.NodeClaim
	if err := h.Client.Get(t.Context(), client.ObjectKey{Name: "c"}, &got); err != nil {
		t.Fatal(err)
	}
	events := h.Recorder.(*record.FakeRecorder).Events
	if len(events) != 1 {
		t.Errorf("%d events", len(events))
	}
	if n := testutil.ToFloat64(h.Metrics.NodeClaimsDisrupted.WithLabelValues("expired", "a", "", "", "graceful")); n != 1 {
		t.Errorf("%v nodeclaims are counted", n)
	}
	if n := testutil.ToFloat64(h.Metrics.Disruption.Pods.WithLabelValues("expired", "a", "", "", "graceful")); n != 1 {
		t.Errorf("%v pods are counted", n)
	}
}

// A zone that traffic is shifted away from has no place for pods that are bound to it.
func TestNodesOfAZoneThatIsLeftAloneStay(t *testing.T) {
	h := newTestCluster(t, 0, claim("c", "a", 719*time.Hour, "720h"), claim("d", "b", 719*time.Hour, "720h"))
	shifted := true
	h.LeftAlone = func(string) bool { return shifted }
	h.until(2 * time.Hour)
	if len(h.begun) > 0 {
		t.Errorf("%v were ended during the shift", h.begun)
	}
	shifted = false
	h.until(3 * time.Hour)
	if len(h.begun) != 2 {
		t.Errorf("%v were ended after the shift, want both", h.begun)
	}
}
