package trial

import (
	"sync/atomic"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// Clock is a world's clock that may be ahead of everybody else's, or behind.
type Clock struct{ skew atomic.Int64 }

// Now is the time by the world's clock.
func (c *Clock) Now() time.Time { return time.Now().Add(time.Duration(c.skew.Load())).UTC() }

// AfterFunc calls f once d has passed.
func (c *Clock) AfterFunc(d time.Duration, f func()) world.Timer { return time.AfterFunc(d, f) }

// Set puts the clock ahead.
func (c *Clock) Set(ahead time.Duration) { c.skew.Store(int64(ahead)) }
