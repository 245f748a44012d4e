package terminate

import (
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// An eviction that panics is an error of its pod; the others are asked for.
func TestAnEvictionThatPanicsStopsNoOther(t *testing.T) {
	var pods []*corev1.Pod
	for _, name := range []string{"a", "bad", "c"} {
		p := &corev1.Pod{}
		p.Name = name
		pods = append(pods, p)
	}
	var mu sync.Mutex
	asked := 0
	err := each(pods, nil, func(p *corev1.Pod) error {
		if p.Name == "bad" {
			panic("planted")
		}
		mu.Lock()
		defer mu.Unlock()
		asked++
		return nil
	})
	if asked != 2 || err == nil || !strings.Contains(err.Error(), "planted") {
		t.Errorf("%d asked, %v", asked, err)
	}
}
