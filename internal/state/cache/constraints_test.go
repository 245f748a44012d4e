package cache

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

func running(p *corev1.Pod) {
	p.Spec.NodeName, p.Status.Phase = "n0", corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Unix(500, 0))},
		{Type: corev1.PodReady, Status: corev1.ConditionTrue},
	}
}

func annotated(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations = map[string]string{key: value} }
}

func TestWhatPodsSayAboutTheDisruptionOfTheirNode(t *testing.T) {
	full := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "b", ResourceVersion: "1"}}
	full.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"guarded": "yes"}}
	full.Spec.MaxUnavailable = new(intstr.FromInt32(1))
	guarded := func(p *corev1.Pod) { p.Labels = map[string]string{"guarded": "yes"} }
	seen := time.Unix(500, 0)
	for sentence, tt := range map[string]struct {
		edit []func(*corev1.Pod)
		want NodeConstraints
	}{
		"nothing":                                {nil, NodeConstraints{LastPodEvent: seen}},
		"do-not-disrupt":                         {[]func(*corev1.Pod){annotated(karpv1.DoNotDisruptAnnotationKey, "true")}, NodeConstraints{Held: "ns/p", LastPodEvent: seen}},
		"do-not-disrupt for a time from a start": {[]func(*corev1.Pod){annotated(karpv1.DoNotDisruptAnnotationKey, "1h"), func(p *corev1.Pod) { p.Status.StartTime = new(metav1.NewTime(time.Unix(500, 0))) }}, NodeConstraints{Held: "ns/p", LastPodEvent: seen}},
		"a time that is over":                    {[]func(*corev1.Pod){annotated(karpv1.DoNotDisruptAnnotationKey, "1m"), func(p *corev1.Pod) { p.Status.StartTime = new(metav1.NewTime(time.Unix(500, 0))) }}, NodeConstraints{LastPodEvent: seen}},
		"a word that means nothing":              {[]func(*corev1.Pod){annotated(karpv1.DoNotDisruptAnnotationKey, "please")}, NodeConstraints{LastPodEvent: seen}},
		"a budget that is used up":               {[]func(*corev1.Pod){guarded}, NodeConstraints{Refused: "ns/p", Refusal: intake.BudgetUsedUp, Guardian: "ns/b", LastPodEvent: seen}},
		"a budget, and a pod that no drain evicts": {[]func(*corev1.Pod){guarded, func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		}}, NodeConstraints{LastPodEvent: seen}},
		"a daemon that asks not to be disrupted": {[]func(*corev1.Pod){annotated(karpv1.DoNotDisruptAnnotationKey, "true"), func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", Controller: new(true)}}
		}}, NodeConstraints{Held: "ns/p"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRig()
			r.SetBudget(full)
			r.pod("p", append([]func(*corev1.Pod){running}, tt.edit...)...)
			s := r.DisruptionConstraints()
			if diff := cmp.Diff(tt.want, s.Nodes["n0"]); diff != "" {
				t.Error(diff)
			}
			if invalid := len(s.Invalid) > 0; invalid != (sentence == "a word that means nothing") {
				t.Errorf("%d pods whose annotation can't be read", len(s.Invalid))
			}
			if timed := len(s.Timed) > 0; timed != (sentence == "do-not-disrupt for a time from a start") {
				t.Errorf("%d pods that are held until a known time", len(s.Timed))
			}
		})
	}
}

func TestPodEventsAreWhatHappensNotWhatIsFound(t *testing.T) {
	r := newRig()
	r.pod("old", running)
	if got := r.LastPodEvent("n0"); !got.Equal(time.Unix(500, 0)) {
		t.Errorf("a pod that was bound long ago counts at %v, not when it was bound", got)
	}
	r.pod("new")
	r.clock = r.clock.Add(time.Minute)
	r.pod("new", running)
	if got := r.LastPodEvent("n0"); !got.Equal(r.clock) {
		t.Errorf("a pod came at %v, not %v", r.clock, got)
	}
	r.clock = r.clock.Add(time.Minute)
	r.pod("new", running, annotated("a", "b"))
	if got := r.LastPodEvent("n0"); got.Equal(r.clock) {
		t.Error("a changed annotation is no pod event")
	}
	r.pod("new", running, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
	if got := r.LastPodEvent("n0"); !got.Equal(r.clock) {
		t.Errorf("a pod ended at %v, not %v", r.clock, got)
	}
}

// What pods say is asked for every few seconds, under the lock that all events wait for: only pods of nodes on which
// something has changed are looked at again, and the answer is what a cache gives that looks at all.
func TestPodsAreAskedAgainOnlyWhereSomethingChanged(t *testing.T) {
	r := newRig()
	on := func(node string, edit ...func(*corev1.Pod)) []func(*corev1.Pod) {
		return append([]func(*corev1.Pod){running, func(p *corev1.Pod) { p.Spec.NodeName = node }}, edit...)
	}
	guarded := func(p *corev1.Pod) { p.Labels = map[string]string{"guarded": "yes"} }
	budget := func(allowed int32) {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "b"}}
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"guarded": "yes"}}
		b.Spec.MaxUnavailable = new(intstr.FromInt32(1))
		b.Status.DisruptionsAllowed = allowed
		r.version(b)
		r.SetBudget(b)
	}
	budget(2)
	for _, node := range []string{"a", "b", "c"} {
		r.pod(node+"-1", on(node, guarded)...)
		r.pod(node+"-2", on(node)...)
	}
	for _, step := range []struct {
		what   string
		change func()
		asked  int
	}{
		{"the first time", func() {}, 6},
		{"nothing", func() {}, 0},
		{"a pod's annotation", func() { r.pod("a-2", on("a", annotated(karpv1.DoNotDisruptAnnotationKey, "true"))...) }, 2},
		{"a pod comes", func() { r.pod("b-3", on("b")...) }, 3},
		{"a pod moves", func() { r.pod("b-3", on("c")...) }, 5},
		{"a pod goes", func() { r.RemovePod(r.pods.get("ns", "b-3")) }, 2},
		{"a pod that waits", func() { r.pod("pending") }, 0},
		{"a budget allows one pod less", func() { budget(1) }, 0},
		{"a budget allows none", func() { budget(0) }, 6},
		{"a node of another namespace", func() {
			r.pod("d-1", on("d", func(p *corev1.Pod) { p.Namespace = "other" })...)
			r.pod("d-2", on("d", func(p *corev1.Pod) {
				p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} // no drain evicts it
			})...)
		}, 2},
		{"a budget allows one again", func() { budget(1) }, 6},
		{"a budget goes", func() { r.RemoveBudget(r.blocks.budgets.get("ns", "b")) }, 6},
		{"a hold that ends", func() {
			r.pod("c-2", on("c", annotated(karpv1.DoNotDisruptAnnotationKey, "1h"), func(p *corev1.Pod) { p.Status.StartTime = new(metav1.NewTime(r.clock)) })...)
		}, 2},
		{"it has not ended", func() { r.clock = r.clock.Add(time.Hour - 1) }, 0},
		{"it has ended", func() { r.clock = r.clock.Add(1) }, 2},
		{"nothing again", func() {}, 0},
	} {
		step.change()
		r.constraints.podsAsked = 0
		got := r.DisruptionConstraints()
		if r.constraints.podsAsked != step.asked {
			t.Errorf("%s: %d pods were looked at, want %d", step.what, r.constraints.podsAsked, step.asked)
		}
		clear(r.constraints.byNode)
		if diff := cmp.Diff(r.DisruptionConstraints(), got); diff != "" {
			t.Errorf("%s: not what all pods say:\n%s", step.what, diff)
		}
	}
}

// Nodes come and go for years under ever new names.
func TestNothingIsKeptOfNodesThatAreGone(t *testing.T) {
	r := newRig()
	for i := range 100 {
		name := fmt.Sprint("n-", i)
		node := newNode(name, name, "")
		r.version(node)
		r.SetNode(node)
		p := r.pod("p-"+name, running, func(p *corev1.Pod) { p.Spec.NodeName = name })
		r.DisruptionConstraints()
		r.Snapshot()
		if i%2 == 0 { // the pod is collected once its node is gone
			r.RemoveNode(node)
			r.pod("p-"+name, running, func(p *corev1.Pod) { p.Spec.NodeName, p.DeletionTimestamp = name, &metav1.Time{Time: r.clock} })
		}
		r.RemovePod(r.pods.get("ns", p.Name))
		r.RemoveNode(node)
		r.Snapshot()
	}
	r.DisruptionConstraints()
	for what, n := range map[string]int{"events of pods": len(r.constraints.podEvents), "what pods say": len(r.constraints.byNode), "units": len(r.units), "nodes with pods": len(r.podsByNode), "pods": len(r.entries), "reservations": r.reserved.Sizes().Pods} {
		if n != 0 {
			t.Errorf("%s: %d are left", what, n)
		}
	}
}
