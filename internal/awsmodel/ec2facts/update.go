package ec2facts

import (
	"fmt"
	"slices"
	"strings"
)

// Update is what was learned of one region from a live account. Nil parts were not learned; what was known stays.
type Update struct {
	Region   string
	Date     string // day on which it was learned
	Currency string
	// Types that exist in the region. Types that are known but not among them stay, as other regions may have them.
	Types []Type
	Zones []Zone
	// Offerings maps types to zones; it replaces all that was known.
	Offerings map[string][]string
	// OnDemand maps types to prices; a type that is not in it keeps what was known.
	OnDemand map[string]int64
	// Spot maps zones to types to prices; it replaces all quotes of the region.
	Spot map[string]map[string]int64
}

// With returns the facts with an update worked in; f is not changed.
//
// Errors: an update that offers a type in a zone, or prices a zone, that it does not list.
func (f *Facts) With(u Update) (*Facts, error) {
	types := f.mergeTypes(u.Types)
	to := make(map[string]int, len(types))
	for i := range types {
		to[types[i].Name] = i
	}
	var regions []*Region
	for _, name := range f.Regions() {
		if name != u.Region {
			regions = append(regions, f.regions[name].reindexed(f.Types, to))
		}
	}
	r := &Region{Name: u.Region, Currency: u.Currency}
	if old := f.regions[u.Region]; old != nil {
		r = old.reindexed(f.Types, to)
		if u.Currency != "" {
			r.Currency = u.Currency
		}
	}
	if err := r.update(u, to); err != nil {
		return nil, fmt.Errorf("region %s: %w", u.Region, err)
	}
	regions = append(regions, r)
	return New(f.sourcesWith(u), types, regions)
}

func (f *Facts) mergeTypes(live []Type) []Type {
	out := slices.Clone(f.Types)
	for _, t := range live {
		if i, ok := f.index[t.Name]; ok {
			out[i] = t
		} else {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b Type) int { return Compare(&a, &b) })
	return out
}

// reindexed copies the tables of a region into the order of another list of types.
func (r *Region) reindexed(types []Type, to map[string]int) *Region {
	out := &Region{
		Name: r.Name, Currency: r.Currency, Zones: slices.Clone(r.Zones),
		OfferedIn: reindex(r.OfferedIn, types, to), OnDemand: reindex(r.OnDemand, types, to), Estimate: reindex(r.Estimate, types, to),
		SpotQuotes: reindex(r.SpotQuotes, types, to), Advice: reindex(r.Advice, types, to),
	}
	for zone, prices := range r.SpotZone {
		if out.SpotZone == nil {
			out.SpotZone = map[string][]int64{}
		}
		out.SpotZone[zone] = reindex(prices, types, to)
	}
	return out
}

func reindex[T any](in []T, types []Type, to map[string]int) []T {
	if in == nil {
		return nil
	}
	out := make([]T, len(to))
	for i := range in {
		out[to[types[i].Name]] = in[i]
	}
	return out
}

func (r *Region) update(u Update, to map[string]int) error {
	if u.Zones != nil {
		r.OfferedIn = nil // its masks count the old zones
		r.Zones = slices.Clone(u.Zones)
		slices.SortFunc(r.Zones, func(a, b Zone) int { return strings.Compare(a.Name, b.Name) })
	}
	if u.Offerings != nil {
		r.OfferedIn = make([]uint32, len(to))
	}
	for name, zones := range u.Offerings {
		i, ok := to[name]
		if !ok {
			continue // offered, but nothing is known of it
		}
		for _, zone := range zones {
			z := slices.IndexFunc(r.Zones, func(z Zone) bool { return z.Name == zone })
			if z < 0 {
				return fmt.Errorf("type %s is offered in zone %s, which is not listed", name, zone)
			}
			r.OfferedIn[i] |= 1 << z
		}
	}
	if u.OnDemand != nil {
		sized(&r.OnDemand, len(to))
	}
	for name, price := range u.OnDemand {
		if i, ok := to[name]; ok {
			r.OnDemand[i] = Listed{MicroUSD: price, Date: u.Date}
		}
	}
	if u.Spot == nil {
		return nil
	}
	r.SpotZone, r.SpotQuotes = map[string][]int64{}, nil
	for zone, prices := range u.Spot {
		if !slices.ContainsFunc(r.Zones, func(z Zone) bool { return z.Name == zone }) {
			return fmt.Errorf("there are spot prices for zone %s, which is not listed", zone)
		}
		row := make([]int64, len(to))
		for name, price := range prices {
			if i, ok := to[name]; ok {
				row[i] = price
			}
		}
		r.SpotZone[zone] = row
	}
	return nil
}

// livePart begins the part of a source that is an update of a region; liveSpot stands in its origin where that has spot prices.
const (
	livePart = "live "
	liveSpot = "spot prices"
)

// sourcesWith says what is now from where. Lines on earlier updates of the region are replaced.
func (f *Facts) sourcesWith(u Update) []Source {
	part := livePart + u.Region
	out := slices.DeleteFunc(slices.Clone(f.Sources), func(s Source) bool { return s.Part == part })
	var learned []string
	for _, p := range []struct {
		name  string
		there bool
	}{{"types", u.Types != nil}, {"zones", u.Zones != nil}, {"offerings", u.Offerings != nil}, {"on-demand prices", u.OnDemand != nil}, {liveSpot, u.Spot != nil}} {
		if p.there {
			learned = append(learned, p.name)
		}
	}
	return append(out, Source{Part: part, Date: u.Date, Licence: "facts published by AWS", Origin: strings.Join(learned, ", ") + " as EC2 and the Price List API told an account"})
}
