package disrupt

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// The waits of a pool whose commands fail.
const (
	backoffFirst = time.Minute
	backoffMost  = 15 * time.Minute
	// forgive is how long after its last failure nothing is held against a node any more, and against a pool after it could try again.
	forgive = time.Hour
)

// backoff lets pools whose commands fail wait longer and longer, each by itself, and puts nodes that have failed behind the
// others of their pool, the last to fail last: one that can't be replaced takes no other's turn. It is pure; the time is given.
//
// Concurrency: none.
type backoff struct {
	pools map[string]failures
	nodes map[string]time.Time // when they failed last, by claim
}

// failures are those of a pool since the last success.
type failures struct {
	n     int
	until time.Time // when the pool may try again
	why   string
}

// failed notes that a command of the nodes was taken back. Every pool that has nodes in it waits.
func (b *backoff) failed(nodes []Going, why string, now time.Time) {
	if b.pools == nil {
		b.pools, b.nodes = map[string]failures{}, map[string]time.Time{}
	}
	b.forget(now)
	pools := map[string]bool{}
	for _, g := range nodes {
		b.nodes[g.Claim], pools[g.Pool] = now, true
	}
	for name := range pools {
		n := b.pools[name].n
		b.pools[name] = failures{n: n + 1, until: now.Add(min(backoffMost, backoffFirst<<min(n, 4))), why: why}
	}
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

// forget drops what does not count any more.
func (b *backoff) forget(now time.Time) {
	maps.DeleteFunc(b.pools, func(_ string, f failures) bool { return now.Sub(f.until) >= forgive })
	maps.DeleteFunc(b.nodes, func(_ string, at time.Time) bool { return now.Sub(at) >= forgive })
}

// candidate is a node that drifted.
type candidate struct {
	Going
	since  time.Time // when it was marked
	static bool      // its pool keeps its number of nodes
}

// order sorts what is due: what has not failed or longest ago first, then what has been due for longest, then by name.
func (b *backoff) order(due []candidate) {
	slices.SortFunc(due, func(x, y candidate) int {
		return cmp.Or(b.nodes[x.Claim].Compare(b.nodes[y.Claim]), x.since.Compare(y.since), cmp.Compare(x.Node, y.Node))
	})
}
