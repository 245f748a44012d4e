package cache

import (
	"fmt"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// A pod that is bound to a node with room that was given to others costs a look at that node, however many others there are.
func TestABindLooksAtItsOwnNodeOnly(t *testing.T) {
	allocated := func(nodes int) float64 {
		r := newRig()
		for i := range nodes {
			n := newNode(fmt.Sprintf("n%04d", i), fmt.Sprintf("un%04d", i), fmt.Sprintf("id-%04d", i))
			r.version(n)
			r.SetNode(n)
		}
		r.Reserve(r.instance("n0000"), []cluster.PodRef{r.pod("waits")}, r.clock.Add(time.Hour))
		snapshot := r.Snapshot()
		i := 0
		allocs := testing.AllocsPerRun(50, func() {
			p := unschedulable(fmt.Sprint("p", i%3), fmt.Sprint("uid-p", i%3)) // there is room for four
			p.Spec.NodeName, p.Labels = "n0000", map[string]string{"i": fmt.Sprint(i)}
			r.version(p)
			r.SetPod(p)
			i++
		})
		if r.last != snapshot {
			t.Errorf("with %d nodes a bind made a snapshot of the cluster", nodes)
		}
		if !r.reserved.Has("uid-waits") {
			t.Error("there is room for the pod that waits, but it is reserved no more")
		}
		return allocs
	}
	if few, many := allocated(10), allocated(2000); many > few+5 {
		t.Errorf("a bind allocates %v times in a cluster of 10 nodes and %v times in one of 2,000", few, many)
	}
}
