package app

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

func TestWhereAPodStands(t *testing.T) {
	refused := []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	pod := func(edit func(*corev1.Pod)) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web", UID: "1"}, Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName}}
		p.Status.Conditions = refused
		edit(&p)
		return p
	}
	for name, tc := range map[string]struct {
		pod  corev1.Pod
		why  string // what it begins with
		node string
	}{
		"decided on": {pod: pod(func(*corev1.Pod) {})},
		"bound":      {pod: pod(func(p *corev1.Pod) { p.Spec.NodeName = "n" }), node: "n"},
		"behind a gate": {pod: pod(func(p *corev1.Pod) {
			p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "queue"}}
			p.Status.Conditions = nil
		}), why: "it is behind the scheduling gate queue: "},
		"of another scheduler":   {pod: pod(func(p *corev1.Pod) { p.Spec.SchedulerName = "other"; p.Status.Conditions = nil }), why: "it is of scheduler other, which has not said"},
		"refused by another one": {pod: pod(func(p *corev1.Pod) { p.Spec.SchedulerName = "other" })},
		"not refused yet":        {pod: pod(func(p *corev1.Pod) { p.Status.Conditions = nil }), why: "kube-scheduler has not said"},
		"ends":                   {pod: pod(func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }), why: "it is being deleted"},
		"of a DaemonSet": {pod: pod(func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", APIVersion: "apps/v1", Name: "log", Controller: new(true)}}
		}), why: "it is of a DaemonSet"},
		"for other nodes": {pod: pod(func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: karpv1.NodePoolLabelKey, Operator: corev1.NodeSelectorOpDoesNotExist}}}}}}}
		}), why: "its node affinity demands"},
	} {
		t.Run(name, func(t *testing.T) {
			now := podAmong([]corev1.Pod{tc.pod}, "web", &cluster.Snapshot{})
			if now.Gone || now.UID != "1" || now.Namespace != "a" || now.Node != tc.node || !strings.HasPrefix(now.Why, tc.why) || (tc.why == "") != (now.Why == "") {
				t.Errorf("got %+v", now)
			}
		})
	}
	bound, waits := pod(func(p *corev1.Pod) { p.Spec.NodeName = "n" }), pod(func(p *corev1.Pod) { p.Namespace = "b" })
	if now := podAmong([]corev1.Pod{bound, waits, bound}, "web", &cluster.Snapshot{}); now.Namespace != "b" {
		t.Errorf("of several the one that waits is meant: %+v", now)
	}
	if now := podAmong([]corev1.Pod{bound}, "api", &cluster.Snapshot{}); !now.Gone {
		t.Errorf("there is none: %+v", now)
	}
}
