package cache

import (
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

func TestPodsThatCanNotBeMovedGetNoPlaceElsewhere(t *testing.T) {
	started := time.Unix(10_000, 0)
	budget := func(name string, edit func(*policyv1.PodDisruptionBudgetSpec)) *policyv1.PodDisruptionBudget {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}
		edit(&b.Spec)
		return b
	}
	none, all, one := intstr.FromInt32(0), intstr.FromString("100%"), intstr.FromInt32(1)
	for sentence, tt := range map[string]struct {
		annotation string
		budgets    []*policyv1.PodDisruptionBudget
		after      time.Duration // since the pod's start
		want       int
	}{
		"a pod that nothing holds moves":                 {want: 1},
		"do-not-disrupt true holds for good":             {annotation: "true", after: 1000 * time.Hour},
		"a duration holds from the start":                {annotation: "10m", after: 9 * time.Minute},
		"a duration ends":                                {annotation: "10m", after: 10 * time.Minute, want: 1},
		"what is neither holds nothing":                  {annotation: "yes", want: 1},
		"a budget that lets one go holds nothing":        {budgets: []*policyv1.PodDisruptionBudget{budget("a", func(s *policyv1.PodDisruptionBudgetSpec) { s.MaxUnavailable = &one })}, want: 1},
		"a budget of no unavailable pod holds":           {budgets: []*policyv1.PodDisruptionBudget{budget("a", func(s *policyv1.PodDisruptionBudgetSpec) { s.MaxUnavailable = &none })}},
		"a budget of all pods available holds":           {budgets: []*policyv1.PodDisruptionBudget{budget("a", func(s *policyv1.PodDisruptionBudgetSpec) { s.MinAvailable = &all })}},
		"two budgets hold, because eviction refuses two": {budgets: []*policyv1.PodDisruptionBudget{budget("a", func(s *policyv1.PodDisruptionBudgetSpec) { s.MaxUnavailable = &one }), budget("b", func(s *policyv1.PodDisruptionBudgetSpec) { s.MaxUnavailable = &one })}},
		"a budget for other pods holds nothing": {budgets: []*policyv1.PodDisruptionBudget{budget("a", func(s *policyv1.PodDisruptionBudgetSpec) {
			s.MaxUnavailable, s.Selector.MatchLabels = &none, map[string]string{"app": "web"}
		})}, want: 1},
		"a budget without a selector is for none": {budgets: []*policyv1.PodDisruptionBudget{budget("a", func(s *policyv1.PodDisruptionBudgetSpec) { s.MaxUnavailable, s.Selector = &none, nil })}, want: 1},
	} {
		t.Run(sentence, func(t *testing.T) {
			now := started
			c := New(Options{Now: func() time.Time { return now }})
			node := newNode("n", "n", "")
			node.DeletionTimestamp = &metav1.Time{Time: started}
			c.SetNode(node)
			pod := unschedulable("p", "p")
			pod.Spec.NodeName, pod.Labels, pod.Status = "n", map[string]string{"app": "db"}, corev1.PodStatus{StartTime: &metav1.Time{Time: started}}
			if tt.annotation != "" {
				pod.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: tt.annotation}
			}
			c.SetPod(pod)
			c.Snapshot() // what is found out only as time goes by must be found out
			for _, b := range tt.budgets {
				c.SetBudget(b)
			}
			now = started.Add(tt.after)
			if got := len(c.Snapshot().Pending); got != tt.want {
				t.Errorf("%d pods need another place, want %d", got, tt.want)
			}
			for _, b := range tt.budgets {
				c.RemoveBudget(b)
			}
			if tt.annotation == "" && len(c.Snapshot().Pending) != 1 {
				t.Error("the pod is still held after the budgets are gone")
			}
		})
	}
}

// TestABudgetThatWantsAllPodsHolds: minAvailable: 1 for one replica never allows an eviction, so an instance for the pod would be paid for and
// stay empty. Once another replica is wanted, the pod can go; and shortly before the node's end it will, whatever the budget says.
func TestABudgetThatWantsAllPodsHolds(t *testing.T) {
	now, rv := time.Unix(10_000, 0), 0
	c := New(Options{Now: func() time.Time { return now }})
	version := func(o metav1.Object) { rv++; o.SetResourceVersion(strconv.Itoa(rv)) }
	pending := func(what string, want int) {
		t.Helper()
		if got := len(c.Snapshot().Pending); got != want {
			t.Errorf("%s: %d pods need another place, want %d", what, got, want)
		}
	}
	one := intstr.FromInt32(1)
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "db"}}
	budget.Spec = policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}}
	set := func(expected, desired int32) {
		budget = budget.DeepCopy()
		budget.Status.ExpectedPods, budget.Status.DesiredHealthy = expected, desired
		version(budget)
		c.SetBudget(budget)
	}
	claim, node := newClaim("c", "c"), newNode("n", "n", "id-1")
	launch(claim)
	claim.DeletionTimestamp = &metav1.Time{Time: now}
	version(claim)
	c.SetClaim(claim)
	c.SetNode(node)
	pod := unschedulable("p", "p")
	pod.Spec.NodeName, pod.Labels, pod.Status = "n", map[string]string{"app": "db"}, corev1.PodStatus{Phase: corev1.PodRunning}
	c.SetPod(pod)
	pending("no budget", 1)
	set(1, 1)
	pending("one replica of one", 0)
	set(2, 1)
	pending("one of two", 1)
	set(1, 1)
	pending("one of one again", 0)
	claim = claim.DeepCopy()
	claim.Annotations = map[string]string{karpv1.NodeClaimTerminationTimestampAnnotationKey: now.Add(time.Hour).UTC().Format(time.RFC3339)}
	version(claim)
	c.SetClaim(claim)
	pending("an hour before the end", 0)
	now = now.Add(time.Hour - beforeTheEnd)
	pending("shortly before it", 1)
}
