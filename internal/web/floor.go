package web

import (
	"encoding/json"
	"net/http"
)

// serveFloor answers with the newest floor there is, and has a new one found when it is old.
func (s *Server) serveFloor(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(s.floor.Now())
}
