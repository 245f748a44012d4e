package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/local"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// busiest is the claim whose node has the most pods.
func (e *env) busiest() karpv1.NodeClaim {
	on := map[string]int{}
	for _, p := range e.pods("default") {
		on[p.Spec.NodeName]++
	}
	var out karpv1.NodeClaim
	for _, c := range e.claims() {
		if on[c.Status.NodeName] > on[out.Status.NodeName] {
			out = c
		}
	}
	return out
}

// TestSafety has stories of what others may do to nodes and claims, and of what must not happen then.
func TestSafety(t *testing.T) {
	t.Parallel()
	e := up(t, func(o *local.Options) { o.ControllerEnv = append(o.ControllerEnv, "REGISTRATION_TIMEOUT=5s") })
	e.apply(strings.Replace(poolYAML, "      requirements:", "      terminationGracePeriod: 10m\n      requirements:", 1))
	e.apply(deployment("web", 4, "1", "1Gi", ""))
	e.running(90*time.Second, "default", 4)
	e.eventually(20*time.Second, "every nodeclaim is ready", func() (bool, string) {
		for _, c := range e.claims() {
			if !c.StatusConditions().IsTrue() {
				return false, c.Name
			}
		}
		return true, ""
	})

	t.Run("a second Node of the same instance costs nobody an instance", func(t *testing.T) {
		claim := e.claims()[0]
		double := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "double"}, Spec: corev1.NodeSpec{ProviderID: claim.Status.ProviderID}}
		if err := e.client.Create(t.Context(), double); err != nil {
			t.Fatal(err)
		}
		e.eventually(20*time.Second, "the claim tells of the second node", func() (bool, string) {
			for _, ev := range list[corev1.EventList](e).Items {
				if ev.Reason == karpv1.ReasonMultipleNodesFound {
					return true, ""
				}
			}
			return false, ""
		})
		if err := e.client.Delete(t.Context(), double); err != nil {
			t.Fatal(err)
		}
		now := &karpv1.NodeClaim{}
		if err := e.client.Get(t.Context(), client.ObjectKey{Name: claim.Name}, now); err != nil || !now.DeletionTimestamp.IsZero() || !now.StatusConditions().IsTrue(karpv1.ConditionTypeRegistered) {
			t.Errorf("%v, deleted %v, conditions %v", err, now.DeletionTimestamp, now.Status.Conditions)
		}
	})

	t.Run("a node of somebody else keeps its finalizer", func(t *testing.T) {
		foreign := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "foreign", Finalizers: []string{karpv1.TerminationFinalizer}, Labels: map[string]string{"eks.amazonaws.com/compute-type": "auto"}},
			Spec:       corev1.NodeSpec{ProviderID: "aws:///us-east-1a/i-0f0f0f0f0f0f0f0f0"},
		}
		if err := e.client.Create(t.Context(), foreign); err != nil {
			t.Fatal(err)
		}
		if err := e.client.Delete(t.Context(), foreign); err != nil {
			t.Fatal(err)
		}
		// Kerf's own node goes through the same controller meanwhile; when it is tainted, the foreign one has been seen.
		claim := e.busiest()
		held := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "held", Annotations: map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"}}}
		held.Spec = corev1.PodSpec{NodeName: claim.Status.NodeName, TerminationGracePeriodSeconds: new(int64(1)), Containers: []corev1.Container{{Name: "c", Image: "registry.example/c:1"}}}
		if err := e.client.Create(t.Context(), held); err != nil {
			t.Fatal(err)
		}
		e.eventually(20*time.Second, "the held pod runs", func() (bool, string) {
			p := &corev1.Pod{}
			err := e.client.Get(t.Context(), client.ObjectKeyFromObject(held), p)
			return err == nil && p.Status.Phase == corev1.PodRunning, fmt.Sprint(err, p.Status.Phase)
		})
		if err := e.client.Delete(t.Context(), &claim); err != nil {
			t.Fatal(err)
		}
		e.eventually(60*time.Second, "a held pod holds only itself: the others leave the node", func() (bool, string) {
			others := 0
			for _, p := range e.pods("default") {
				if p.Spec.NodeName == claim.Status.NodeName && p.Name != held.Name {
					others++
				}
			}
			return others == 0, fmt.Sprintf("%d others on it", others)
		})
		n := &corev1.Node{}
		if err := e.client.Get(t.Context(), client.ObjectKey{Name: "foreign"}, n); err != nil || len(n.Finalizers) != 1 || len(n.Spec.Taints) > 1 {
			t.Errorf("%v, finalizers %v, taints %v: Kerf touched a node that is not its own", err, n.Finalizers, n.Spec.Taints)
		}
		if err := e.client.Delete(t.Context(), held, client.GracePeriodSeconds(1)); err != nil {
			t.Fatal(err)
		}
		n.Finalizers = nil
		if err := e.client.Update(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	})

	t.Run("a launch that is denied is tried with growing pauses", func(t *testing.T) {
		// The stories before have moved pods; what they asked for must be there, so that one claim alone is refused.
		e.running(90*time.Second, "default", 4)
		e.eventually(60*time.Second, "no nodeclaim waits or goes", func() (bool, string) {
			for _, c := range e.claims() {
				if !c.StatusConditions().IsTrue() || !c.DeletionTimestamp.IsZero() {
					return false, c.Name
				}
			}
			return true, ""
		})
		id, err := e.aws.AddFault(t.Context(), world.Fault{Kind: world.FaultError, Operation: "CreateFleet", Code: "UnauthorizedOperation", Message: "You are not authorized", Status: 403})
		if err != nil {
			t.Fatal(err)
		}
		fleets := func() int {
			calls, err := e.aws.Calls(t.Context(), "CreateFleet")
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, c := range calls {
				if c.Outcome == "UnauthorizedOperation" && !c.DryRun {
					n++
				}
			}
			return n
		}
		before := fleets()
		e.apply(deployment("denied", 1, "3", "1Gi", ""))
		began := time.Now()
		e.eventually(30*time.Second, "the launch was refused four times", func() (bool, string) { n := fleets() - before; return n >= 4, fmt.Sprint(n) })
		// Pauses of 1, 2 and 4 s lie between four tries of one claim.
		waiting := 0
		for _, c := range e.claims() {
			if c.Status.ProviderID == "" {
				waiting++
			}
		}
		if took := time.Since(began); waiting < 2 && took < 5*time.Second {
			t.Errorf("four tries of one claim took %s", took)
		}
		if n := fleets() - before; n > 5*max(1, waiting) {
			t.Errorf("%d tries of %d claims in %s", n, waiting, time.Since(began))
		}
		if err := e.aws.RemoveFault(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		e.eventually(60*time.Second, "the pod runs once the permission is there", func() (bool, string) {
			for _, p := range e.pods("default") {
				if p.Labels["app"] == "denied" && p.Status.Phase == corev1.PodRunning {
					return true, ""
				}
			}
			return false, ""
		})
	})
}
