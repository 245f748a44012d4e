// Package gate stands between a controller and both of its APIs. It reads what each call does, counts the calls, fails
// some of them on demand, and ends the controller at a given call: before the call takes effect, or after it has and before
// the answer arrives.
//
// It is an http.RoundTripper around another, so that it serves a controller in the same process; Handler makes a server
// of it for one that is a process of its own.
package gate

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/kerf-sh/kerf/internal/sim/endurance/invariant"
)

// ErrShut is what calls get of which no answer arrives.
var ErrShut = errors.New("the connection is gone")

// Moment is where a call stands when the controller is ended.
type Moment string

// The moments.
const (
	Before Moment = "before" // the API never hears of the call
	After  Moment = "after"  // the API has done it, the answer is lost
)

// Options of a gate.
type Options struct {
	// See is told of every call that may have changed something, after its answer. It may be nil.
	See func(invariant.Call)
	// Counts says which calls are numbered; nil: Writes.
	Counts func(*invariant.Call) bool
	// KillAt is the number of the call at which Kill is called; 0: never. Kills is how often it is called, each time so many
	// calls after the last; 0: once.
	KillAt int
	Kills  int
	Moment Moment
	Kill   func()
}

// Writes are the calls that change something, but for the heartbeat of leader election and for events.
func Writes(c *invariant.Call) bool {
	return !reads(c) && c.Resource != "leases" && c.Resource != "events"
}

// NodeWrites are the writes to Nodes and the deletions of NodeClaims: between the first and the last of them lies what a
// disruption has begun and not ended.
func NodeWrites(c *invariant.Call) bool {
	return Writes(c) && (c.Resource == "nodes" || c.Resource == "nodeclaims" && c.Verb == "delete")
}

// All are all calls but those of leader election and events.
func All(c *invariant.Call) bool { return c.Resource != "leases" && c.Resource != "events" }

// A Gate numbers the calls of all lives of a controller.
type Gate struct {
	o Options

	mu      sync.Mutex
	number  int
	life    *Life
	lives   int
	calls   []invariant.Call // those that were numbered
	faults  []*Fault
	killed  int // how often
	watches map[*stream]bool
}

// New makes a gate that is shut until a life begins.
func New(o Options) *Gate {
	if o.Counts == nil {
		o.Counts = Writes
	}
	return &Gate{o: o}
}

// A Life is one process of the controller. All its calls end when it does.
type Life struct {
	gate   *Gate
	number int
	over   chan struct{}
}

// Begin ends the present life, if there is one, and begins the next.
func (g *Gate) Begin() *Life {
	g.End()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lives++
	g.life = &Life{gate: g, number: g.lives, over: make(chan struct{})}
	return g.life
}

// End makes all calls of the present life fail from now on.
func (g *Gate) End() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.endLocked()
}

func (g *Gate) endLocked() {
	if g.life != nil {
		close(g.life.over)
		g.life = nil
	}
}

// Over is closed when the life has ended.
func (l *Life) Over() <-chan struct{} { return l.over }

func (l *Life) ended() bool {
	select {
	case <-l.over:
		return true
	default:
		return false
	}
}

// Calls are the numbered ones so far.
func (g *Gate) Calls() []invariant.Call {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]invariant.Call(nil), g.calls...)
}

// Killed reports whether the controller was ended at its call.
func (g *Gate) Killed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.killed > 0
}

// Kubernetes is the way of a life to the Kubernetes API over next.
func (l *Life) Kubernetes(next http.RoundTripper) http.RoundTripper {
	return &way{life: l, next: next, read: readKubernetes, refuse: refuseKubernetes}
}

// AWS is the way of a life to AWS over next.
func (l *Life) AWS(next http.RoundTripper) http.RoundTripper {
	return &way{life: l, next: next, read: readAWS, refuse: refuseAWS}
}

// way is one API of one life.
type way struct {
	life   *Life
	next   http.RoundTripper
	read   func(*http.Request, []byte) invariant.Call
	refuse func(*http.Request, Kind) *http.Response
}

// RoundTrip makes one call.
func (w *way) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil && r.Body != http.NoBody {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body.Close()
		again := r.Clone(r.Context())
		again.Body, again.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		again.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		r = again
	}
	call := w.read(r, body)
	call.Life = w.life.number
	kill := w.life.gate.count(w.life, &call)
	if w.life.ended() || kill == Before {
		w.life.gate.kill(kill)
		return nil, ErrShut
	}
	lost, resp, err := w.fail(r, &call)
	if resp == nil && err == nil {
		resp, err = w.next.RoundTrip(r)
	}
	if resp != nil {
		call.Code = resp.StatusCode
	}
	w.life.gate.see(call)
	if kill == After || lost || w.life.ended() {
		if resp != nil {
			resp.Body.Close()
		}
		w.life.gate.kill(kill)
		return nil, ErrShut
	}
	if err == nil && resp.StatusCode < 300 {
		resp.Body = w.life.body(resp.Body, call)
	}
	return resp, err
}

// count numbers a call, if it is one that counts, and says whether the controller is to be ended at it.
func (g *Gate) count(l *Life, c *invariant.Call) Moment {
	g.mu.Lock()
	defer g.mu.Unlock()
	if l.ended() || !g.o.Counts(c) {
		c.Number = g.number
		return ""
	}
	g.number++
	c.Number = g.number
	g.calls = append(g.calls, *c)
	if g.o.KillAt > 0 && g.number%g.o.KillAt == 0 && g.killed < max(1, g.o.Kills) {
		g.killed++
		return g.o.Moment
	}
	return ""
}

// kill ends the present life at the chosen call.
func (g *Gate) kill(m Moment) {
	if m == "" {
		return
	}
	g.End()
	if g.o.Kill != nil {
		g.o.Kill()
	}
}

func (g *Gate) see(c invariant.Call) {
	if g.o.See != nil && !reads(&c) {
		g.o.See(c)
	}
}

// body ends with its life. It matters to watches, whose answers have no end.
func (l *Life) body(b io.ReadCloser, c invariant.Call) io.ReadCloser {
	if c.Verb != "watch" {
		return b
	}
	out := &stream{ReadCloser: b, done: make(chan struct{})}
	go func() {
		select {
		case <-l.over:
			b.Close()
		case <-out.done:
		}
	}()
	l.gate.watch(out)
	return out
}

// stream is the answer to a watch.
type stream struct {
	io.ReadCloser
	once sync.Once
	done chan struct{}
}

func (s *stream) Close() error {
	s.once.Do(func() { close(s.done) })
	return s.ReadCloser.Close()
}
