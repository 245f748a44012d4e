package app

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/state/cache"
)

// selfCheckEvery is how often the cache is compared with the API. It reads everything once, so it is rare.
const selfCheckEvery = time.Hour

// selfCheckFirst is when the cache of a new leader is compared for the first time: what it has seen as a standby may be wrong.
const selfCheckFirst = time.Minute

// lookAgain is how long a difference must last to be told of.
const lookAgain = 30 * time.Second

// selfCheck compares what decisions are made from with what the API says, and tells of differences: a cache that is wrong
// is a defect that shows nowhere else until it costs money. A cache that has seen a later state than the API has can't be repaired:
// the process ends for it.
type selfCheck struct {
	cache   *cache.Cache
	reader  client.Reader
	metrics *obs.Metrics
	log     *slog.Logger
}

// Start runs until ctx ends, on the leader.
//
// Errors: that the cache has seen a later state than the API has.
func (s *selfCheck) Start(ctx context.Context) error {
	for wait := selfCheckFirst; ; wait = selfCheckEvery {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		differences, err := s.lasting(ctx)
		if err != nil {
			if ctx.Err() == nil {
				s.log.Warn("could not compare the cache with the API", "error", err)
			}
			continue
		}
		s.metrics.CacheDrift.Set(float64(len(differences)))
		if i := slices.IndexFunc(differences, func(d cache.Difference) bool { return d.Earlier }); i >= 0 {
			return fmt.Errorf("the API has an earlier state than this process has seen, as after a restore of etcd from a backup: %s; the process ends to read the state anew", differences[i])
		}
		if len(differences) > 0 {
			s.log.Error("the cache differs from the API; please report it", "count", len(differences), "first", differences[0].String())
		}
	}
}

// lasting are the differences that are still there a while later; what is changing at the moment differs for a moment.
func (s *selfCheck) lasting(ctx context.Context) ([]cache.Difference, error) {
	found, err := s.cache.Compare(ctx, s.reader)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(lookAgain):
	}
	return s.cache.Lasting(ctx, s.reader, found)
}
