package expire

import (
	"cmp"
	"slices"
	"time"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

const (
	// widest is the longest that two expiries of a pool are kept apart: in that time an instance joins and takes pods over.
	widest = 5 * time.Minute
	// lateWithin is the time in which a pool begins to replace all that is past its age, when nobody was there to do it on
	// time.
	lateWithin = 10 * time.Minute
	// aheadShare is the part of its life, at the most, by which a node may go early: one in so many.
	aheadShare = 10
)

// due is a claim that expires.
type due struct {
	claim *karpv1.NodeClaim
	// at is when the claim is as old as it may get, begin when its replacement begins: at or before that.
	at, begin time.Time
	// ahead is how long before at it may begin.
	ahead time.Duration
	// held claims are deleted a head start after they were marked.
	held bool
}

// text is what the claim's mark says: when it came of age.
func (d *due) text() string { return d.at.UTC().Format(time.RFC3339) }

// pace decides when the claims of one pool begin, so that those that were born together do not go together: the last of
// a crowd goes when it is due, and each of the others a gap before the next one. Nothing goes later than it is due.
//
// The gap is such that all claims of the pool (size) would fit into the time by which they may go early. It goes by the
// pool and not by the crowd, so that it stays the same while the crowd gets smaller.
func pace(dues []*due, size int) {
	slices.SortFunc(dues, func(a, b *due) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.claim.Name, b.claim.Name))
	})
	next := time.Time{}
	for _, d := range slices.Backward(dues) {
		d.begin = d.at
		if early := next.Add(-d.gap(size)); !next.IsZero() && early.Before(d.begin) {
			d.begin = early
		}
		if first := d.at.Add(-d.ahead); d.begin.Before(first) {
			d.begin = first
		}
		next = d.begin
	}
}

// gap is the time between two of the pool's claims that keep to the plan.
func (d *due) gap(size int) time.Duration { return min(widest, d.ahead/time.Duration(max(size, 1))) }

// rest is the least time between two of the pool's claims, even where both are late.
func (d *due) rest(size int) time.Duration {
	return min(d.gap(size), lateWithin/time.Duration(max(size, 1)))
}
