package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/obs"
)

// planned are the pods that a node is for, and those of them that are told to have lost their nomination when they are asked
// for again.
type planned struct {
	pods  []*corev1.Pod
	lost  []*corev1.Pod
	asked int
	mu    sync.Mutex
	not   int
	// unseen is how often it is said that the watch has not told of the nominations.
	unseen int
}

func (p *planned) Unseen(string, string) bool {
	p.unseen--
	return p.unseen >= 0
}

func (p *planned) NotNominated(*corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.not++
}

func (p *planned) Nominees(string, string) []*corev1.Pod {
	p.asked++
	pods := p.pods
	p.pods, p.lost = p.lost, nil
	return pods
}

// A node takes pods from the moment in which its taint goes: the scheduler must know by then for which it was launched.
func TestPodsAreNominatedBeforeTheirNodeTakesAny(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), storagev1.AddToScheme(scheme), karpv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p", errors.New("no"))
	for name, tc := range map[string]struct {
		fails error
		lost  bool     // a pod loses its nomination while the other is written
		want  []string // what is written, in order, but for pods before the node
		not   int      // pods that are said not to be nominated
		again int      // how often the pods are asked for at the second claim
	}{
		"all goes well":                    {nil, false, []string{"pod p0 to n", "pod p1 to n", "node n"}, 0, 1},
		"a nomination is lost meanwhile":   {nil, true, []string{"pod p0 to n", "pod p1 to n", "pod p2 to n", "node n"}, 0, 1},
		"the right to nominate is missing": {forbidden, false, []string{"node n"}, 2, 0},
		"the API server is in trouble":     {errors.New("busy"), false, []string{"node n"}, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "u"}}
			claim.Status.ProviderID = "aws:///z/i-1"
			claim.StatusConditions().SetTrue(karpv1.ConditionTypeLaunched)
			node := readyNode(func(n *corev1.Node) {
				n.Spec.ProviderID = claim.Status.ProviderID
				n.Spec.Taints = []corev1.Taint{karpv1.UnregisteredNoExecuteTaint()}
			})
			pods := []*corev1.Pod{
				{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p0", UID: "u0"}},
				{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p1", UID: "u1"}},
			}
			lost := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p2", UID: "u2"}}
			var mu sync.Mutex
			var wrote []string
			note := func(s string) { mu.Lock(); defer mu.Unlock(); wrote = append(wrote, s) }
			b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(claim, node, pods[0], pods[1], lost).WithStatusSubresource(&karpv1.NodeClaim{}, &corev1.Pod{}).
				WithInterceptorFuncs(interceptor.Funcs{
					SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
						if tc.fails != nil {
							return tc.fails
						}
						err := c.SubResource(sub).Patch(ctx, o, p, opts...)
						note("pod " + o.GetName() + " to " + o.(*corev1.Pod).Status.NominatedNodeName)
						return err
					},
					Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
						note("node " + o.GetName())
						return c.Patch(ctx, o, p, opts...)
					},
				})
			if err := index.Add(t.Context(), indexer{b}); err != nil {
				t.Fatal(err)
			}
			plan, fakeClock, kube := &planned{pods: pods}, clocktesting.NewFakeClock(time.Now()), b.Build()
			if tc.lost {
				plan.lost = []*corev1.Pod{lost}
			}
			c := &Controller{
				Client: kube, Pods: kube, Recorder: record.NewFakeRecorder(10), Metrics: obs.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler),
				Clock: fakeClock, Nominees: plan, Pools: &hospital{},
			}
			if n, err := c.register(t.Context(), claim, true); err != nil || n == nil {
				t.Fatalf("the node was not registered: %v, %v", n, err)
			}
			if len(wrote) > 1 {
				slices.Sort(wrote[:len(wrote)-1]) // the pods in any order
			}
			if d := cmp.Diff(tc.want, wrote); d != "" {
				t.Error(d)
			}
			plan.asked = 0
			d := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "d"}}
			c.nominated(t.Context(), d, "m")
			if plan.asked != tc.again || plan.not != tc.not {
				t.Errorf("pods were asked for %d times afterwards, %d not nominated; want %d, %d", plan.asked, plan.not, tc.again, tc.not)
			}
			fakeClock.Step(forbiddenFor + time.Second)
			plan.asked = 0
			if c.nominated(t.Context(), d, "m"); plan.asked != 1 {
				t.Error("it is not tried again some time after it was refused")
			}
		})
	}
}

// The scheduler is told of pods and of nodes apart.
func TestANodeWaitsUntilItsNominationsAreSeen(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), storagev1.AddToScheme(scheme), karpv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		unseen int           // looks before they are seen
		pass   time.Duration // between two looks
		looks  int
	}{
		"the watch is behind":    {2, reread, 3},
		"the watch has stopped":  {1000, nominateWithin / 2, 3},
		"they were seen at once": {0, reread, 1},
	} {
		t.Run(name, func(t *testing.T) {
			claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "u"}}
			claim.Status.ProviderID = "aws:///z/i-1"
			claim.StatusConditions().SetTrue(karpv1.ConditionTypeLaunched)
			node := readyNode(func(n *corev1.Node) {
				n.Spec.ProviderID = claim.Status.ProviderID
				n.Spec.Taints = []corev1.Taint{karpv1.UnregisteredNoExecuteTaint()}
			})
			b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(claim, node)
			if err := index.Add(t.Context(), indexer{b}); err != nil {
				t.Fatal(err)
			}
			kube, fakeClock := b.Build(), clocktesting.NewFakeClock(time.Now())
			c := &Controller{
				Client: kube, Pods: kube, Recorder: record.NewFakeRecorder(10), Metrics: obs.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler),
				Clock: fakeClock, Nominees: &planned{unseen: tc.unseen}, Pools: &hospital{},
			}
			for look := 1; ; look++ {
				n, err := c.register(t.Context(), claim, true)
				if err != nil || n == nil && look > 10 {
					t.Fatalf("not registered after %d looks: %v", look, err)
				}
				if n != nil {
					if look != tc.looks {
						t.Errorf("registered at look %d, want %d", look, tc.looks)
					}
					return
				}
				if next := c.nextLook(claim); next != reread {
					t.Errorf("it is looked at again after %s", next)
				}
				fakeClock.Step(tc.pass)
			}
		})
	}
}

// The node of a claim may go while what was nominated to it has not been seen.
func TestWhatWasNominatedToANodeThatIsGoneIsNotWaitedFor(t *testing.T) {
	h := admit(t)
	h.Nominees = &planned{unseen: 1000}
	node := readyNode(func(n *corev1.Node) {
		n.Spec.ProviderID, n.Spec.Taints = h.claim(t).Status.ProviderID, []corev1.Taint{karpv1.UnregisteredNoExecuteTaint()}
	})
	if err := h.Client.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	look := func() time.Duration {
		t.Helper()
		next, err := h.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "c"}})
		if err != nil {
			t.Fatal(err)
		}
		return next.RequeueAfter
	}
	if next := look(); next != reread {
		t.Fatalf("it is looked at again after %s, want %s while the nominations are not seen", next, reread)
	}
	node.Spec.ProviderID = "aws:///us-east-1a/i-2" // that of the claim's instance is gone
	if err := h.Client.Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	if next := look(); next < time.Second {
		t.Errorf("it is looked at again after %s though its node is gone", next)
	}
}

// A node takes no pods before all of its own are nominated, however long a busy API server takes for that; whom nothing but that
// is asked of meanwhile is not kept. One that does not answer at all holds nodes up once, and then no more.
func TestHowLongANodeWaitsForItsNominations(t *testing.T) {
	const pods = 2*nominateAtOnce + 1
	for name, tc := range map[string]struct {
		write  time.Duration // how long each takes
		waits  time.Duration
		not    int
		others bool // are nominated afterwards
	}{
		"busy":  {3 * time.Second, 9 * time.Second, 0, true},
		"stuck": {time.Hour, nominateWithin, pods, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				scheme := runtime.NewScheme()
				if err := corev1.AddToScheme(scheme); err != nil {
					t.Fatal(err)
				}
				plan := &planned{}
				for range pods {
					plan.pods = append(plan.pods, &corev1.Pod{})
				}
				kube := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
					SubResourcePatch: func(ctx context.Context, _ client.Client, _ string, _ client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
						select {
						case <-time.After(tc.write):
							return nil
						case <-ctx.Done():
							return ctx.Err()
						}
					},
				}).Build()
				c := &Controller{Pods: kube, Log: slog.New(slog.DiscardHandler), Clock: clock.RealClock{}, Nominees: plan, answers: make(chan event.GenericEvent)}
				claim, began := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, time.Now()
				if c.nominated(t.Context(), claim, "n") || time.Since(began) != 0 {
					t.Errorf("it takes pods at once, or the worker waited for %s", time.Since(began))
				}
				<-c.answers
				if took := time.Since(began); took != tc.waits {
					t.Errorf("it waited for %s, want %s", took, tc.waits)
				}
				if !c.nominated(t.Context(), claim, "n") {
					t.Error("it takes no pods though all that is done")
				}
				if plan.not != tc.not {
					t.Errorf("%d pods are said not to be nominated, want %d", plan.not, tc.not)
				}
				plan.asked = 0
				if c.nominated(t.Context(), &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "d"}}, "m"); plan.asked > 0 != tc.others {
					t.Errorf("those of the next node were asked for %d times", plan.asked)
				}
				time.Sleep(unansweredFor)
				if c.nominated(t.Context(), claim, "n"); plan.asked == 0 {
					t.Error("nobody is nominated for longer than meant")
				}
			})
		})
	}
}
