package demo

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

func instance(name string, is ...string) *karpv1.NodeClaim {
	c := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{karpv1.NodePoolLabelKey: "shop"}}}
	for _, what := range is {
		switch what {
		case "ready":
			c.StatusConditions().SetTrue(karpv1.ConditionTypeInitialized)
		case "marked":
			c.StatusConditions().SetTrueWithReason(karpv1.ConditionTypeDisruptionReason, string(karpv1.DisruptionReasonDrifted), "")
		case "terminating":
			c.StatusConditions().SetTrue(karpv1.ConditionTypeInstanceTerminating)
		case "going":
			c.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		}
	}
	return c
}

func shopPod(name string, ready bool) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name), Labels: map[string]string{"app": "shop"}}}
	if ready {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	return p
}

func TestWhatARollMustKeepTo(t *testing.T) {
	set := func(c *karpv1.NodeClaim) func(*state) { return func(s *state) { s.setClaim(c) } }
	drop := func(name string) func(*state) { return func(s *state) { delete(s.claims, name) } }
	pod := func(name string, ready bool) func(*state) {
		return func(s *state) { s.setPod(shopPod(name, ready)) }
	}
	turn := func(old, its string) []func(*state) {
		return []func(*state){
			set(instance(old, "ready", "marked")), set(instance(its)), set(instance(its, "ready")), set(instance(old, "ready", "marked", "going")),
			pod("of-"+old, false), pod("of-"+its, true), drop(old),
		}
	}
	all := append(append(turn("a", "d"), turn("b", "e")...), turn("c", "f")...)
	// The second is marked while EC2 ends the first, whose NodeClaim is still there; going without that counts.
	close := append(append(turn("a", "d")[:6:6], set(instance("a", "ready", "marked", "going", "terminating"))), append(append(turn("b", "e"), drop("a")), turn("c", "f")...)...)
	for name, tt := range map[string]struct {
		events []func(*state)
		want   string // of what is broken; "" is nothing, and all are replaced
	}{
		"one after the other":                       {all, ""},
		"the next is marked while EC2 ends one":     {close, ""},
		"the next is marked while one still drains": {[]func(*state){set(instance("a", "ready", "marked", "going")), set(instance("b", "ready", "marked"))}, "2 instances went at a time, and the budget is 1"},
		"two at a time":                             {[]func(*state){set(instance("a", "ready", "marked")), set(instance("b", "ready", "marked"))}, "2 instances went at a time, and the budget is 1"},
		"one goes before another has come":          {[]func(*state){set(instance("a", "ready", "marked", "going")), set(instance("d")), drop("a")}, "2 instances were left and 0 had come, of 3"},
		"more pods are gone than the budget allows": {[]func(*state){pod("of-a", false), pod("of-b", false)}, "1 pods were ready, and the PodDisruptionBudget asks for 2"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newState()
			for _, n := range []string{"a", "b", "c"} {
				s.setClaim(instance(n, "ready"))
				s.setPod(shopPod("of-"+n, true))
			}
			w := s.watchRoll("shop", 3)
			for _, event := range tt.events {
				event(s)
				s.look()
			}
			done := w.done()
			got := strings.Join(w.end(), "; ")
			if !strings.Contains(got, tt.want) || tt.want == "" && (got != "" || !done || w.mostGoing != 1) {
				t.Errorf("broken %q, want %q; done %v, at most %d at a time", got, tt.want, done, w.mostGoing)
			}
			if s.look != nil {
				t.Error("it is still looked at")
			}
		})
	}
}
