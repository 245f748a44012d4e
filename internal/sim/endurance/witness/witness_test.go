package witness

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/google/go-cmp/cmp"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/sim/endurance/invariant"
)

func TestKubernetes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scheme := runtime.NewScheme()
		for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, karpv1.AddToScheme} {
			if err := add(scheme); err != nil {
				t.Fatal(err)
			}
		}
		web := map[string]string{"app": "web", FitsLabel: "true"}
		budget := &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		}
		c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(budget).Build()
		var mu sync.Mutex
		var seen []invariant.Event
		ctx, cancel := context.WithCancel(t.Context())
		Kubernetes(ctx, c, func(e invariant.Event) {
			mu.Lock()
			defer mu.Unlock()
			e.At = time.Time{}
			seen = append(seen, e)
		})
		synctest.Wait()
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n", Finalizers: []string{karpv1.TerminationFinalizer}, Annotations: map[string]string{"kerf.sh/disrupting": "Empty"}},
			Spec:       corev1.NodeSpec{ProviderID: "aws:///a/i-1", Taints: []corev1.Taint{karpv1.DisruptedNoScheduleTaint(), {Key: "mine", Value: Person, Effect: corev1.TaintEffectNoSchedule}}},
		}
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "p", Labels: web, Annotations: map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"}},
			Spec:       corev1.PodSpec{NodeName: "n"},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning},
		}
		foreign := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "foreign", UID: "f"}}
		for _, o := range []client.Object{node, foreign, pod} {
			if err := c.Create(ctx, o); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if err := c.Delete(ctx, pod); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		p := &invariant.Pod{Key: "default/p", UID: "p", Node: "n", Phase: "Running", Held: true, Fits: true, Grace: 30 * time.Second, Guards: []string{"default/web"}}
		want := []invariant.Event{
			{Guard: &invariant.Guard{Key: "default/web"}},
			{Node: &invariant.Node{Name: "n", UID: "n", Instance: "i-1", Mark: "Empty", Disrupted: true, Persons: []string{"mine=" + Person + ":NoSchedule"}, Finalizers: 1}},
			{Pod: p},
			{Pod: p, Gone: true},
		}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWhatVanishesBetweenTwoWatchesIsGone(t *testing.T) {
	list := &corev1.NodeList{}
	for _, name := range []string{"a", "b"} {
		list.Items = append(list.Items, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: "1"}})
	}
	known := map[types.UID]client.Object{}
	var told []string
	tell := func(o client.Object, gone bool) {
		if gone {
			told = append(told, "no "+o.GetName())
			return
		}
		told = append(told, o.GetName())
	}
	compare(list, known, tell)
	list.Items = list.Items[:1]
	compare(list, known, tell)
	if want := []string{"a", "b", "no b"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}
