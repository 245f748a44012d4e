package gate

import (
	"net/http"
	"path"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/endurance/invariant"
)

// Kind is what a fault does to a call.
type Kind string

// The kinds of fault.
const (
	Throttled  Kind = "throttled"   // refused as too fast
	Failing    Kind = "failing"     // refused with a server's error
	Conflict   Kind = "conflict"    // refused because the object has changed
	Cut        Kind = "cut"         // the connection breaks before the API hears of the call
	LostReply  Kind = "lost-reply"  // the API does it, the answer is lost
	Slow       Kind = "slow"        // the call waits first
	WatchesEnd Kind = "watches-end" // all watches end at once; no call is touched
)

// Fault is trouble on the way to an API.
type Fault struct {
	Kind Kind `json:"kind"`
	// API is kubernetes or aws; empty: both.
	API string `json:"api,omitempty"`
	// Verb and Resource are globs; empty: all. Calls of leader election are touched only by faults that name their resource
	// or all of the API.
	Verb     string        `json:"verb,omitempty"`
	Resource string        `json:"resource,omitempty"`
	Delay    time.Duration `json:"delay,omitempty"` // of slow calls
	Count    int           `json:"count,omitempty"` // of calls; 0: until it is removed
	// Every makes it strike each so-many-th call only; 0: every call.
	Every int `json:"every,omitempty"`

	seen, hits int
}

// Add switches a fault on; remove switches it off.
func (g *Gate) Add(f Fault) (remove func()) {
	if f.Kind == WatchesEnd {
		g.endWatches(f.API)
		return func() {}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	mine := &f
	g.faults = append(g.faults, mine)
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		for i, o := range g.faults {
			if o == mine {
				g.faults = append(g.faults[:i:i], g.faults[i+1:]...)
				return
			}
		}
	}
}

// strikes says which fault, if any, strikes a call.
func (g *Gate) strikes(c *invariant.Call) *Fault {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range g.faults {
		if !f.fits(c) || f.Count > 0 && f.hits >= f.Count {
			continue
		}
		f.seen++
		if f.Every > 1 && f.seen%f.Every != 0 {
			continue
		}
		f.hits++
		found := *f
		return &found
	}
	return nil
}

func (f *Fault) fits(c *invariant.Call) bool {
	matches := func(pattern, text string) bool {
		ok, err := path.Match(pattern, text)
		return pattern == "" || err == nil && ok
	}
	if f.Kind == Conflict && c.Verb != "update" && c.Verb != "patch" {
		return false
	}
	return (f.API == "" || f.API == c.API) && matches(f.Verb, c.Verb) && matches(f.Resource, c.Resource)
}

// fail lets a fault strike a call. lost says that the answer of the call must not arrive.
func (w *way) fail(r *http.Request, c *invariant.Call) (lost bool, _ *http.Response, _ error) {
	f := w.life.gate.strikes(c)
	if f == nil {
		return false, nil, nil
	}
	switch f.Kind {
	case Throttled, Failing, Conflict:
		return false, w.refuse(r, f.Kind), nil
	case Cut:
		c.Dry = true // nothing came of it
		return false, nil, ErrShut
	case LostReply:
		return true, nil, nil
	case Slow:
		wait := time.NewTimer(f.Delay)
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-w.life.over:
		case <-r.Context().Done():
			return false, nil, r.Context().Err()
		}
	}
	return false, nil, nil
}
