package web

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/kerf-sh/kerf/internal/controller/overview"
	"github.com/kerf-sh/kerf/internal/engine/pack"
)

// serveFloor answers with the newest floor there is, and has a new one found when it is old.
func (s *Server) serveFloor(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(s.floor.Now())
}

// problem reads what the floor is found of.
func (s *Server) problem(ctx context.Context) (p *pack.Problem, err error) {
	err = s.with(ctx, func(c *Connection) error {
		client := overview.Client{URL: c.URL, HTTP: c.HTTP}
		p, err = client.Problem(ctx)
		return err
	})
	return p, err
}
