package history

import (
	"encoding/json"
	"time"
)

// watching is a watch of pods that is read. It begins with a list of what is there, as ADDED, and knows from then on which
// pods there are: so it says at its beginning and at its end of all of them that they are there. Watches that follow each
// other, in one file or in several, so show which pods went in between.
type watching struct {
	live    map[*pod]bool
	listing bool      // what comes is what was there
	now     time.Time // the newest that it has come to
}

// watched reads a change as "kubectl get --watch --output-watch-events" prints it. A kind of change that is empty is not
// known, as without that flag.
func (r *reading) watched(what string, raw []byte) {
	var head struct{ Kind string }
	if err := json.Unmarshal(raw, &head); err != nil {
		r.wrong(err)
		return
	}
	if head.Kind == "Event" {
		if err := r.kubeObject(head.Kind, raw); err != nil {
			r.wrong(err)
		}
		return
	}
	w := &r.watch
	was := w.now
	if t := newest(raw); t.After(w.now) {
		w.now = t
	}
	before := len(r.byUID)
	p, known, err := r.object(head.Kind, raw, w.now, what != "ADDED")
	if err != nil {
		r.wrong(err)
		return
	}
	if !known {
		return
	}
	r.took(fromWatch)
	if what != "ADDED" && len(r.byUID) == before { // the list that a watch begins with says nothing of when it began
		r.covers(fromWatch, w.now)
	}
	if p == nil {
		return
	}
	if what != "" {
		r.follow(p, what, was)
	}
	if what == "DELETED" {
		p.ends(w.now, deleted)
	}
}

// follow notes which pods there are. Was is what time it was before.
func (r *reading) follow(p *pod, what string, was time.Time) {
	w := &r.watch
	switch {
	case w.live == nil:
		w.live, w.listing = map[*pod]bool{}, true
	case what == "ADDED" && !w.listing && w.live[p]: // another watch begins
		r.countLive(was)
		w.live, w.listing = map[*pod]bool{}, true
	case what != "ADDED" && w.listing:
		w.listing = false
		r.countLive(was)
	}
	if what == "DELETED" {
		delete(w.live, p)
	} else {
		w.live[p] = true
	}
}

// countLive notes that these pods, and no others, are there.
func (r *reading) countLive(t time.Time) {
	if t.IsZero() || len(r.watch.live) == 0 {
		return
	}
	for p := range r.watch.live {
		if p.ended.IsZero() || p.ended.After(t) {
			r.count(p, dumps, t)
		}
	}
	r.seen[dumps][t.UnixMilli()] = true
}
