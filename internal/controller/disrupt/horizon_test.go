package disrupt

import (
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/catalog"
	"github.com/kerf-sh/kerf/internal/cluster"
)

func TestHorizon(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	node := func(age time.Duration, price catalog.MicroUSD) *cluster.Node {
		return &cluster.Node{Claim: "claim", CreatedAt: now.Add(-age), Price: price}
	}
	for name, c := range map[string]struct {
		nodes []*cluster.Node
		want  time.Duration
	}{
		"a cluster without nodes of ours has a day":    {nil, mostHorizon},
		"one that has only begun has the least":        {[]*cluster.Node{node(time.Minute, 5)}, leastHorizon},
		"one that is old has a day, and no more":       {[]*cluster.Node{node(1000*time.Hour, 5)}, mostHorizon},
		"in between it is a step below the mean age":   {[]*cluster.Node{node(50*time.Minute, 5), node(50*time.Minute, 1)}, 4 * leastHorizon},
		"a dear old node counts for more than a young": {[]*cluster.Node{node(100*time.Hour, 90), node(0, 10)}, mostHorizon},
	} {
		if got := horizon(c.nodes, now); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
