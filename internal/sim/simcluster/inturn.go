package simcluster

import (
	"bytes"
	"context"
	"hash/fnv"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// inTurn answers requests that come at the same moment one after the other, in an order that what they say decides, and not the Go
// scheduler: each waits for less than a millisecond, for how long its method, path and body tell. The clock of a bubble stands
// until everybody waits, so all that one request leads to has happened before the next is answered.
//
// Watches do not end by themselves. Equal requests of one moment, as of two informers that begin, wait one nanosecond longer each.
type inTurn struct {
	next http.Handler

	mu   sync.Mutex
	now  time.Time
	seen map[uint64]int // requests of now
}

// forever is how many seconds watches last. Clients draw for how long they want them, and when they begin the next, anew each time.
const forever = "1000000000"

// turnsWithin is how long a request waits at most.
const turnsWithin = time.Millisecond

func (x *inTurn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if q := r.URL.Query(); q.Get("watch") == "true" {
		q.Del("timeout")
		q.Set("timeoutSeconds", forever)
		r.URL.RawQuery = q.Encode()
	}
	h := fnv.New64a()
	_, _ = io.WriteString(h, r.Method+" "+r.URL.RequestURI()) // a hash never fails
	if r.Body != nil && r.Body != http.NoBody {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return // the caller has gone
		}
		_, _ = h.Write(withoutIDs(b))
		r.Body = io.NopCloser(bytes.NewReader(b))
	}
	if !sleep(r.Context(), x.turn(h.Sum64())) {
		return
	}
	x.next.ServeHTTP(w, r)
}

// withoutIDs leaves out what is another each time: words of 16 hexadecimal digits, as IDs of decisions are, the client tokens of calls to
// AWS, and resource versions.
func withoutIDs(text []byte) []byte {
	const digits = 16
	if before, after, found := bytes.Cut(text, []byte("ClientToken=")); found {
		_, after, _ = bytes.Cut(after, []byte("&"))
		text = slices.Concat(before, after)
	}
	version := []byte(`"resourceVersion":"`)
	out, run := make([]byte, 0, len(text)), 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && (text[i] >= '0' && text[i] <= '9' || text[i] >= 'a' && text[i] <= 'f') {
			run++
		} else {
			if run == digits {
				out = out[:len(out)-digits]
			}
			run = 0
			if i < len(text) && text[i] == '"' && bytes.HasPrefix(text[i:], version) {
				i += len(version) + max(0, bytes.IndexByte(text[i+len(version):], '"'))
			}
		}
		if i < len(text) {
			out = append(out, text[i])
		}
	}
	return out
}

func (x *inTurn) turn(hash uint64) time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	if now := time.Now(); !now.Equal(x.now) {
		x.now = now
		clear(x.seen)
	}
	x.seen[hash]++
	return 1 + time.Duration(hash%uint64(turnsWithin)) + time.Duration(x.seen[hash]-1)
}

// sleep reports whether ctx has not ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
