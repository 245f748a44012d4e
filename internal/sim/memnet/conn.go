package memnet

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// keep is how many bytes a stream that has been read keeps room for: one that has once carried a long list would hold its
// size for as long as the connection lasts.
const keep = 64 << 10

// Pipe makes both ends of a connection. Unlike net.Pipe's, writes do not wait for the reader, as little as they do over
// TCP while its buffers have room; here they have no end.
func Pipe(nearAddr, farAddr Addr) (near, far net.Conn) {
	out, in := newStream(), newStream()
	return &conn{in: in, out: out, local: nearAddr, remote: farAddr}, &conn{in: out, out: in, local: farAddr, remote: nearAddr}
}

// conn is one end. Each direction is a stream that both ends share.
type conn struct {
	in, out       *stream
	local, remote Addr
}

func (c *conn) Read(b []byte) (int, error)  { return c.in.read(b) }
func (c *conn) Write(b []byte) (int, error) { return c.out.write(b) }
func (c *conn) LocalAddr() net.Addr         { return c.local }
func (c *conn) RemoteAddr() net.Addr        { return c.remote }

// Close lets the other end read what was written, and then the end of the file.
func (c *conn) Close() error {
	c.in.close(net.ErrClosed)
	c.out.close(io.EOF)
	return nil
}

func (c *conn) SetDeadline(t time.Time) error {
	c.in.deadline(t)
	return nil // writes never wait
}

func (c *conn) SetReadDeadline(t time.Time) error { return c.SetDeadline(t) }

func (c *conn) SetWriteDeadline(time.Time) error { return nil }

// stream is one direction of a connection.
type stream struct {
	mu    sync.Mutex
	data  []byte
	taken int // of data, by the reader
	// order, if set, decides when the reader gets what is staged; answers is 1 in the direction of a connection's dialer.
	order   *order
	pair    *pair
	answers int
	staged  []byte
	end     error // what the reader gets once it has all the data; net.ErrClosed at once
	late    bool  // the deadline has passed
	timer   *time.Timer
	// changed holds a token while there may be something new for the reader.
	changed chan struct{}
}

func newStream() *stream { return &stream{changed: make(chan struct{}, 1)} }

func (s *stream) wake() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *stream) read(b []byte) (int, error) {
	for {
		n, err, ready := s.take(b)
		if ready {
			return n, err
		}
		<-s.changed
	}
}

// take reads what is there, if it is anything.
func (s *stream) take(b []byte) (n int, err error, ready bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case errors.Is(s.end, net.ErrClosed):
		err = &net.OpError{Op: "read", Net: "tcp", Err: net.ErrClosed}
	case s.late:
		err = &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}
	case len(b) == 0:
	case s.taken < len(s.data):
		n = copy(b, s.data[s.taken:])
		if s.taken += n; s.taken == len(s.data) {
			if s.data, s.taken = s.data[:0], 0; cap(s.data) > keep {
				s.data = nil
			}
		}
	case s.end != nil && len(s.staged) == 0:
		err = s.end
	default:
		return 0, nil, false
	}
	s.wake() // another reader may wait for the same
	return n, err, true
}

func (s *stream) write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end != nil {
		err := error(syscall.EPIPE)
		if errors.Is(s.end, io.EOF) { // this end was closed
			err = net.ErrClosed
		}
		return 0, &net.OpError{Op: "write", Net: "tcp", Err: err}
	}
	if s.order == nil {
		s.data = append(s.data, b...)
		s.wake()
		return len(b), nil
	}
	if len(s.staged) == 0 && len(b) > 0 {
		defer s.order.stage(s)
	}
	s.staged = append(s.staged, b...)
	return len(b), nil
}

func (s *stream) close(end error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end == nil || errors.Is(end, net.ErrClosed) {
		s.end = end
	}
	if s.timer != nil {
		s.timer.Stop()
	}
	s.wake()
}

func (s *stream) deadline(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	s.late = false
	switch wait := time.Until(t); {
	case t.IsZero():
	case wait <= 0:
		s.late = true
	default:
		var timer *time.Timer
		timer = time.AfterFunc(wait, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.timer == timer {
				s.late = true
				s.wake()
			}
		})
		s.timer = timer
	}
	s.wake()
}
