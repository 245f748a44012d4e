package ec2facts

import (
	"fmt"
	"slices"
	"strings"
)

// Region holds the tables of one region. Slices named by type are indexed as Facts.Types is; they may be nil when nothing
// of that kind is known.
type Region struct {
	Name     string
	Currency string // USD, CNY, EUR
	Zones    []Zone // sorted by name; at most 32

	// OfferedIn has, by type, bit i set when Zones[i] offers the type.
	OfferedIn []uint32
	// OnDemand has, by type, the list price; Estimate a guess for types without one.
	OnDemand []Listed
	Estimate []int64
	// SpotZone has, by zone and type, the last quote seen. SpotQuotes has, by type, the quotes of all zones, low to high,
	// where it is not known which zone has which. Advice has the published saving.
	SpotZone   map[string][]int64
	SpotQuotes [][]int64
	Advice     []Advice
}

// Zone is an availability zone with the ID that it has in the account that was looked at.
type Zone struct {
	Name string
	ID   string
}

// Listed is a published price.
type Listed struct {
	MicroUSD int64  // millionths of the region's currency per hour; 0 when none is known
	Date     string // day of the list
}

// Advice is what the provider publishes on the spot market of a type.
type Advice struct {
	Known bool
	// SavingPercent is how much spot was below on-demand.
	SavingPercent int
	// Interrupted is the band of the share of instances that are reclaimed in a month, in percent: <5, 5-10, 10-15, 15-20, >20.
	Interrupted string
}

func (r *Region) check(types int) error {
	if len(r.Zones) > 32 {
		return fmt.Errorf("%d zones are more than the 32 that the file can hold", len(r.Zones))
	}
	if !slices.IsSortedFunc(r.Zones, func(a, b Zone) int { return strings.Compare(a.Name, b.Name) }) {
		return fmt.Errorf("zones are not sorted by name")
	}
	for what, n := range map[string]int{
		"offerings": len(r.OfferedIn), "on-demand prices": len(r.OnDemand), "price estimates": len(r.Estimate),
		"spot quotes": len(r.SpotQuotes), "spot advice": len(r.Advice),
	} {
		if n != 0 && n != types {
			return fmt.Errorf("%s are given for %d of %d types", what, n, types)
		}
	}
	for zone, prices := range r.SpotZone {
		if len(prices) != types {
			return fmt.Errorf("spot prices of zone %q are given for %d of %d types", zone, len(prices), types)
		}
	}
	return nil
}

// fallback is the region whose facts stand in for those of a region that nothing is known of.
func fallback(region string) string {
	switch {
	case strings.HasPrefix(region, "cn-"):
		return "cn-north-1"
	case strings.HasPrefix(region, "us-gov-"):
		return "us-gov-west-1"
	default:
		return "us-east-1"
	}
}

// Zones lists the zones of a region, sorted. Where none are known it is three with names and IDs formed by the usual rule,
// and the basis is Borrowed.
func (f *Facts) Zones(region string) ([]Zone, Basis) {
	if r := f.regions[region]; r != nil && len(r.Zones) > 0 {
		return slices.Clone(r.Zones), Exact
	}
	out := make([]Zone, 3)
	for i := range out {
		out[i] = Zone{Name: region + string(rune('a'+i)), ID: fmt.Sprintf("%s-az%d", zoneIDPrefix(region), i+1)}
	}
	return out, Borrowed
}

// zoneIDPrefix forms the short name of a region that zone IDs begin with: us-gov-west-1 → usgw1.
func zoneIDPrefix(region string) string {
	var b strings.Builder
	for i, part := range strings.Split(region, "-") {
		switch {
		case part == "":
		case i == 0 || part[0] >= '0' && part[0] <= '9':
			b.WriteString(part)
		default:
			b.WriteByte(part[0])
			for _, second := range []string{"east", "west"} {
				if part != second && strings.HasSuffix(part, second) {
					b.WriteByte(second[0])
				}
			}
		}
	}
	return b.String()
}

// Offerings maps every type that a region offers to its zones, sorted. Where the offerings of a region are not known, all
// types that have a price there (or in the region that stands in for it) count as offered in all zones; the basis is
// Borrowed then.
func (f *Facts) Offerings(region string) (map[string][]string, Basis) {
	out := map[string][]string{}
	if r := f.regions[region]; r != nil && len(r.OfferedIn) > 0 {
		for i, mask := range r.OfferedIn {
			if mask == 0 {
				continue
			}
			var zones []string
			for z := range r.Zones {
				if mask&(1<<z) != 0 {
					zones = append(zones, r.Zones[z].Name)
				}
			}
			out[f.Types[i].Name] = zones
		}
		return out, Exact
	}
	zones, _ := f.Zones(region)
	names := make([]string, len(zones))
	for i := range zones {
		names[i] = zones[i].Name
	}
	for name := range f.OnDemand(region).Prices {
		if t, ok := f.Type(name); ok && t.LastSeen == "" {
			out[name] = slices.Clone(names)
		}
	}
	return out, Borrowed
}
