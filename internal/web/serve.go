package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/setup/leader"
)

// To is a connection by a way to a controller.
func To(c *leader.Controller) Connection {
	return Connection{URL: c.URL, HTTP: c.Client, Close: c.Close}
}

// At leads to the controller at an address, with the rights of config; to the one that leads the cluster where server is empty.
func At(server string, config *rest.Config) func(context.Context) (Connection, error) {
	return func(ctx context.Context) (Connection, error) {
		reach := func() (*leader.Controller, error) { return leader.Reach(ctx, config, "") }
		if server != "" {
			reach = leader.At{Server: server, Config: func() (*rest.Config, error) { return config, nil }}.Reach
		}
		c, err := reach()
		if err != nil {
			return Connection{}, err
		}
		return To(c), nil
	}
}

// Beside serves the page in the background until ctx ends, at a port that is free, and returns its address.
//
// Errors: those of Listen.
func Beside(ctx context.Context, o Options) (address string, err error) {
	l, err := Listen(ctx, 0)
	if err != nil {
		return "", err
	}
	s := New(o)
	guard.Go("page", func() { _ = guard.Run("page", func() error { return s.Serve(ctx, l) }) }) // without it everything else goes on
	return s.Address(l.Addr()), nil
}

// Listen takes a port of 127.0.0.1; 0 takes any that is free.
//
// Errors: a port that is in use, with its number.
func Listen(ctx context.Context, port int) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, fmt.Errorf("listening at 127.0.0.1:%d for the page: %w", port, err)
	}
	return l, nil
}

// closeWithin is how long requests may take that are under way when the page ends.
const closeWithin = 2 * time.Second

// Serve serves the page until ctx ends.
//
// Errors: a listener that fails.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	guard.Go("page", func() { failed <- guard.Run("page", func() error { return server.Serve(l) }) })
	defer s.Close()
	select {
	case err := <-failed:
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return fmt.Errorf("serving the page at %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	if err := server.Shutdown(end); err != nil {
		_ = server.Close() // the reader's connections end with the process
	}
	return nil
}
