package overview

import (
	"cmp"
	"slices"
	"time"
)

// Over is a problem that has ended. Only what somebody saw is known: problems are found when they are asked for.
type Over struct {
	Title string    `json:"title"` // as it was last
	Since time.Time `json:"since"`
	Ended time.Time `json:"ended"` // when it was last seen, or found gone
}

const (
	// overMost is how many problems that ended are kept: what a reader who comes after a fault has to see, not a history.
	overMost = 5
	// overAfter is how long a problem lasts to be told of afterwards: less is a moment between two looks.
	overAfter = 10 * time.Second
	// overGap is the longest pause between two looks after which a problem that is gone ended now, and not in between.
	overGap = time.Minute
)

// over remembers problems that ended, in memory.
type over struct {
	at    time.Time // of the last look
	going map[object]*Over
	ended []Over // the last to end first
}

// note takes in the problems of now, and returns those that ended. A problem that comes back has not ended.
func (o *over) note(now time.Time, problems []Problem) []Over {
	seen := map[object]*Over{}
	for i := range problems {
		p := &problems[i]
		if p.Code == JustStarted {
			continue
		}
		key := object{p.Code, p.Kind + " " + p.Object}
		if p.Kind == "Pod" || p.Kind == "Node" || p.Kind == kindClaim {
			key.name = "" // it is about all of a kind, and names the first
		}
		x := o.going[key]
		if x == nil {
			x = &Over{Since: now}
			if at := slices.IndexFunc(o.ended, func(e Over) bool { return e.Title == p.Title }); at >= 0 {
				o.ended = slices.Delete(o.ended, at, at+1)
			}
		}
		x.Title = p.Title
		if !p.Since.IsZero() && p.Since.Before(x.Since) {
			x.Since = p.Since
		}
		seen[key] = x
	}
	var gone []Over
	for key, x := range o.going {
		if seen[key] != nil {
			continue
		}
		x.Ended = now
		if now.Sub(o.at) > overGap {
			x.Ended = o.at
		}
		if x.Ended.Sub(x.Since) >= overAfter {
			gone = append(gone, *x)
		}
	}
	slices.SortFunc(gone, func(a, b Over) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Title, b.Title)) })
	all := append(gone, o.ended...)
	o.at, o.going, o.ended = now, seen, all[:min(len(all), overMost)]
	return slices.Clone(o.ended)
}
