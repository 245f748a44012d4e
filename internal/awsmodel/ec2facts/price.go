package ec2facts

import (
	"cmp"
	"hash/fnv"
	"strings"
	"time"
)

// OldQuote is from which age on a spot quote is old. Spot prices "adjust gradually, based on long-term trends" (EC2 User Guide), so that
// those of some weeks ago are near those of now; what AWS publishes of savings is of a month too.
const OldQuote = 28 * 24 * time.Hour

// Basis is what a fact rests on.
type Basis string

// What facts rest on, best first.
const (
	// Exact: published or measured for that region, zone and type.
	Exact Basis = "exact"
	// ZoneUnknown: a true spot quote of one of the region's zones, but perhaps not of this one.
	ZoneUnknown Basis = "zone unknown"
	// Advised: on-demand price less the published saving.
	Advised Basis = "advised"
	// Estimated: from relatives of the type.
	Estimated Basis = "estimated"
	// Borrowed: another region's.
	Borrowed Basis = "borrowed"
)

// Price of an hour.
type Price struct {
	MicroUSD int64 // millionths of the region's currency
	Basis    Basis
	// Date is the day or days ("2024-01-09..2024-02-01") of the list, the quote or the advice that it rests on; empty for estimates.
	Date string
}

// PriceTable is the on-demand prices of a region (Linux, shared tenancy).
type PriceTable struct {
	Region   string
	Currency string
	Prices   map[string]Price // by type; a type that is not in it has no known price
	// Oldest and Newest are the days of the lists that the prices are from.
	Oldest, Newest string
	// Estimates counts the prices that are guesses.
	Estimates int
	// BorrowedFrom names the region whose prices stand in; empty when they are the region's own.
	BorrowedFrom string
}

// OnDemand returns the on-demand prices of a region: listed ones, estimates for what is offered without a listed price,
// or, for a region that no price is known of, those of another region with basis Borrowed. The table is the caller's own.
func (f *Facts) OnDemand(region string) PriceTable {
	out := PriceTable{Region: region, Prices: map[string]Price{}}
	r := f.regions[region]
	if r == nil || len(r.OnDemand) == 0 {
		out.BorrowedFrom = fallback(region)
		r = f.regions[out.BorrowedFrom]
		if r == nil {
			return out
		}
	}
	out.Currency = r.Currency
	for i := range f.Types {
		p, ok := r.onDemand(i)
		if !ok {
			continue
		}
		if p.Basis == Estimated {
			out.Estimates++
		} else {
			if out.Oldest == "" || p.Date < out.Oldest {
				out.Oldest = p.Date
			}
			out.Newest = max(out.Newest, p.Date)
		}
		if out.BorrowedFrom != "" {
			p.Basis = Borrowed
		}
		out.Prices[f.Types[i].Name] = p
	}
	return out
}

func (r *Region) onDemand(i int) (Price, bool) {
	if i < len(r.OnDemand) && r.OnDemand[i].MicroUSD > 0 {
		return Price{MicroUSD: r.OnDemand[i].MicroUSD, Basis: Exact, Date: r.OnDemand[i].Date}, true
	}
	if i < len(r.Estimate) && r.Estimate[i] > 0 {
		return Price{MicroUSD: r.Estimate[i], Basis: Estimated}, true
	}
	return Price{}, false
}

// usualSaving is what spot was below on-demand in the middle of all published savings; it serves types that nothing is
// published of.
const usualSaving = 63

// Spot returns a spot price for a type in a zone, by the best basis there is: a quote of the zone, a quote of the region's
// zones, the published saving, the usual saving. It is never above the on-demand price, which is EC2's own cap. It is false
// for types that are not sold as spot and for those without any price.
func (f *Facts) Spot(region, zone, instanceType string) (Price, bool) {
	i, ok := f.index[instanceType]
	if !ok || !f.Types[i].sold("spot") {
		return Price{}, false
	}
	r, borrowed := f.regions[region], false
	if r == nil || len(r.OnDemand) == 0 {
		r, borrowed = f.regions[fallback(region)], true
		if r == nil {
			return Price{}, false
		}
	}
	od, priced := r.onDemand(i)
	p, ok := r.spot(i, zone, instanceType, od)
	if !ok {
		return Price{}, false
	}
	if priced {
		p.MicroUSD = min(p.MicroUSD, od.MicroUSD)
	}
	p.Date = f.spotDate(r.Name, p.Basis)
	if borrowed {
		p.Basis = Borrowed
	}
	return p, true
}

// spotDate is the day or days of what a spot price of a region rests on.
func (f *Facts) spotDate(region string, basis Basis) string {
	part, date := "", ""
	switch basis {
	case Exact:
		part = "spot by zone"
	case ZoneUnknown:
		part = "spot by region"
	case Advised:
		part = "spot advice"
	case Estimated, Borrowed:
		return ""
	}
	for _, s := range f.Sources {
		switch {
		case s.Part == part:
			date = cmp.Or(date, s.Date)
		case basis == Exact && s.Part == livePart+region && strings.Contains(s.Origin, liveSpot):
			date = s.Date // an update replaces all quotes of its region
		}
	}
	return date
}

func (r *Region) spot(i int, zone, name string, od Price) (Price, bool) {
	if quotes := r.SpotZone[zone]; i < len(quotes) && quotes[i] > 0 {
		return Price{MicroUSD: quotes[i], Basis: Exact}, true
	}
	if i < len(r.SpotQuotes) && len(r.SpotQuotes[i]) > 0 {
		// Which zone has which quote is not known; dealing them out by a hash keeps one zone from always being the cheap one.
		h := fnv.New32a()
		h.Write([]byte(name))
		nth := int(h.Sum32()%uint32(len(r.SpotQuotes[i]))) + r.zoneIndex(zone)
		return Price{MicroUSD: r.SpotQuotes[i][nth%len(r.SpotQuotes[i])], Basis: ZoneUnknown}, true
	}
	if od.MicroUSD == 0 {
		return Price{}, false
	}
	saving, basis := usualSaving, Estimated
	if i < len(r.Advice) && r.Advice[i].Known {
		saving, basis = r.Advice[i].SavingPercent, Advised
	}
	return Price{MicroUSD: max(1, od.MicroUSD*int64(100-saving)/100), Basis: basis}, true
}

func (r *Region) zoneIndex(zone string) int {
	for i := range r.Zones {
		if r.Zones[i].Name == zone {
			return i
		}
	}
	return 0
}

// SpotAdvice returns what is published on the spot market of a type in a region.
func (f *Facts) SpotAdvice(region, instanceType string) (Advice, bool) {
	i, ok := f.index[instanceType]
	r := f.regions[region]
	if !ok || r == nil || i >= len(r.Advice) || !r.Advice[i].Known {
		return Advice{}, false
	}
	return r.Advice[i], true
}

func (t *Type) sold(class string) bool {
	for _, c := range t.UsageClasses {
		if c == class {
			return true
		}
	}
	return false
}
