package bound

import (
	"cmp"
	"math"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// maxFree is how many existing nodes the search looks at one by one. If there are more, those that serve the same
// classes are taken together, as if their room were in one place.
const maxFree = 48

// addNodes lists the existing nodes that can carry anything.
func (s *search) addNodes() {
	minded := make([]map[*cluster.Class]bool, len(s.limits))
	byRule := map[string]map[*cluster.Class]bool{}
	for i, l := range s.limits {
		if l.most == 0 {
			continue
		}
		if byRule[l.rule] == nil {
			byRule[l.rule] = map[*cluster.Class]bool{}
		}
		minded[i] = byRule[l.rule]
	}
	var free []instance
	for _, n := range s.nodes() {
		if n.Deleting || n.Leaving {
			continue
		}
		if m, ok := s.nodeAsInstance(n, minded, byRule); ok {
			free = append(free, m)
		}
	}
	if len(free) > maxFree {
		free = s.together(free)
	}
	for _, m := range free {
		m.ledger = len(s.ledgers)
		s.ledgers = append(s.ledgers, ledger{name: "nodes", times: 1})
		s.instances = append(s.instances, m)
	}
}

// nodeAsInstance is the node as an instance that costs nothing; false if it carries none of the rows.
func (s *search) nodeAsInstance(n *cluster.Node, minded []map[*cluster.Class]bool, byRule map[string]map[*cluster.Class]bool) (instance, bool) {
	labels, open := s.labelsOf(n)
	m := instance{room: s.scaled(s.roomOf(n, labels, open))}
	choices := make([]uint64, (len(s.choices)+63)/64)
	for ch := range s.choices {
		if s.allowedOn(n, ch, labels, open) {
			choices[ch>>6] |= 1 << (ch & 63)
		}
	}
	m.set = s.setOf(choices)
	m.limits = make([]float64, len(s.shared))
	for i := range s.shared {
		l := s.shared[i].limit
		m.limits[i] = l.limitOnNode(n, s.pending, byRule[l.rule])
	}
	s.fit(&m)
	kept := 0
	for i, at := range m.rows {
		row := &s.rows[at]
		if !math.IsInf(row.perHost, 1) {
			own := 0.0
			for _, c := range row.classes {
				own += s.limits[c].limitOnNode(n, s.pending, minded[c])
			}
			m.fit[i] = min(m.fit[i], own)
		}
		if m.fit[i] > 0 {
			m.rows[kept], m.fit[kept], m.capped[kept] = at, m.fit[i], min(m.fit[i], row.count)
			kept++
		}
	}
	m.rows, m.fit, m.capped = m.rows[:kept], m.fit[:kept], m.capped[:kept]
	m.most = m.fit
	return m, kept > 0
}

// nodes are the existing nodes by name.
func (s *search) nodes() []*cluster.Node {
	if s.byName == nil {
		s.byName = slices.SortedFunc(slices.Values(s.p.Nodes), func(a, b *cluster.Node) int { return cmp.Compare(a.Name, b.Name) })
	}
	return s.byName
}

// allowedOn reports whether classes of the choice may run on the node.
func (s *search) allowedOn(n *cluster.Node, choice int, labels requirement.Requirements, open bool) bool {
	if judge(n.Taints, s.choices[choice].Tolerations) {
		return false
	}
	undefined := s.isWellKnown
	if !open {
		undefined = nil
	}
	return slices.ContainsFunc(s.choiceAlts[choice], func(alt requirement.Requirements) bool { return labels.Compatible(alt, undefined) })
}

func (s *search) labelsOf(n *cluster.Node) (requirement.Requirements, bool) {
	labels := s.vocab.Labels(n.Labels)
	if n.Labels[requirement.Hostname] == "" {
		name := n.Hostname
		if name == "" {
			name = n.Name
		}
		labels = labels.And(s.vocab.Only(requirement.Hostname, name))
	}
	labels = labels.And(s.vocab.Only(requirement.NodeName, n.Name))
	if len(n.Requirements) == 0 {
		return labels, false
	}
	if more, err := s.vocab.Parse(n.Requirements); err == nil {
		labels = labels.And(more)
	}
	return labels, true
}

func (s *search) roomOf(n *cluster.Node, labels requirement.Requirements, open bool) res.Vector {
	room := s.schema.Vector(n.Allocatable)
	if n.Used != nil {
		room.Sub(s.schema.Vector(n.Used), 1)
	} else {
		for _, pod := range n.Pods {
			if pod.Class != nil {
				room.Sub(s.schema.Vector(pod.Class.Requests), 1)
			}
		}
	}
	reserve := make(res.Vector, s.schema.Len())
	for _, d := range s.p.Daemons {
		if d.Class == nil || judge(n.Taints, d.Class.Tolerations) {
			continue
		}
		sure := slices.ContainsFunc(s.alternativesOf(d.Class, false), func(alt requirement.Requirements) bool {
			if open {
				return labels.Implies(alt, func(key requirement.Key) bool { return !s.isWellKnown(key) })
			}
			return labels.Compatible(alt, nil)
		})
		if sure {
			reserve.Add(s.schema.Vector(d.Class.Requests), 1)
		}
	}
	reserve.Sub(s.schema.Vector(n.DaemonUsed), 1)
	for r := range room {
		room[r] -= max(0, reserve[r])
	}
	return room
}

// together joins instances that serve the same rows into one with the room of all.
func (s *search) together(free []instance) []instance {
	bySet := map[int]int{}
	var out []instance
	for _, m := range free {
		at, ok := bySet[m.set]
		if !ok {
			bySet[m.set] = len(out)
			out = append(out, m)
			continue
		}
		all := &out[at]
		for r := range all.room {
			all.room[r] += m.room[r]
		}
		for i := range all.limits {
			all.limits[i] += m.limits[i]
		}
		for i, row := range m.rows {
			if j, ok := slices.BinarySearch(all.rows, row); ok {
				all.fit[j] += m.fit[i]
			} else {
				all.rows, all.fit = slices.Insert(all.rows, j, row), slices.Insert(all.fit, j, m.fit[i])
			}
		}
	}
	for i := range out {
		m := &out[i]
		m.most, m.capped = m.fit, slices.Clone(m.fit)
		for j, row := range m.rows {
			m.capped[j] = min(m.fit[j], s.rows[row].count)
		}
	}
	return out
}
