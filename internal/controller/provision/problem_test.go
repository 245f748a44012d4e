package provision

import (
	"slices"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// TestAPoolWhoseInstancesNeverGetReadyLaunchesLessAndLess: one is replaced soon, for it may be that one's fault.
func TestAPoolWhoseInstancesNeverGetReadyLaunchesLessAndLess(t *testing.T) {
	now := time.Unix(1e9, 0)
	node := func(name, pool string, age time.Duration) *cluster.Node {
		return &cluster.Node{Name: name, Pool: pool, Claim: name, CreatedAt: now.Add(-age), Allocatable: res.List{"cpu": 4000}, Used: res.List{"cpu": 1000}}
	}
	for name, tt := range map[string]struct {
		nodes []*cluster.Node
		full  []string
	}{
		"one that is young": {[]*cluster.Node{node("a", "p", apply.StuckAfter-time.Second)}, nil},
		"one":               {[]*cluster.Node{node("a", "p", apply.StuckAfter)}, []string{"a"}},
		"two of one age":    {[]*cluster.Node{node("b", "p", apply.StuckAfter), node("a", "p", apply.StuckAfter)}, []string{"a"}},
		"the second, twice as old": {[]*cluster.Node{node("b", "p", 2*apply.StuckAfter), node("a", "p", 2*apply.StuckAfter), node("c", "p", 2*apply.StuckAfter)},
			[]string{"a", "b"}},
		"a hundred in a day": {slices.Repeat([]*cluster.Node{node("a", "p", 24*time.Hour)}, 100), slices.Repeat([]string{"a"}, 6)},
		"others' pools":      {[]*cluster.Node{node("a", "p", apply.StuckAfter), node("b", "q", apply.StuckAfter)}, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			var full []string
			for _, n := range withoutStuck(tt.nodes, now, &standIns{}) {
				if n.Allocatable["cpu"] == n.Used["cpu"] {
					full = append(full, n.Name)
				}
			}
			slices.Sort(full)
			if !slices.Equal(full, tt.full) {
				t.Errorf("%v take no more pods, want %v", full, tt.full)
			}
		})
	}
}
