package offering

import (
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// While pods wait, what was asked for last opens early, and only that; it closes for no longer than before when that was in vain,
// and once it sells, all that is open to be tried is open for everybody.
func TestPoolsThatPodsWaitForAreAskedForAgainSoon(t *testing.T) {
	c := newClock()
	u := NewUnavailable(c.now)
	first, last, other := spot("m5.large", "z-a"), spot("m5.xlarge", "z-a"), spot("m5.xlarge", "z-b")
	fail := func(pools ...Pool) {
		for _, p := range pools {
			u.MarkPool(p, NoCapacity)
		}
		u.Refused("default", pools)
	}
	fail(first)
	c.pass(time.Second)
	fail(last, other)
	for range 9 { // three minutes would be over after nine of these
		u.Retry("default")
		u.Retry("another")
		c.pass(retryAfter - time.Second)
		if got := why(u, last, 4); got != NoCapacity {
			t.Fatal("it opens too early")
		}
		c.pass(time.Second)
		if got := why(u, last, 4); got != "" || !u.Snapshot().retried[last] || !u.Snapshot().retried[other] {
			t.Fatalf("%q after %s", got, retryAfter)
		}
		if c.now().Sub(newClock().t) < firstWait && why(u, first, 2) != NoCapacity {
			t.Fatal("what was asked for before opened as well")
		}
		fail(last, other)
	}
	if got := u.pools[last].wait; got != firstWait {
		t.Errorf("it is closed for %s now, want %s as at first", got, firstWait)
	}
	u.Retry("default")
	c.pass(retryAfter)
	u.Launched(last, 4)
	if s := u.Snapshot(); len(s.retried) != 0 || len(s.pools) != 0 {
		t.Errorf("once one has sold: %+v", s)
	}
}

// Nobody waits: what is unavailable stays so as long as they did.
func TestNothingOpensEarlyWhileNobodyWaits(t *testing.T) {
	c := newClock()
	u := NewUnavailable(c.now)
	p := spot("m5.large", "z-a")
	u.MarkPool(p, NoCapacity)
	u.Refused("default", []Pool{p})
	c.pass(firstWait - time.Second)
	if got := why(u, p, 2); got != NoCapacity {
		t.Errorf("%q", got)
	}
	if !u.ShortLately(catalog.Spot, firstWait) || u.ShortLately(catalog.OnDemand, firstWait) || u.ShortLately(catalog.Spot, time.Minute) {
		t.Error("what was short lately is not told right")
	}
}
