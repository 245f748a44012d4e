package terminate

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

func TestAClaimGoesAfterItsInstance(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*karpv1.NodeClaim)
		foreign bool     // the node bears no finalizer of ours
		ended   []string // instances
		gone    bool     // the claim
	}{
		"it waits for its node to be drained":                 {change: func(c *karpv1.NodeClaim) { c.StatusConditions().SetTrue(karpv1.ConditionTypeRegistered) }},
		"also when only the node knows that it is ours":       {change: func(*karpv1.NodeClaim) {}},
		"a node that never registered is not drained":         {change: func(*karpv1.NodeClaim) {}, foreign: true, ended: []string{"aws:///z/i-1"}},
		"without an instance nothing is ended, and it goes":   {change: func(c *karpv1.NodeClaim) { c.Status.ProviderID = "" }, gone: true},
		"the claim of another kind of node class is not ours": {change: func(c *karpv1.NodeClaim) { c.Spec.NodeClassRef.Kind = "Other"; c.Status.ProviderID = "" }},
		"nor one whose finalizer is another's":                {change: func(c *karpv1.NodeClaim) { c.Finalizers = []string{"x/y"}; c.Status.ProviderID = "" }},
	} {
		t.Run(name, func(t *testing.T) {
			w := admit(t, 0)
			claim := w.claim()
			c.change(claim)
			status := claim.Status.DeepCopy()
			if err := w.Client.Update(t.Context(), claim); err != nil {
				t.Fatal(err)
			}
			claim.Status = *status
			if err := w.Client.Status().Update(t.Context(), claim); err != nil {
				t.Fatal(err)
			}
			if c.foreign {
				node := &corev1.Node{}
				if err := w.Client.Get(t.Context(), client.ObjectKey{Name: "n"}, node); err != nil {
					t.Fatal(err)
				}
				controllerutil.RemoveFinalizer(node, karpv1.TerminationFinalizer)
				controllerutil.AddFinalizer(node, "x/y")
				if err := w.Client.Update(t.Context(), node); err != nil {
					t.Fatal(err)
				}
			}
			r := &Claims{Client: w.Client, Cloud: w, Recorder: w.events, Metrics: w.Metrics, Log: w.Log, Clock: w.Clock}
			if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "c"}}); err != nil {
				t.Fatal(err)
			}
			err := w.Client.Get(t.Context(), client.ObjectKey{Name: "c"}, &karpv1.NodeClaim{})
			if gone := apierrors.IsNotFound(err); gone != c.gone || !slices.Equal(w.instance, c.ended) {
				t.Errorf("gone: %t, ended %v; want %t, %v", gone, w.instance, c.gone, c.ended)
			}
		})
	}
}

func TestAClaimsGracePeriodIsToldOnce(t *testing.T) {
	w := admit(t, 0)
	claim := w.claim()
	claim.Spec.TerminationGracePeriod = &karpv1.Duration{Duration: time.Hour}
	if err := w.Client.Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	r := &Claims{Client: w.Client, Cloud: w, Recorder: w.events, Metrics: w.Metrics, Log: w.Log, Clock: w.Clock}
	for range 3 {
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "c"}}); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.claim().Annotations[karpv1.NodeClaimTerminationTimestampAnnotationKey]; got != noon.Add(time.Hour).Format(time.RFC3339) {
		t.Errorf("the end is %q", got)
	}
	if n := len(w.events.Events); n != 2 { // on the claim and on its node
		t.Errorf("%d events", n)
	}
}

func TestATerminationTimestampThatIsNoTimeIsTold(t *testing.T) {
	w := admit(t, 0)
	claim := w.claim()
	claim.Annotations = map[string]string{karpv1.NodeClaimTerminationTimestampAnnotationKey: "tomorrow"}
	if err := w.Client.Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	r := &Claims{Client: w.Client, Cloud: w, Recorder: w.events, Metrics: w.Metrics, Log: w.Log, Clock: w.Clock}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "c"}}); err != nil {
		t.Fatal(err)
	}
	if e := <-w.events.Events; !strings.Contains(e, `TerminationTimestampIgnored`) || !strings.Contains(e, `"tomorrow"`) {
		t.Errorf("told %q", e)
	}
}

// The leader died between the launch and the write of it, and the claim was deleted before the next one looked.
func TestAnInstanceThatIsNotWrittenDownEndsWithItsClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := admit(t, 0)
		claim := w.claim()
		claim.Status.ProviderID = ""
		if err := w.Client.Status().Update(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
		r := &Claims{Client: w.Client, Cloud: w, Recorder: w.events, Metrics: w.Metrics, Log: w.Log, Clock: w.Clock}
		request := ctrl.Request{NamespacedName: client.ObjectKey{Name: "c"}}
		w.unknown = true
		if again, err := r.Reconcile(t.Context(), request); err != nil || again.RequeueAfter == 0 || w.claim().Status.ProviderID != "" {
			t.Fatalf("it goes though it may have an instance: %+v, %v", again, err)
		}
		w.unknown, w.launched = false, &cloud.Instance{ProviderID: "aws:///z/i-7"}
		if _, err := r.Reconcile(t.Context(), request); err != nil || !slices.Equal(w.instance, []string{"aws:///z/i-7"}) {
			t.Fatalf("ended %v, %v", w.instance, err)
		}
		if got := w.claim().Status.ProviderID; got != "aws:///z/i-7" {
			t.Errorf("the instance is not written down: %q", got)
		}
	})
}
