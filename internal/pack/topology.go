package pack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/requirement"
)

type groupKind int

const (
	spreading groupKind = iota
	attracting
	repelling
)

// group counts the pods that one selector selects, by domain of one topology key. Constraints of several classes share a
// group when they would count the same.
type group struct {
	id         int
	name       string
	kind       groupKind
	key        string
	keyID      requirement.Key
	byHost     bool
	namespaces []string
	selector   *cluster.Selector
	// filter decides which nodes a spread looks at: any of the requirements, and if honorTaints these tolerations. Hosts
	// need none, because a pod goes only to nodes that it fits.
	filter      []requirement.Requirements
	honorTaints bool
	tolerations []cluster.Toleration

	counts map[string]int // pods selected, by domain; empty for hosts, which count for themselves
	owners map[string]int // repelling: pods that bear the constraint, by domain
	total  int            // pods selected anywhere
	// present holds the domains of nodes that pass the filter.
	present map[string]bool
	// reachable holds the domains in which a node that passes the filter could be bought.
	reachable []string
	pending   int // pods of pending classes that bear the constraint
	// home is the domain in which an attracting group gathers.
	home string
}

// demand is one constraint of a class.
type demand struct {
	group      *group
	self       bool // the group selects the class itself
	maxSkew    int
	minDomains int
}

// classTopology is everything about topology that matters to a class.
type classTopology struct {
	host    []demand // hard ones on hostname
	wide    []demand // hard ones on other keys
	matched []*group // groups that select the class
	repels  []*group // repelling groups that select the class and that others bear
	hostIn  []*group // of matched, those by host
	wideIn  []*group // of matched, those by other keys
	// share is the group by which the class is dealt out over domains, when that was done for all its pods at once.
	share *group
}

// hostState counts pods of groups by host on one node.
type hostState struct {
	at []hostCount
}

type hostCount struct {
	group   int
	matched int
	owners  int
}

func (h hostState) clone() hostState { return hostState{slices.Clone(h.at)} }

func (h *hostState) get(group int) hostCount {
	if h != nil {
		for _, c := range h.at {
			if c.group == group {
				return c
			}
		}
	}
	return hostCount{}
}

func (h *hostState) add(group, matched, owners int) {
	for i := range h.at {
		if h.at[i].group == group {
			h.at[i].matched += matched
			h.at[i].owners += owners
			return
		}
	}
	h.at = append(h.at, hostCount{group, matched, owners})
}

// hostCap is how many pods of the class, at most want, the constraints by host allow on a node in the given state.
func (s *solver) hostCap(c *class, h *hostState, want int) int {
	n := want
	for i := range c.topo.host {
		d := &c.topo.host[i]
		have := h.get(d.group.id)
		switch d.group.kind {
		case spreading:
			if d.self {
				n = min(n, d.maxSkew-have.matched)
			} else if have.matched > d.maxSkew {
				return 0
			}
		case repelling:
			if have.matched > 0 {
				return 0
			}
			if d.self {
				n = min(n, 1)
			}
		case attracting:
			if have.matched == 0 && (!d.self || d.group.total > 0) {
				return 0
			}
		}
	}
	for _, g := range c.topo.hostIn {
		switch g.kind {
		case repelling:
			if h.get(g.id).owners > 0 {
				return 0
			}
		case spreading:
			// Bearers of the constraint stay schedulable in any order only if others leave them their place.
			if have := h.get(g.id); have.owners > 0 && !c.owns(g) {
				n = min(n, s.leastSkew(g)-have.matched)
			}
		}
	}
	return max(n, 0)
}

// leastSkew is the smallest maxSkew of the pending classes that bear the spread.
func (s *solver) leastSkew(g *group) int {
	return s.skews[g.id]
}

func (c *class) owns(g *group) bool {
	return slices.ContainsFunc(c.topo.host, func(d demand) bool { return d.group == g }) ||
		slices.ContainsFunc(c.topo.wide, func(d demand) bool { return d.group == g })
}

func (s *solver) hostAdd(c *class, h *hostState, n int) {
	for _, g := range c.topo.hostIn {
		h.add(g.id, n, 0)
	}
	for i := range c.topo.host {
		if g := c.topo.host[i].group; g.kind != attracting {
			h.add(g.id, 0, n)
		}
	}
}

// perHost is how many pods of the class a node takes at most because of constraints by host; 0 when there is no limit.
func (s *solver) perHost(c *class) int {
	least := 0
	for i := range c.topo.host {
		d := &c.topo.host[i]
		most := 0
		switch {
		case d.group.kind == repelling && d.self:
			most = 1
		case d.group.kind == spreading && d.self:
			most = d.maxSkew
		}
		if most > 0 && (least == 0 || most < least) {
			least = most
		}
	}
	if len(c.src.HostPorts) > 0 {
		least = 1
	}
	return least
}

// forcedMachines is how many machines the pods that are left need at least because of the item's constraints by host.
func (s *solver) forcedMachines(it *item) int {
	per := s.perHost(it.class)
	if per == 0 {
		return 1
	}
	forced := (it.left + per - 1) / per
	for i := range it.class.topo.host {
		d := &it.class.topo.host[i]
		if !d.self || d.group.kind == attracting {
			continue
		}
		left := 0
		for _, other := range s.bearers[d.group.id] {
			for _, x := range other.items {
				left += x.left
			}
		}
		most := 1
		if d.group.kind == spreading {
			most = d.maxSkew
		}
		forced = max(forced, (left+most-1)/most)
	}
	return forced
}

// compileTopology finds the groups, what they count already, and how each class stands to them.
func (s *solver) compileTopology() {
	byName := map[string]*group{}
	intern := func(g *group) *group {
		g.name = g.identity()
		if known, ok := byName[g.name]; ok {
			return known
		}
		g.keyID = s.vocab.Key(g.key)
		g.counts, g.owners, g.present = map[string]int{}, map[string]int{}, map[string]bool{}
		byName[g.name] = g
		s.groups = append(s.groups, g)
		return g
	}
	for _, c := range s.classes {
		if c.broken == "" {
			s.demandsOf(c, intern)
		}
	}
	repelled := s.repellingGroups(intern)
	slices.SortFunc(s.groups, func(a, b *group) int { return cmp.Compare(a.name, b.name) })
	s.skews = make([]int, len(s.groups))
	s.bearers = make([][]*class, len(s.groups))
	for i, g := range s.groups {
		g.id = i
	}
	s.relateClasses()
	s.countRunning(repelled)
	for _, g := range s.groups {
		if g.kind == spreading && !g.byHost {
			s.findReachable(g)
		}
	}
	s.restrictClasses()
}

// identity is equal for groups that would count the same.
func (g *group) identity() string {
	var b strings.Builder
	sel, _ := json.Marshal(g.selector)
	fmt.Fprintf(&b, "%s|%d|%s|%s", g.key, g.kind, strings.Join(g.namespaces, ","), sel)
	if g.kind == spreading && !g.byHost {
		var terms []string
		for _, r := range g.filter {
			terms = append(terms, r.String())
		}
		fmt.Fprintf(&b, "|%s", strings.Join(terms, " or "))
		if g.honorTaints {
			tol, _ := json.Marshal(g.tolerations)
			fmt.Fprintf(&b, "|%s", tol)
		}
	}
	return b.String()
}

func (s *solver) demandsOf(c *class, intern func(*group) *group) {
	put := func(d demand) {
		d.group.pending += len(c.pods)
		d.self = d.group.selects(c.src)
		if d.group.byHost {
			c.topo.host = append(c.topo.host, d)
		} else {
			c.topo.wide = append(c.topo.wide, d)
		}
	}
	for _, sp := range c.src.Spreads {
		if sp.Soft || sp.MaxSkew <= 0 {
			continue
		}
		g := &group{kind: spreading, key: requirement.Normalize(sp.Key), namespaces: []string{c.src.Namespace}, selector: sp.Selector}
		g.byHost = g.key == requirement.Hostname
		g.filter = c.strict
		if sp.IgnoreAffinity {
			g.filter = []requirement.Requirements{{}}
		}
		if sp.HonorTaints {
			g.honorTaints, g.tolerations = true, c.src.Tolerations
		}
		put(demand{group: intern(g), maxSkew: sp.MaxSkew, minDomains: sp.MinDomains})
	}
	for kind, terms := range map[groupKind][]cluster.PodAffinity{attracting: c.src.PodAffinity, repelling: c.src.AntiAffinity} {
		for _, t := range terms {
			if t.Weight == 0 {
				put(demand{group: intern(affinityGroup(kind, c.src, t))})
			}
		}
	}
	byName := func(a, b demand) int { return cmp.Compare(a.group.name, b.group.name) }
	slices.SortFunc(c.topo.host, byName)
	slices.SortFunc(c.topo.wide, byName)
}

func affinityGroup(kind groupKind, c *cluster.Class, t cluster.PodAffinity) *group {
	g := &group{kind: kind, key: requirement.Normalize(t.Key), namespaces: t.Namespaces, selector: t.Selector}
	if len(g.namespaces) == 0 {
		g.namespaces = []string{c.Namespace}
	}
	g.byHost = g.key == requirement.Hostname
	return g
}

func (g *group) selects(c *cluster.Class) bool {
	return slices.Contains(g.namespaces, c.Namespace) && g.selector.Matches(c.Labels)
}

// repellingGroups finds the anti-affinity of running pods that concerns pending ones, by class of the running pod.
func (s *solver) repellingGroups(intern func(*group) *group) map[*cluster.Class][]*group {
	out := map[*cluster.Class][]*group{}
	for _, n := range s.nodes {
		for _, pod := range n.src.Pods {
			c := pod.Class
			if c == nil || len(c.AntiAffinity) == 0 || pod.Terminating {
				continue
			}
			if _, ok := out[c]; ok {
				continue
			}
			out[c] = []*group{}
			for _, t := range c.AntiAffinity {
				g := affinityGroup(repelling, c, t)
				if t.Weight == 0 && slices.ContainsFunc(s.classes, func(p *class) bool { return g.selects(p.src) }) {
					out[c] = append(out[c], intern(g))
				}
			}
		}
	}
	return out
}

func (s *solver) relateClasses() {
	for _, c := range s.classes {
		for _, g := range s.groups {
			owned := c.owns(g)
			if owned {
				s.bearers[g.id] = append(s.bearers[g.id], c)
			}
			if !g.selects(c.src) {
				continue
			}
			c.topo.matched = append(c.topo.matched, g)
			if g.byHost {
				c.topo.hostIn = append(c.topo.hostIn, g)
			} else {
				c.topo.wideIn = append(c.topo.wideIn, g)
			}
			if g.kind == repelling && !owned {
				c.topo.repels = append(c.topo.repels, g)
			}
		}
		for _, d := range c.topo.host {
			if least := &s.skews[d.group.id]; d.group.kind == spreading && (*least == 0 || d.maxSkew < *least) {
				*least = d.maxSkew
			}
		}
	}
}

// countRunning counts the pods that run already. Pods that are to be placed anew don't count, nor do those that are on
// their way out.
func (s *solver) countRunning(repelled map[*cluster.Class][]*group) {
	if len(s.groups) == 0 {
		return
	}
	pending := map[cluster.PodRef]bool{}
	for _, c := range s.classes {
		for _, pod := range c.pods {
			pending[pod.PodRef] = true
		}
	}
	selected := map[*cluster.Class][]*group{}
	passes := map[[2]int]bool{}
	for _, g := range s.groups {
		for _, n := range s.nodes {
			if g.byHost {
				continue
			}
			if d, ok := n.domain(g.keyID); ok && g.counting(s, n) {
				g.present[d] = true
				passes[[2]int{g.id, n.id}] = true
			}
		}
	}
	for _, n := range s.nodes {
		for _, pod := range n.src.Pods {
			c := pod.Class
			if c == nil || pod.Terminating || pending[pod.PodRef] {
				continue
			}
			groups, known := selected[c]
			if !known {
				for _, g := range s.groups {
					if g.selects(c) {
						groups = append(groups, g)
					}
				}
				selected[c] = groups
			}
			for _, g := range groups {
				if g.byHost {
					n.host.add(g.id, 1, 0)
					g.total++
				} else if passes[[2]int{g.id, n.id}] {
					d, _ := n.domain(g.keyID)
					g.counts[d]++
					g.total++
				}
			}
			for _, g := range repelled[c] {
				if g.byHost {
					n.host.add(g.id, 0, 1)
				} else if d, ok := n.domain(g.keyID); ok {
					g.owners[d]++
				}
			}
		}
	}
}

// counting reports whether a spread looks at the node; other kinds look at all.
func (g *group) counting(s *solver, n *node) bool {
	if g.kind != spreading {
		return true
	}
	if g.honorTaints && judgeTaints(n.src.Taints, g.tolerations) == barred {
		return false
	}
	return slices.ContainsFunc(g.filter, func(r requirement.Requirements) bool { return n.mayBecome(s, r) })
}

// domain is the value of a key that is certain for the node.
func (n *node) domain(k requirement.Key) (string, bool) {
	set, ok := n.labels.Get(k)
	if !ok {
		return "", false
	}
	return set.Single()
}

// findReachable finds the domains in which nodes that the spread looks at could be bought.
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
	}
	g.reachable = sortedKeys(found)
}

// domainsOf adds the domains of a key in which machines of the shape can be bought.
func (s *solver) domainsOf(sh *shape, k requirement.Key, found map[string]bool) {
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

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// domains are those over which a spread is even: where nodes are that it looks at, and where they could be bought.
func (g *group) domains() []string {
	out := slices.Clone(g.reachable)
	for d := range g.present {
		out = append(out, d)
	}
	slices.Sort(out)
	return slices.Compact(out)
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

// countOnNode records k pods of the class on an existing node for the groups that are not by host.
func (s *solver) countOnNode(c *class, n *node, k int) {
	for _, g := range c.topo.hostIn {
		g.total += k
	}
	for _, g := range c.topo.wideIn {
		if g == c.topo.share {
			continue
		}
		if d, ok := n.domain(g.keyID); ok && g.counting(s, n) {
			g.counts[d] += k
			g.total += k
		}
	}
	for _, d := range c.topo.wide {
		if v, ok := n.domain(d.group.keyID); ok && d.group.kind == repelling {
			d.group.owners[v] += k
		}
	}
}

// countOnMachine is countOnNode for a machine that is bought. A machine whose domain matters is pinned to the one where it
// is cheapest.
func (s *solver) countOnMachine(c *class, m *machine, k int) {
	for _, g := range c.topo.hostIn {
		g.total += k
	}
	for _, g := range c.topo.wideIn {
		if g == c.topo.share {
			continue
		}
		if d, ok := s.pinMachine(m, g.keyID); ok && g.countingMachine(s, m) {
			g.counts[d] += k
			g.total += k
		}
	}
	for _, d := range c.topo.wide {
		if v, ok := s.pinMachine(m, d.group.keyID); ok && d.group.kind == repelling {
			d.group.owners[v] += k
		}
	}
}

func (g *group) countingMachine(s *solver, m *machine) bool {
	if g.kind != spreading {
		return true
	}
	if g.honorTaints && judgeTaints(m.pool.src.Taints, g.tolerations) == barred {
		return false
	}
	return slices.ContainsFunc(g.filter, func(r requirement.Requirements) bool {
		return m.shape.reqs.Compatible(r, s.isWellKnown)
	})
}

// pinMachine settles the machine on one value of the key, the one of its cheapest offering, and returns it.
func (s *solver) pinMachine(m *machine, k requirement.Key) (string, bool) {
	if set, ok := m.shape.reqs.Get(k); ok {
		if v, single := set.Single(); single {
			return v, true
		}
	}
	value, ok := s.cheapestValue(m, m.best, k)
	if !ok {
		return "", false
	}
	next := s.and(m.shape, s.reqID(s.vocab.Only(s.vocab.Name(k), value)))
	if next == nil {
		return "", false
	}
	m.shape = next
	m.types.And(next.types)
	return value, true
}

// cheapestValue is the value of the key that type t has where it is cheapest.
func (s *solver) cheapestValue(m *machine, t int, k requirement.Key) (string, bool) {
	value, found, price := "", false, m.shape.price[t]
	for _, at := range m.shape.cells {
		cell := &m.pool.cat.Cells[at]
		if v, ok := cell.Label(k); ok && !found && cell.Price[t] == price {
			value, found = v, true
		}
	}
	if found {
		return value, true
	}
	one := m.types.Clone()
	clear(one)
	one.Add(t)
	if values := m.pool.cat.Values(one, k); len(values) > 0 {
		return values[0], true
	}
	if set, ok := m.shape.reqs.Get(k); ok && !set.Complement() && set.Len() > 0 {
		return set.Values()[0], true
	}
	return "", false
}
