package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/kerf-sh/kerf/internal/guard"
)

// Runner runs Specs, each in a process of its own.
type Runner struct {
	// Command starts a worker: a program that calls Work with its standard input and output. Args[0] is its name, Path where it is.
	Command func() *exec.Cmd
	// Parallel is how many run at a time; one for each processor if it is 0.
	Parallel int
	// Told, if set, hears how far each run is. It is called by one goroutine at a time, and never at the same time as Waits.
	Told func(run int, p Progress)
	// Waits, if set, hears once ctx has ended which runs are waited for, and again whenever one of them is over.
	Waits func(runs []int)
	// Abandon ends those that run at once when it is closed; what they have is lost. Nil: they are always waited for.
	Abandon <-chan struct{}
}

// Run runs all and returns their results in the same order. When ctx ends no other run begins, runs that are nearly finished go on to
// their end, and the others return what they have. Results of those that had not begun, or were abandoned, are nil.
//
// Errors: the first run that failed; the others are lost then.
func (r *Runner) Run(ctx context.Context, specs []*Spec) ([]*Result, error) {
	for _, s := range specs {
		if err := s.Check(); err != nil {
			return nil, err
		}
	}
	n := r.Parallel
	if n <= 0 {
		n = runtime.NumCPU()
	}
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	kill, killAll := context.WithCancel(context.Background())
	defer killAll()
	guard.Go("simulate.abandon", func() {
		select {
		case <-r.Abandon:
			killAll()
		case <-kill.Done():
		}
	})
	results := make([]*Result, len(specs))
	var mu sync.Mutex
	var failed error
	running := map[int]bool{}
	waits := func() {
		if r.Waits != nil && ctx.Err() != nil && failed == nil && len(running) > 0 {
			r.Waits(slices.Sorted(maps.Keys(running)))
		}
	}
	defer guard.AfterDone(ctx, "simulate.waits", func() {
		mu.Lock()
		defer mu.Unlock()
		waits()
	})()
	next := make(chan int)
	work := &guard.Group{}
	for range min(n, len(specs)) {
		work.Go("simulate.runs", func() error {
			for i := range next {
				if within.Err() != nil {
					continue
				}
				mu.Lock()
				running[i] = true
				mu.Unlock()
				w := &worker{spec: specs[i], began: time.Now(), told: func(p Progress) {
					mu.Lock()
					defer mu.Unlock()
					if r.Told != nil {
						r.Told(i, p)
					}
				}}
				out, err := w.run(ctx, kill, r.Command())
				mu.Lock()
				results[i] = out
				if out != nil && out.Whole() && r.Told != nil {
					r.Told(i, Progress{specs[i].Horizon, specs[i].Horizon}) // its process tells of samples, the last of which is before
				}
				delete(running, i)
				if err != nil && failed == nil {
					failed = named(specs[i], err)
					cancel()
					killAll()
				}
				waits()
				mu.Unlock()
			}
			return nil
		})
	}
	for i := range specs {
		select {
		case next <- i:
			continue
		case <-within.Done():
		}
		break
	}
	close(next)
	if err := work.Wait(); failed == nil {
		failed = err // a panic
	}
	return results, failed
}

// named is the error of a run, with which it is; what is refused names its file.
func named(s *Spec, err error) error {
	if _, refused := errors.AsType[*RefusedError](err); !refused {
		return fmt.Errorf("%s, seed %d: %w", cmp.Or(s.Configuration, "simulation"), s.Seed, err)
	}
	if s.Configuration == "" {
		return err
	}
	return fmt.Errorf("%s: %w", s.Configuration, err)
}
