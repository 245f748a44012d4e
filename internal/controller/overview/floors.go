package overview

import (
	"context"
	"sync"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/floor"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/guard"
)

// FloorEvery is how often the floor is found anew in a small cluster while somebody looks, so that it keeps up with pods that come
// and go.
const FloorEvery = 5 * time.Second

// The floor of a large cluster is found less often: the controller writes the whole problem for it, which must not take more than
// one part in floorShare of its time, and the search not more than one in searchShare of this computer's.
const floorShare, searchShare = 1000, 5

// FloorWork bounds each search for a floor, in steps of about a nanosecond.
const FloorWork = 500_000_000

// floorReadWithin bounds the reading of a problem.
const floorReadWithin = time.Minute

// floorMost is how many points are kept: a day, at one a minute.
const floorMost = 24 * 60

// floorPointEvery is how far points lie apart.
const floorPointEvery = time.Minute

// Floors finds the least that the pods could cost, in the background and again and again while it is asked.
//
// Concurrency: safe.
type Floors struct {
	Every   time.Duration // at least; 0 is FloorEvery
	Problem func(context.Context) (p *pack.Problem, took time.Duration, err error)

	mu      sync.Mutex
	working bool
	tried   time.Time     // the end of the last search
	rest    time.Duration // from then to the next
	now     FloorNow
}

// FloorNow is the newest floor there is.
type FloorNow struct {
	*floor.Floor              // nil before the first is found
	At           time.Time    `json:"at,omitzero"`     // when it was found
	Error        string       `json:"error,omitempty"` // of the last search, where it failed
	Points       []FloorPoint `json:"points"`          // oldest first
}

// FloorPoint is a floor of the past.
type FloorPoint struct {
	At    time.Time        `json:"at"`
	Bound catalog.MicroUSD `json:"bound"`
}

// Now is the newest floor, and has a new one found when it is old.
func (f *Floors) Now() FloorNow {
	every := f.Every
	if every == 0 {
		every = FloorEvery
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.working && time.Since(f.tried) >= max(every, f.rest) {
		f.working = true
		guard.Go("floor", f.find)
	}
	return f.now
}

func (f *Floors) find() {
	ctx, cancel := context.WithTimeout(context.Background(), floorReadWithin)
	defer cancel()
	began, wrote, read := time.Now(), time.Duration(0), time.Duration(0)
	found, err := FindFloor(ctx, func(ctx context.Context) (p *pack.Problem, took time.Duration, err error) {
		p, wrote, err = f.Problem(ctx)
		read = time.Since(began)
		return p, wrote, err
	})
	searched := time.Since(began) - read
	f.mu.Lock()
	defer f.mu.Unlock()
	f.working, f.rest = false, max(floorShare*wrote, searchShare*searched)
	f.tried = time.Now()
	now := FloorNow{Floor: f.now.Floor, At: f.now.At, Points: f.now.Points}
	if err != nil {
		now.Error = err.Error()
	} else {
		now.Floor, now.At = found, f.tried
		if n := len(now.Points); n > 0 && now.At.Sub(now.Points[n-1].At) < floorPointEvery {
			f.now = now
			return
		}
		points := append(now.Points[:len(now.Points):len(now.Points)], FloorPoint{At: now.At.UTC(), Bound: found.Bound})
		now.Points = points[max(0, len(points)-floorMost):]
	}
	f.now = now
}

// FindFloor reads a problem and finds its floor. ctx ends the reading; the search is bounded by FloorWork.
func FindFloor(ctx context.Context, problem func(context.Context) (*pack.Problem, time.Duration, error)) (found *floor.Floor, err error) {
	err = guard.Run("floor", func() error {
		p, _, err := problem(ctx)
		if err != nil {
			return err
		}
		found = floor.Of(p, FloorWork)
		return nil
	})
	return found, err
}
