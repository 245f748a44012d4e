package pack

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// domain is the value of a key that is certain for the node.
func (n *node) domain(k requirement.Key) (string, bool) {
	set, ok := n.labels.Get(k)
	if !ok {
		return "", false
	}
	return set.Single()
}

// findReachable finds the domains in which nodes that the spread looks at could be launched.
func (s *solver) findReachable(g *group) {
	found := map[string]bool{}
	for _, p := range s.pools {
		if p.broken != "" || (g.honorTaints && judgeTaints(p.src.Taints, g.tolerations) == barred) {
			continue
		}
		for _, r := range g.filter {
			if sh := s.and(p.base, s.reqID(r)); sh != nil {
				s.domainsOf(sh, g.keyID, found)
			}
		}
		s.reservedDomains(p, g.filter, g.keyID, found)
	}
	g.reachable, g.listed = sortedKeys(found), nil
}

// domainsOf adds the domains of a key in which new nodes of the shape can be launched.
func (s *solver) domainsOf(sh *shape, k requirement.Key, found map[string]bool) {
	domains, known := sh.domains[k]
	if !known {
		here := map[string]bool{}
		sh.addDomains(k, here)
		domains = sortedKeys(here)
		if sh.domains == nil {
			sh.domains = map[requirement.Key][]string{}
		}
		sh.domains[k] = domains
	}
	for _, d := range domains {
		found[d] = true
	}
}

func (sh *shape) addDomains(k requirement.Key, found map[string]bool) {
	set, limited := sh.reqs.Get(k)
	cellKey := false
	for _, at := range sh.cells {
		cell := &sh.pool.cat.Cells[at]
		value, ok := cell.Label(k)
		if !ok {
			continue
		}
		cellKey = true
		some := sh.types.Clone()
		some.And(cell.Available)
		if some.Any() {
			found[value] = true
		}
	}
	if cellKey {
		return
	}
	for _, v := range sh.pool.cat.Values(sh.types, k) {
		if !limited || set.Has(v) {
			found[v] = true
		}
	}
	if limited && !set.Complement() {
		for _, v := range set.Values() {
			found[v] = true
		}
	}
}

// domains are those over which a spread is even: where nodes are that it looks at, and where they could be launched.
func (g *group) domains() []string {
	if g.listed == nil {
		out := slices.Clone(g.reachable)
		for d := range g.present {
			out = append(out, d)
		}
		slices.Sort(out)
		g.listed = slices.Clip(slices.Compact(out))
	}
	return g.listed
}

// floor is the count that a spread measures from.
func (g *group) floor(domains []string, minDomains int) int {
	if len(domains) == 0 || len(domains) < minDomains {
		return 0
	}
	least := g.counts[domains[0]]
	for _, d := range domains[1:] {
		least = min(least, g.counts[d])
	}
	return least
}

// looksEverywhere reports whether the group counts pods on every node that has its key.
func (g *group) looksEverywhere() bool {
	if g.kind != spreading {
		return true
	}
	return !g.honorTaints && slices.ContainsFunc(g.filter, func(r requirement.Requirements) bool { return r.Len() == 0 })
}

// ephemeralDomains counts the nodes of domains that a spread is measured over only while there are nodes in them.
type ephemeralDomains struct {
	group *group
	nodes map[string]int
	of    map[int]string // by node
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
