package app

import (
	"context"
	"log/slog"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/cache"
	"github.com/kerf-sh/kerf/internal/obs"
)

// selfCheckEvery is how often the cache is compared with the API. It lists everything once, so it is rare.
const selfCheckEvery = time.Hour

// selfCheck compares what decisions are made from with what the API says, and tells of differences: a cache that is wrong
// is a defect that shows nowhere else until it costs money.
type selfCheck struct {
	cache   *cache.Cache
	reader  client.Reader
	metrics *obs.Metrics
	log     *slog.Logger
}

// Start runs until ctx ends, on the leader.
func (s *selfCheck) Start(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(selfCheckEvery):
		}
		differences, err := s.cache.Compare(ctx, s.reader)
		if err != nil {
			s.log.Warn("could not compare the cache with the API", "error", err)
			continue
		}
		s.metrics.CacheDrift.Set(float64(len(differences)))
		if len(differences) > 0 {
			s.log.Error("the cache differs from the API; please report it", "count", len(differences), "first", differences[0])
		}
	}
}
