package disrupt

import (
	"cmp"
	"slices"
	"time"
)

// The waits of a pool whose commands fail.
const (
	backoffFirst = time.Minute
	backoffMost  = 15 * time.Minute
	// forgive is how long after its last failure nothing is held against a node or a pool any more.
	forgive = time.Hour
)

// backoff lets pools whose commands fail wait longer and longer, each by itself, and puts nodes that have failed behind the
// others of their pool: one that can't be replaced takes no other's turn. It is pure; the time is given.
//
// Concurrency: none.
type backoff struct {
	pools map[string]failures
	nodes map[string]failures
}

type failures struct {
	n    int
	last time.Time
	// until is when the pool may try again.
	until time.Time
	why   string
}

// failed notes that a command of the nodes was taken back. Every pool that has nodes in it waits.
func (b *backoff) failed(nodes []Going, why string, now time.Time) {
	if b.pools == nil {
		b.pools, b.nodes = map[string]failures{}, map[string]failures{}
	}
	seen := map[string]bool{}
	for _, g := range nodes {
		own := b.nodes[g.Claim].recent(now)
		b.nodes[g.Claim] = failures{n: own.n + 1, last: now, why: why}
		if seen[g.Pool] {
			continue
		}
		seen[g.Pool] = true
		pool := b.pools[g.Pool].recent(now)
		wait := backoffMost
		if pool.n < 4 {
			wait = min(backoffMost, backoffFirst<<pool.n)
		}
		b.pools[g.Pool] = failures{n: pool.n + 1, last: now, until: now.Add(wait), why: why}
	}
}

// recent is what still counts.
func (f failures) recent(now time.Time) failures {
	if now.Sub(f.last) >= forgive {
		return failures{}
	}
	return f
}

// succeeded notes that a command of the nodes was carried out: their pools need not wait.
func (b *backoff) succeeded(nodes []Going) {
	for _, g := range nodes {
		delete(b.pools, g.Pool)
		delete(b.nodes, g.Claim)
	}
}

// waits reports until when a pool waits, and why; the time is zero if it need not.
func (b *backoff) waits(pool string, now time.Time) (until time.Time, why string) {
	f := b.pools[pool]
	if !f.until.After(now) {
		return time.Time{}, ""
	}
	return f.until, f.why
}

// against is how often a claim's node has failed lately.
func (b *backoff) against(claim string, now time.Time) int { return b.nodes[claim].recent(now).n }

// forget drops what does not count any more.
func (b *backoff) forget(now time.Time) {
	for _, m := range []map[string]failures{b.pools, b.nodes} {
		for name, f := range m {
			if now.Sub(f.last) >= forgive && !f.until.After(now) {
				delete(m, name)
			}
		}
	}
}

// candidate is a node that drifted.
type candidate struct {
	Going
	since  time.Time // when it was marked
	static bool      // its pool keeps its number of nodes
}

// order sorts what is due: what has failed least first, then what has been due for longest, then by name.
func (b *backoff) order(due []candidate, now time.Time) {
	slices.SortFunc(due, func(x, y candidate) int {
		return cmp.Or(cmp.Compare(b.against(x.Claim, now), b.against(y.Claim, now)), x.since.Compare(y.since), cmp.Compare(x.Node, y.Node))
	})
}
