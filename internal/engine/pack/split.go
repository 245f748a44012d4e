package pack

import (
	"cmp"
	"math"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// restrictClasses turns what running pods forbid for good into plain requirements, and finds the classes that must be
// placed pod by pod.
func (s *solver) restrictClasses() {
	for _, c := range s.classes {
		if c.broken != "" {
			continue
		}
		for _, g := range c.topo.repels {
			if g.byHost {
				continue
			}
			if g.pending > 0 {
				c.sequential = true
			}
			if len(g.owners) > 0 && s.moving == nil {
				without := s.vocab.Without(g.key, sortedKeys(g.owners)...)
				c.alts = slices.Clone(c.alts) // spreads decide by them, as they were, which nodes they look at
				for i := range c.alts {
					c.alts[i] = c.alts[i].And(without)
				}
				c.altIDs = nil
			}
		}
		switch {
		case c.shared != nil:
			c.sequential = true // what a pod adds depends on where its like are
		case len(c.topo.wide) > 1, len(c.topo.wide) == 1 && !c.topo.wide[0].self:
			c.sequential = true
		case len(c.topo.wide) == 1 && c.topo.wide[0].group.kind == repelling:
			c.sequential = true
		}
		for i := range c.topo.host {
			d := &c.topo.host[i]
			if d.group.kind == attracting || s.findFloor(d) {
				c.sequential = true
			}
		}
		for _, d := range slices.Concat(c.topo.host, c.topo.wide) {
			c.late = c.late || d.group.kind == attracting && s.followedByOthers(d.group)
		}
	}
}

// splitClass makes items of a class: one as a rule, one for each domain where the pods have to be dealt out.
func (s *solver) splitClass(c *class) {
	if len(c.topo.foreign) > 0 {
		if !s.followOthers(c) {
			c.sequential = true
		}
		return
	}
	if len(c.topo.wide) == 1 {
		d := &c.topo.wide[0]
		var ok bool
		if s.unsure[c.src.ID] {
			ok = false
		} else if d.group.kind == spreading {
			ok = s.dealOut(c, d)
		} else {
			ok = s.gather(c, d)
		}
		if !ok {
			c.sequential = true
		}
		return
	}
	s.addItem(c, len(c.pods), "", 0)
}

// followOthers deals the class out like the pods that bear the spread by which it is counted, so that theirs can be bound
// in any order. It declines when there are several such spreads, or the class has demands of its own.
func (s *solver) followOthers(c *class) bool {
	if len(c.topo.wide) > 0 || len(c.topo.foreign) > 1 || s.unsure[c.src.ID] {
		return false
	}
	g := c.topo.foreign[0]
	return s.surelyCounted(c, g) && s.dealOut(c, &demand{group: g, self: true, maxSkew: 1})
}

func (s *solver) addItem(c *class, n int, pin string, req int) *podGroup {
	it := s.newItem(c, n, pin, req)
	c.items = append(c.items, it)
	s.podGroups = append(s.podGroups, it)
	return it
}

// dealOut spreads the class over the domains, as far as the skew allows where pools of more weight are first, then where it
// is cheapest, evenly where it costs the same.
// It declines when a new node can't be launched for the class in each of them whatever else happens; then the pods must be
// placed one by one.
func (s *solver) dealOut(c *class, d *demand) bool {
	g := d.group
	domains := g.domains()
	on := make([]terms, len(domains))
	pins := make([]*podGroup, len(domains))
	for i, name := range domains {
		pins[i] = s.newItem(c, 0, name, s.reqID(s.vocab.Only(g.key, name)))
		x, ok := s.surelyLaunchable(pins[i], g.key, share(len(c.pods), len(domains)))
		if !ok {
			return false
		}
		if s.isHinted(g, name) {
			x.worth = -1
		}
		on[i] = x
	}
	if len(domains) == 0 {
		return false
	}
	if d.maxSkew > 1 || len(c.pods)%len(domains) > 0 {
		s.noteChoice(g, preferred(domains, on))
	}
	for range c.pods {
		floor := g.floor(domains, d.minDomains)
		best := -1
		for i, name := range domains {
			if g.counts[name]+1-floor > d.maxSkew {
				continue
			}
			if best < 0 || cmp.Or(on[i].compare(on[best]), cmp.Compare(g.counts[name], g.counts[domains[best]])) < 0 {
				best = i
			}
		}
		if best < 0 {
			// More are there already than the skew allows, and the others are level: the emptiest domain is the best.
			best = 0
			for i, name := range domains {
				if g.counts[name] < g.counts[domains[best]] {
					best = i
				}
			}
			if g.counts[domains[best]]+1-floor > d.maxSkew && c.owns(g) {
				break
			}
		}
		g.counts[domains[best]]++
		g.total++
		pins[best].total++
		pins[best].left++
	}
	for _, it := range pins {
		if it.left > 0 {
			c.items = append(c.items, it)
			s.podGroups = append(s.podGroups, it)
		}
	}
	c.topo.share = g
	return true
}

// preferred are the domains in which new nodes come from a pool of the most weight.
func preferred(domains []string, on []terms) []string {
	most := slices.MinFunc(on, terms.compare).weight
	var out []string
	for i, d := range domains {
		if on[i].weight == most {
			out = append(out, d)
		}
	}
	return out
}

// surelyLaunchable reports whether an instance for the item, which is bound to a domain of the key, can be launched from a pool
// whose limits can't run out, and on what terms if so many of its pods come there. Where none can be launched at all, no
// weight is greater: what is there already is all that there will be.
func (s *solver) surelyLaunchable(it *podGroup, key string, pods int) (terms, bool) {
	for _, p := range s.pools {
		v := s.view(it, p)
		if v.shape != nil && v.verdict == bears {
			return terms{p.src.Weight, s.worthIn(it, p, v, key, pods)}, !p.hasLimits() && s.leavesChoice(it, v.shape)
		}
	}
	return terms{weight: math.MaxInt}, false
}

// worthIn is what a pod costs in the domain of a key, in nano-USD per hour. A zone has instances of all sizes, and others share them: a pod costs its
// part of the one that is filled best. A domain that an instance type decides, such as the type itself, may have large ones
// only, which a few pods do not fill: they cost what the cheapest that holds them costs.
func (s *solver) worthIn(it *podGroup, p *pool, v *podGroupOnPool, key string, pods int) int64 {
	if catalog.IsCellKey(key) {
		return v.worth
	}
	for n := max(pods, 1); n > 0; n /= 2 { // fewer at a time where no instance holds them all
		if price := s.alone(it, p, n); price < catalog.NoPrice {
			return 1000 * int64(price) / int64(n)
		}
	}
	return v.worth
}

// share is how many of n pods come to each of so many domains, rounded up.
func share(n, domains int) int { return (n + domains - 1) / max(domains, 1) }

// gather puts a class that wants to be with its like into one domain: where its like are, or the best in which all classes
// of the group can be launched.
func (s *solver) gather(c *class, d *demand) bool {
	g := d.group
	if g.home == "" {
		if g.total > 0 {
			return false // pods are there already; follow them one by one
		}
		if s.followedByOthers(g) {
			return false
		}
		home, ok := s.findHome(g)
		if !ok {
			return false
		}
		g.home = home
	}
	it := s.newItem(c, len(c.pods), g.home, s.reqID(s.vocab.Only(g.key, g.home)))
	if _, ok := s.surelyLaunchable(it, g.key, len(c.pods)); !ok {
		return false
	}
	c.items = append(c.items, it)
	s.podGroups = append(s.podGroups, it)
	c.topo.share = g
	g.counts[g.home] += len(c.pods)
	g.total += len(c.pods)
	return true
}

// followedByOthers reports whether pods count for the group that do not have to be with its like: where they come first,
// the rest must follow.
func (s *solver) followedByOthers(g *group) bool { return g.followed }

// findHome chooses the domain in which a group gathers; false if its classes can't all be launched in any.
func (s *solver) findHome(g *group) (string, bool) {
	var names []string
	var on []terms
	for _, name := range s.reachableBy(s.bearers[g.id][0], g.keyID) {
		pin := s.reqID(s.vocab.Only(g.key, name))
		sum, ok := terms{weight: math.MaxInt}, true
		for _, c := range s.bearers[g.id] {
			x, buyable := s.surelyLaunchable(s.newItem(c, 0, name, pin), g.key, len(c.pods))
			if !buyable || len(c.topo.wide) != 1 || !c.topo.wide[0].self {
				ok = false
				break
			}
			sum.weight = min(sum.weight, x.weight)
			sum.worth += x.worth * int64(len(c.pods))
		}
		if s.isHinted(g, name) {
			sum.worth = -1
		}
		if ok {
			names, on = append(names, name), append(on, sum)
		}
	}
	if len(names) == 0 {
		return "", false
	}
	s.noteChoice(g, preferred(names, on))
	best := 0 // the first by name of several
	for i := range on {
		if on[i].compare(on[best]) < 0 {
			best = i
		}
	}
	return names[best], true
}

// reachableBy lists the domains of a key in which new nodes for the class can be launched.
func (s *solver) reachableBy(c *class, k requirement.Key) []string {
	found := map[string]bool{}
	for _, p := range s.pools {
		if p.broken != "" || judgeTaints(p.src.Taints, c.src.Tolerations) == barred {
			continue
		}
		for _, alt := range c.alts {
			if sh := s.and(p.base, s.reqID(alt)); sh != nil {
				s.domainsOf(sh, k, found)
			}
		}
		s.reservedDomains(p, c.alts, k, found)
	}
	return sortedKeys(found)
}

// mostLed is up to how many pending pods a problem is solved several times. In large ones domains fill whole new nodes, and
// little is lost.
const mostHinted = 128

// isHinted reports whether pods of the group are led to the domain.
func (s *solver) isHinted(g *group, domain string) bool {
	to, ok := s.hint[g.name]
	if !ok {
		to = s.hint[""]
	}
	return to == domain && to != ""
}

// noteChoice remembers that pods of the group could go to any of the domains.
func (s *solver) noteChoice(g *group, domains []string) {
	if len(domains) < 2 || len(s.hinted) == 64 || slices.ContainsFunc(s.hinted, func(l hintedGroup) bool { return l.group.name == g.name }) {
		return
	}
	s.hinted = append(s.hinted, hintedGroup{g, slices.Clone(domains)})
}
