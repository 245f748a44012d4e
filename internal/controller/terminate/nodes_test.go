package terminate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kerf-sh/kerf/internal/controller/deadline"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// Every event of every pod asks whether its node goes: that must not cost a copy of the node.
func TestAnEventOfAPodCopiesNoNode(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	gets, copies := 0, 0
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "stays"}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "goes", Finalizers: []string{"x/y"}, DeletionTimestamp: &metav1.Time{Time: noon}}},
	).WithInterceptorFuncs(interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		var all client.GetOptions
		all.ApplyOptions(opts)
		if gets++; all.UnsafeDisableDeepCopy == nil || !*all.UnsafeDisableDeepCopy {
			copies++
		}
		return c.Get(ctx, key, o, opts...)
	}}).Build()
	n := &Nodes{Client: api}
	for node, want := range map[string]int{"": 0, "stays": 0, "gone": 0, "goes": 1} {
		p := pod("p", func(p *corev1.Pod) { p.Spec.NodeName = node })
		if got := n.deletingNodeOfPod(t.Context(), &p); len(got) != want {
			t.Errorf("an event of a pod on node %q wakes %v, want %d", node, got, want)
		}
	}
	if gets != 3 || copies != 0 {
		t.Errorf("%d nodes were read and %d copied, want 3 and none", gets, copies)
	}
}

// TestANodeThatEvictsNoMoreLeavesTheLine of those that wait behind a PodDisruptionBudget: it would be woken in place of one that waits.
func TestANodeThatEvictsNoMoreLeavesTheLine(t *testing.T) {
	node := func(w *ward) *corev1.Node {
		w.Helper()
		out := &corev1.Node{}
		if err := w.Client.Get(w.Context(), client.ObjectKey{Name: "n"}, out); err != nil {
			w.Fatal(err)
		}
		return out
	}
	for name, ends := range map[string]func(*ward) error{
		"drained": func(w *ward) error {
			return w.Client.DeleteAllOf(w.Context(), &corev1.Pod{}, client.InNamespace("x"))
		},
		"its instance is gone": func(w *ward) error {
			w.deaf = &cloud.Error{Class: cloud.NotFound, Err: errors.New("it does not exist")}
			n := node(w)
			n.Status.Conditions[0].Status = corev1.ConditionUnknown
			return w.Client.Status().Update(w.Context(), n)
		},
		"somebody else took its finalizer away": func(w *ward) error {
			n := node(w)
			n.Finalizers = nil
			return w.Client.Update(w.Context(), n)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := admit(t, 0, *guarded("a", "web"), *guarded("b", "web"))
			w.permits.see(guards("web", 1), noon)
			w.look(0)
			w.permits.ask(guarded("c", "web"), "live", noon)
			if err := ends(w); err != nil {
				t.Fatal(err)
			}
			w.look(time.Minute)
			if woken := w.permits.see(guards("web", 1), noon.Add(time.Minute)); !slices.Equal(woken, []string{"live"}) {
				t.Errorf("the budget allows one eviction, and %v are woken", woken)
			}
		})
	}
}

// A drain that waits for no time and no event ends all the same once the instance is gone.
func TestAStalledDrainOfANodeThatIsNotReadyIsLookedAtAgain(t *testing.T) {
	w := admit(t, 0, pod("a", held("true")))
	if _, after := w.look(time.Minute); after != 0 {
		t.Errorf("the drain of a ready node is looked at again after %s, want an event to bring it on", after)
	}
	node := &corev1.Node{}
	if err := w.Client.Get(t.Context(), client.ObjectKey{Name: "n"}, node); err != nil {
		t.Fatal(err)
	}
	node.Status.Conditions[0].Status = corev1.ConditionUnknown
	if err := w.Client.Status().Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	if _, after := w.look(2 * time.Minute); after != unseen {
		t.Errorf("the drain of a node that is not ready is looked at again after %s, want %s", after, unseen)
	}
	w.deaf = &cloud.Error{Class: cloud.NotFound, Err: errors.New("it does not exist")}
	w.look(3 * time.Minute)
	if err := w.Client.Get(t.Context(), client.ObjectKey{Name: "n"}, node); !apierrors.IsNotFound(err) {
		t.Errorf("the node of an instance that is gone is there yet: %v", err)
	}
}

// No pod runs on an instance that was stopped while its node drains, and what protects its pods would hold the node for ever.
func TestADrainEndsWhereItsInstanceNoLongerRuns(t *testing.T) {
	for state, ends := range map[string]bool{"running": false, "stopping": false, "stopped": true, "shutting-down": true} {
		for _, ready := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, ready %t", state, ready), func(t *testing.T) {
				w := admit(t, 0, pod("a", held("true")))
				w.state = state
				if !ready {
					node := &corev1.Node{}
					if err := w.Client.Get(t.Context(), client.ObjectKey{Name: "n"}, node); err != nil {
						t.Fatal(err)
					}
					node.Status.Conditions[0].Status = corev1.ConditionFalse
					if err := w.Client.Status().Update(t.Context(), node); err != nil {
						t.Fatal(err)
					}
				}
				w.look(time.Minute)
				calls, _ := w.look(time.Minute + time.Second)
				by, ok := deadline.Of(w.claim())
				if want := ends && !ready; ok != want || want && !by.Equal(noon.Add(time.Minute)) || (len(calls) > 0) != want {
					t.Errorf("the end is %s (%t), and the pod is asked to go: %v", by, ok, calls)
				}
			})
		}
	}
}
