package image

import (
	"slices"
	"time"
)

const (
	// maxIDs is how many ids one question may hold.
	//
	// Source: EC2 API reference, "Filter": at most 200 values.
	maxIDs = 200
	// wantedFor is how long an answer is kept fresh along with others that nobody asks for any more.
	wantedFor = 5 * time.Minute
)

// byID reports whether a query is by ids and nothing else.
func (q *query) byID() bool {
	return len(q.ids) > 0 && q.name == "" && len(q.owners) == 0 && len(q.tags) == 0
}

// togetherLocked is the question to put for a query: where it is by ids, those that other node classes wanted lately are
// asked for with it. Ten classes with images of their own then cost one call and not ten.
func (r *Resolver) togetherLocked(q query, now time.Time) query {
	if !q.byID() {
		return q
	}
	ids := slices.Clone(q.ids)
	for _, a := range r.found {
		if len(a.ids) > 0 && now.Sub(a.wanted) < max(wantedFor, 3*r.refresh) {
			ids = append(ids, a.ids...)
		}
	}
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) > maxIDs {
		return q
	}
	return query{ids: ids}
}

// noteLocked keeps the answer to a question, for the query that it was put for and for the others that it answers too.
func (r *Resolver) noteLocked(q, asked query, found []candidate, now time.Time) {
	if !q.byID() {
		r.found[q.key()] = answer{images: found, at: now, wanted: now}
		return
	}
	of := func(ids []string) []candidate {
		var out []candidate
		for _, c := range found {
			if slices.Contains(ids, c.id) {
				out = append(out, c)
			}
		}
		return out
	}
	for key, a := range r.found {
		covered := len(a.ids) > 0 && !slices.ContainsFunc(a.ids, func(id string) bool { return !slices.Contains(asked.ids, id) })
		if covered && a.at.Before(now) {
			a.images, a.at = of(a.ids), now
			r.found[key] = a
		}
	}
	r.found[q.key()] = answer{images: of(q.ids), at: now, ids: q.ids, wanted: now}
}
