package memnet

import (
	"bytes"
	"cmp"
	"net"
	"regexp"
	"slices"
	"sync"
	"testing/synctest"
)

// order delivers what is written to the streams of a network one after the other: each when everybody has come to rest who was
// woken by the one before. Of what was written at the same moment the order is that of the contents, so that it does not matter
// who of several goroutines ran first. It takes no virtual time.
type order struct {
	mu      sync.Mutex
	staged  []*stream
	working bool
}

// pair is what both directions of a connection know of it.
type pair struct {
	mu    sync.Mutex
	asked []byte // the request that was made last
}

// put lets a network decide when what is written to a connection arrives.
func (n *Network) put(near net.Conn) {
	p := &pair{}
	out, in := near.(*conn).out, near.(*conn).in
	for i, s := range []*stream{out, in} {
		s.order, s.pair, s.answers = &n.order, p, i
	}
}

// stage is told that a stream has something to deliver.
func (o *order) stage(s *stream) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.staged = append(o.staged, s)
	if !o.working {
		o.working = true
		go o.deliver()
	}
}

func (o *order) deliver() {
	type due struct {
		s   *stream
		key []byte
	}
	for {
		synctest.Wait()
		o.mu.Lock()
		batch := make([]due, 0, len(o.staged))
		for _, s := range o.staged {
			batch = append(batch, due{s: s})
		}
		o.staged = o.staged[:0]
		if len(batch) == 0 {
			o.working = false
			o.mu.Unlock()
			return
		}
		o.mu.Unlock()
		if len(batch) > 1 {
			for i := range batch {
				batch[i].key = batch[i].s.key()
			}
			slices.SortStableFunc(batch, func(a, b due) int {
				return cmp.Or(cmp.Compare(a.s.answers, b.s.answers), bytes.Compare(a.key, b.key))
			})
		} else {
			batch[0].s.key() // it keeps what was asked
		}
		for i, d := range batch {
			if i > 0 {
				synctest.Wait()
			}
			d.s.arrive()
		}
	}
}

// key is what is staged, without what is drawn anew for each call.
func (s *stream) key() []byte {
	s.mu.Lock()
	text := said(s.staged)
	s.mu.Unlock()
	s.pair.mu.Lock()
	defer s.pair.mu.Unlock()
	if s.answers == 0 {
		s.pair.asked = text
		return text
	}
	return slices.Concat(s.pair.asked, []byte{0}, text)
}

// keyMost is how much of a message is compared.
const keyMost = 16 << 10

// timeouts are the words of a watch that say how long it is to last. Reflectors draw that for each.
var timeouts = regexp.MustCompile(`[?&]timeout(Seconds)?=[^& ]*`)

// said is the first line of an HTTP message, who sends it, and its body; all of what is no beginning of one.
func said(message []byte) []byte {
	head, body, ok := bytes.Cut(message, []byte("\r\n\r\n"))
	first, rest, _ := bytes.Cut(head, []byte("\r\n"))
	if !ok || !bytes.Contains(first, []byte("HTTP/1.1")) {
		return bytes.Clone(message[:min(len(message), keyMost)])
	}
	out := bytes.Clone(first)
	if bytes.Contains(first, []byte("timeout")) {
		out = timeouts.ReplaceAll(first, nil)
	}
	for line := range bytes.SplitSeq(rest, []byte("\r\n")) {
		if bytes.HasPrefix(line, []byte("User-Agent:")) || bytes.HasPrefix(line, []byte("X-Amz-Target:")) {
			out = append(append(out, '\n'), line...)
		}
	}
	return append(append(out, '\n'), body[:min(len(body), keyMost)]...)
}

// arrive lets the reader have what is staged.
func (s *stream) arrive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data = append(s.data, s.staged...)
	if s.staged = s.staged[:0]; cap(s.staged) > keep {
		s.staged = nil
	}
	s.wake()
}
