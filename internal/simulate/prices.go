package simulate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
)

// pricesOf says of which days the prices of a region are that a run plays.
func pricesOf(facts *ec2facts.Facts, region string) string {
	od := facts.OnDemand(region)
	out := "list prices of " + region + " of " + days(od.Oldest, od.Newest)
	if od.BorrowedFrom != "" {
		out = fmt.Sprintf("list prices of %s of %s, for none of %s are known", od.BorrowedFrom, days(od.Oldest, od.Newest), region)
	}
	oldest, newest := spotDays(facts, region)
	if oldest == "" {
		return out + "; spot prices begin with estimates"
	}
	return out + "; spot prices begin with those of " + days(oldest, newest)
}

// spotDays are the first and the last day of the spot quotes of a region; empty where there are estimates only.
func spotDays(facts *ec2facts.Facts, region string) (oldest, newest string) {
	zones, _ := facts.Zones(region)
	for _, zone := range zones {
		for i := range facts.Types {
			p, ok := facts.Spot(region, zone.Name, facts.Types[i].Name)
			if !ok || p.Date == "" {
				continue
			}
			first, last, several := strings.Cut(p.Date, "..")
			if !several {
				last = first
			}
			if oldest == "" || first < oldest {
				oldest = first
			}
			newest = max(newest, last)
		}
	}
	return oldest, newest
}

// spotNote warns of spot prices that are long before the list prices, or estimates: a run knows of no day, and the newest list price is
// about as old as the build. It is empty where they are not, and where own prices, as ownPrices has them, change those of all types.
func spotNote(facts *ec2facts.Facts, region string, types []string, own func(kind, zone, capacityType string, listed int64) int64) string {
	oldest, newest := spotDays(facts, region)
	list, err := time.Parse(time.DateOnly, facts.OnDemand(region).Newest)
	spot, err2 := time.Parse(time.DateOnly, newest)
	if err == nil && err2 == nil && list.Sub(spot) <= ec2facts.OldQuote {
		return ""
	}
	const listed = 1e6
	zones, _ := facts.Zones(region)
	listPrice := func(kind string) bool {
		return slices.ContainsFunc(zones, func(z ec2facts.Zone) bool { return own(kind, z.Name, "spot", listed) == listed })
	}
	if !slices.ContainsFunc(types, listPrice) {
		return ""
	}
	of := "estimates"
	if oldest != "" {
		of = "those of " + days(oldest, newest)
	}
	return "spot prices begin with " + of + ", and the bill, the floor and the choice between spot and on demand rest on them. For others give a price file, --set " + priceFile +
		"=FILE: the prices of now by type and zone, or a factor of all, such as 'prices: [{match: {capacityType: spot}, factor: 1.3}]'"
}

func days(oldest, newest string) string {
	if oldest == newest {
		return oldest
	}
	return oldest + " to " + newest
}

// spotNote is what is said of the spot prices of all that is compared; empty where there is nothing to say.
func (c *Comparison) spotNote() string {
	for i := range c.Configurations {
		if note := ofSpot(c.Configurations[i].Results); note != "" {
			return note
		}
	}
	return ""
}

// ofSpot is what is said of the spot prices of runs.
func ofSpot(runs []*Result) string {
	for _, r := range runs {
		if r.SpotPrices != "" {
			return r.SpotPrices
		}
	}
	return ""
}

// regionNote warns where the region is the default one; empty otherwise.
func (r *Result) regionNote() string {
	if !r.RegionUnknown {
		return ""
	}
	return "the region is not known: types and prices are those of " + r.Region + "; --region says another"
}

// settingsNote is what the controller warns of in the settings, with words in front; empty where there is nothing.
func (r *Result) settingsNote(of string) string {
	if len(r.Warnings) == 0 {
		return ""
	}
	return of + "the controller warns of its settings: " + strings.Join(r.Warnings, "; ")
}

// place is where a run is played, and at which prices.
func (r *Result) place() string {
	if r.Region == "" {
		return ""
	}
	return r.Region + "; " + r.Prices
}

// places are those of all configurations, each once, with the warnings that they have.
func (c *Comparison) places() (places, notes []string) {
	seen := map[string]bool{}
	for _, of := range c.Configurations {
		r := of.Results[0]
		if text := r.place(); text != "" && !seen[text] {
			seen[text] = true
			places = append(places, text)
			if note := r.regionNote(); note != "" {
				notes = append(notes, note)
			}
		}
		notes = append(notes, r.settingsNote("with "+of.Name+", "))
	}
	return places, notes
}
