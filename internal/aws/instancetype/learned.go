package instancetype

import (
	"cmp"
	"slices"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/guestmemory"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// remember sets the memory to what nodes of the type had that booted the image. The kubelet reported it, so no share and no margin are
// taken off, whatever the settings say, and thresholds that are a share are shares of it.
func (c *Config) remember(image, name string, capacity res.List) {
	if bytes, ok := c.Learned.Bytes(name, image); ok {
		capacity[res.Memory] = bytes
	}
}

// Extra is how much more than the node class says kubelets keep from pods, by image and resource: images and user data may
// reserve for themselves what the class knows nothing of.
type Extra map[string]map[string][]extra

// extra is what nodes of one type keep, and what they leave.
type extra struct {
	name     string
	local    bool // ephemeral storage is on the instance store
	capacity int64
	amount   int64
	left     int64
}

// ExtraOf works out what nodes of the snapshot's types kept, as far as it was learned.
func ExtraOf(s *Snapshot, c Config) Extra {
	out := Extra{}
	if c.Learned.Len() == 0 {
		return out
	}
	for i := range c.Images {
		for _, r := range []string{res.CPU, res.Memory, res.EphemeralStorage, res.Pods} {
			if seen := c.extraOf(s, &c.Images[i], r); len(seen) > 0 {
				if out[c.Images[i].ID] == nil {
					out[c.Images[i].ID] = map[string][]extra{}
				}
				out[c.Images[i].ID][r] = seen
			}
		}
	}
	return out
}

// extraOf are the nodes that kept something of a resource, the smallest first.
func (c *Config) extraOf(s *Snapshot, image *awsv1.AMI, resource string) []extra {
	var out []extra
	for name, left := range c.Learned.AllLeft(image.ID, guestmemory.Left{Resource: resource, Class: c.Class}) {
		i, ok := s.Find(name)
		if !ok {
			continue
		}
		capacity := c.capacity(&s.Types[i])
		c.remember(image.ID, name, capacity)
		out = append(out, extra{
			name: name, local: c.onInstanceStore(&s.Types[i]), capacity: capacity[resource], left: left,
			amount: max(0, capacity[resource]-c.overhead(&s.Types[i], capacity)[resource]-left),
		})
	}
	slices.SortFunc(out, func(a, b extra) int {
		return cmp.Or(cmp.Compare(a.capacity, b.capacity), cmp.Compare(b.amount, a.amount), cmp.Compare(a.name, b.name))
	})
	return out
}

// ceiling is the most that nodes left; same says that nodes of different capacity left just that.
func ceiling(seen []extra) (most int64, same bool) {
	for _, e := range seen {
		most = max(most, e.left)
	}
	capacities := map[int64]bool{}
	for _, e := range seen {
		if e.left == most {
			capacities[e.capacity] = true
		}
	}
	return most, len(capacities) > 1
}

// sameDisks are the nodes whose ephemeral storage is of the same kind: all on the instance store, or all on volumes.
func sameDisks(seen []extra, local bool) []extra {
	return slices.DeleteFunc(slices.Clone(seen), func(e extra) bool { return e.local != local })
}

// withExtra adds what nodes of the type kept to the overhead. Of a type that no node was of, it is taken for what the largest smaller
// nodes kept: what is reserved grows with a node, if it is not the same for all. Smaller ones than any that was seen
// keep their part of it. Pods are not reserved: where nodes of different size take just as many, all will. What is kept of
// an instance store says nothing of a volume, and the other way round.
func (c *Config) withExtra(image string, t *ec2facts.Type, capacity, overhead res.List) res.List {
	for resource, seen := range c.Extra[image] {
		if resource == res.EphemeralStorage {
			seen = sameDisks(seen, c.onInstanceStore(t))
			if len(seen) == 0 {
				continue
			}
		}
		if at := slices.IndexFunc(seen, func(e extra) bool { return e.name == t.Name }); at >= 0 {
			overhead[resource] += seen[at].amount
			continue
		}
		if resource == res.Pods {
			if most, same := ceiling(seen); same {
				overhead[resource] = max(overhead[resource], capacity[resource]-most)
			}
			continue
		}
		last := seen[0]
		for _, e := range seen {
			if e.capacity <= capacity[resource] {
				last = e
			}
		}
		amount := last.amount
		if capacity[resource] < last.capacity {
			amount = int64(float64(amount) * float64(capacity[resource]) / float64(last.capacity))
		}
		overhead[resource] += amount
	}
	return overhead
}
