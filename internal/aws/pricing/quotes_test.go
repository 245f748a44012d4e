package pricing_test

import (
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/aws/pricing"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// lately is what the book says of m5.large in us-east-1a.
func (f *fixture) lately(t *testing.T) catalog.Range {
	t.Helper()
	if err := f.book.RefreshSpot(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := f.book.Table().SpotLately("m5.large", "us-east-1a"); r != nil {
		return *r
	}
	return catalog.Range{}
}

func TestTheRangeOfASpotPrice(t *testing.T) {
	f := newFixture(t, pricing.Options{})
	set := func(p int64) { f.sim.World.SetSpotPrice("m5.large", "us-east-1a", p) }
	expect := func(when string, low, high catalog.MicroUSD) {
		t.Helper()
		if got, want := f.lately(t), (catalog.Range{Low: low, High: high}); got != want {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	set(40_000)
	f.pass(pricing.SpotMemory)
	expect("a price that did not move", 0, 0)
	set(50_000)
	f.pass(time.Minute)
	set(30_000)
	f.pass(time.Minute)
	expect("a price that moved twice since EC2 was asked", 30_000, 50_000)
	f.pass(pricing.SpotMemory - 2*time.Minute)
	expect("as long as the first price was in force in that time", 30_000, 50_000)
	f.pass(time.Minute)
	expect("once nothing of that time is left but the price of now", 0, 0)
}

func TestANewProcessKnowsWhatSpotHasCost(t *testing.T) {
	f := newFixture(t, pricing.Options{})
	f.sim.World.SetSpotPrice("m5.large", "us-east-1a", 40_000)
	f.pass(pricing.SpotMemory - time.Hour)
	f.sim.World.SetSpotPrice("m5.large", "us-east-1a", 20_000)
	f.pass(time.Hour)
	if got, want := f.lately(t), (catalog.Range{Low: 20_000, High: 40_000}); got != want {
		t.Errorf("the first look tells %v, want %v", got, want)
	}
}

func TestAnOutageLeavesNoHoleInWhatSpotHasCost(t *testing.T) {
	f := newFixture(t, pricing.Options{})
	f.sim.World.SetSpotPrice("m5.large", "us-east-1a", 40_000)
	f.pass(pricing.SpotMemory)
	f.lately(t)
	out := f.sim.World.AddFault(world.Fault{Kind: world.FaultError, Service: "ec2", Operation: "DescribeSpotPriceHistory", Code: "InternalError", Status: 500})
	f.pass(pricing.SpotPeriod)
	f.sim.World.SetSpotPrice("m5.large", "us-east-1a", 60_000)
	f.pass(pricing.SpotPeriod)
	f.sim.World.SetSpotPrice("m5.large", "us-east-1a", 41_000)
	if err := f.book.RefreshSpot(t.Context()); err == nil {
		t.Error("a failure is no error")
	}
	f.sim.World.RemoveFault(out)
	f.pass(pricing.SpotPeriod)
	if got, want := f.lately(t), (catalog.Range{Low: 40_000, High: 60_000}); got != want {
		t.Errorf("after the outage: %v, want %v", got, want)
	}
}

func TestAPoolThatIsBackStillHasItsPast(t *testing.T) {
	f := newFixture(t, pricing.Options{})
	f.sim.World.SetSpotPrice("m5.large", "us-east-1a", 40_000)
	f.pass(pricing.SpotMemory)
	f.lately(t)
	f.sim.World.SetSpotPrice("m5.large", "us-east-1a", 20_000)
	gone := f.sim.World.AddFault(world.Fault{Kind: world.FaultMissingSpotPrices, InstanceType: "m5.large", Zone: "us-east-1a"})
	for range 10 {
		f.pass(pricing.SpotPeriod)
		f.lately(t)
	}
	if p, ok := f.book.Table().Spot("m5.large", "us-east-1a"); ok {
		t.Errorf("a pool without a quote costs %d", p)
	}
	f.sim.World.RemoveFault(gone)
	f.pass(pricing.SpotPeriod)
	if got, want := f.lately(t), (catalog.Range{Low: 20_000, High: 40_000}); got != want {
		t.Errorf("once it is back: %v, want %v", got, want)
	}
}
