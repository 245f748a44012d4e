package pricing

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/guard"
)

// How often prices are worth asking for again. On-demand prices change by announcement, spot prices all day. Where a third of them
// move every ten minutes, asking for them three times as often changes the bill by less than the noise of 0.1 %
// (make ledger LOADS=steady HOURS=3 SEEDS=1-12 with each period); each answer has thousands of prices.
const (
	OnDemandPeriod = 12 * time.Hour
	SpotPeriod     = 15 * time.Minute
)

// OnDemandSoon is when on-demand prices are asked for again after an answer that no other has confirmed: the first one, and one
// that lacks types which the answer before it had. Such a type keeps its price until onDemandGone answers in a row lack it.
const (
	OnDemandSoon = 5 * time.Minute
	onDemandGone = 3
)

// spotGrace is how long a spot quote outlives the last answer that had it: one answer with a hole must not make a whole
// zone unaffordable.
const spotGrace = time.Hour

// SpotMemory is how far back it is known what spot pools have cost: a new process asks EC2 for as much.
const SpotMemory = 6 * time.Hour

// Options of a Book.
type Options struct {
	Region string
	// Isolated says that the VPC does not reach public endpoints; the Price List API is not asked then.
	Isolated bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Book holds the current prices of a region. All methods may be called from many goroutines.
type Book struct {
	products ProductsAPI
	history  HistoryAPI
	options  Options
	table    atomic.Pointer[Table]

	mu         sync.Mutex // guards what follows and the swap of table; never held over a call
	quotes     map[pool]*quotes
	onDemandAt time.Time
	spotAt     time.Time
	lacking    map[string]int // how many price lists in a row have lacked a type whose price is kept
	sure       bool           // the last price list had all types that the one before it had
}

type pool struct{ instanceType, zone string }

type quote struct {
	price catalog.MicroUSD
	set   time.Time // when the market set it
}

// NewBook returns a book that has the prices of the embedded facts.
func NewBook(products ProductsAPI, history HistoryAPI, facts *ec2facts.Facts, options Options) *Book {
	if options.Now == nil {
		options.Now = time.Now
	}
	b := &Book{products: products, history: history, options: options, quotes: map[pool]*quotes{}}
	b.table.Store(factsTable(facts, options.Region))
	return b
}

// Table returns the current prices.
func (b *Book) Table() *Table { return b.table.Load() }

// Refresh asks for what has become old: on-demand prices after OnDemandPeriod or OnDemandSoon, spot prices after SpotPeriod. The two are
// independent; when one fails the other is still taken, and old prices stay. Call it every minute or so.
func (b *Book) Refresh(ctx context.Context) error {
	now := b.options.Now()
	b.mu.Lock()
	period := OnDemandSoon
	if b.sure {
		period = OnDemandPeriod
	}
	onDemand := b.onDemandAt.IsZero() || now.Sub(b.onDemandAt) >= period
	spot := b.spotAt.IsZero() || now.Sub(b.spotAt) >= SpotPeriod
	b.mu.Unlock()
	var g guard.Group
	if onDemand {
		g.Go("aws.prices", func() error { return b.RefreshOnDemand(ctx) })
	}
	if spot {
		g.Go("aws.prices", func() error { return b.RefreshSpot(ctx) })
	}
	return g.Wait()
}

// RefreshOnDemand asks the Price List API for all on-demand prices. It does nothing in an isolated VPC and in partitions
// that have no such API.
func (b *Book) RefreshOnDemand(ctx context.Context) error {
	if b.options.Isolated || !HasPriceList(b.options.Region) {
		return nil
	}
	prices, _, err := fetchOnDemand(ctx, b.products, b.options.Region)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.onDemandAt = b.options.Now()
	if last := b.Table(); last.OnDemandLive {
		kept := map[string]int{}
		for name, price := range last.onDemand {
			if _, has := prices[name]; !has && b.lacking[name]+1 < onDemandGone {
				prices[name], kept[name] = price, b.lacking[name]+1
			}
		}
		b.lacking, b.sure = kept, len(kept) == 0
	}
	b.swap(func(t *Table) { t.OnDemandLive, t.onDemand = true, prices })
	return nil
}

// RefreshSpot asks EC2 for what every spot pool has cost since it was asked last, SpotMemory at most.
func (b *Book) RefreshSpot(ctx context.Context) error {
	now := b.options.Now()
	b.mu.Lock()
	since := b.spotAt
	b.mu.Unlock()
	if oldest := now.Add(-SpotMemory); since.Before(oldest) {
		since = oldest
	}
	latest, err := fetchSpot(ctx, b.history, since)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spotAt = now
	for p, add := range latest {
		if b.quotes[p] == nil {
			b.quotes[p] = &quotes{}
		}
		b.quotes[p].add(add, now)
	}
	prices, lately := map[string]map[string]catalog.MicroUSD{}, map[string]map[string]catalog.Range{}
	for p, q := range b.quotes {
		if gap := now.Sub(q.seen); gap > SpotMemory {
			delete(b.quotes, p)
			continue
		} else if gap > spotGrace {
			continue // when it is back, what it had cost before counts
		}
		if prices[p.zone] == nil {
			prices[p.zone], lately[p.zone] = map[string]catalog.MicroUSD{}, map[string]catalog.Range{}
		}
		price, r := q.newest(), q.recall(now)
		prices[p.zone][p.instanceType] = price
		if r.Holds(price) {
			lately[p.zone][p.instanceType] = r
		}
	}
	b.swap(func(t *Table) { t.SpotLive, t.spot, t.lately = true, prices, lately })
	return nil
}

// swap stores an edited copy of the table, with a new generation when prices changed. Callers hold mu.
func (b *Book) swap(edit func(*Table)) {
	last := b.table.Load()
	next := *last
	edit(&next)
	next.follow(last)
	b.table.Store(&next)
}

// HasPriceList reports whether the partition of a region has the Price List API.
func HasPriceList(region string) bool {
	return !strings.HasPrefix(region, "us-gov-") && !strings.HasPrefix(region, "us-iso") && !strings.HasPrefix(region, "eu-isoe-")
}

// currencies are those that a region's price list may be in, the likeliest first.
func currencies(region string) []string {
	switch {
	case strings.HasPrefix(region, "cn-"):
		return []string{"CNY"}
	case strings.HasPrefix(region, "eusc-"):
		return []string{"EUR", "USD"} // AWS bills in euro there; what its list is in, the list says
	}
	return []string{"USD"}
}

// Currency is the currency of a region's price list, as far as the region tells.
func Currency(region string) string { return currencies(region)[0] }
