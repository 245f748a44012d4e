package verify

import (
	"maps"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// addresses checks that no subnets are asked for more addresses than they have. A node to launch that may be launched in
// several zones counts in each of them. Pools may have different subnets of a zone, so that the sum is made for each set of
// subnets that a pool has there: of all nodes that can go nowhere else in the zone.
func (c *checker) addresses() {
	free := map[string]int64{}
	subnets := map[string]map[string][]string{} // by pool and zone, as sets of IDs
	for _, p := range c.p.Pools {
		subnets[p.Name] = map[string][]string{}
		for _, x := range p.Subnets {
			if n, known := free[x.ID]; !known || x.Free < n {
				free[x.ID] = x.Free
			}
			subnets[p.Name][x.Zone] = append(subnets[p.Name][x.Zone], x.ID)
		}
	}
	if len(free) == 0 {
		return
	}
	var takings []taking
	// left is what is left of a set once all that can go nowhere else have theirs, and the last of those.
	left := func(ids []string) (n int64, last string) {
		for _, id := range ids {
			n += free[id]
		}
		for _, w := range takings {
			if !slices.ContainsFunc(w.ids, func(id string) bool { return !slices.Contains(ids, id) }) {
				n, last = n-w.takes, w.where
			}
		}
		return n, last
	}
	sets := map[string][]string{}
	for _, n := range c.p.Nodes {
		zone := c.certain(n)[requirement.Zone]
		if n.Launched || n.Deleting || len(zone.values) != 1 || zone.missing {
			continue
		}
		ids := subnets[n.Pool][zone.values[0]]
		if n, _ := left(ids); n > 0 { // those for which there is no room take none
			takings = append(takings, taking{ids: ids, takes: 1})
		}
	}
	for _, h := range c.hosts {
		if h.launched == nil {
			continue
		}
		takes := c.takes(h)
		for _, zone := range slices.Sorted(maps.Keys(takes)) {
			ids := subnets[h.pool.Name][zone]
			if ids == nil {
				continue
			}
			slices.Sort(ids)
			takings = append(takings, taking{ids, takes[zone], h.name})
			sets[strings.Join(ids, " ")] = ids
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		if n, where := left(sets[name]); n < 0 {
			c.report("addresses", where, "the instances take %d addresses more than %s has", -n, name)
		}
	}
}

// taking is what a node takes of one of some subnets, by ID.
type taking struct {
	ids   []string
	takes int64
	where string // empty for a node that is there already
}

// takes is how many addresses the node may take, by the zones in which it may be launched.
func (c *checker) takes(h *host) map[string]int64 {
	out := map[string]int64{}
	for _, t := range h.kind.types {
		p := c.launch(h.kind, t)
		for i := range t.Offerings {
			if o := &t.Offerings[i]; p.states[i] != nil && canLaunch(o) {
				out[o.Zone] = max(out[o.Zone], 1, t.Addresses)
			}
		}
	}
	return out
}
