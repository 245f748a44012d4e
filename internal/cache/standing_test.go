package cache

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/intake"
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
		want NodeStanding
	}{
		"nothing":                                {nil, NodeStanding{LastPodEvent: seen}},
		"do-not-disrupt":                         {[]func(*corev1.Pod){annotated(karpv1.DoNotDisruptAnnotationKey, "true")}, NodeStanding{Held: "ns/p", LastPodEvent: seen}},
		"do-not-disrupt for a time from a start": {[]func(*corev1.Pod){annotated(karpv1.DoNotDisruptAnnotationKey, "1h"), func(p *corev1.Pod) { p.Status.StartTime = new(metav1.NewTime(time.Unix(500, 0))) }}, NodeStanding{Held: "ns/p", LastPodEvent: seen}},
		"a time that is over":                    {[]func(*corev1.Pod){annotated(karpv1.DoNotDisruptAnnotationKey, "1m"), func(p *corev1.Pod) { p.Status.StartTime = new(metav1.NewTime(time.Unix(500, 0))) }}, NodeStanding{LastPodEvent: seen}},
		"a word that means nothing":              {[]func(*corev1.Pod){annotated(karpv1.DoNotDisruptAnnotationKey, "please")}, NodeStanding{LastPodEvent: seen}},
		"a budget that is used up":               {[]func(*corev1.Pod){guarded}, NodeStanding{Refused: "ns/p", Refusal: intake.BudgetUsedUp, LastPodEvent: seen}},
		"a budget, and a pod that no drain evicts": {[]func(*corev1.Pod){guarded, func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		}}, NodeStanding{LastPodEvent: seen}},
		"a daemon that asks not to be disrupted": {[]func(*corev1.Pod){annotated(karpv1.DoNotDisruptAnnotationKey, "true"), func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", Controller: new(true)}}
		}}, NodeStanding{Held: "ns/p"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRig()
			r.SetBudget(full)
			r.pod("p", append([]func(*corev1.Pod){running}, tt.edit...)...)
			s := r.Standing()
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
