package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/setup/leader"
)

// To is a connection by a way to a controller.
func To(c *leader.Controller) Connection {
	return Connection{URL: c.URL, HTTP: c.Client, Close: c.Close}
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
