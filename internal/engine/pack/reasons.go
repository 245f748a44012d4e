package pack

import (
	"slices"
	"strconv"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// reasons says of an unplaced class why the existing nodes and each pool can't take it.
func (s *solver) reasons(c *class) []plan.Reason {
	if c.broken != "" {
		return []plan.Reason{{Code: plan.Unplaceable, Detail: c.broken}}
	}
	c = c.demanding()
	if r, ok := s.contradiction(c); ok {
		return []plan.Reason{r}
	}
	var out []plan.Reason
	for _, p := range s.pools {
		if p.room != nil {
			continue
		}
		if p.whole != nil {
			p = p.whole
		}
		r := s.poolReason(c, p)
		r.Pool = p.src.Name
		out = append(out, r)
	}
	if len(s.pools) == 0 {
		out = append(out, plan.Reason{Code: plan.NoPools})
	}
	if len(s.nodes) > 0 {
		out = append(out, s.nodesReason(c))
	}
	return out
}

// contradiction finds a key on which the class asks for two things that exclude each other in all its alternatives.
func (s *solver) contradiction(c *class) (plan.Reason, bool) {
	var first requirement.Key
	for i, alt := range c.alts {
		k, empty := alt.FirstEmpty()
		if !empty {
			return plan.Reason{}, false
		}
		if i == 0 {
			first = k
		}
	}
	if len(c.alts) == 0 {
		return plan.Reason{}, false
	}
	return plan.Reason{Code: plan.Contradiction, Key: s.vocab.Name(first), Detail: s.termsText(c, s.vocab.Name(first))}, true
}

// termsText lists all that the class asks of a key.
func (s *solver) termsText(c *class, key string) string {
	text := ""
	add := func(terms []requirement.Term) {
		for _, t := range terms {
			if requirement.Normalize(t.Key) == key {
				if text != "" {
					text += " and "
				}
				text += t.String()
			}
		}
	}
	add(c.src.Selector)
	for _, lists := range [][][]requirement.Term{c.src.Affinity, c.src.Volumes} {
		if len(lists) > 0 {
			add(lists[0])
		}
	}
	return text
}

// poolReason is the first constraint that leaves nothing of the pool for the class.
func (s *solver) poolReason(c *class, p *pool) plan.Reason {
	if taint, bad := cluster.Untolerated(p.src.Taints, c.src.Tolerations, cluster.NoSchedule, cluster.NoExecute); bad {
		rest := ":" + string(taint.Effect)
		if taint.Value != "" {
			rest = taint.Value + rest
		}
		return plan.Reason{Code: plan.TaintNotTolerated, Key: taint.Key, Value: rest}
	}
	if p.broken != "" {
		// Of a pool that the pod does not select it is no news that it is not ready.
		if r, bad := s.unselected(c, p); bad {
			return r
		}
		return plan.Reason{Code: plan.PoolNotReady, Detail: p.broken}
	}
	// Of several alternatives the one that got furthest is the most telling.
	var best plan.Reason
	bestStage := -1
	for _, alt := range c.alts {
		if _, empty := alt.FirstEmpty(); empty {
			continue
		}
		if r, stage := s.altReason(c, p, alt); stage > bestStage {
			best, bestStage = r, stage
		}
	}
	if c.boundByVolumes(best.Key) && best.Want != "" {
		// Another value would not do, however near it is in spelling.
		best.Want, best.Nearest = best.Want+", which a volume of the pod or its storage class asks for", ""
	}
	return best
}

// boundByVolumes reports whether the class's volumes alone ask for something of the key.
func (c *class) boundByVolumes(key string) bool {
	asks := func(terms []requirement.Term) bool {
		return slices.ContainsFunc(terms, func(t requirement.Term) bool { return requirement.Normalize(t.Key) == key })
	}
	return slices.ContainsFunc(c.src.Volumes, asks) && !asks(c.src.Selector) && !slices.ContainsFunc(c.src.Affinity, asks)
}

// unselected says what the class asks of nodes that those of the pool never have.
func (s *solver) unselected(c *class, p *pool) (r plan.Reason, bad bool) {
	if p.fault != "" {
		return plan.Reason{}, false // its requirements are not known
	}
	for _, alt := range c.alts {
		if _, empty := alt.FirstEmpty(); empty {
			continue
		}
		k, conflict := p.reqs.Conflict(alt, s.isWellKnown)
		if !conflict {
			return plan.Reason{}, false
		}
		if !bad {
			r, bad = s.labelReason(p, alt, k), true
		}
	}
	return r, bad
}

// altReason walks through the constraints in their order and stops at the first that leaves nothing; the stage tells how
// far it came.
func (s *solver) altReason(c *class, p *pool, alt requirement.Requirements) (plan.Reason, int) {
	if k, bad := p.reqs.Conflict(alt, s.isWellKnown); bad {
		return s.labelReason(p, alt, k), 0
	}
	both := p.reqs.And(alt)
	types := p.cat.All().Clone()
	if r, bad := s.typesReason(p, both, types); bad {
		return r, 1
	}
	matching := types.Count()
	exist, buyable, endless := catalog.NewTypeSet(p.cat.Len()), catalog.NewTypeSet(p.cat.Len()), catalog.NewTypeSet(p.cat.Len())
	for _, at := range p.cat.CellsMatching(both) {
		exist.Or(p.cat.Cells[at].Exists)
		buyable.Or(p.cat.Cells[at].Available)
		if p.cat.Cells[at].CapacityType != catalog.Reserved {
			endless.Or(p.cat.Cells[at].Available)
		}
	}
	offered := types.Clone()
	offered.And(exist)
	if !offered.Any() {
		return s.cellReason(p, both, types), 2
	}
	fitting := offered.Clone()
	if r, bad := s.sizeReason(c, p, fitting); bad {
		return r, 3
	}
	fitting.And(buyable)
	if !fitting.Any() {
		offered.AndNot(buyable)
		why, refused := s.whyUnavailable(p, both, offered)
		return plan.Reason{Code: plan.NoOffering, Types: offered.Count(), Detail: why, Refused: refused}, 4
	}
	reserved := fitting.Count()
	fitting.And(endless)
	if !fitting.Any() {
		return plan.Reason{Code: plan.NoOffering, Types: reserved, Detail: "all that is reserved is in use"}, 4
	}
	if r, bad := s.addressReason(p, both, fitting); bad {
		return r, 5
	}
	if r, bad := s.limitReason(p, fitting); bad {
		return r, 5
	}
	if r, bad := s.minValuesReason(c, p, both); bad {
		r.Types = matching
		return r, 6
	}
	if r, bad := s.domainLimitReason(c, p, fitting); bad {
		return r, 7
	}
	return s.topologyReason(c), 7
}

// domainLimitReason says which limit leaves nothing in the domains that topology leaves the class, where it leaves some: what fits there
// may be larger than elsewhere.
func (s *solver) domainLimitReason(c *class, p *pool, fitting catalog.TypeSet) (plan.Reason, bool) {
	if !c.sequential {
		return plan.Reason{}, false
	}
	there := catalog.NewTypeSet(p.cat.Len())
	for _, it := range s.pins(c) {
		for _, alt := range it.alts {
			there.Or(s.shapeOf(p, p.reqs.And(s.reqs.all[alt])).types)
		}
	}
	if there.And(fitting); !there.Any() {
		return plan.Reason{}, false
	}
	return s.limitReason(p, there)
}

// minValuesReason says for which key too few values would be left to choose from, with a domain settled that the class
// may go to.
func (s *solver) minValuesReason(c *class, p *pool, both requirement.Requirements) (plan.Reason, bool) {
	if !p.hasMinValues {
		return plan.Reason{}, false
	}
	options := []requirement.Requirements{both}
	if c.sequential {
		for _, it := range s.pins(c) {
			for _, alt := range it.alts {
				options = append(options, p.reqs.And(s.reqs.all[alt]))
			}
		}
	}
	need := c.req.Clone()
	need.Add(c.shared, 1)
	for i, reqs := range options {
		sh := s.shapeOf(p, reqs)
		if i > 0 && !sh.types.Any() {
			continue // none of the pool's new nodes is in that domain
		}
		if k, want, have, short := s.minValuesShort(sh, p.carrying(sh, need, c.src.HostPorts)); short {
			return plan.Reason{Code: plan.MinValuesUnmet, Key: s.vocab.Name(k), Want: strconv.Itoa(want), Have: strconv.Itoa(have)}, true
		}
	}
	return plan.Reason{}, false
}

func (s *solver) labelReason(p *pool, alt requirement.Requirements, k requirement.Key) plan.Reason {
	want, _ := alt.Get(k)
	name := s.vocab.Name(k)
	r := plan.Reason{Code: plan.LabelMismatch, Key: name, Want: setText(want)}
	if have, ok := p.reqs.Get(k); ok {
		r.Have = setText(have)
		return r
	}
	r.Code = plan.LabelUnknown
	known := p.cat.Keys()
	for key := range p.reqs.All {
		known = append(known, s.vocab.Name(key))
	}
	known = append(known, s.p.Options.WellKnown...)
	r.Nearest = requirement.Nearest(name, known)
	return r
}

func setText(set requirement.Set) string {
	text := ""
	for i, t := range set.Terms() {
		if i > 0 {
			text += " and "
		}
		text += t.String()
	}
	return text
}

func (s *solver) limitReason(p *pool, types catalog.TypeSet) (plan.Reason, bool) {
	if p.nodesLeft == 0 {
		return plan.Reason{Code: plan.LimitReached, Resource: res.Nodes, Want: "1", Have: "0"}, true
	}
	for _, l := range p.limited {
		least := int64(-1)
		for t := range types.Each {
			if x := p.cat.Capacity[t][l.index]; least < 0 || x < least {
				least = x
			}
		}
		if least > l.left {
			return plan.Reason{Code: plan.LimitReached, Resource: l.resource,
				Want: res.Format(l.resource, least), Have: res.Format(l.resource, max(0, l.left))}, true
		}
	}
	some := types.Clone()
	some.And(p.affordable)
	if !some.Any() {
		l := p.limited[0]
		return plan.Reason{Code: plan.LimitReached, Resource: l.resource, Want: "more than that together with its other limits",
			Have: res.Format(l.resource, max(0, l.left))}, true
	}
	return plan.Reason{}, false
}

// topologyReason blames the constraint that is left when a node could be launched but must not be used.
func (s *solver) topologyReason(c *class) plan.Reason {
	for _, d := range slices.Concat(c.topo.wide, c.topo.host) {
		if d.group.soft {
			continue
		}
		switch d.group.kind {
		case attracting:
			return plan.Reason{Code: plan.AffinityUnmet, Key: d.group.key, Detail: d.group.selector.Words()}
		case repelling:
			return plan.Reason{Code: plan.AntiAffinityUnmet, Key: d.group.key, Detail: d.group.selector.Words()}
		case spreading:
			detail := "maxSkew " + strconv.Itoa(d.maxSkew)
			if d.minDomains > 0 {
				detail += ", minDomains " + strconv.Itoa(d.minDomains)
			}
			return plan.Reason{Code: plan.TopologyUnmet, Key: d.group.key, Detail: detail}
		}
	}
	for _, g := range c.topo.repels {
		return plan.Reason{Code: plan.AntiAffinityUnmet, Key: g.key, Detail: g.selector.Words()}
	}
	return plan.Reason{Code: plan.NoOffering, Detail: "all that could be launched is used up"}
}

// nodesReason is about the existing node that comes closest.
func (s *solver) nodesReason(c *class) plan.Reason {
	it := s.newItem(c, 0, "", 0)
	var roomiest *node
	for _, n := range s.nodes {
		if s.fitsKind(it, n) == barred {
			continue
		}
		if roomiest == nil || s.short(c, n) < s.short(c, roomiest) {
			roomiest = n
		}
	}
	r := plan.Reason{Code: plan.NodesFull}
	if roomiest == nil {
		r.Detail = "labels or taints of all rule the pod out"
		return r
	}
	for i, x := range c.req {
		if x > roomiest.room[i] && x > 0 {
			name := s.schema.Name(i)
			r.Resource, r.Nearest = name, roomiest.src.Name
			r.Want, r.Have = res.Format(name, x), res.Format(name, max(0, roomiest.room[i]))
			return r
		}
	}
	r.Detail = "topology or host ports rule out those with room"
	return r
}

// short is by how much of the request, in millionths, the node's room falls short.
func (s *solver) short(c *class, n *node) int64 {
	worst := int64(0)
	for i, x := range c.req {
		if miss := x - n.room[i]; miss > 0 && x > 0 {
			worst = max(worst, int64(mulDiv(uint64(miss), 1_000_000, uint64(x))))
		}
	}
	return worst
}
