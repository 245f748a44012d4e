package audit

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// leastOfUsual is the least part of the price with the saving that AWS publishes that an old quote may be. A single day of a single zone
// can be far below the mean of a month, and a search for the cheapest types finds just those: then a few quotes decide the floor of a
// cluster. A third below leaves room for quotes that differ between zones; it is an assumption.
const leastOfUsual = 0.7

// Spot is part of offering.Prices.
func (m *market) Spot(instanceType, zone string) (catalog.MicroUSD, bool) {
	p, _, ok := m.spot(instanceType, zone)
	return p, ok
}

// spot is a spot price, on what it rests, and whether it is known.
func (m *market) spot(instanceType, zone string) (catalog.MicroUSD, spotBasis, bool) {
	od, priced := m.OnDemand(instanceType)
	if m.discount != nil {
		return catalog.MicroUSD(math.Round(float64(od) * (1 - *m.discount))), spotBasis{}, priced
	}
	p, ok := m.facts.Spot(m.region, zone, instanceType)
	price, basis := catalog.MicroUSD(p.MicroUSD), spotBasis{basis: p.Basis, date: p.Date}
	if quoted := p.Basis == ec2facts.Exact || p.Basis == ec2facts.ZoneUnknown; ok && quoted && m.old(p.Date) {
		if a, known := m.facts.SpotAdvice(m.region, instanceType); known && priced {
			least := catalog.MicroUSD(float64(od) * float64(100-a.SavingPercent) / 100 * leastOfUsual)
			if least > price {
				price, basis.raised = least, true
			}
		}
	}
	return price, basis, ok
}

// SpotLately is part of offering.Prices; an audit is of one moment.
func (m *market) SpotLately(string, string) *catalog.Range { return nil }

// spotBasis is on what a spot price rests.
type spotBasis struct {
	basis  ec2facts.Basis
	date   string // day, or days as in 2024-01-09..2024-02-01; empty: none
	raised bool   // it was below what an old quote may be
}

// old tells whether a day, or the last of days, is long before the audit.
func (m *market) old(date string) bool {
	if date == "" {
		return false
	}
	day, err := time.Parse(time.DateOnly, date[max(0, len(date)-len(time.DateOnly)):])
	return err == nil && m.at.Sub(day) > ec2facts.OldQuote
}

func (b spotBasis) text() string {
	out := map[ec2facts.Basis]string{
		ec2facts.Exact: "quotes of the zone", ec2facts.ZoneUnknown: "quotes of the region, not known of which zone", ec2facts.Advised: "the usual saving that AWS publishes",
		ec2facts.Estimated: "estimates", ec2facts.Borrowed: "another region's",
	}[b.basis]
	if b.date != "" {
		out += " (" + strings.Replace(b.date, "..", " to ", 1) + ")"
	}
	return out
}

// spots are the instance types of which spot prices are used, each with a zone.
type spots map[[2]string]bool

func (s spots) use(instanceType, zone string) { s[[2]string{instanceType, zone}] = true }

// spotPrices says on what the spot prices rest that the bill, the plan and the moves use, and warns of old ones: they move the floor too.
func (a *audit) spotPrices() {
	for _, n := range a.st.nodes {
		spot := n.CapacityType == catalog.Spot
		if (n.from == ofPool || n.from == ofGroup) && (spot || a.asksForSpot() && n.movable()) {
			a.spots.use(n.InstanceType, n.Zone)
		}
	}
	out, m := &a.report.Prices, a.m
	if m.discount != nil {
		out.Spot = fmt.Sprintf("assumed: %.0f %% below on-demand", *m.discount*100)
		return
	}
	var seen []string
	raised := false
	for x := range a.spots {
		_, b, ok := m.spot(x[0], x[1])
		if !ok {
			continue
		}
		raised = raised || b.raised
		if text := b.text(); !slices.Contains(seen, text) {
			seen = append(seen, text)
		}
		if first, last, several := strings.Cut(b.date, ".."); m.old(b.date) {
			if !several {
				last = first
			}
			if out.SpotOldest == "" || first < out.SpotOldest {
				out.SpotOldest = first
			}
			out.SpotNewest = max(out.SpotNewest, last)
		}
	}
	slices.Sort(seen)
	out.Spot = strings.Join(seen, "; ")
	switch {
	case len(seen) == 0:
		out.Spot = "none is used"
	case raised:
		out.Spot += fmt.Sprintf("; where these are lower, %.0f %% of the price with the usual saving counts", 100*leastOfUsual)
	}
	if out.SpotOldest == "" {
		return
	}
	days := out.SpotOldest
	if out.SpotNewest != out.SpotOldest {
		days += " to " + out.SpotNewest
	}
	out.Warning = fmt.Sprintf("Spot prices are of %s, and the floor, Kerf's plan and what is saved rest on them. For the prices of now: --with-aws, which asks your account, or --spot-discount 60, which assumes spot 60 %% below on-demand.", days)
	if a.o.Live {
		out.Warning = fmt.Sprintf("Some spot prices are of %s: your account told none of now, which takes ec2:DescribeSpotPriceHistory. The floor, Kerf's plan and what is saved rest on them as well. --spot-discount 60 assumes spot 60 %% below on-demand instead.", days)
	}
}

// asksForSpot tells whether the report says what spot would save on nodes that run on demand.
func (a *audit) asksForSpot() bool {
	return slices.ContainsFunc(a.report.Asked, func(p Part) bool { return p.Code == AskedSpot })
}
