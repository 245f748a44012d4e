package cache

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/guard"
)

// A handler that panics ends neither the informer nor the process, and is told by the kind.
func TestAHandlerThatPanicsIsGuarded(t *testing.T) {
	var where []string
	defer guard.Listen(func(p *guard.Panic) { where = append(where, p.Where) })()
	seen := 0
	h := feed(&corev1.Node{}, func(n *corev1.Node) {
		if seen++; n.Name == "bad" {
			panic("planted")
		}
	}, func(*corev1.Node) { panic("planted") }).handler
	bad, good := &corev1.Node{}, &corev1.Node{}
	bad.Name, good.Name = "bad", "good"
	h.OnAdd(bad, true)
	h.OnUpdate(bad, bad)
	h.OnAdd(good, false)
	h.OnDelete(bad)
	if want := []string{"intake.node", "intake.node", "intake.node"}; seen != 3 || !slices.Equal(where, want) {
		t.Errorf("%d seen, told %v", seen, where)
	}
}
