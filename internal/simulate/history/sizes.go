package history

import (
	"cmp"
	"slices"
	"time"
)

// point is how many pods something has from a moment on.
type point struct {
	at time.Time
	n  int
}

// How long after a pod's end another one of its owner counts as the one in its place. Owners act within a second or two;
// what takes longer are quotas and a StatefulSet, which waits until the old pod of the name has gone.
const (
	replacedWithin      = 15 * time.Second
	replacedWithinNamed = 10 * time.Minute
	replacedBefore      = 2 * time.Second // clocks of different sources
)

// counted is how many pods an owner had over time, by their lives, which are in order of their beginnings. A pod that took
// another one's place is the same demand.
func (l *ledger) counted(lives []*life) []point {
	type by struct {
		at time.Time
		by int
	}
	var changes []by
	replaced, successors := l.replacements(lives)
	for _, f := range lives {
		if !successors[f] {
			changes = append(changes, by{f.from, 1})
		}
		if !f.endedInside() || replaced[f] {
			continue
		}
		if f.lo.Before(f.hi) {
			l.notes.add(noteBetween, f.namespace+"/"+f.name)
		}
		changes = append(changes, by{f.to(), -1})
	}
	slices.SortStableFunc(changes, func(a, b by) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(b.by, a.by)) })
	var out []point
	n := 0
	for _, c := range changes {
		n += c.by
		out = append(out, point{c.at, n})
	}
	return out
}

// replacements finds which pods took the place of others: each took that of the pod of its name that had ended, or else of
// the one that ended last before it began.
func (l *ledger) replacements(lives []*life) (replaced, successors map[*life]bool) {
	replaced, successors = map[*life]bool{}, map[*life]bool{}
	ends := slices.DeleteFunc(slices.Clone(lives), func(f *life) bool { return !f.endedInside() || f.scaled })
	slices.SortStableFunc(ends, func(a, b *life) int { return a.hi.Compare(b.hi) })
	widest := time.Duration(0) // between when a pod may have ended
	for _, e := range ends {
		widest = max(widest, e.hi.Sub(e.lo))
	}
	for _, q := range lives {
		begin, _ := slices.BinarySearchFunc(ends, q.from.Add(-replacedWithinNamed), func(f *life, t time.Time) int { return f.hi.Compare(t) })
		var found *life
		for _, e := range ends[begin:] {
			if e.hi.After(q.from.Add(replacedBefore + widest)) {
				break // and so are all that follow
			}
			if e == q || replaced[e] || !q.from.After(e.from) || e.lo.After(q.from.Add(replacedBefore)) {
				continue
			}
			if e.name == q.name {
				found = e
				break
			}
			if !e.hi.Before(q.from.Add(-replacedWithin)) && (found == nil || e.hi.Before(q.from)) {
				found = e
			}
		}
		if found != nil {
			replaced[found], successors[q] = true, true
			l.notes.add(noteReplaced, q.namespace+"/"+q.name)
		}
	}
	return replaced, successors
}

// successor is the pod that took the place of one that ended, of lives in order of their beginnings.
func successor(e *life, lives []*life, taken map[*life]bool) *life {
	begin, _ := slices.BinarySearchFunc(lives, e.lo.Add(-replacedBefore), func(f *life, t time.Time) int { return f.from.Compare(t) })
	for _, q := range lives[begin:] {
		if q.from.After(e.hi.Add(replacedWithin)) {
			break
		}
		if q != e && !taken[q] && q.from.After(e.from) {
			return q
		}
	}
	return nil
}

// unseen adds the pods that no Event names: those that were there all the time. Events tell of the size of an owner when it
// changes, which pods it has only of those that something happens to.
func (l *ledger) unseen(o *owner, points []point, w span) []point {
	if len(l.seen[dumps]) > 0 || len(l.seen[metrics]) > 0 || o.created.After(w.from) {
		return points
	}
	changes := o.told()
	if len(changes) == 0 || changes[0].before < 0 {
		return points
	}
	at := func(t time.Time) int {
		n := 0
		for _, p := range points {
			if p.at.After(t) {
				break
			}
			n = p.n
		}
		return n
	}
	first := changes[0]
	seen := at(first.at.Add(-time.Second))
	for _, p := range points { // pods that began in the second in which it got smaller were there before
		if first.n < first.before && !p.at.Before(first.at) && !p.at.After(first.within()) {
			seen = max(seen, p.n)
		}
	}
	more := max(0, first.before-seen)
	if more == 0 {
		return points
	}
	l.notes.add(notePresumed, o.namespace+"/"+o.name)
	others := []point{{w.from, more}}
	for _, c := range changes {
		if n := max(0, c.n-at(c.at.Add(settled))); n < more {
			more = n
			others = append(others, point{c.at, more})
		}
	}
	return sum([][]point{points, others})
}

// settled is how long after a change of its size an owner has the pods that it wants, created or on their way out.
const settled = 30 * time.Second

// wanted is how many pods an owner wanted over time, by what it said itself. What it wanted before the first that is known
// is presumed.
func (l *ledger) wanted(o *owner, w span) []point {
	changes := inOrder(o.changes)
	var out []point
	set := func(at time.Time, n int) {
		if at.Before(w.from) {
			at = w.from
		}
		if at.After(w.to) {
			return
		}
		if k := len(out); k > 0 && out[k-1].n == n {
			return
		}
		out = append(out, point{at, n})
	}
	start := w.from
	if o.created.After(start) {
		start = o.created
	}
	last := start
	for i, c := range changes {
		if i == 0 && c.before < 0 {
			c.before = c.had
		}
		switch {
		case i > 0 && c.at.After(w.to): // a dump from later
			continue
		case i == 0 && c.before >= 0 && !o.created.After(w.from):
			set(start, c.before)
			if c.at.After(w.from) && c.before > 0 {
				l.notes.add(notePresumed, o.namespace+"/"+o.name)
			}
			set(c.at, c.n)
		case i == 0:
			set(start, c.n)
		case c.before >= 0 && len(out) > 0 && c.before != out[len(out)-1].n:
			set(last.Add(c.at.Sub(last)/2), c.before) // a change in between is not known
			set(c.at, c.n)
		case !c.exact && !c.told:
			set(last.Add(c.at.Sub(last)/2), c.n)
		default:
			set(c.at, c.n)
		}
		last = c.at
	}
	if !o.deleted.IsZero() {
		set(o.deleted, 0)
	}
	return out
}

// sum is how many pods several have together over time, only where that changes.
func sum(all [][]point) []point {
	type by struct {
		at time.Time
		by int
	}
	var changes []by
	for _, points := range all {
		n := 0
		for _, p := range points {
			changes = append(changes, by{p.at, p.n - n})
			n = p.n
		}
	}
	slices.SortStableFunc(changes, func(a, b by) int { return a.at.Compare(b.at) })
	var out []point
	n := 0
	for i, c := range changes {
		n += c.by
		if i+1 < len(changes) && changes[i+1].at.Equal(c.at) {
			continue
		}
		if k := len(out); k > 0 && out[k-1].n == n || k == 0 && n == 0 {
			continue
		}
		out = append(out, point{c.at, n})
	}
	return out
}
