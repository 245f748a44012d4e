package obs

import (
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/kerf-sh/kerf/internal/state/cloud"
)

const (
	// quietFor is for how long a line is left out that says the same of the same object: as long as an event is (obs.Recorder), and
	// as a NodeClaim has for its launch, so that a launch that fails each second is told once.
	quietFor = 5 * time.Minute
	// againMost bounds the memory: so many different lines are known at a time, some 300 bytes each.
	againMost = 10_000
)

// again leaves out lines that were said a moment ago. The next one that is written says how many were left out (repeated).
//
// Concurrency: safe.
type again struct {
	mu    sync.Mutex
	lines map[string]*repetition
	swept time.Time
}

type repetition struct {
	at   time.Time // when it was written
	more int       // lines since that were left out
}

// see reports whether a line is to be written, and how many like it were left out before.
func (a *again) see(key string, now time.Time) (repeated int, say bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.lines[key]; r != nil {
		if now.Sub(r.at) < quietFor {
			r.more++
			return 0, false
		}
		repeated, r.at, r.more = r.more, now, 0
		return repeated, true
	}
	if since := now.Sub(a.swept); since >= quietFor || len(a.lines) >= againMost && since >= time.Second {
		a.sweep(now)
	}
	if a.lines == nil {
		a.lines = map[string]*repetition{}
	}
	if len(a.lines) < againMost {
		a.lines[key] = &repetition{at: now}
	}
	return 0, true
}

// sweep forgets what has not been said for long enough that nobody counts it any more.
func (a *again) sweep(now time.Time) {
	a.swept = now
	for key, r := range a.lines {
		if now.Sub(r.at) >= 2*quietFor {
			delete(a.lines, key)
		}
	}
}

// sameness is what two lines have in common that say the same: level, message, controller, objects and error, and all texts.
// Numbers, times and durations are not part of it, nor what names a single reconciliation or request. Only lines about an object
// or an error are sampled: others tell of the process, and are few.
func sameness(r slog.Record, said []slog.Attr) (key string, sampled bool) {
	var b strings.Builder
	b.WriteString(r.Level.String())
	b.WriteByte(0)
	b.WriteString(r.Message)
	for _, a := range said {
		text, ok := telling(a)
		if !ok {
			continue
		}
		b.WriteByte(0)
		b.WriteString(a.Key)
		b.WriteByte('=')
		b.WriteString(text)
		if _, about := objects[a.Key]; about || a.Key == "error" {
			sampled = true
		}
	}
	return b.String(), sampled
}

// objects are the kinds under which a line names what it is about.
var objects = func() map[string]bool {
	out := map[string]bool{}
	for _, kind := range kinds {
		out[kind] = true
	}
	return out
}()

// telling is the part of an attribute that tells one line from another.
func telling(a slog.Attr) (text string, ok bool) {
	if a.Key == "reconcileID" {
		return "", false
	}
	switch a.Value.Kind() {
	case slog.KindInt64, slog.KindUint64, slog.KindFloat64, slog.KindDuration, slog.KindTime:
		return "", false
	case slog.KindAny:
		if err, is := a.Value.Any().(error); is {
			return cloud.Lasting(err.Error()), true
		}
	}
	return a.Value.String(), true
}
