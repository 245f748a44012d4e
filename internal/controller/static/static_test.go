package static

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
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
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/cache"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// shop sells three types, or none; free is how many addresses its subnet has.
type shop struct {
	soldOut bool
	closed  error
	asked   int
	free    int64
}

func (s *shop) subnets(*awsv1.EC2NodeClass) []cluster.Subnet {
	return []cluster.Subnet{{ID: "subnet-1", Zone: "a", Free: s.free}}
}

func (s *shop) Types(context.Context, *awsv1.EC2NodeClass) ([]*catalog.Type, error) {
	if s.asked++; s.closed != nil {
		return nil, s.closed
	}
	var out []*catalog.Type
	for _, cpus := range []int64{8, 2, 4} {
		in := func(key string, values ...string) requirement.Term {
			return requirement.Term{Key: key, Operator: requirement.In, Values: values}
		}
		name := fmt.Sprint("t", cpus)
		out = append(out, &catalog.Type{
			Name:         name,
			Requirements: []requirement.Term{in(requirement.InstanceType, name), in(requirement.Arch, "amd64"), in(requirement.Zone, "a"), in(requirement.CapacityType, "on-demand")},
			Capacity:     res.List{"cpu": cpus * 1000, "memory": cpus << 32, "pods": 110},
			Offerings:    []catalog.Offering{{Zone: "a", CapacityType: "on-demand", Price: catalog.MicroUSD(cpus) * 1000, Available: !s.soldOut}},
		})
	}
	return out, nil
}

type indexer struct{ *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	i.WithIndex(obj, field, extract)
	return nil
}

// cluster is a loop over a real cache and a fake API, from which the cache is fed by hand.
type testCluster struct {
	*Controller
	t      *testing.T
	api    client.Client
	cache  *cache.Cache
	shop   *shop
	clock  *clocktesting.FakeClock
	events *record.FakeRecorder
	pool   *karpv1.NodePool
	seen   map[string]*karpv1.NodeClaim
	uids   atomic.Int64
}

func newTestCluster(t *testing.T, replicas int64, edit ...func(*karpv1.NodePool)) *testCluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(karpv1.AddToScheme(scheme), awsv1.AddToScheme(scheme), corev1.AddToScheme(scheme), storagev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	clk := clocktesting.NewFakeClock(start)
	h := &testCluster{
		t: t, shop: &shop{free: 1000}, clock: clk, events: record.NewFakeRecorder(1000), seen: map[string]*karpv1.NodeClaim{},
		cache: cache.New(cache.Options{Now: clk.Now}),
	}
	b := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			obj.SetUID(types.UID(fmt.Sprint("uid-", h.uids.Add(1))))
			obj.SetCreationTimestamp(metav1.Time{Time: clk.Now()})
			return c.Create(ctx, obj, opts...)
		},
	})
	if err := index.Add(t.Context(), indexer{b}); err != nil {
		t.Fatal(err)
	}
	h.api = b.Build()
	h.cache.SetNodeClass(&awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "class", ResourceVersion: "1"}})
	h.pool = &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "fixed", UID: "pool", ResourceVersion: "1", Generation: 1}}
	h.pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
	h.pool.StatusConditions().SetTrue(karpv1.ConditionTypeValidationSucceeded)
	h.pool.StatusConditions().SetTrue(karpv1.ConditionTypeNodeClassReady)
	for _, e := range edit {
		e(h.pool)
	}
	h.scale(replicas)
	h.Controller = New(Options{
		Client: h.api, State: h.cache, Shop: &Shop{Classes: h.cache, Types: h.shop, Subnets: h.shop.subnets, Clock: clk}, Recorder: h.events, Metrics: obs.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler), Clock: clk,
		Launcher: apply.New(apply.Options{Client: h.api, State: h.cache, Recorder: h.events, Now: clk.Now}),
	})
	return h
}

func (h *testCluster) scale(replicas int64) {
	h.pool = h.pool.DeepCopy()
	h.pool.Spec.Replicas = &replicas
	h.pool.Generation++
	h.pool.ResourceVersion = fmt.Sprint(h.pool.Generation)
	h.cache.SetPool(h.pool)
}

// round runs the loop once; the cache stays behind until watch is called.
func (h *testCluster) round() {
	h.t.Helper()
	if err := h.Round(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
}

// claims are those that are not being deleted.
func (h *testCluster) claims() []*karpv1.NodeClaim {
	h.t.Helper()
	var list karpv1.NodeClaimList
	if err := h.api.List(h.t.Context(), &list); err != nil {
		h.t.Fatal(err)
	}
	var out []*karpv1.NodeClaim
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp.IsZero() {
			out = append(out, &list.Items[i])
		}
	}
	return out
}

func (h *testCluster) names() []string {
	var out []string
	for _, c := range h.claims() {
		out = append(out, c.Name)
	}
	return out
}

// watch tells the cache all that is in the API.
func (h *testCluster) watch() {
	h.t.Helper()
	var claims karpv1.NodeClaimList
	var nodes corev1.NodeList
	if err := errors.Join(h.api.List(h.t.Context(), &claims), h.api.List(h.t.Context(), &nodes)); err != nil {
		h.t.Fatal(err)
	}
	now := map[string]*karpv1.NodeClaim{}
	for i := range claims.Items {
		now[claims.Items[i].Name] = &claims.Items[i]
		h.cache.SetClaim(&claims.Items[i])
	}
	for name, c := range h.seen {
		if now[name] == nil {
			h.cache.RemoveClaim(c)
		}
	}
	h.seen = now
	for i := range nodes.Items {
		h.cache.SetNode(&nodes.Items[i])
	}
}

// join lets the instances of all claims join that have not, in the order of their names.
func (h *testCluster) join() {
	h.t.Helper()
	for _, c := range h.claims() {
		if c.Status.ProviderID != "" {
			continue
		}
		c.Status.ProviderID, c.Status.NodeName = "aws:///a/"+c.Name, "node-"+c.Name
		c.StatusConditions().SetTrue(karpv1.ConditionTypeLaunched)
		c.StatusConditions().SetTrue(karpv1.ConditionTypeRegistered)
		if err := h.api.Update(h.t.Context(), c); err != nil {
			h.t.Fatal(err)
		}
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-" + c.Name, Labels: map[string]string{karpv1.NodePoolLabelKey: "fixed", karpv1.NodeRegisteredLabelKey: "true", karpv1.NodeInitializedLabelKey: "true"}}}
		n.Spec.ProviderID = c.Status.ProviderID
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		n.Status.Capacity = corev1.ResourceList{"cpu": resource.MustParse("2"), "pods": resource.MustParse("110")}
		n.Status.Allocatable = n.Status.Capacity
		if err := h.api.Create(h.t.Context(), n); err != nil {
			h.t.Fatal(err)
		}
	}
	h.watch()
}

// pod puts a pod on the node of a claim.
func (h *testCluster) pod(name, claim string, edit ...func(*corev1.Pod)) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), ResourceVersion: "1", Annotations: map[string]string{}}}
	p.Spec = corev1.PodSpec{NodeName: "node-" + claim, Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("100m")}}}}}
	p.Status.Phase = corev1.PodRunning
	for _, e := range edit {
		e(p)
	}
	h.cache.SetPod(p)
}

func (h *testCluster) want(n int, when string) {
	h.t.Helper()
	if got := len(h.claims()); got != n {
		h.t.Fatalf("%d instances %s, want %d", got, when, n)
	}
}

func TestReplicasAreLaunchedAtOnceAndOnce(t *testing.T) {
	h := newTestCluster(t, 5)
	h.round()
	h.want(5, "after one round")
	h.round()
	h.want(5, "after another that no watch came before")
	h.watch()
	h.round()
	h.want(5, "after the watch")
	h.join()
	h.round()
	h.want(5, "once they have joined")
	for _, c := range h.claims() {
		i := slices.IndexFunc(c.Spec.Requirements, func(r karpv1.NodeSelectorRequirementWithMinValues) bool {
			return r.Key == corev1.LabelInstanceTypeStable
		})
		if i < 0 || c.Spec.Requirements[i].Values[0] != "t2" {
			t.Errorf("%s has requirements %v, want the instance types with the cheapest first", c.Name, c.Spec.Requirements)
		}
		if c.Labels[karpv1.NodePoolLabelKey] != "fixed" || c.Annotations[karpv1.NodePoolHashAnnotationKey] == "" {
			t.Errorf("labels %v, annotations %v", c.Labels, c.Annotations)
		}
	}
}

func TestWhatIsMissingIsReplaced(t *testing.T) {
	h := newTestCluster(t, 3)
	h.round()
	h.join()
	gone := h.claims()[1]
	if err := h.api.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	h.watch()
	h.round()
	h.want(3, "after one was deleted by hand")
}

func TestLimitsOfNodesCountWhatIsGoing(t *testing.T) {
	h := newTestCluster(t, 3, func(p *karpv1.NodePool) { p.Spec.Limits = karpv1.Limits{"nodes": resource.MustParse("2")} })
	h.round()
	h.want(2, "with a limit of two")
	if len(h.events.Events) == 0 || !strings.Contains(<-h.events.Events, "limits.nodes leaves room for 2") {
		t.Error("the pool does not say that the limit holds it")
	}
	h.join()
	if err := h.api.Delete(t.Context(), h.claims()[0]); err != nil {
		t.Fatal(err)
	}
	var claims karpv1.NodeClaimList
	if err := h.api.List(t.Context(), &claims); err != nil {
		t.Fatal(err)
	}
	if len(claims.Items) != 2 {
		t.Fatalf("%d claims, want the one that goes to be there still", len(claims.Items))
	}
	h.watch()
	h.round()
	h.want(1, "while the other goes: two instances are there")
}

func TestWhatCanNotBeLaunchedIsToldAndTriedAgain(t *testing.T) {
	h := newTestCluster(t, 2)
	h.shop.soldOut = true
	h.round()
	h.want(0, "while nothing is sold")
	if len(h.events.Events) != 1 {
		t.Fatalf("%d events", len(h.events.Events))
	}
	h.shop.soldOut = false
	h.clock.Step(29 * time.Second)
	h.round()
	h.want(0, "before it is tried again")
	h.clock.Step(time.Second)
	h.round()
	h.want(2, "once it is")
}

// TestAPoolThatIsMadeAnewWhileItsNodesAreChosen gets its nodes in the next round, and is not told that they can't be launched.
func TestAPoolThatIsMadeAnewWhileItsNodesAreChosen(t *testing.T) {
	h := newTestCluster(t, 2)
	launcher := h.o.Launcher
	h.o.Launcher = stocks(func(ctx context.Context, nodes []plan.NewNode, pools []*cluster.Pool) apply.Outcome {
		h.pool = h.pool.DeepCopy()
		h.pool.UID, h.pool.ResourceVersion = "another", "99"
		h.cache.SetPool(h.pool)
		return launcher.Stock(ctx, nodes, pools)
	})
	h.round()
	h.want(0, "of the pool as it was")
	if len(h.events.Events) != 0 {
		t.Errorf("%q", <-h.events.Events)
	}
	h.o.Launcher = launcher
	h.round()
	h.want(2, "of the pool as it is")
}

type stocks func(context.Context, []plan.NewNode, []*cluster.Pool) apply.Outcome

func (s stocks) Stock(ctx context.Context, nodes []plan.NewNode, pools []*cluster.Pool) apply.Outcome {
	return s(ctx, nodes, pools)
}

// ended is a buyer whose leader ends while it waits for its turn.
type ended struct{}

func (ended) Stock(context.Context, []plan.NewNode, []*cluster.Pool) apply.Outcome {
	return apply.Outcome{}
}

func TestALeaderThatEndsBlamesNoPool(t *testing.T) {
	h := newTestCluster(t, 3)
	h.o.Launcher = ended{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = h.Round(ctx)
	if len(h.events.Events) != 0 {
		t.Errorf("%q", <-h.events.Events)
	}
}

func TestNoMoreNodesThanTheSubnetHasAddresses(t *testing.T) {
	h := newTestCluster(t, 5)
	h.shop.free = 3
	h.round()
	h.want(3, "with three addresses")
	if len(h.events.Events) != 1 || !strings.Contains(<-h.events.Events, "2 of 5 missing nodes could not be launched") {
		t.Error("the pool does not say what is missing")
	}
}

func TestAPoolThatIsNotReadyLaunchesNothing(t *testing.T) {
	h := newTestCluster(t, 2, func(p *karpv1.NodePool) {
		p.StatusConditions().SetFalse(karpv1.ConditionTypeNodeClassReady, "NodeClassNotFound", "gone")
	})
	h.round()
	h.want(0, "of a pool that is not ready")
}

func TestWhichNodesGo(t *testing.T) {
	daemon := func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Controller: new(true)}}
	}
	keep := func(p *corev1.Pod) { p.Annotations[karpv1.DoNotDisruptAnnotationKey] = "true" }
	cheap := func(p *corev1.Pod) { p.Annotations[karpv1.PodDeletionCostAnnotationKey] = "-2147483648" }
	for sentence, c := range map[string]struct {
		pods func(h *testCluster, names []string)
		want []int // positions of the names, in the order in which they go
	}{
		"empty ones before those with pods": {func(h *testCluster, n []string) { h.pod("a", n[0]); h.pod("b", n[2]) }, []int{1, 0, 2}},
		"one with daemons only is empty": {func(h *testCluster, n []string) {
			h.pod("a", n[0])
			h.pod("d", n[1], daemon)
			h.pod("b", n[2])
			h.pod("b2", n[2])
		}, []int{1, 0, 2}},
		"fewer pods before more": {func(h *testCluster, n []string) {
			h.pod("a", n[0])
			h.pod("a2", n[0])
			h.pod("b", n[1])
			h.pod("c", n[2])
			h.pod("c2", n[2])
			h.pod("c3", n[2])
		}, []int{1, 0, 2}},
		"pods that are cheap to delete count less": {func(h *testCluster, n []string) {
			h.pod("a", n[0])
			h.pod("b", n[1], cheap)
			h.pod("b2", n[1], cheap)
			h.pod("c", n[2])
			h.pod("c2", n[2])
		}, []int{1, 0, 2}},
		"do-not-disrupt last": {func(h *testCluster, n []string) {
			h.pod("a", n[0], keep)
			h.pod("b", n[1])
			h.pod("b2", n[1])
			h.pod("c", n[2])
			h.pod("c2", n[2])
			h.pod("c3", n[2])
		}, []int{1, 2, 0}},
		"a daemon's do-not-disrupt too": {func(h *testCluster, n []string) {
			h.pod("a", n[0], daemon, keep)
			h.pod("b", n[1])
			h.pod("c", n[2])
			h.pod("c2", n[2])
		}, []int{1, 2, 0}},
	} {
		t.Run(sentence, func(t *testing.T) {
			h := newTestCluster(t, 3)
			h.round()
			h.join()
			names := h.names()
			c.pods(h, names)
			var got []int
			for left := int64(2); left >= 0; left-- {
				before := h.names()
				h.scale(left)
				h.round()
				h.round() // the cache has not seen it yet: no other goes
				h.want(int(left), fmt.Sprintf("of %d replicas", left))
				for _, n := range before {
					if !slices.Contains(h.names(), n) {
						got = append(got, slices.Index(names, n))
					}
				}
				h.watch()
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("order (-want +got):\n%s", d)
			}
		})
	}
}

func TestAClaimThatWasNotLaunchedGoesFirst(t *testing.T) {
	h := newTestCluster(t, 2)
	h.round()
	h.join()
	joined := h.names()
	h.scale(3)
	h.round()
	h.scale(2)
	h.round()
	if d := cmp.Diff(joined, h.names()); d != "" {
		t.Errorf("the instances that are left (-want +got):\n%s", d)
	}
}

func TestANodeThatIsNotReadyGoesBeforeAnEmptyOne(t *testing.T) {
	h := newTestCluster(t, 2)
	h.round()
	h.join()
	names := h.names()
	node := &corev1.Node{}
	if err := h.api.Get(t.Context(), client.ObjectKey{Name: "node-" + names[1]}, node); err != nil {
		t.Fatal(err)
	}
	node.Status.Conditions[0].Status = corev1.ConditionUnknown
	if err := h.api.Status().Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	h.watch()
	h.pod("p", names[1])
	h.scale(1)
	h.round()
	if d := cmp.Diff(names[:1], h.names()); d != "" {
		t.Errorf("the instances that are left (-want +got):\n%s", d)
	}
}

func TestACommandThatReplacesANodeIsNoSurplus(t *testing.T) {
	h := newTestCluster(t, 3)
	h.round()
	h.join()
	leaving := h.claims()[0]
	node := &corev1.Node{}
	if err := h.api.Get(t.Context(), client.ObjectKey{Name: "node-" + leaving.Name}, node); err != nil {
		t.Fatal(err)
	}
	node.Annotations = map[string]string{intake.DisruptingAnnotation: "Drifted", index.CommandAnnotation: "command"}
	if err := h.api.Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	h.watch()
	h.round()
	h.want(3, "while the replacement is not launched yet")
	replacement := h.claims()[1].DeepCopy()
	replacement.ObjectMeta = metav1.ObjectMeta{Name: "replacement", Labels: replacement.Labels, Finalizers: replacement.Finalizers, Annotations: map[string]string{index.CommandAnnotation: "command"}}
	replacement.Status = karpv1.NodeClaimStatus{}
	if err := h.api.Create(t.Context(), replacement); err != nil {
		t.Fatal(err)
	}
	h.watch()
	h.round()
	h.want(4, "while the replacement comes")
	h.scale(2)
	h.round()
	h.want(3, "of two replicas and a replacement that comes")
	for _, must := range []string{leaving.Name, "replacement"} {
		if !slices.Contains(h.names(), must) {
			t.Errorf("%s of a command that is under way was ended", must)
		}
	}
	h.watch()
	if err := h.api.Delete(t.Context(), leaving); err != nil {
		t.Fatal(err)
	}
	h.watch()
	h.round()
	h.want(2, "when the command is done")
}

func TestTheReplacementOfAnExpiringNodeIsLaunchedFirst(t *testing.T) {
	h := newTestCluster(t, 2)
	h.round()
	h.join()
	old := h.claims()[0]
	old.Annotations[index.ExpiredAnnotation] = start.Format(time.RFC3339)
	if err := h.api.Update(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	h.watch()
	h.round()
	h.want(3, "while the expired one is still there")
	h.join()
	h.round()
	h.want(3, "once the replacement has joined")
	if err := h.api.Delete(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	h.watch()
	h.round()
	h.want(2, "when it goes")
}

func TestARestartFindsWhatItsPredecessorLaunched(t *testing.T) {
	h := newTestCluster(t, 4)
	h.round()
	again := newTestCluster(t, 4)
	again.Controller.o.Client, again.api = h.api, h.api
	again.watch()
	again.round()
	again.want(4, "after a restart")
}

func TestAShopThatIsClosedIsNotAskedEverySecond(t *testing.T) {
	h := newTestCluster(t, 2)
	h.shop.closed = errors.New("throttled")
	failed := 0
	for range 60 {
		if h.Round(t.Context()) != nil {
			failed++
		}
		h.clock.Step(tick)
	}
	if h.shop.asked != 2 || failed != 2 {
		t.Errorf("asked %d times and told of it %d times in a minute, want twice", h.shop.asked, failed)
	}
	h.shop.closed = nil
	h.clock.Step(limited)
	h.round()
	h.want(2, "once it sells again")
}
