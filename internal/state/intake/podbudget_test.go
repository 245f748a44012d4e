package intake

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func budgetFor(name, app string, edit func(*policyv1.PodDisruptionBudget)) *policyv1.PodDisruptionBudget {
	one := intstr.FromInt32(1)
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	b.Spec.Selector, b.Spec.MaxUnavailable = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, &one
	if edit != nil {
		edit(b)
	}
	return b
}

func podOf(app string, phase corev1.PodPhase, ready corev1.ConditionStatus) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", Labels: map[string]string{"app": app}}}
	p.Status = corev1.PodStatus{Phase: phase, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}}
	return p
}

func TestWhichBudgetsHoldAPodForGood(t *testing.T) {
	none, all, allowed := intstr.FromInt32(0), intstr.FromString("100%"), policyv1.AlwaysAllow
	closed := func(b *policyv1.PodDisruptionBudget) { b.Spec.MaxUnavailable = &none }
	lenient := func(b *policyv1.PodDisruptionBudget) {
		closed(b)
		b.Spec.UnhealthyPodEvictionPolicy = &allowed
	}
	wants := func(expected, desired int32) func(*policyv1.PodDisruptionBudget) {
		return func(b *policyv1.PodDisruptionBudget) {
			b.Status.ExpectedPods, b.Status.DesiredHealthy = expected, desired
		}
	}
	list := func(b ...*policyv1.PodDisruptionBudget) []*policyv1.PodDisruptionBudget { return b }
	running, starting := podOf("db", corev1.PodRunning, "True"), podOf("db", corev1.PodRunning, "False")
	pending := podOf("db", corev1.PodPending, "False")
	going := podOf("db", corev1.PodRunning, "True")
	going.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	for sentence, tt := range map[string]struct {
		pod     *corev1.Pod
		budgets []*policyv1.PodDisruptionBudget
		want    bool
	}{
		"none holds nothing":                            {running, nil, false},
		"one that lets a pod go holds nothing":          {running, list(budgetFor("a", "db", nil)), false},
		"no pod may be unavailable":                     {running, list(budgetFor("a", "db", closed)), true},
		"all must be available":                         {running, list(budgetFor("a", "db", func(b *policyv1.PodDisruptionBudget) { b.Spec.MaxUnavailable, b.Spec.MinAvailable = nil, &all })), true},
		"as many as there are to be must be available":  {running, list(budgetFor("a", "db", wants(2, 2))), true},
		"one less than there are to be":                 {running, list(budgetFor("a", "db", wants(2, 1))), false},
		"a status of before a change says nothing":      {running, list(budgetFor("a", "db", func(b *policyv1.PodDisruptionBudget) { wants(2, 2)(b); b.Generation = 2 })), false},
		"the eviction API refuses two":                  {running, list(budgetFor("a", "db", nil), budgetFor("b", "db", nil)), true},
		"another app's does not count":                  {running, list(budgetFor("a", "db", nil), budgetFor("b", "web", closed)), false},
		"another namespace's does not count":            {running, list(budgetFor("a", "db", func(b *policyv1.PodDisruptionBudget) { closed(b); b.Namespace = "other" })), false},
		"an empty selector is for all":                  {running, list(budgetFor("a", "", func(b *policyv1.PodDisruptionBudget) { closed(b); b.Spec.Selector = &metav1.LabelSelector{} })), true},
		"no selector is for none":                       {running, list(budgetFor("a", "", func(b *policyv1.PodDisruptionBudget) { closed(b); b.Spec.Selector = nil })), false},
		"a label that is missing counts as missing":     {running, list(budgetFor("a", "", func(b *policyv1.PodDisruptionBudget) { closed(b); b.Spec.Selector = lacks("tier") })), true},
		"one that is being deleted holds nothing":       {running, list(budgetFor("a", "db", func(b *policyv1.PodDisruptionBudget) { closed(b); b.DeletionTimestamp = going.DeletionTimestamp })), false},
		"a pod that has not started may go":             {pending, list(budgetFor("a", "db", closed), budgetFor("b", "db", nil)), false},
		"a pod that is going already may go":            {going, list(budgetFor("a", "db", closed)), false},
		"an unready pod is guarded, too":                {starting, list(budgetFor("a", "db", closed)), true},
		"an unready pod may go under AlwaysAllow":       {starting, list(budgetFor("a", "db", lenient)), false},
		"a ready pod may not go under AlwaysAllow":      {running, list(budgetFor("a", "db", lenient)), true},
		"two hold an unready pod even under the latter": {starting, list(budgetFor("a", "db", lenient), budgetFor("b", "db", lenient)), true},
	} {
		t.Run(sentence, func(t *testing.T) {
			var b PodBudgets
			for range 2 { // what was removed and set again counts again
				for _, pdb := range tt.budgets {
					b.Set(pdb)
				}
				for range 2 { // found out, then remembered
					if got := b.Hold(tt.pod); got != tt.want {
						t.Errorf("held: %v, want %v", got, tt.want)
					}
				}
				for _, pdb := range tt.budgets {
					b.Remove(pdb)
				}
				if b.Hold(tt.pod) {
					t.Error("held by budgets that are gone")
				}
			}
		})
	}
}

func lacks(key string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: metav1.LabelSelectorOpDoesNotExist}}}
}

func TestABudgetsStatusSaysNothingNew(t *testing.T) {
	var b PodBudgets
	pdb := budgetFor("a", "db", nil)
	if !b.Set(pdb) {
		t.Error("a new budget said nothing new")
	}
	later := pdb.DeepCopy()
	later.Status.CurrentHealthy = 3
	if b.Set(later) {
		t.Error("a new status said something new")
	}
	later = pdb.DeepCopy()
	later.Spec.MaxUnavailable = &intstr.IntOrString{}
	if !b.Set(later) || !b.Hold(podOf("db", corev1.PodRunning, "True")) {
		t.Error("what the new version forbids is not heeded")
	}
	later = later.DeepCopy()
	later.Spec.Selector = nil
	if !b.Set(later) || b.Set(later) || b.Hold(podOf("db", corev1.PodRunning, "True")) {
		t.Error("the selector that went away still counts")
	}
}

// counted is a selector that counts how often it is asked.
type counted struct {
	labels.Selector
	asked *int
}

func (c counted) Matches(l labels.Labels) bool {
	*c.asked++
	return c.Selector.Matches(l)
}

func TestSelectorsAreAskedOncePerSetOfLabels(t *testing.T) {
	const budgets, apps, pods = 30, 5, 200
	var b PodBudgets
	asked := 0
	for i := range budgets {
		b.Set(budgetFor(fmt.Sprint("b", i), fmt.Sprint("app", i), nil))
	}
	for _, one := range b.namespaces["ns"].budgets {
		one.selector = counted{one.selector, &asked}
	}
	all := make([]*corev1.Pod, pods)
	for i := range all {
		all[i] = podOf(fmt.Sprint("app", i%apps), corev1.PodRunning, "True")
		all[i].Labels["statefulset.kubernetes.io/pod-name"] = fmt.Sprint("p", i) // no budget looks at it
	}
	pass := func() {
		for _, p := range all {
			b.Hold(p)
		}
	}
	pass()
	if want := budgets * apps; asked != want {
		t.Errorf("selectors were asked %d times for %d kinds of pods and %d budgets, want %d", asked, apps, budgets, want)
	}
	if n := testing.AllocsPerRun(10, pass); n != 0 || asked != budgets*apps {
		t.Errorf("looking again made %v allocations and asked selectors %d times more", n, asked-budgets*apps)
	}
}

func BenchmarkHoldByBudgets(b *testing.B) {
	var budgets PodBudgets
	for i := range 300 {
		budgets.Set(budgetFor(fmt.Sprint("b", i), fmt.Sprint("app", i), nil))
	}
	pods := make([]*corev1.Pod, 1000)
	for i := range pods {
		pods[i] = podOf(fmt.Sprint("app", i%25), corev1.PodRunning, "True")
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, p := range pods {
			budgets.Hold(p)
		}
	}
}
