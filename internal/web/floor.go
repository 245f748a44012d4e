package web

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/kerf-sh/kerf/internal/controller/overview"
	"github.com/kerf-sh/kerf/internal/engine/floor"
	"github.com/kerf-sh/kerf/internal/guard"
)

// DefaultFloorEvery is how often the floor is found anew in a small cluster, so that it keeps up with pods that come and go.
const DefaultFloorEvery = 5 * time.Second

// The floor of a large cluster is found less often: the controller writes the whole problem for it, which must not take more than
// one part in floorShare of its time, and the search not more than one in searchShare of this computer's.
const floorShare, searchShare = 500, 20

// floorWork bounds each search for a floor, in steps of about a nanosecond.
const floorWork = 500_000_000

// floors keeps the floor while somebody looks.
type floors struct {
	mu      sync.Mutex
	working bool
	at      time.Time
	rest    time.Duration // until the next
	last    *floor.Floor
	failed  string
	points  []floorPoint
}

type floorPoint struct {
	At    time.Time `json:"at"`
	Bound int64     `json:"bound"`
}

// floorMost is how many points are kept: a day, at one a minute.
const floorMost = 24 * 60

// floorAnswer is what the page is told.
type floorAnswer struct {
	*floor.Floor
	At     time.Time    `json:"at,omitzero"`
	Error  string       `json:"error,omitempty"`
	Points []floorPoint `json:"points"`
}

// serveFloor answers with the newest floor there is, and has a new one found when it is old.
func (s *Server) serveFloor(w http.ResponseWriter, _ *http.Request) {
	every := s.o.FloorEvery
	if every == 0 {
		every = DefaultFloorEvery
	}
	f := &s.floor
	f.mu.Lock()
	if !f.working && time.Since(f.at) >= max(every, f.rest) {
		f.working = true
		guard.Go("floor", s.findFloor)
	}
	out := floorAnswer{Floor: f.last, At: f.at, Error: f.failed, Points: f.points}
	f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(out)
}

// findWithin bounds the reading of a problem.
const findWithin = time.Minute

func (s *Server) findFloor() {
	ctx, cancel := context.WithTimeout(context.Background(), findWithin)
	defer cancel()
	var found *floor.Floor
	var fetched, searched time.Duration
	err := guard.Run("floor", func() error {
		return s.with(ctx, func(c *Connection) error {
			began := time.Now()
			client := overview.Client{URL: c.URL, HTTP: c.HTTP}
			p, err := client.Problem(ctx)
			if err != nil {
				return err
			}
			fetched = time.Since(began)
			found = floor.Of(p, floorWork)
			searched = time.Since(began) - fetched
			return nil
		})
	})
	f := &s.floor
	f.mu.Lock()
	defer f.mu.Unlock()
	f.working, f.at, f.failed, f.rest = false, time.Now(), "", max(floorShare*fetched, searchShare*searched)
	if err != nil {
		f.failed = err.Error()
		return
	}
	f.last = found
	f.points = append(f.points, floorPoint{At: f.at.UTC(), Bound: int64(found.Bound)})
	f.points = f.points[max(0, len(f.points)-floorMost):]
}
