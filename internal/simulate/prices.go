package simulate

import (
	"fmt"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
)

// pricesOf says of which days the prices of a region are that a run plays.
func pricesOf(facts *ec2facts.Facts, region string) string {
	days := func(oldest, newest string) string {
		if oldest == newest {
			return oldest
		}
		return oldest + " to " + newest
	}
	od := facts.OnDemand(region)
	out := "list prices of " + region + " of " + days(od.Oldest, od.Newest)
	if od.BorrowedFrom != "" {
		out = fmt.Sprintf("list prices of %s of %s, for none of %s are known", od.BorrowedFrom, days(od.Oldest, od.Newest), region)
	}
	oldest, newest := "", ""
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
	if oldest == "" {
		return out + "; spot prices begin with estimates"
	}
	return out + "; spot prices begin with those of " + days(oldest, newest)
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
