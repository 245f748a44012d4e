package cache

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-sh/kerf/internal/cluster"
)

// AwaitingReplacement reports whether a pod on the node has no machine to go to yet: none was promised to it, or the one
// that was is not initialized. It serves a drain that may wait for a while: pods that found no place at all count too,
// so the caller's patience has to end by itself.
func (c *Cache) AwaitingReplacement(node string) bool {
	c.mu.Lock()
	defer c.unlock()
	snapshot := c.snapshot()
	for _, e := range c.podsByNode[node] {
		if e.pod.Daemon || e.pod.Mirror || e.pod.Terminating || c.held(e.obj) {
			continue
		}
		p := c.promises[types.UID(e.pod.UID)]
		if p == nil {
			return true
		}
		ready := slices.ContainsFunc(snapshot.Nodes, func(n *cluster.Node) bool {
			return n.Initialized && (p.target == nodeUnit(n.Name) || (n.Claim != "" && p.target == claimUnit(n.Claim)))
		})
		if !ready {
			return true
		}
	}
	return false
}
