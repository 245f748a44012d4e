package history

import (
	"cmp"
	"slices"
)

// scaledDown ends pods by the Events that tell that their owner was to have fewer: Events of the pods themselves may be
// missing. Pods go first of which nothing was heard for longest. Pods that were heard of later stay, and it is noted.
func (b *rebuilt) scaledDown(s *set) {
	changes := slices.DeleteFunc(slices.Clone(s.owner.changes), func(c change) bool { return !c.told })
	slices.SortStableFunc(changes, func(a, c change) int { return a.at.Compare(c.at) })
	name := s.namespace + "/" + s.name
	for _, c := range changes {
		if c.before <= c.n || c.at.Before(b.w.from) {
			continue
		}
		there := 0
		var open []*life
		for _, f := range s.lives {
			switch {
			case f.from.After(c.at), f.endedInside() && !f.lo.After(c.at.Add(settled)) && f.lo.Equal(f.hi):
				continue // it is not there, or goes just then
			case !f.last.After(c.at) && (!f.endedInside() || !f.hi.Before(c.at)):
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
			f.lo, f.hi, f.how, f.scaled = c.at, c.at, deleted, true
		}
		b.notes.addCount(noteScaled, name, ends)
		b.notes.addCount(noteContradicts, name, more-ends)
	}
}
