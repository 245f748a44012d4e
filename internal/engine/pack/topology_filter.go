package pack

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// Which nodes a spread looks at: those that its bearers' node selector and required node affinity allow, unless it
// ignores them; those whose taints they tolerate, if it honours taints; and only those that have the labels of all of
// their spreads.
//
// Source: kube-scheduler's pod topology spread plug-in, v1.36.

// filterOf is the filter of one spread of the class.
func (s *solver) filterOf(c *class, sp cluster.Spread) []requirement.Requirements {
	filter := c.strict
	if sp.IgnoreAffinity {
		filter = []requirement.Requirements{{}}
	}
	var others []requirement.Term
	for i, o := range c.src.Spreads {
		key := requirement.Normalize(o.Key)
		if o.MaxSkew > 0 && (!o.Soft || sp.Soft && c.honoursSpread(i)) && key != requirement.Hostname && key != requirement.Normalize(sp.Key) {
			others = append(others, requirement.Term{Key: key, Operator: requirement.Exists})
		}
	}
	if len(others) == 0 {
		return filter
	}
	have, err := s.vocab.Parse(others)
	if err != nil {
		return filter
	}
	out := make([]requirement.Requirements, len(filter))
	for i, r := range filter {
		out[i] = r.And(have)
	}
	return out
}

// countingNewNode reports whether the spread looks at the new node; other kinds look at all. Where the choice that is
// left to the launch would decide it, the choice is narrowed so that the answer is certain.
func (g *group) countingNewNode(s *solver, m *newNode) bool {
	counts, sure := g.looksAt(s, m.pool, m.shape, m.types)
	if sure {
		return counts
	}
	excluded := m.types.Clone()
	for _, r := range g.filter {
		next := s.and(m.shape, s.reqID(r))
		if next == nil {
			continue
		}
		if next.types.Has(m.best) && next.price[m.best] == m.price {
			s.narrow(m, next)
			return true
		}
		excluded.AndNot(next.types)
	}
	if excluded.Has(m.best) {
		if next := s.and(m.shape, s.reqID(s.vocab.Only(requirement.InstanceType, m.pool.names(excluded)...))); next != nil {
			s.narrow(m, next)
			return false
		}
	}
	for _, r := range g.filter {
		if next := s.and(m.shape, s.reqID(r)); next != nil && next.types.Has(m.best) {
			s.narrow(m, next)
			m.price = next.price[m.best]
			return true
		}
	}
	return counts
}

// narrow leaves fewer ways to launch the new node; the type that it is planned as is among them.
func (s *solver) narrow(m *newNode, next *shape) {
	if s.leavesTooFew(m, next) {
		return
	}
	m.shape = next
	m.types.And(next.types)
}

func (p *pool) names(types catalog.TypeSet) []string {
	var out []string
	for t := range types.Each {
		out = append(out, p.cat.Types[t].Name)
	}
	return out
}

// looksAt reports whether the spread counts a new node of the shape that may become any of the types, and whether that is
// certain whichever it becomes.
func (g *group) looksAt(s *solver, p *pool, sh *shape, types catalog.TypeSet) (counts, sure bool) {
	if g.kind != spreading {
		return true, true
	}
	if g.honorTaints && judgeTaints(p.src.Taints, g.tolerations) == barred {
		return false, true
	}
	for _, r := range g.filter {
		next := s.and(sh, s.reqID(r))
		if next == nil {
			continue
		}
		some := types.Clone()
		some.And(next.types)
		if !some.Any() {
			continue
		}
		counts = true
		if next == sh || slices.Equal(some, types) && len(next.cells) == len(sh.cells) && s.impliedByShape(sh, r, types) {
			return true, true
		}
	}
	return counts, !counts
}

// surelyCounted reports whether the spread counts every node and new node that a pod of the class may go to.
func (s *solver) surelyCounted(c *class, g *group) bool {
	it := s.newItem(c, 0, "", 0)
	for _, p := range s.pools {
		if v := s.view(it, p); v.shape != nil {
			if counts, sure := g.looksAt(s, p, v.shape, v.shape.types); !counts || !sure {
				return false
			}
		}
	}
	return !slices.ContainsFunc(s.nodes, func(n *node) bool { return s.fitsKind(it, n) != barred && !g.counting(s, n) })
}

// impliedByShape reports whether labels that neither the type nor the way of launching decides are sure to meet r.
func (s *solver) impliedByShape(sh *shape, r requirement.Requirements, types catalog.TypeSet) bool {
	for k, want := range r.All {
		have, ok := sh.reqs.Get(k)
		if !ok || have.SubsetOf(want) || s.isCellKey(k) || len(sh.pool.cat.Values(types, k)) > 0 {
			continue
		}
		return false
	}
	return true
}

func (s *solver) isCellKey(k requirement.Key) bool { return catalog.IsCellKey(s.vocab.Name(k)) }
