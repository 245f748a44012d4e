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
		pool := UnavailableCount{Scope: "pool", CapacityType: catalog.Spot, Reason: NoCapacity, Count: 1, Opens: began.Add(firstWait)}
		quota := UnavailableCount{Scope: "quota", CapacityType: catalog.OnDemand, Reason: NoQuota, Count: 1, Opens: began.Add(time.Minute + firstWait), Quotas: []Quota{{"Running On-Demand P instances", "L-417A185B", 96}}}
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

// What a policy forbids is counted apart from what EC2 lacks, with its types and what the policy says, and pods that wait do not cut its
// time short.
func TestForbiddenPoolsAreCountedApart(t *testing.T) {
	c := newClock()
	u := NewUnavailable(c.now)
	u.MarkPool(Pool{CapacityType: catalog.OnDemand, InstanceType: "m5.large", Zone: "us-east-1a"}, NoCapacity)
	for _, name := range []string{"m6a.large", "m5a.large"} {
		for _, zone := range []string{"us-east-1a", "us-east-1b"} {
			u.MarkForbidden(Pool{CapacityType: catalog.OnDemand, InstanceType: name, Zone: zone}, "a policy denies it")
		}
	}
	forbidden := Pool{CapacityType: catalog.OnDemand, InstanceType: "m6a.large", Zone: "us-east-1a"}
	u.Refused("p", []Pool{forbidden})
	u.Retry("p")
	c.t = c.t.Add(retryAfter)
	if got := why(u, forbidden, 2); got != Forbidden {
		t.Errorf("a forbidden pool is closed for %q after %s, want %q", got, retryAfter, Forbidden)
	}
	opens := newClock().now().Add(firstWait)
	want := []UnavailableCount{
		{Scope: "policy", CapacityType: catalog.OnDemand, Reason: Forbidden, Count: 4, Opens: opens, Policy: "a policy denies it", InstanceTypes: []string{"m5a.large", "m6a.large"}},
		{Scope: "pool", CapacityType: catalog.OnDemand, Reason: NoCapacity, Count: 1, Opens: opens},
	}
	if diff := cmp.Diff(want, u.Snapshot().Counts()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
