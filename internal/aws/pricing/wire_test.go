package pricing_test

import (
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/aws/pricing"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type fixture struct {
	sim   *awssim.Server
	clock *world.ManualClock
	now   time.Time
	book  *pricing.Book
}

func newFixture(t *testing.T, options pricing.Options) *fixture {
	t.Helper()
	facts, err := ec2facts.Load()
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{now: time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)}
	f.clock = world.NewManualClock(f.now)
	s, aws := start(t, awssim.Options{World: world.Options{Types: []string{"m5.large", "m5.metal", "c5.large", "g5.xlarge"}, Clock: f.clock}})
	f.sim = s
	options.Region, options.Now = "us-east-1", func() time.Time { return f.now }
	f.book = pricing.NewBook(aws.Pricing, aws.EC2, facts, options)
	return f
}

func (f *fixture) pass(d time.Duration) {
	f.now = f.now.Add(d)
	f.clock.Advance(d)
}

func TestPricesComeFromTheAccount(t *testing.T) {
	f := newFixture(t, pricing.Options{})
	f.sim.World.SetSpotPrice("m5.large", "us-east-1a", 31234)
	before := f.book.Table()
	if before.OnDemandLive || before.SpotLive {
		t.Error("prices are live before anything was asked")
	}
	if err := f.book.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := f.book.Table()
	if !got.OnDemandLive || !got.SpotLive || got.Generation <= before.Generation {
		t.Errorf("live %v %v, generations %d and %d", got.OnDemandLive, got.SpotLive, before.Generation, got.Generation)
	}
	for name, want := range map[string]catalog.MicroUSD{"m5.large": 96000, "m5.metal": 4608000} {
		if p, ok := got.OnDemand(name); !ok || p != want {
			t.Errorf("%s costs %d, want %d", name, p, want)
		}
	}
	if n, _ := got.Counts(); n != 4 {
		t.Errorf("%d on-demand prices", n)
	}
	if _, ok := got.OnDemand("m6i.large"); ok {
		t.Error("a type that the price list does not have keeps a price")
	}
	if p, ok := got.Spot("m5.large", "us-east-1a"); !ok || p != 31234 {
		t.Errorf("spot price is %d, %v", p, ok)
	}
	if _, ok := got.Spot("m5.large", "us-east-1z"); ok {
		t.Error("a zone without a quote has a price")
	}
}

func TestRefreshAsksOnlyForWhatIsOld(t *testing.T) {
	f := newFixture(t, pricing.Options{})
	for range 2 { // the second price list confirms the first
		if err := f.book.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.pass(pricing.SpotPeriod)
	}
	if err := f.book.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := f.book.Table()
	f.sim.World.AddFault(world.Fault{Kind: world.FaultError, Service: "pricing", Code: "InternalError"})
	f.sim.World.SetSpotPrice("m5.large", "us-east-1a", 20000)
	f.pass(pricing.SpotPeriod - time.Second)
	if err := f.book.Refresh(t.Context()); err != nil || f.book.Table() != first {
		t.Errorf("prices were asked for too early: %v", err)
	}
	f.pass(time.Second)
	if err := f.book.Refresh(t.Context()); err != nil {
		t.Errorf("spot prices alone: %v", err)
	}
	if p, _ := f.book.Table().Spot("m5.large", "us-east-1a"); p != 20000 {
		t.Errorf("the new spot price is %d", p)
	}
	f.pass(pricing.OnDemandPeriod)
	if err := f.book.Refresh(t.Context()); err == nil {
		t.Error("a price list that fails is no error")
	}
	if p, ok := f.book.Table().OnDemand("m5.large"); !ok || p != 96000 {
		t.Errorf("after a failure m5.large costs %d, %v", p, ok)
	}
}

func TestHalfAPriceListIsRefused(t *testing.T) {
	facts, err := ec2facts.Load()
	if err != nil {
		t.Fatal(err)
	}
	_, aws := start(t, awssim.Options{World: world.Options{Types: []string{"m5.large"}}})
	b := pricing.NewBook(aws.Pricing, aws.EC2, facts, pricing.Options{Region: "us-east-1"})
	if err := b.RefreshOnDemand(t.Context()); err == nil || b.Table().OnDemandLive {
		t.Errorf("a list without bare metal was taken: %v", err)
	}
}

func TestAnIsolatedVPCAsksNoPriceList(t *testing.T) {
	f := newFixture(t, pricing.Options{Isolated: true})
	f.sim.World.AddFault(world.Fault{Kind: world.FaultError, Service: "pricing", Code: "InternalError"})
	if err := f.book.Refresh(t.Context()); err != nil {
		t.Error(err)
	}
	if got := f.book.Table(); got.OnDemandLive || !got.SpotLive {
		t.Errorf("live: on-demand %v, spot %v", got.OnDemandLive, got.SpotLive)
	}
	for _, c := range f.sim.World.Faults() {
		if c.Seen > 0 {
			t.Error("the price list was asked")
		}
	}
}

func TestQuotesOutliveAShortGap(t *testing.T) {
	f := newFixture(t, pricing.Options{})
	if err := f.book.RefreshSpot(t.Context()); err != nil {
		t.Fatal(err)
	}
	want, ok := f.book.Table().Spot("m5.large", "us-east-1a")
	if !ok {
		t.Fatal("no spot price")
	}
	f.sim.World.AddFault(world.Fault{Kind: world.FaultError, Service: "ec2", Operation: "DescribeSpotPriceHistory", Code: "InternalError", Status: 500})
	f.pass(pricing.SpotPeriod)
	if err := f.book.RefreshSpot(t.Context()); err == nil {
		t.Error("a failure is no error")
	}
	if got, ok := f.book.Table().Spot("m5.large", "us-east-1a"); !ok || got != want {
		t.Errorf("after a failure the price is %d, %v", got, ok)
	}
}
