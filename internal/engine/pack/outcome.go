package pack

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strconv"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// defaultMaxTypes is how many instance types a NodeClaim lists at most.
//
// Source: core-behaviours of the Karpenter v1 API, MaxInstanceTypes.
const defaultMaxTypes = 600

// plan writes the outcome down.
func (s *solver) plan() *plan.Plan {
	out := &plan.Plan{Generation: s.p.Generation, Currency: s.p.Options.Currency}
	for _, n := range s.nodes {
		if len(n.placed) > 0 {
			out.Placements = append(out.Placements, plan.Placement{Node: n.src.Name, Pods: takePods(n.placed)})
		}
	}
	slices.SortFunc(out.Placements, func(a, b plan.Placement) int { return cmp.Compare(a.Node, b.Node) })
	for _, m := range s.newNodes {
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
	out.Declined = s.choice.declined()
	out.Stats = s.stats
	return out
}

// takePods names the next pods of each part's class, oldest first.
func takePods(parts []part) []cluster.PodRef {
	n := 0
	for _, q := range parts {
		n += q.n
	}
	refs := make([]cluster.PodRef, 0, n)
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

func (s *solver) newNodeOf(m *newNode) plan.NewNode { return s.newNodeWith(m, takePods(m.parts)) }

// newNodeWith is the new node as a node to launch, for the given pods.
func (s *solver) newNodeWith(m *newNode, pods []cluster.PodRef) plan.NewNode {
	p := m.pool
	nn := plan.NewNode{Pool: p.src.Name, Pods: pods}
	nn.Types = s.listing(m)
	nn.Price = nn.Types[0].Price
	nn.Requirements = s.nodeRequirements(m)
	nn.Requests = s.requestsOf(m)
	nn.Why = s.why(m, nn)
	return nn
}

// listing is the new node's list of types; new nodes of the same shape and types share it.
func (s *solver) listing(m *newNode) []plan.TypeChoice {
	key := make([]byte, 0, 8*len(m.types))
	for _, w := range m.types {
		key = binary.LittleEndian.AppendUint64(key, w)
	}
	at := listingKey{m.shape, string(key)}
	if known, ok := s.listings[at]; ok {
		return known
	}
	var out []plan.TypeChoice
	for _, t := range s.listTypes(m) {
		out = append(out, m.choice(t))
	}
	s.listings[at] = out
	return out
}

// listTypes orders the types by price, then name, and cuts the list. Where the cut would break minValues, types that add
// a value take the place of the last that add none.
func (s *solver) listTypes(m *newNode) []int {
	limit := s.p.Options.MaxTypes
	if limit <= 0 {
		limit = defaultMaxTypes
	}
	var all []int
	for _, t := range m.shape.order {
		if m.types.Has(t) {
			all = append(all, t)
		}
	}
	if len(all) <= limit {
		return all
	}
	if !m.pool.hasMinValues {
		return all[:limit]
	}
	return s.cutKeeping(m, all, limit)
}

// cutKeeping cuts the list at limit and then takes in dearer types, one by one, that bring a demanded value nearer.
func (s *solver) cutKeeping(m *newNode, all []int, limit int) []int {
	in := catalog.NewTypeSet(m.pool.cat.Len())
	for _, t := range all[:limit] {
		in.Add(t)
	}
	missing := func(set catalog.TypeSet) int {
		n := 0
		for k, req := range m.shape.reqs.All {
			if req.MinValues() > 0 {
				n += max(0, req.MinValues()-s.countValues(m.shape, set, k, req))
			}
		}
		return n
	}
	for _, t := range all[limit:] {
		now := missing(in)
		if now == 0 {
			break
		}
		with := in.Clone()
		with.Add(t)
		if missing(with) >= now {
			continue
		}
		for i := limit - 1; i > 0; i-- {
			less := with.Clone()
			less.AndNot(single(len(with), all[i]))
			if in.Has(all[i]) && missing(less) < now {
				in = less
				break
			}
		}
	}
	return slices.DeleteFunc(all, func(t int) bool { return !in.Has(t) })
}

func single(words, t int) catalog.TypeSet {
	s := make(catalog.TypeSet, words)
	s.Add(t)
	return s
}

// choice is the type in its cheapest cell.
func (m *newNode) choice(t int) plan.TypeChoice {
	out := plan.TypeChoice{Name: m.pool.cat.Types[t].Name, Price: catalog.NoPrice}
	if cell := m.cell(t); cell != nil {
		out.Price, out.Zone, out.CapacityType = cell.Price[t], cell.Zone, cell.CapacityType
	}
	return out
}

// cell is the cheapest in which the type can be launched; ties go to the first zone, on-demand before spot. Nil if there is
// none.
func (m *newNode) cell(t int) *catalog.Cell {
	var best *catalog.Cell
	for _, at := range m.shape.cells {
		if cell := &m.pool.cat.Cells[at]; cell.Price[t] < catalog.NoPrice && (best == nil || cell.Price[t] < best.Price[t]) {
			best = cell
		}
	}
	return best
}

// nodeRequirements are the new node's requirements without those on instance types, which the list of types
// replaces, on the name, which only nodes that exist have, and on labels that the pool's new nodes do not get: a demand
// for another value than some would have one made up.
func (s *solver) nodeRequirements(m *newNode) []requirement.Term {
	if known, ok := s.terms[m.shape]; ok && !m.pool.hasMinValues {
		return known
	}
	terms := slices.DeleteFunc(m.shape.reqs.Terms(), func(t requirement.Term) bool {
		return t.Key == requirement.InstanceType && t.MinValues == 0 || t.Key == requirement.NodeName ||
			t.Operator == requirement.NotIn && !s.hasLabel(m.pool, t.Key)
	})
	if s.p.Options.MinValuesBestEffort {
		s.relaxMinValues(m, terms)
	}
	s.terms[m.shape] = terms
	return terms
}

// hasLabel reports whether new nodes of the pool have the label, whatever its value.
func (s *solver) hasLabel(p *pool, key string) bool {
	k := s.vocab.Key(key)
	_, ok := p.reqs.Get(k)
	return ok || s.isWellKnown(k) || len(p.cat.Values(p.cat.All(), k)) > 0
}

// relaxMinValues lowers demands on the number of values to what the listed types leave.
func (s *solver) relaxMinValues(m *newNode, terms []requirement.Term) {
	for i := range terms {
		if terms[i].MinValues == 0 {
			continue
		}
		k := s.vocab.Key(terms[i].Key)
		set, _ := m.shape.reqs.Get(k)
		terms[i].MinValues = min(terms[i].MinValues, s.countValues(m.shape, m.types, k, set))
	}
}

// requestsOf is what the pods and the least burdened of the types' daemons ask for.
func (s *solver) requestsOf(m *newNode) res.List {
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
	out := s.schema.List(total)
	maps.DeleteFunc(out, func(name string, _ int64) bool { // no resource to the API
		_, volumes := catalog.AttachDriver(name)
		return volumes
	})
	return out
}

// why says in one sentence what decided the shape.
func (s *solver) why(m *newNode, nn plan.NewNode) string {
	carriers := max(m.carriers, len(nn.Types))
	text := nn.Types[0].Name + " is the cheapest of " + strconv.Itoa(carriers) + " types that carry its "
	if carriers == 1 {
		text = nn.Types[0].Name + " is the only type that carries its "
	}
	text += plan.Count(len(nn.Pods), "pod")
	if m.runnerUp != "" && m.runnerUp != nn.Types[0].Name {
		text += "; filling " + m.runnerUp + " instead would cost more per pod"
	}
	return text
}
