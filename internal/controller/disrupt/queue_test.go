package disrupt

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
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
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/cache"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// cluster is a queue over a fake API, the real cache and the real applier, in the bubble of a test.
type testCluster struct {
	*Queue
	t      *testing.T
	cache  *cache.Cache
	api    client.WithWatch
	events *record.FakeRecorder
	pool   *karpv1.NodePool
	stands atomic.Pointer[func(verb string, o client.Object) error] // see failBy
	stale  map[string]*corev1.Node                                  // nodes as the queue's cache has them while it is behind, by name
	last   atomic.Pointer[karpv1.NodeClaim]                         // a claim as it has it, while it is behind
	end    context.CancelFunc
}

// failBy makes writes fail from now on; by nil none does.
func (h *testCluster) failBy(by func(verb string, o client.Object) error) {
	if by == nil {
		h.stands.Store(nil)
		return
	}
	h.stands.Store(&by)
}

func newTestCluster(t *testing.T) *testCluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(karpv1.AddToScheme(scheme), corev1.AddToScheme(scheme), awsv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	h := &testCluster{t: t, cache: cache.New(cache.Options{}), events: record.NewFakeRecorder(1000)}
	refuse := func(verb string, o client.Object) error {
		fail := h.stands.Load()
		if fail == nil {
			return nil
		}
		return (*fail)(verb, o)
	}
	h.api = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&karpv1.NodeClaim{}, &corev1.Node{}).
		WithIndex(&corev1.Pod{}, index.PodNode, func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if err := refuse("create", o); err != nil {
					return err
				}
				return c.Create(ctx, o, opts...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
				if err := refuse("patch", o); err != nil {
					return err
				}
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			},
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				if err := refuse("patch", o); err != nil {
					return err
				}
				return c.Patch(ctx, o, p, opts...)
			},
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				if err := refuse("delete", o); err != nil {
					return err
				}
				return c.Delete(ctx, o, opts...)
			},
		}).Build()
	h.pool = &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "pool", ResourceVersion: "1"}}
	h.pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
	h.pool.Spec.Disruption.ConsolidationPolicy = karpv1.ConsolidationPolicyWhenEmptyOrUnderutilized
	h.pool.Spec.Disruption.ConsolidateAfter.Duration = new(time.Duration)
	h.pool.StatusConditions().SetTrue(karpv1.ConditionTypeValidationSucceeded)
	h.pool.StatusConditions().SetTrue(karpv1.ConditionTypeNodeClassReady)
	h.cache.SetPool(h.pool)
	h.start()
	return h
}

// start makes a new leader.
func (h *testCluster) start() {
	if h.end != nil {
		h.end()
		synctest.Wait()
	}
	ctx, cancel := context.WithCancel(h.t.Context())
	h.end = cancel
	h.ready()
	go func() { _ = h.Run(ctx) }()
	synctest.Wait()
}

// ready makes a leader that does not run yet.
func (h *testCluster) ready() {
	h.Queue = &Queue{
		Client: h.behind(), APIReader: h.api, State: h.cache, Recorder: h.events, Metrics: obs.NewMetrics(prometheus.NewRegistry()),
		Log: slog.New(slog.DiscardHandler), Clock: clock.RealClock{},
		Launcher: apply.New(apply.Options{Client: h.api, State: h.cache, Recorder: h.events}),
	}
}

func offered() []*catalog.Type {
	return []*catalog.Type{{Name: "small", Capacity: res.List{"cpu": 4000, "pods": 29}, Offerings: []catalog.Offering{
		{Zone: "a", CapacityType: catalog.OnDemand, Price: 100, Available: true},
	}}}
}

// instance adds a node with its claim.
func (h *testCluster) instance(name string, edit ...func(*corev1.Node)) Going {
	h.t.Helper()
	labels := map[string]string{
		karpv1.NodePoolLabelKey: "default", corev1.LabelInstanceTypeStable: "small", karpv1.CapacityTypeLabelKey: "on-demand", corev1.LabelTopologyZone: "a",
		karpv1.NodeRegisteredLabelKey: "true", karpv1.NodeInitializedLabelKey: "true", awsv1.LabelNodeClass: "default",
	}
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: labels, Finalizers: []string{karpv1.TerminationFinalizer}}}
	claim.Spec.NodeClassRef = h.pool.Spec.Template.Spec.NodeClassRef
	claim.Status.ProviderID = "aws:///a/" + name
	for _, c := range []string{karpv1.ConditionTypeLaunched, karpv1.ConditionTypeRegistered, karpv1.ConditionTypeInitialized} {
		claim.StatusConditions().SetTrue(c)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-" + name, UID: types.UID("node-" + name), Labels: labels}, Spec: corev1.NodeSpec{ProviderID: claim.Status.ProviderID}}
	node.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("4"), "pods": resource.MustParse("29")}
	node.Status.Capacity = node.Status.Allocatable
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	for _, e := range edit {
		e(node)
	}
	for _, o := range []client.Object{claim, node} {
		if err := h.api.Create(h.t.Context(), o); err != nil {
			h.t.Fatal(err)
		}
	}
	h.cache.SetClaim(claim)
	h.cache.SetNode(node)
	return Going{Node: node.Name, Claim: name, Pool: "default", InstanceType: "small", CapacityType: "on-demand"}
}

// bind adds a pod that runs on a node.
func (h *testCluster) bind(name, node string, edit ...func(*corev1.Pod)) cluster.PodRef {
	h.t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}, Spec: corev1.PodSpec{NodeName: node}}
	p.Spec.Containers = []corev1.Container{{Name: "a", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}}}}
	p.Status.Phase = corev1.PodRunning
	for _, e := range edit {
		e(p)
	}
	if err := h.api.Create(h.t.Context(), p); err != nil {
		h.t.Fatal(err)
	}
	h.cache.SetPod(p)
	return intake.PodRef(p)
}

func (h *testCluster) node(name string) *corev1.Node {
	h.t.Helper()
	n := &corev1.Node{}
	if err := h.api.Get(h.t.Context(), client.ObjectKey{Name: name}, n); err != nil {
		h.t.Fatal(err)
	}
	return n
}

// marked reports whether a node and its claim bear everything that a command puts on them; a half of it is an error.
func (h *testCluster) marked(g Going) bool {
	h.t.Helper()
	n := h.node(g.Node)
	claim, err := h.Queue.claim(h.t.Context(), g.Claim)
	if err != nil || claim == nil {
		h.t.Fatalf("claim %s: %v", g.Claim, err)
	}
	all := []bool{hasTaint(n), intake.Leaving(n), n.Annotations[index.CommandAnnotation] != "", n.Annotations[orderAnnotation] != "", claim.StatusConditions().Get(karpv1.ConditionTypeDisruptionReason).IsTrue()}
	if slices.Contains(all, !all[0]) {
		h.t.Errorf("node %s is marked by halves: taint, annotation, command, order, condition: %v", g.Node, all)
	}
	return all[0]
}

func (h *testCluster) deleting(claim string) bool {
	h.t.Helper()
	c, err := h.Queue.claim(h.t.Context(), claim)
	if err != nil {
		h.t.Fatal(err)
	}
	return c == nil || !c.DeletionTimestamp.IsZero()
}

// replacements are the claims that were launched.
func (h *testCluster) replacements() []karpv1.NodeClaim {
	h.t.Helper()
	var list karpv1.NodeClaimList
	if err := h.api.List(h.t.Context(), &list); err != nil {
		h.t.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(c karpv1.NodeClaim) bool { return c.Annotations[index.CommandAnnotation] == "" })
}

func (h *testCluster) initialize(claim *karpv1.NodeClaim) {
	h.t.Helper()
	for _, c := range []string{karpv1.ConditionTypeLaunched, karpv1.ConditionTypeRegistered, karpv1.ConditionTypeInitialized} {
		claim.StatusConditions().SetTrue(c)
	}
	if err := h.api.Status().Update(h.t.Context(), claim); err != nil {
		h.t.Fatal(err)
	}
}

func (h *testCluster) told(reason string) bool {
	found := false
	for len(h.events.Events) > 0 {
		found = strings.Contains(<-h.events.Events, " "+reason+" ") || found
	}
	return found
}

func (h *testCluster) replace(g Going, pods ...cluster.PodRef) Command {
	pool := intake.Pool(h.pool, &awsv1.EC2NodeClass{}, offered())
	return Command{
		Cause: karpv1.DisruptionReasonUnderutilized, Nodes: []Going{g}, Pools: []*cluster.Pool{pool}, Why: "it is dear",
		NewNodes: []plan.NewNode{{Pool: "default", Types: []plan.TypeChoice{{Name: "small", Price: 100, Zone: "a", CapacityType: catalog.OnDemand}}, Requests: res.List{"cpu": 1000}, Pods: pods, Price: 100}},
	}
}

func emptyNodes(g ...Going) Command {
	return Command{Cause: karpv1.DisruptionReasonEmpty, Nodes: g, Why: "it holds no pods"}
}

func TestAnEmptyNodeGoesAfterASecondLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		g, late := h.instance("c1"), h.instance("c2")
		if err := h.Start(t.Context(), emptyNodes(g, late)); err != nil {
			t.Fatal(err)
		}
		if !h.marked(g) || !h.marked(late) || h.deleting("c1") {
			t.Error("at first nodes are marked, and nothing else")
		}
		h.bind("p", late.Node) // the scheduler had not seen the taint
		time.Sleep(Settle - time.Second)
		if h.deleting("c1") {
			t.Error("the node did not wait for a scheduler that is behind")
		}
		time.Sleep(2 * time.Second)
		if !h.deleting("c1") || h.deleting("c2") || h.marked(late) {
			t.Error("want the empty node to go, and the other to stay without a mark")
		}
		if h.Busy("c1") || h.Busy("c2") || !h.told("DisruptionTerminating") {
			t.Error("the command is not over")
		}
		h.end()
	})
}

func TestANodeGoesWhenItsReplacementIsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		g := h.instance("c1")
		pod := h.bind("p", g.Node)
		if err := h.Start(t.Context(), h.replace(g, pod)); err != nil {
			t.Fatal(err)
		}
		if err := h.Start(t.Context(), h.replace(g, pod)); !errors.Is(err, ErrBusy) {
			t.Errorf("the same node again: %v", err)
		}
		launched := h.replacements()
		if len(launched) != 1 || !h.marked(g) {
			t.Fatalf("%d replacements", len(launched))
		}
		for _, n := range h.cache.Snapshot().Nodes {
			if n.Claim == launched[0].Name && len(n.Pods) != 1 {
				t.Error("the room for the pod is not kept on its replacement")
			}
		}
		time.Sleep(patience - time.Minute)
		if h.deleting("c1") || !h.marked(g) {
			t.Error("the node did not wait for its replacement")
		}
		h.initialize(&launched[0])
		time.Sleep(2 * look)
		if !h.deleting("c1") || h.Busy("c1") {
			t.Error("the replacement is ready and the node is still there")
		}
		h.end()
	})
}

func TestACommandIsTakenBack(t *testing.T) {
	for sentence, tt := range map[string]struct {
		then func(h *testCluster, launched *karpv1.NodeClaim, g Going)
	}{
		"when its replacement vanishes": {func(h *testCluster, launched *karpv1.NodeClaim, _ Going) {
			launched.Finalizers = nil
			if err := errors.Join(h.api.Update(h.t.Context(), launched), h.api.Delete(h.t.Context(), launched)); err != nil {
				h.t.Fatal(err)
			}
		}},
		"when its replacement is being deleted": {func(h *testCluster, launched *karpv1.NodeClaim, _ Going) {
			if err := h.api.Delete(h.t.Context(), launched); err != nil {
				h.t.Fatal(err)
			}
		}},
		"when the node is annotated meanwhile": {func(h *testCluster, launched *karpv1.NodeClaim, g Going) {
			node := h.node(g.Node)
			node.Annotations[karpv1.DoNotDisruptAnnotationKey] = "true"
			if err := h.api.Update(h.t.Context(), node); err != nil {
				h.t.Fatal(err)
			}
			h.cache.SetNode(node)
			h.initialize(launched)
		}},
		"when a pod asks not to be disrupted meanwhile": {func(h *testCluster, launched *karpv1.NodeClaim, g Going) {
			h.bind("q", g.Node, func(p *corev1.Pod) {
				p.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"}
			})
			h.initialize(launched)
		}},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newTestCluster(t)
				g := h.instance("c1")
				if err := h.Start(t.Context(), h.replace(g, h.bind("p", g.Node))); err != nil {
					t.Fatal(err)
				}
				launched := h.replacements()
				tt.then(h, &launched[0], g)
				time.Sleep(2*look + Settle)
				if h.deleting("c1") || h.marked(g) || h.Busy("c1") || !h.told("DisruptionUndone") {
					t.Errorf("the node should stay, unmarked, and it should be said why: %v", h.node(g.Node).Annotations)
				}
				h.end()
			})
		})
	}
}

// A pod that reaches an empty node keeps it, also one of another API group's DaemonSet, which is no daemon for the decision either.
func TestAnEmptyNodeThatAPodReachesIsKept(t *testing.T) {
	for owner, keeps := range map[metav1.OwnerReference]bool{
		{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "a"}:                true,
		{APIVersion: "apps.kruise.io/v1alpha1", Kind: "DaemonSet", Name: "a"}: true,
		{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "a"}:                 false,
		{APIVersion: "v1", Kind: "Node", Name: "ip-10-0-0-1.ec2.internal"}:    false,
	} {
		t.Run(owner.APIVersion+" "+owner.Kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newTestCluster(t)
				g := h.instance("c1")
				if err := h.Start(t.Context(), emptyNodes(g)); err != nil {
					t.Fatal(err)
				}
				h.bind("p", g.Node, func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{owner} })
				time.Sleep(2*look + Settle)
				if h.deleting("c1") == keeps || keeps && (h.marked(g) || !h.told("DisruptionUndone")) {
					t.Errorf("kept: %t", !h.deleting("c1"))
				}
				h.end()
			})
		})
	}
}

// However far a replacement has come, ten minutes after the command's begin the node takes pods again; and they are counted
// from its begin by the next leader too.
func TestACommandWaitsTenMinutesInAll(t *testing.T) {
	for _, tt := range []struct {
		name      string
		registers time.Duration // after the begin; 0 for never
		restart   bool
	}{
		{name: "its replacement never registers"},
		{name: "its replacement registers late and is never initialized", registers: patience - time.Minute},
		{name: "its leader changes", registers: time.Minute, restart: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newTestCluster(t)
				g := h.instance("c1")
				if err := h.Start(t.Context(), h.replace(g, h.bind("p", g.Node))); err != nil {
					t.Fatal(err)
				}
				begun, launched := time.Now(), h.replacements()
				if tt.registers > 0 {
					time.Sleep(tt.registers)
					launched[0].StatusConditions().SetTrue(karpv1.ConditionTypeLaunched)
					launched[0].StatusConditions().SetTrue(karpv1.ConditionTypeRegistered)
					if err := h.api.Status().Update(t.Context(), &launched[0]); err != nil {
						t.Fatal(err)
					}
				}
				if tt.restart {
					time.Sleep(5 * time.Minute)
					h.start()
				}
				time.Sleep(time.Until(begun.Add(patience - 2*look)))
				if !h.marked(g) {
					t.Error("it was taken back before its time")
				}
				time.Sleep(5 * look)
				if h.deleting("c1") || h.marked(g) || hasTaint(h.node(g.Node)) || h.Busy("c1") || !h.told("DisruptionUndone") {
					t.Errorf("after %s the node is still marked: %v", time.Since(begun), h.node(g.Node).Annotations)
				}
				h.end()
			})
		})
	}
}

func TestACommandIsTakenBackThoughTheCacheIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		g := h.instance("c1")
		h.stale = map[string]*corev1.Node{g.Node: h.node(g.Node)}
		c := h.replace(g, h.bind("p", g.Node))
		c.NewNodes[0].Pool = "gone"
		var refused *apply.RefusedError
		if err := h.Start(t.Context(), c); !errors.As(err, &refused) {
			t.Fatalf("want a refusal: %v", err)
		}
		if h.marked(g) || h.Busy(g.Claim) {
			t.Error("the node bears a mark that no command stands behind")
		}
		h.end()
	})
}

func TestANewLeaderGoesOnOrTakesBack(t *testing.T) {
	refused := func(verb, kind string) func(string, client.Object) error {
		return func(v string, o client.Object) error {
			if _, isClaim := o.(*karpv1.NodeClaim); v == verb && isClaim == (kind == "claim") {
				return apierrors.NewServiceUnavailable("down")
			}
			return nil
		}
	}
	for sentence, tt := range map[string]struct {
		fail  func(string, client.Object) error
		ready bool
		gone  bool
	}{
		"goes on when the replacement is there":                 {nil, true, true},
		"takes back what died before the claim was marked":      {refused("patch", "claim"), false, false},
		"takes back what died before the replacement was there": {refused("create", "claim"), false, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newTestCluster(t)
				g := h.instance("c1")
				h.failBy(tt.fail)
				ctx, cancel := context.WithCancel(t.Context())
				if tt.fail != nil {
					inner := tt.fail
					h.failBy(func(v string, o client.Object) error {
						err := inner(v, o)
						if err != nil {
							h.failBy(func(string, client.Object) error { return apierrors.NewServiceUnavailable("dead") })
							h.end()
							cancel()
						}
						return err
					})
				}
				err := h.Start(ctx, h.replace(g, h.bind("p", g.Node)))
				if (err == nil) != (tt.fail == nil) {
					t.Fatal(err)
				}
				if !intake.Leaving(h.node(g.Node)) {
					t.Fatal("the test wants a node that is marked when the leader dies")
				}
				h.failBy(nil)
				h.start()
				for _, launched := range h.replacements() {
					h.initialize(&launched)
				}
				time.Sleep(Settle + 2*look)
				if h.deleting("c1") != tt.gone || !tt.gone && h.marked(g) || h.Busy("c1") {
					t.Errorf("deleted: %v, want %v; annotations %v", h.deleting("c1"), tt.gone, h.node(g.Node).Annotations)
				}
				cancel()
				h.end()
			})
		})
	}
}

// A cluster is given to Karpenter in the middle of a replacement, and comes back long after: Karpenter has taken the taint off
// and filled both nodes.
func TestWhatAnotherControllerTookBackIsNotGoneOnWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		g := h.instance("c1")
		ctx, cancel := context.WithCancel(t.Context())
		if err := h.Start(ctx, h.replace(g, h.bind("p", g.Node))); err != nil {
			t.Fatal(err)
		}
		h.end()
		cancel()
		for _, launched := range h.replacements() {
			h.initialize(&launched)
		}
		node := h.node(g.Node)
		node.Spec.Taints = nil
		if err := h.api.Update(t.Context(), node); err != nil {
			t.Fatal(err)
		}
		h.cache.SetNode(node)
		time.Sleep(24 * time.Hour)
		h.start()
		time.Sleep(Settle + 2*look)
		if h.deleting("c1") || h.marked(g) {
			t.Errorf("deleted: %v; annotations %v", h.deleting("c1"), h.node(g.Node).Annotations)
		}
		if n := len(h.replacements()); n != 1 {
			t.Errorf("%d replacements are left, want 1: it may have pods", n)
		}
		h.end()
	})
}

func TestAnotherControllersLeftoverIsCleared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		g := h.instance("c1", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{karpv1.DisruptedNoScheduleTaint()} })
		claim, err := h.Queue.claim(t.Context(), "c1")
		if err != nil {
			t.Fatal(err)
		}
		claim.StatusConditions().SetTrueWithReason(karpv1.ConditionTypeDisruptionReason, "Underutilized", "")
		if err := h.api.Status().Update(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
		h.start()
		time.Sleep(2*sweepEvery + time.Second)
		if h.marked(g) {
			t.Error("the taint and the reason are still there")
		}
		h.end()
	})
}
