package pack

import (
	"cmp"
	"slices"
)

// sequentialOrder is by priority, then those that others count and that have no such demand themselves before those who count
// them, then those who go where others are after these, then those that repel before those that are repelled, then the
// oldest.
func (s *solver) sequentialOrder() []*class {
	if s.sequential == nil {
		for _, c := range s.classes {
			if c.sequential && c.broken == "" {
				s.sequential = append(s.sequential, c)
			}
		}
		step := s.steps()
		slices.SortStableFunc(s.sequential, func(a, b *class) int {
			return cmp.Or(a.rank.compare(b.rank), cmp.Compare(a.unevenness(), b.unevenness()), cmp.Compare(step[a], step[b]),
				cmp.Compare(len(a.topo.repels), len(b.topo.repels)), a.pods[0].CreatedAt.Compare(b.pods[0].CreatedAt), cmp.Compare(a.src.ID, b.src.ID))
		})
	}
	return s.sequential
}

// unevenness is how many hard spreads the class bears, or -1 when it bears none but is counted by those of others. When
// the latter are placed last they tip what was even, and then the rest can be bound before them only.
func (c *class) unevenness() int {
	n := 0
	for i := range c.topo.wide {
		if c.topo.wide[i].group.kind == spreading {
			n++
		}
	}
	if n == 0 && len(c.topo.foreign) > 0 {
		return -1
	}
	return n
}

// steps tells of sequential classes how many others come before them in turn because each has to be where pods of the one
// before are, while that has no such demand. A pod may be the first of its company only as long as there is none: when it
// is planned to be that in one domain, and what it follows goes to another, the scheduler refuses it once the latter runs.
// Classes that follow each other in a circle are on one step, for any of them may be the first.
func (s *solver) steps() map[*class]int {
	ways := map[*class][]*class{} // to those who follow
	for _, c := range s.sequential {
		for _, g := range c.topo.matched {
			if g.kind == attracting && !g.soft && !c.owns(g) {
				ways[c] = append(ways[c], s.bearers[g.id]...)
			}
		}
	}
	step := map[*class]int{}
	if len(ways) == 0 {
		return step
	}
	all := circles(s.sequential, ways)
	circleOf := map[*class]int{}
	for i, circle := range all {
		for _, c := range circle {
			circleOf[c] = i
		}
	}
	for i, circle := range slices.Backward(all) {
		last := 0
		for _, c := range circle {
			last = max(last, step[c])
		}
		for _, c := range circle {
			step[c] = last
			for _, next := range ways[c] {
				if circleOf[next] != i {
					step[next] = max(step[next], last+1)
				}
			}
		}
	}
	return step
}

// circles are the sets of classes that reach each other, each after all that it reaches.
//
// Source: R. Tarjan, Depth-first search and linear graph algorithms, 1972.
func circles(classes []*class, ways map[*class][]*class) [][]*class {
	var out [][]*class
	var open []*class
	number, low := map[*class]int{}, map[*class]int{}
	done := map[*class]bool{}
	var visit func(c *class)
	visit = func(c *class) {
		number[c] = len(number) + 1
		low[c] = number[c]
		open = append(open, c)
		for _, next := range ways[c] {
			switch {
			case number[next] == 0:
				visit(next)
				low[c] = min(low[c], low[next])
			case !done[next]:
				low[c] = min(low[c], number[next])
			}
		}
		if low[c] < number[c] {
			return
		}
		at := slices.Index(open, c)
		circle := slices.Clone(open[at:])
		open = open[:at]
		for _, member := range circle {
			done[member] = true
		}
		out = append(out, circle)
	}
	for _, c := range classes {
		if number[c] == 0 {
			visit(c)
		}
	}
	return out
}
