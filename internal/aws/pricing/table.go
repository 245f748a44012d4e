// Package pricing knows what instance types cost: on-demand from the Price List API, spot from the price history of EC2,
// and, until those have answered, from the embedded facts.
//
// A Table is immutable. Book holds the current one and swaps it when a refresh brings other prices, so readers never wait
// for the network.
package pricing

import (
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// Table is the prices of one region at one moment. All prices are per hour in millionths of Currency.
type Table struct {
	// Generation differs between tables with different prices.
	Generation uint64
	Currency   string
	// OnDemandLive and SpotLive say that the prices are the provider's answer and not the embedded facts.
	OnDemandLive bool
	SpotLive     bool

	onDemand map[string]catalog.MicroUSD
	spot     map[string]map[string]catalog.MicroUSD // zone → type → price
	lately   map[string]map[string]catalog.Range    // of those spot prices that moved in the last hours
	changes  []change                               // the last ones, oldest first

	borrowedFrom string // region whose embedded prices stand in for on-demand, while not live
	oldest       string // day of the oldest embedded on-demand price, empty when not known
}

// OnDemand returns the on-demand price of a type, false when none is known.
func (t *Table) OnDemand(instanceType string) (catalog.MicroUSD, bool) {
	p, ok := t.onDemand[instanceType]
	return p, ok
}

// Spot returns the spot price of a type in a zone, false when none is known. Before EC2 has told its prices it is the best
// that the embedded facts have, and the on-demand price when they have nothing; afterwards a pool without a quote has no price.
func (t *Table) Spot(instanceType, zone string) (catalog.MicroUSD, bool) {
	if p, ok := t.spot[zone][instanceType]; ok || t.SpotLive {
		return p, ok
	}
	return t.OnDemand(instanceType)
}

// SpotLately is the least and the most that a pool has cost in the last SpotMemory; nil when its price did not move.
func (t *Table) SpotLately(instanceType, zone string) *catalog.Range {
	r, ok := t.lately[zone][instanceType]
	if !ok {
		return nil
	}
	return &r
}

// Counts returns how many prices the table has.
func (t *Table) Counts() (onDemand, spot int) {
	for _, prices := range t.spot {
		spot += len(prices)
	}
	return len(t.onDemand), spot
}

// factsTable is the table to begin with.
func factsTable(facts *ec2facts.Facts, region string) *Table {
	od := facts.OnDemand(region)
	t := &Table{Generation: 1, Currency: od.Currency, borrowedFrom: od.BorrowedFrom, oldest: od.Oldest, onDemand: make(map[string]catalog.MicroUSD, len(od.Prices)), spot: map[string]map[string]catalog.MicroUSD{}}
	for name, p := range od.Prices {
		t.onDemand[name] = catalog.MicroUSD(p.MicroUSD)
	}
	zones, basis := facts.Zones(region)
	if basis != ec2facts.Exact {
		return t
	}
	for _, z := range zones {
		prices := map[string]catalog.MicroUSD{}
		for name := range od.Prices {
			if p, ok := facts.Spot(region, z.Name, name); ok && p.Basis != ec2facts.Estimated {
				prices[name] = catalog.MicroUSD(p.MicroUSD)
			}
		}
		t.spot[z.Name] = prices
	}
	return t
}
