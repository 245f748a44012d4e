package history

import (
	"fmt"
	"slices"
	"time"
)

// longGap is how long nothing says what happened before the account names it: dumps that are an hour or two apart are meant to be so.
const longGap = 3 * time.Hour

// window is the time that the sources speak of. A single dump beside other sources adds what it knows, and no time: between it and
// them nobody has observed anything.
func (l *ledger) window() span {
	var w, all span
	for kind, s := range l.spans {
		all.add(s.from)
		all.add(s.to)
		if kind != fromDumps || l.dumped > 1 {
			w.add(s.from)
			w.add(s.to)
		}
	}
	if !w.to.After(w.from) {
		w = all
	}
	w.from = w.from.Truncate(time.Second)
	return w
}

// gapNotes name the stretches of the window of which no source speaks, and a dump beside it.
func (l *ledger) gapNotes(w span) {
	var known []span
	for kind, s := range l.spans {
		if kind != fromDumps {
			known = append(known, s)
		}
	}
	for at := range l.seen[dumps] {
		t := time.UnixMilli(at).UTC()
		known = append(known, span{t, t})
		if l.dumped == 1 && (t.Before(w.from.Add(-longGap)) || t.After(w.to.Add(longGap))) {
			l.notes.add(noteFarDump, t.Format(stamp)+" UTC")
		}
	}
	slices.SortFunc(known, func(a, b span) int { return a.from.Compare(b.from) })
	reach := w.from
	for _, s := range known {
		if s.from.Sub(reach) > longGap && s.from.Before(w.to) {
			l.notes.add(noteGap, fmt.Sprintf("%s to %s UTC", reach.Format(stamp), s.from.Format(stamp)))
		}
		if s.to.After(reach) {
			reach = s.to
		}
	}
}
