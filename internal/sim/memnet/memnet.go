// Package memnet is a network in memory: listeners and connections that look like TCP's to net/http, TLS and everything
// above them, and wait for nothing but channels and timers. Inside a testing/synctest bubble, where a goroutine that waits
// for a socket holds the clock, one that waits for such a connection does not; so whole clients and servers can live there
// in virtual time.
package memnet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
)

// Network joins dialers and listeners by address. The zero value is ready to use.
//
// Concurrency: safe.
type Network struct {
	// Ordered delivers one message after the other, in an order that does not depend on which goroutine runs first: so two runs of
	// the same bubble are alike. It is for bubbles only, and is to be set before the first connection.
	Ordered bool

	order     order
	mu        sync.Mutex
	listeners map[string]*listener
}

// Addr is the address of an end of a connection, as host:port.
type Addr string

// Network implements net.Addr.
func (Addr) Network() string { return "tcp" }

func (a Addr) String() string { return string(a) }

// Listen takes an address, any text such as "api:443". Closing the listener gives it back; connections that it has
// accepted stay.
//
// Errors: the address is taken.
func (n *Network) Listen(address string) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners[address] != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, syscall.EADDRINUSE)
	}
	if n.listeners == nil {
		n.listeners = map[string]*listener{}
	}
	l := &listener{network: n, addr: Addr(address), waiting: make(chan net.Conn), done: make(chan struct{})}
	n.listeners[address] = l
	return l, nil
}

// Dial connects to a listener. It has the signature of net.Dialer.DialContext.
//
// Errors: nobody listens (syscall.ECONNREFUSED), or ctx ended before the connection was accepted.
func (n *Network) Dial(ctx context.Context, _, address string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[address]
	n.mu.Unlock()
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: Addr(address), Err: syscall.ECONNREFUSED}
	if l == nil {
		return nil, refused
	}
	near, far := Pipe("client", Addr(address))
	if n.Ordered {
		n.put(near)
	}
	select {
	case l.waiting <- far:
		return near, nil
	case <-l.done:
		return nil, refused
	case <-ctx.Done():
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: Addr(address), Err: context.Cause(ctx)}
	}
}

type listener struct {
	network *Network
	addr    Addr
	waiting chan net.Conn
	done    chan struct{}
	once    sync.Once
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.waiting:
		return c, nil
	case <-l.done:
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.addr, Err: net.ErrClosed}
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	err := errors.New("close " + l.addr.String() + ": closed before")
	l.once.Do(func() {
		l.network.mu.Lock()
		delete(l.network.listeners, string(l.addr))
		l.network.mu.Unlock()
		close(l.done)
		err = nil
	})
	return err
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return l.addr }
