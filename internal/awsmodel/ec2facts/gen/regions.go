package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
)

// tables builds the regions' tables row by row.
type tables struct {
	folder  string
	types   map[string]int
	regions map[string]*ec2facts.Region
}

func readRegions(folder string, types []ec2facts.Type) ([]*ec2facts.Region, error) {
	t := &tables{folder: folder, types: map[string]int{}, regions: map[string]*ec2facts.Region{}}
	for i := range types {
		t.types[types[i].Name] = i
	}
	for _, read := range []func() error{t.zones, t.offerings, t.onDemand, t.estimates, t.spotByZone, t.spotByRegion, t.advice} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	var out []*ec2facts.Region
	for _, name := range slices.Sorted(maps.Keys(t.regions)) {
		out = append(out, t.regions[name])
	}
	return out, nil
}

func (t *tables) region(name string) *ec2facts.Region {
	r := t.regions[name]
	if r == nil {
		r = &ec2facts.Region{Name: name, Currency: "USD"}
		t.regions[name] = r
	}
	return r
}

// column returns the index of a row's type and the slice that belongs to a region; a type that is not listed is left out,
// as prices of types that never were in the API are of no use.
func column[T any](t *tables, r *record, s *[]T) (*T, bool) {
	i, ok := t.types[r.str("type")]
	if !ok {
		return nil, false
	}
	if *s == nil {
		*s = make([]T, len(t.types))
	}
	return &(*s)[i], true
}

func (t *tables) zones() error {
	if err := each(t.folder, "zones.csv", func(r *record) error {
		reg := t.region(r.str("region"))
		reg.Zones = append(reg.Zones, ec2facts.Zone{Name: r.str("zone"), ID: r.str("zone_id_of_sampled_account")})
		return nil
	}); err != nil {
		return err
	}
	for _, reg := range t.regions {
		slices.SortFunc(reg.Zones, func(a, b ec2facts.Zone) int { return strings.Compare(a.Name, b.Name) })
		nameZones(reg.Zones)
	}
	return nil
}

// nameZones gives zones whose ID could not be found the IDs that are left over, in order; which is whose differs from
// account to account anyway.
func nameZones(zones []ec2facts.Zone) {
	prefix, used := "", map[string]bool{}
	for _, z := range zones {
		used[z.ID] = true
		if p, _, ok := strings.Cut(z.ID, "-az"); ok {
			prefix = p
		}
	}
	for i, n := 0, 1; i < len(zones); i++ {
		for zones[i].ID == "" {
			if id := fmt.Sprintf("%s-az%d", prefix, n); !used[id] {
				zones[i].ID = id
			}
			n++
		}
	}
}

func (t *tables) offerings() error {
	return each(t.folder, "zone-offerings.csv.gz", func(r *record) error {
		reg := t.region(r.str("region"))
		mask, ok := column(t, r, &reg.OfferedIn)
		if !ok {
			return fmt.Errorf("type %q is offered but not described", r.str("type"))
		}
		for _, letter := range r.str("zone_letters") {
			z := slices.IndexFunc(reg.Zones, func(z ec2facts.Zone) bool { return z.Name == reg.Name+string(letter) })
			if z < 0 {
				return fmt.Errorf("zone %s%c is not listed", reg.Name, letter)
			}
			*mask |= 1 << z
		}
		return nil
	})
}

func (t *tables) onDemand() error {
	return each(t.folder, "on-demand-prices.csv.gz", func(r *record) error {
		reg := t.region(r.str("region"))
		reg.Currency = r.str("currency")
		p, ok := column(t, r, &reg.OnDemand)
		if !ok {
			return nil
		}
		p.Date = r.str("as_of")
		return price(r, "per_hour", &p.MicroUSD)
	})
}

func (t *tables) estimates() error {
	return each(t.folder, "on-demand-estimates.csv.gz", func(r *record) error {
		p, ok := column(t, r, &t.region(r.str("region")).Estimate)
		if !ok {
			return nil
		}
		return price(r, "usd_per_hour_estimate", p)
	})
}

func (t *tables) spotByZone() error {
	return each(t.folder, "spot-prices.csv.gz", func(r *record) error {
		reg := t.region(r.str("region"))
		if reg.SpotZone == nil {
			reg.SpotZone = map[string][]int64{}
		}
		zone := r.str("zone")
		prices := reg.SpotZone[zone]
		p, ok := column(t, r, &prices)
		if !ok {
			return nil
		}
		reg.SpotZone[zone] = prices
		return price(r, "usd_per_hour", p)
	})
}

func (t *tables) spotByRegion() error {
	return each(t.folder, "spot-region-quotes.csv.gz", func(r *record) error {
		reg := t.region(r.str("region"))
		all, ok := column(t, r, &reg.SpotQuotes)
		if !ok {
			return nil
		}
		for _, s := range r.list("zone_prices_low_to_high_usd") {
			micro, err := ec2facts.ParseMicro(s)
			if err != nil {
				return err
			}
			if micro > 0 {
				*all = append(*all, micro)
			}
		}
		return nil
	})
}

func (t *tables) advice() error {
	return each(t.folder, "spot-advisor.csv.gz", func(r *record) error {
		a, ok := column(t, r, &t.region(r.str("region")).Advice)
		if !ok {
			return nil
		}
		// A few savings are below zero, against price lists of another day; spot never costs more than on-demand.
		*a = ec2facts.Advice{Known: true, SavingPercent: max(0, r.num("saving_vs_od_pct")), Interrupted: r.str("interrupted_per_month_pct_band")}
		return nil
	})
}

func price(r *record, column string, into *int64) error {
	micro, err := ec2facts.ParseMicro(r.str(column))
	*into = micro
	return err
}
