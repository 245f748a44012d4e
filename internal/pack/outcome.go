package pack

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kerf-sh/kerf/internal/catalog"
	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/plan"
	"github.com/kerf-sh/kerf/internal/requirement"
	"github.com/kerf-sh/kerf/internal/res"
)

// defaultMaxTypes is how many instance types a NodeClaim lists at most.
//
// Source: core-behaviours of the Karpenter v1 API, MaxInstanceTypes.
const defaultMaxTypes = 600

// plan writes the outcome down.
func (s *solver) plan() *plan.Plan {
	out := &plan.Plan{Generation: s.p.Generation}
	for _, n := range s.nodes {
		if len(n.placed) > 0 {
			out.Placements = append(out.Placements, plan.Placement{Node: n.src.Name, Pods: takePods(n.placed)})
		}
	}
	slices.SortFunc(out.Placements, func(a, b plan.Placement) int { return cmp.Compare(a.Node, b.Node) })
	for _, m := range s.bought {
		nn := s.newNodeOf(m)
		out.NewNodes = append(out.NewNodes, nn)
		out.Price += nn.Price
	}
	for _, c := range s.classes {
		if c.left() == 0 {
			continue
		}
		u := plan.Unplaced{ClassID: c.src.ID}
		for _, pod := range c.pods[c.placed:] {
			u.Pods = append(u.Pods, pod.PodRef)
		}
		u.Reasons = s.reasons(c)
		sortRefs(u.Pods)
		out.Unplaced = append(out.Unplaced, u)
	}
	out.Stats = s.stats
	return out
}

// takePods names the next pods of each part's class, oldest first.
func takePods(parts []part) []cluster.PodRef {
	var refs []cluster.PodRef
	for _, q := range parts {
		c := q.item.class
		for _, pod := range c.pods[c.placed : c.placed+q.n] {
			refs = append(refs, pod.PodRef)
		}
		c.placed += q.n
	}
	sortRefs(refs)
	return refs
}

func sortRefs(refs []cluster.PodRef) {
	slices.SortFunc(refs, func(a, b cluster.PodRef) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
}

func (s *solver) newNodeOf(m *machine) plan.NewNode {
	p := m.pool
	nn := plan.NewNode{Pool: p.src.Name, Pods: takePods(m.parts)}
	limit := s.p.Options.MaxTypes
	if limit <= 0 {
		limit = defaultMaxTypes
	}
	for _, t := range s.listTypes(m, limit) {
		nn.Types = append(nn.Types, m.choice(t))
	}
	nn.Price = nn.Types[0].Price
	nn.Requirements = s.nodeRequirements(m)
	nn.Requests = s.requestsOf(m)
	nn.Why = s.why(m, nn)
	return nn
}

// listTypes orders the types by price, then name, and cuts the list without breaking minValues where that can be helped.
func (s *solver) listTypes(m *machine, limit int) []int {
	var all []int
	for _, t := range m.shape.order {
		if m.types.Has(t) {
			all = append(all, t)
		}
	}
	if len(all) <= limit {
		return all
	}
	return all[:limit]
}

// choice is the type in its cheapest cell; ties go to the first zone, on-demand before spot.
func (m *machine) choice(t int) plan.TypeChoice {
	best := plan.TypeChoice{Name: m.pool.cat.Types[t].Name, Price: catalog.NoPrice}
	for _, at := range m.shape.cells {
		cell := &m.pool.cat.Cells[at]
		if cell.Price[t] < best.Price {
			best.Price, best.Zone, best.CapacityType = cell.Price[t], cell.Zone, cell.CapacityType
		}
	}
	return best
}

// nodeRequirements are the machine's requirements without those on instance types, which the list of types replaces.
func (s *solver) nodeRequirements(m *machine) []requirement.Term {
	terms := m.shape.reqs.Terms()
	return slices.DeleteFunc(terms, func(t requirement.Term) bool {
		return t.Key == requirement.InstanceType && t.MinValues == 0
	})
}

// requestsOf is what the pods and the least burdened of the types' daemons ask for.
func (s *solver) requestsOf(m *machine) res.List {
	var least res.Vector
	for i := range m.pool.burdens {
		b := &m.pool.burdens[i]
		some := b.types.Clone()
		some.And(m.types)
		if !some.Any() {
			continue
		}
		if least == nil {
			least = b.req.Clone()
			continue
		}
		for r, x := range b.req {
			least[r] = min(least[r], x)
		}
	}
	total := m.used.Clone()
	total.Add(least, 1)
	return s.schema.List(total)
}

// why says in one sentence what decided the shape.
func (s *solver) why(m *machine, nn plan.NewNode) string {
	text := fmt.Sprintf("%s is the cheapest of %d types that carry its %d pods", nn.Types[0].Name, len(nn.Types), len(nn.Pods))
	if len(nn.Types) == 1 {
		text = fmt.Sprintf("%s is the only type that carries its %d pods", nn.Types[0].Name, len(nn.Pods))
	}
	if m.runnerUp != "" && m.runnerUp != nn.Types[0].Name {
		text += fmt.Sprintf("; filling %s instead would cost more per pod", m.runnerUp)
	}
	return text
}
