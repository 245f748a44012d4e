package cache

import (
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// A view is made while pods come, go and are replaced; no pod may be in it twice, or metrics would have a series twice.
func TestAViewHasEachPodOnce(t *testing.T) {
	c := New(Options{})
	const pods = 3 * viewPage
	first := make([]*corev1.Pod, pods)
	for i := range pods {
		first[i] = unschedulable(fmt.Sprintf("p%d", i), fmt.Sprintf("uid-%d", i))
		c.SetPod(first[i])
	}
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			next := first[i%pods].DeepCopy()
			next.UID += "+"
			c.RemovePod(first[i%pods])
			c.SetPod(next)
			first[i%pods] = next
		}
	})
	for range 20 {
		seen := map[string]bool{}
		for _, p := range c.View().Pods {
			if seen[p.Object.Name] {
				t.Errorf("%s is listed twice", p.Object.Name)
			}
			seen[p.Object.Name] = true
		}
		if len(seen) < pods-pods/10 {
			t.Errorf("%d of %d pods are listed", len(seen), pods)
		}
	}
	close(done)
	wg.Wait()
}

// Where a pod was listed and then replaced, the one listed last stays.
func TestTheNewestOfTwoPodsOfANameIsViewed(t *testing.T) {
	list := []ViewedPod{{Object: unschedulable("a", "1")}, {Object: unschedulable("b", "2")}, {Object: unschedulable("a", "3")}}
	got := newest(list)
	if len(got) != 2 || got[0].Object.UID != "3" || got[1].Object.UID != "2" {
		t.Errorf("%d pods, the first is %s", len(got), got[0].Object.UID)
	}
}
