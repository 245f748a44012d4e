package fidelity

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/kerf-sh/kerf/controlplane/harness"
)

// ControlPlanes are several control planes that carry cases out side by side.
type ControlPlanes struct {
	planes   []*harness.ControlPlane
	clusters []*Cluster
	stop     context.CancelFunc
	// Features are frequent in all cases that are generated.
	Features []string
}

// NewControlPlanes starts so many control planes. The context bounds the life of their watches; the caller closes them.
func NewControlPlanes(ctx context.Context, workers int, options ...harness.Option) (_ *ControlPlanes, err error) {
	// The components of a control plane hold little, but make a lot of garbage; they need not look for it so often.
	if err := os.Setenv("GOGC", "400"); err != nil {
		return nil, err
	}
	w := &ControlPlanes{}
	ctx, w.stop = context.WithCancel(ctx)
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
		}
	}()
	for range workers {
		cp, err := harness.Launch(ctx, append([]harness.Option{Patient}, options...)...)
		if err != nil {
			return nil, err
		}
		w.planes = append(w.planes, cp)
		c, err := NewCluster(ctx, cp)
		if err != nil {
			return nil, err
		}
		w.clusters = append(w.clusters, c)
	}
	return w, nil
}

// Close ends the control planes.
func (w *ControlPlanes) Close() error {
	w.stop()
	var errs []error
	for _, cp := range w.planes {
		errs = append(errs, cp.Close())
	}
	return errors.Join(errs...)
}

// Result is what came of a seed: a run, or an error when it could not be carried out.
type Result struct {
	Seed uint64
	Run  *Run
	Took time.Duration
	Err  error
}

// Seeds carries n generated cases out from the seed on, and calls done for each as it ends, one at a time. When more is
// false for a seed, it and those after it are left out; nil: none is.
func (w *ControlPlanes) Seeds(ctx context.Context, seed uint64, n int, more func() bool, done func(Result)) {
	seeds := make(chan uint64)
	var wait sync.WaitGroup
	var mu sync.Mutex
	for _, c := range w.clusters {
		wait.Go(func() {
			for s := range seeds {
				begun := time.Now()
				k, err := Generate(s, w.Features...)
				var r *Run
				if err == nil {
					r, err = c.Run(ctx, k)
				}
				mu.Lock()
				done(Result{s, r, time.Since(begun), err})
				mu.Unlock()
			}
		})
	}
	for s := seed; s < seed+uint64(n) && ctx.Err() == nil && (more == nil || more()); s++ {
		seeds <- s
	}
	close(seeds)
	wait.Wait()
}

// Case carries one case out.
func (w *ControlPlanes) Case(ctx context.Context, k *Case) (*Run, error) {
	return w.clusters[0].Run(ctx, k)
}
