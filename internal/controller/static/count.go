package static

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// count is how many instances a pool has.
type count struct {
	// all are those that there are, going or not: what limits.nodes limits. staying is how many there will be once all that
	// is under way has come to its end.
	all, staying int
	// free are those that may be ended to have fewer: nothing else is about to end them or waits for them.
	free []*cluster.Node
}

// count counts the instances of a pool. A node that the disruption queue takes away, and the instance that was launched for
// it, are one: which of the two is there at the end does not matter, so neither is ended and none is launched besides.
// While it can't be told which instances were launched for a leaving node, no instance is free.
func (c *Controller) count(ctx context.Context, pool *karpv1.NodePool, snapshot *cluster.Snapshot) (count, error) {
	var out count
	var free []*cluster.Node
	leaving, commands := 0, map[string]bool{}
	sure := true
	for _, n := range snapshot.Nodes {
		if n.Pool != pool.Name || n.Claim == "" {
			continue
		}
		out.all++
		claim := c.o.State.Claim(n.Claim)
		if n.Deleting || claim == nil || !claim.DeletionTimestamp.IsZero() || c.ended[claim.UID] {
			continue
		}
		if _, expires := claim.Annotations[index.ExpiredAnnotation]; expires {
			continue
		}
		out.staying++
		if !n.Leaving {
			free = append(free, n)
			continue
		}
		leaving++
		node := &corev1.Node{}
		if err := c.o.Client.Get(ctx, client.ObjectKey{Name: n.Name}, node); client.IgnoreNotFound(err) != nil {
			return count{}, fmt.Errorf("reading node %q: %w", n.Name, err)
		}
		if id := node.Annotations[index.CommandAnnotation]; id != "" {
			commands[id] = true
		} else {
			sure = false
		}
	}
	launched := 0
	for _, n := range free {
		if commands[c.o.State.Claim(n.Claim).Annotations[index.CommandAnnotation]] {
			launched++
			continue
		}
		out.free = append(out.free, n)
	}
	if !sure {
		out.free = nil
	}
	out.staying -= min(leaving, launched)
	return out, nil
}
