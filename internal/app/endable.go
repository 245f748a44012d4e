package app

import (
	"context"

	"k8s.io/client-go/rest"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kerf-sh/kerf/internal/guard"
)

// endable is a cache that no longer makes anybody wait once the process is to end. The manager waits for its cache without
// listening: a process that is told to end while the API does not answer would burn a core until it is killed.
type endable struct {
	crcache.Cache
	process context.Context
}

// newEndable makes such caches for a process that ends with ctx.
func newEndable(ctx context.Context) crcache.NewCacheFunc {
	return func(config *rest.Config, opts crcache.Options) (crcache.Cache, error) {
		c, err := crcache.New(config, opts)
		if err != nil {
			return nil, err
		}
		return &endable{Cache: c, process: ctx}, nil
	}
}

// WaitForCacheSync waits for the first lists, or for the end of the process.
func (e *endable) WaitForCacheSync(ctx context.Context) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer guard.AfterDone(e.process, "cache.sync", cancel)()
	return e.Cache.WaitForCacheSync(ctx) || e.process.Err() != nil
}
