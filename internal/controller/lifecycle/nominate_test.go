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
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/state/cache"
)

// planned are the pods that a node is for, asked for once.
type planned struct {
	pods  []*corev1.Pod
	asked int
	mu    sync.Mutex
	not   int
}

func (p *planned) NotNominated(*corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.not++
}

func (p *planned) Listen(func(cache.Change)) {}

func (p *planned) Nominees(string, string) []*corev1.Pod {
	p.asked++
	pods := p.pods
	p.pods = nil
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
		want  []string // what is written, in order
		not   int      // pods that are said not to be nominated
		again int      // how often the pods are asked for at the second claim
	}{
		"all goes well":                    {nil, []string{"pod p0 to n", "pod p1 to n", "node n"}, 0, 1},
		"the right to nominate is missing": {forbidden, []string{"node n"}, 2, 0},
		"the API server is in trouble":     {errors.New("busy"), []string{"node n"}, 2, 1},
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
			var mu sync.Mutex
			var wrote []string
			note := func(s string) { mu.Lock(); defer mu.Unlock(); wrote = append(wrote, s) }
			b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(claim, node, pods[0], pods[1]).WithStatusSubresource(&karpv1.NodeClaim{}, &corev1.Pod{}).
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
			for i, p := range pods { // with the versions that they have now
				plan.pods[i] = &corev1.Pod{}
				if err := kube.Get(t.Context(), client.ObjectKeyFromObject(p), plan.pods[i]); err != nil {
					t.Fatal(err)
				}
			}
			c := &Controller{
				Client: kube, Pods: kube, Recorder: record.NewFakeRecorder(10), Metrics: obs.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler),
				Clock: fakeClock, Nominees: plan, Pools: &hospital{},
			}
			if n, err := c.register(t.Context(), claim); err != nil || n == nil {
				t.Fatalf("the node was not registered: %v, %v", n, err)
			}
			if len(wrote) > 1 {
				slices.Sort(wrote[:len(wrote)-1]) // the pods in any order
			}
			if d := cmp.Diff(tc.want, wrote); d != "" {
				t.Error(d)
			}
			plan.asked = 0
			c.nominate(t.Context(), &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "d"}}, "m")
			if plan.asked != tc.again || plan.not != tc.not {
				t.Errorf("pods were asked for %d times afterwards, %d not nominated; want %d, %d", plan.asked, plan.not, tc.again, tc.not)
			}
			fakeClock.Step(forbiddenFor + time.Second)
			plan.asked = 0
			if c.nominate(t.Context(), &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "d"}}, "m"); plan.asked != 1 {
				t.Error("it is not tried again some time after it was refused")
			}
		})
	}
}

// Who nominates waits so long and no longer; a write that is on its way is not cut off.
func TestANominationThatTakesLongIsNotCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scheme := runtime.NewScheme()
		if err := corev1.AddToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u"}}
		wrote := make(chan error, 1)
		kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(pod).WithStatusSubresource(pod).WithInterceptorFuncs(interceptor.Funcs{
			SubResourcePatch: func(ctx context.Context, _ client.Client, _ string, _ client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
				time.Sleep(5 * nominateWithin)
				wrote <- ctx.Err()
				return nil
			},
		}).Build()
		c := &Controller{Pods: kube, Log: slog.New(slog.DiscardHandler), Clock: clock.RealClock{}, Nominees: &planned{pods: []*corev1.Pod{pod}}}
		began := time.Now()
		if !c.nominate(t.Context(), &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, "n") || time.Since(began) != nominateWithin {
			t.Errorf("it waited for %s", time.Since(began))
		}
		if err := <-wrote; err != nil {
			t.Errorf("the write was cut off: %v", err)
		}
	})
}
