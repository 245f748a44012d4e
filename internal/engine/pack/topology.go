package pack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
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
	id     int
	name   string
	kind   groupKind
	key    string
	keyID  requirement.Key
	byHost bool
	// soft groups come of preferences: their bearers heed them, and nobody else does.
	soft       bool
	namespaces []string
	selector   *cluster.Selector
	// virtual groups are those of virtual pods; the others do not count such pods.
	virtual bool
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
	// passes tells of each kind of nodes whether it does, and has a domain.
	passes []bool
	// reachable holds the domains in which a node that passes the filter could be launched.
	reachable []string
	// listed is present and reachable together, sorted, once it was asked for; nil after a change of either.
	listed  []string
	pending int // pods of pending classes that bear the constraint
	// followed is set when pods count for the group that do not have to be with its like.
	followed bool
	// home is the domain in which an attracting group gathers.
	home  string
	noted noted
}

// demand is one constraint of a class.
type demand struct {
	group      *group
	self       bool // the group selects the class itself
	maxSkew    int
	minDomains int
	// looks is the spread over hosts as the class has it: its group may be that of others that look at other nodes. Floor
	// is what it is measured from, over nodes; see findFloor.
	looks *group
	nodes []*node
	floor int
}

// classTopology is everything about topology that matters to a class.
type classTopology struct {
	host    []demand // hard ones on hostname
	wide    []demand // hard ones on other keys
	matched []*group // groups that select the class
	repels  []*group // repelling groups that select the class and that others bear
	hostIn  []*group // of matched, those by host
	wideIn  []*group // of matched, those by other keys
	// foreign holds hard spreads of other pending classes that count this class, which may go anywhere for its own part.
	foreign []*group
	// share is the group by which the class is dealt out over domains, when that was done for all its pods at once.
	share *group
}

// compileTopology finds the groups, what they count already, and how each class stands to them.
func (s *solver) compileTopology() {
	byName := map[string]*group{}
	intern := func(g *group) *group {
		if g.name == "" {
			g.name = g.identity()
		}
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
	s.findRepelling(intern)
	slices.SortFunc(s.groups, func(a, b *group) int { return cmp.Compare(a.name, b.name) })
	s.bearers = make([][]*class, len(s.groups))
	for i, g := range s.groups {
		g.id = i
	}
	s.relateClasses()
	s.numberKinds()
	s.countRunning()
	for _, g := range s.groups {
		if g.kind == spreading && !g.byHost {
			s.findReachable(g)
		}
	}
}

// identity is equal for groups that would count the same.
func (g *group) identity() string {
	var b strings.Builder
	sel, _ := json.Marshal(g.selector)
	fmt.Fprintf(&b, "%s|%d|%t|%s|%s", g.key, g.kind, g.soft, strings.Join(g.namespaces, ","), sel)
	if g.virtual {
		b.WriteString("|virtual")
	}
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
	for i, sp := range c.src.Spreads {
		if sp.MaxSkew <= 0 || sp.Soft && !c.honours(plan.PreferSpread, i) {
			continue
		}
		g := &group{kind: spreading, key: requirement.Normalize(sp.Key), namespaces: []string{c.src.Namespace}, selector: sp.Selector, virtual: c.src.Virtual}
		g.byHost, g.soft = g.key == requirement.Hostname, sp.Soft
		g.filter = s.filterOf(c, sp)
		if sp.HonorTaints {
			g.honorTaints, g.tolerations = true, c.src.Tolerations
		}
		d := demand{group: intern(g), maxSkew: sp.MaxSkew, minDomains: sp.MinDomains}
		if g.byHost {
			d.looks = g
		}
		put(d)
	}
	together := jointly(c.src)
	for i, t := range c.src.PodAffinity {
		if t.Weight == 0 {
			t.Selector, t.Namespaces = together.Selector, together.Namespaces
		}
		if t.Weight == 0 || c.honours(plan.PreferTogether, i) {
			put(demand{group: intern(affinityGroup(attracting, c.src, t))})
		}
	}
	for i, t := range c.src.AntiAffinity {
		if t.Weight == 0 || c.honours(plan.PreferApart, i) {
			put(demand{group: intern(affinityGroup(repelling, c.src, t))})
		}
	}
	byName := func(a, b demand) int { return cmp.Compare(a.group.name, b.group.name) }
	slices.SortFunc(c.topo.host, byName)
	slices.SortFunc(c.topo.wide, byName)
}

// jointly is what a pod must match for the required pod affinity of the class: all the terms at once. A pod that matches
// only some of them counts for none.
//
// Source: kube-scheduler's inter-pod affinity plug-in, v1.36.
func jointly(c *cluster.Class) cluster.PodAffinity {
	var out cluster.PodAffinity
	first := true
	for _, t := range c.PodAffinity {
		if t.Weight != 0 {
			continue
		}
		namespaces := t.Namespaces
		if len(namespaces) == 0 {
			namespaces = []string{c.Namespace}
		}
		if first {
			out.Selector, out.Namespaces, first = t.Selector, namespaces, false
			continue
		}
		out.Namespaces = slices.DeleteFunc(slices.Clone(out.Namespaces), func(ns string) bool { return !slices.Contains(namespaces, ns) })
		if len(out.Namespaces) == 0 || t.Selector == nil {
			out.Selector = nil // nothing matches
		} else if out.Selector != nil {
			out.Selector = &cluster.Selector{Terms: slices.Concat(out.Selector.Terms, t.Selector.Terms)}
		}
	}
	return out
}

func affinityGroup(kind groupKind, c *cluster.Class, t cluster.PodAffinity) *group {
	g := &group{kind: kind, key: requirement.Normalize(t.Key), namespaces: t.Namespaces, selector: t.Selector, virtual: c.Virtual}
	if len(g.namespaces) == 0 {
		g.namespaces = []string{c.Namespace}
	}
	g.byHost, g.soft = g.key == requirement.Hostname, t.Weight > 0
	return g
}

func (g *group) selects(c *cluster.Class) bool {
	return (g.virtual || !c.Virtual) && slices.Contains(g.namespaces, c.Namespace) && g.selector.Matches(c.Labels)
}

func (s *solver) relateClasses() {
	for _, c := range s.classes {
		for _, d := range slices.Concat(c.topo.host, c.topo.wide) {
			if all := s.bearers[d.group.id]; len(all) == 0 || all[len(all)-1] != c {
				s.bearers[d.group.id] = append(all, c)
			}
		}
	}
	for _, g := range s.groups {
		for i := range s.byLabel.candidates(g.selector) {
			if c := s.classes[i]; g.selects(c.src) {
				c.relate(g, s.moving == nil)
			}
		}
	}
}

// relate notes a group that selects the class. With heed the class has regard to spreads that others bear.
func (c *class) relate(g *group, heed bool) {
	owned := c.owns(g)
	c.topo.matched = append(c.topo.matched, g)
	g.followed = g.followed || !owned && c.broken == ""
	if g.byHost {
		c.topo.hostIn = append(c.topo.hostIn, g)
	} else if owned || !g.soft {
		c.topo.wideIn = append(c.topo.wideIn, g)
	}
	if g.soft || owned {
		return
	}
	switch {
	case g.kind == repelling:
		c.topo.repels = append(c.topo.repels, g)
	case g.kind == spreading && !g.byHost && g.pending > 0 && heed:
		c.topo.foreign = append(c.topo.foreign, g)
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
