package intake

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestRefuseFollowsTheStatusOfBudgets(t *testing.T) {
	app := func(name string, allowed, healthy, desired int32) *policyv1.PodDisruptionBudget {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
		b.Spec.MinAvailable = new(intstr.FromInt32(2))
		b.Status = policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed, CurrentHealthy: healthy, DesiredHealthy: desired}
		return b
	}
	always := func(b *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudget {
		b.Spec.UnhealthyPodEvictionPolicy = new(policyv1.AlwaysAllow)
		return b
	}
	behind := func(b *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudget {
		b.Generation, b.Status.ObservedGeneration = 2, 1
		return b
	}
	for sentence, tt := range map[string]struct {
		budgets []*policyv1.PodDisruptionBudget
		unready bool
		phase   corev1.PodPhase
		want    EvictionRefusal
	}{
		"no budget":                           {nil, false, corev1.PodRunning, ""},
		"one that leaves room":                {[]*policyv1.PodDisruptionBudget{app("b", 1, 3, 2)}, false, corev1.PodRunning, ""},
		"one that is used up":                 {[]*policyv1.PodDisruptionBudget{app("b", 0, 2, 2)}, false, corev1.PodRunning, BudgetUsedUp},
		"used up before, room now":            {[]*policyv1.PodDisruptionBudget{app("b", 0, 2, 2), app("b", 1, 3, 2)}, false, corev1.PodRunning, ""},
		"room before, used up now":            {[]*policyv1.PodDisruptionBudget{app("b", 1, 3, 2), app("b", 0, 2, 2)}, false, corev1.PodRunning, BudgetUsedUp},
		"a status of an older spec":           {[]*policyv1.PodDisruptionBudget{behind(app("b", 1, 3, 2))}, false, corev1.PodRunning, BudgetUsedUp},
		"an unready pod and enough others":    {[]*policyv1.PodDisruptionBudget{app("b", 0, 2, 2)}, true, corev1.PodRunning, ""},
		"an unready pod and too few others":   {[]*policyv1.PodDisruptionBudget{app("b", 0, 1, 2)}, true, corev1.PodRunning, BudgetUsedUp},
		"an unready pod that may always go":   {[]*policyv1.PodDisruptionBudget{always(app("b", 0, 1, 2))}, true, corev1.PodRunning, ""},
		"two budgets, whatever they allow":    {[]*policyv1.PodDisruptionBudget{app("b", 1, 3, 2), app("c", 1, 3, 2)}, false, corev1.PodRunning, SeveralBudgets},
		"a pod that has not started":          {[]*policyv1.PodDisruptionBudget{app("b", 0, 2, 2)}, false, corev1.PodPending, ""},
		"a pod that is over, and two budgets": {[]*policyv1.PodDisruptionBudget{app("b", 0, 2, 2), app("c", 0, 2, 2)}, false, corev1.PodSucceeded, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			var budgets PodBudgets
			for _, b := range tt.budgets {
				budgets.Set(b)
			}
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", Labels: map[string]string{"app": "a"}}}
			pod.Status.Phase = tt.phase
			if !tt.unready {
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			}
			if got := budgets.Refuse(pod); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			name, several := budgets.Guardian(pod)
			if several != (tt.want == SeveralBudgets) || tt.want == BudgetUsedUp && name != "b" || several && name != "" {
				t.Errorf("guarded by %q, by several %t", name, several)
			}
		})
	}
}
