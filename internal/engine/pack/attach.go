package pack

import (
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// Volumes are resources by driver: a node attaches only so many. Those that a pod has for itself are part of its
// requests. Those that it shares are attached once for all pods of the class on the node; pods of another class that use
// the same volume are counted again, which is on the safe side.

// attached is what one pod of the class attaches for itself.
func (s *solver) attached(c *cluster.Class, v res.Vector) res.Vector {
	for driver, n := range c.Attach {
		if i, ok := s.schema.Index(catalog.AttachResource(driver)); ok {
			v[i] += n
		}
	}
	return v
}

// shared is what pods of the class attach once on each node; nil for nothing.
func (s *solver) shared(c *cluster.Class) res.Vector {
	if len(c.Shared) == 0 {
		return nil
	}
	v := make(res.Vector, s.schema.Len())
	for _, x := range c.Shared {
		if i, ok := s.schema.Index(catalog.AttachResource(x.Driver)); ok {
			v[i]++
		}
	}
	if v.IsZero() {
		return nil
	}
	return v
}

// driversOf lists the drivers of the class's volumes as resources.
func driversOf(c *cluster.Class) []string {
	var out []string
	for driver := range c.Attach {
		out = append(out, catalog.AttachResource(driver))
	}
	for _, x := range c.Shared {
		out = append(out, catalog.AttachResource(x.Driver))
	}
	return out
}

// limitedDrivers are those of the drivers, as resources, of which any node or type limits the volumes. Others decide
// nothing.
func (s *solver) limitedDrivers(drivers map[string]bool) []string {
	if len(drivers) == 0 {
		return nil
	}
	limited := map[string]bool{}
	add := func(limits res.List) {
		for driver := range limits {
			if name := catalog.AttachResource(driver); drivers[name] {
				limited[name] = true
			}
		}
	}
	for _, n := range s.p.Nodes {
		add(n.AttachLimits)
	}
	for _, p := range s.p.Pools {
		for _, t := range p.Types {
			add(t.AttachLimits)
		}
	}
	return sortedKeys(limited)
}

// takeAttached takes what the node's pods attach already off its room.
func (s *solver) takeAttached(room res.Vector, pods []*cluster.Pod) {
	seen := map[cluster.SharedVolume]bool{}
	for _, pod := range pods {
		if pod.Class == nil {
			continue
		}
		if len(pod.Class.Attach) > 0 {
			room.Sub(s.attached(pod.Class, make(res.Vector, s.schema.Len())), 1)
		}
		for _, x := range pod.Class.Shared {
			if i, ok := s.schema.Index(catalog.AttachResource(x.Driver)); ok && !seen[x] {
				seen[x] = true
				room[i]--
			}
		}
	}
}

// firstOf is what the first pods of the class to come add to a node with these parts; nil for nothing.
func (c *class) firstOf(parts []part) res.Vector {
	if c.shared == nil {
		return nil
	}
	for _, q := range parts {
		if q.n > 0 && q.item.class.src == c.src {
			return nil
		}
	}
	return c.shared
}

// times is how many pods of the class room has place for, at most want, when the first adds what it shares.
func (c *class) times(room, first res.Vector, want int) int {
	if first == nil {
		return c.req.Times(room, want)
	}
	if !first.Fits(room) {
		return 0
	}
	less := room.Clone()
	less.Sub(first, 1)
	return c.req.Times(less, want)
}
