package cache

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// usage is what the nodes of each NodePool hold, kept up to date with every version of a NodeClaim or Node.
type usage struct {
	shares map[string]share // by claim
	pools  map[string]*poolUsage
}

// share is what a claim adds to its pool. The amounts are those of an object of the store: they are not written to.
type share struct {
	pool     string
	capacity corev1.ResourceList
}

type poolUsage struct {
	nodes int64
	sum   corev1.ResourceList
}

func newUsage() usage { return usage{shares: map[string]share{}, pools: map[string]*poolUsage{}} }

// recount brings what a claim adds to its pool up to date: its Node's capacity where one has joined and says so, else what
// the launch is expected to give.
func (c *Cache) recount(name string) {
	old, had := c.usage.shares[name]
	claim := c.claims.get("", name)
	if claim == nil {
		if had {
			delete(c.usage.shares, name)
			c.usage.add(old, -1)
			c.tell(PoolUsed, old.pool)
		}
		return
	}
	next := share{pool: claim.Labels[karpv1.NodePoolLabelKey], capacity: claim.Status.Capacity}
	if nodes := c.nodesByID[claim.Status.ProviderID]; len(nodes) == 1 {
		for n := range nodes {
			if node := c.nodes.get("", n); node != nil && len(node.Status.Capacity) > 0 {
				next.capacity = node.Status.Capacity
			}
		}
	}
	c.usage.shares[name] = next // also when equal: an object that is no longer stored is not to be kept
	if had && old.pool == next.pool && equality.Semantic.DeepEqual(old.capacity, next.capacity) {
		return
	}
	if had {
		c.usage.add(old, -1)
		if old.pool != next.pool {
			c.tell(PoolUsed, old.pool)
		}
	}
	c.usage.add(next, 1)
	c.tell(PoolUsed, next.pool)
}

// recountID does the same for the claims of a provider ID.
func (c *Cache) recountID(id string) {
	for name := range c.claimsByID[id] {
		c.recount(name)
	}
}

// add adds a share to its pool's sum, or takes it away.
func (u *usage) add(s share, sign int64) {
	p := u.pools[s.pool]
	if p == nil {
		p = &poolUsage{sum: corev1.ResourceList{}}
		u.pools[s.pool] = p
	}
	p.nodes += sign
	for name, q := range s.capacity {
		total := p.sum[name]
		if sign > 0 {
			total.Add(q)
		} else {
			total.Sub(q)
		}
		if p.sum[name] = total; total.IsZero() {
			delete(p.sum, name)
		}
	}
	if p.nodes == 0 {
		delete(u.pools, s.pool)
	}
}

// PoolUsage is what the nodes of a NodePool hold, and how many there are, those that are being launched or removed included.
//
// Cost: a copy of one amount for each resource.
func (c *Cache) PoolUsage(pool string) (capacity corev1.ResourceList, nodes int64) {
	c.mu.Lock()
	defer c.unlock()
	p := c.usage.pools[pool]
	if p == nil {
		return corev1.ResourceList{}, 0
	}
	out := make(corev1.ResourceList, len(p.sum))
	for name, q := range p.sum {
		out[name] = q.DeepCopy()
	}
	return out, p.nodes
}
