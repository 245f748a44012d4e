package offering

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// Whoever waits for capacity is told at the moment in which it may be asked for again, not when somebody happens to look.
func TestWatchersAreToldOfClosingAndOpeningAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := NewUnavailable(nil)
		type told struct {
			After  time.Duration
			Opened bool
			Closed []UnavailableCount
		}
		var got []told
		began := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			u.Watch(ctx, func(s *Snapshot, opened bool) { got = append(got, told{time.Since(began), opened, s.Counts()}) })
		}()
		synctest.Wait()
		u.MarkPool(spot("m5.large", "us-east-1a"), NoCapacity)
		synctest.Wait()
		time.Sleep(time.Minute)
		u.MarkQuota(catalog.OnDemand, "p5.48xlarge", 192, Quota{"Running On-Demand P instances", "L-417A185B", 96})
		synctest.Wait()
		time.Sleep(time.Hour)
		synctest.Wait()
		cancel()
		<-done
		pool := UnavailableCount{"pool", catalog.Spot, NoCapacity, 1, began.Add(firstWait), nil}
		quota := UnavailableCount{"quota", catalog.OnDemand, NoQuota, 1, began.Add(time.Minute + firstWait), []Quota{{"Running On-Demand P instances", "L-417A185B", 96}}}
		want := []told{
			{0, false, []UnavailableCount{pool}},
			{time.Minute, false, []UnavailableCount{pool, quota}},
			{firstWait, true, []UnavailableCount{quota}},
			{time.Minute + firstWait, true, []UnavailableCount{}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
