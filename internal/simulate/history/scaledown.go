package history

import (
	"cmp"
	"slices"
	"time"
)

// inOrder are changes in the order in which they happened. Events are of whole seconds and are listed by their names: of those of one
// moment each follows the one that leaves what it begins with.
func inOrder(changes []change) []change {
	out := slices.Clone(changes)
	slices.SortStableFunc(out, func(a, b change) int { return a.at.Compare(b.at) })
	now := -1
	for i := range out {
		end := i
		for end < len(out) && out[end].at.Equal(out[i].at) {
			end++
		}
		rest := out[i:end]
		next := slices.IndexFunc(rest, func(c change) bool { return c.before == now && now >= 0 })
		if next < 0 { // nothing before it is known: what no other of them leads to
			next = slices.IndexFunc(rest, func(c change) bool {
				return !slices.ContainsFunc(rest, func(x change) bool { return x.n == c.before && x.before != c.before })
			})
		}
		if next > 0 {
			first := rest[next]
			copy(rest[1:next+1], rest[:next])
			rest[0] = first
		}
		now = out[i].n
	}
	return out
}

// told are the changes that Events told of, in order.
func (o *owner) told() []change {
	return inOrder(slices.DeleteFunc(slices.Clone(o.changes), func(c change) bool { return !c.told }))
}

// within is the end of the second of an Event, which may be of any moment in it.
func (c *change) within() time.Time {
	if c.at.Nanosecond() != 0 {
		return c.at
	}
	return c.at.Add(time.Second - 1)
}

// scaledDown ends pods by the Events that tell that their owner was to have fewer: Events of the pods themselves may be
// missing. Pods go first of which nothing was heard for longest. Pods that were heard of well after it stay, and it is noted: in the
// time that it takes to settle, those that go are heard of too.
func (b *rebuilt) scaledDown(s *set) {
	name := s.namespace + "/" + s.name
	for _, c := range s.owner.told() {
		if c.before <= c.n || c.at.Before(b.w.from) {
			continue
		}
		there := 0
		var open []*life
		for _, f := range s.lives {
			switch {
			case f.from.After(c.within()), f.endedInside() && !f.lo.After(c.at.Add(settled)) && f.lo.Equal(f.hi):
				continue // it is not there, or goes just then
			case !f.last.After(c.at.Add(settled)) && (!f.endedInside() || !f.hi.Before(c.at)):
				open = append(open, f)
			case f.endedInside() && f.hi.Before(c.at):
				continue
			}
			there++
		}
		slices.SortStableFunc(open, func(x, y *life) int { return cmp.Or(x.last.Compare(y.last), cmp.Compare(x.name, y.name)) })
		more := max(0, there-c.n)
		ends := min(more, len(open))
		for _, f := range open[:ends] {
			end := c.at
			for _, t := range []time.Time{f.from, f.last} {
				if t.After(end) {
					end = t
				}
			}
			f.lo, f.hi, f.how, f.scaled = end, end, deleted, true
		}
		b.notes.addCount(noteScaled, name, ends)
		b.notes.addCount(noteContradicts, name, more-ends)
	}
}
