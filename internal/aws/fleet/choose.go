package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

const (
	// maxTypes is how many instance types one fleet is offered, maxOverrides how many pools EC2 takes in one request.
	maxTypes     = 60
	maxOverrides = 300
)

// Want is what a claim demands of its instance.
type Want struct {
	Requirements []requirement.Term
	Requests     res.List
	// RelaxMinValues takes as many values as there are when there are fewer than demanded.
	RelaxMinValues bool
	// PriceBound is by how many percent an offering may be dearer than the cheapest one; 0 for any price. minValues and
	// reserved capacity come before it.
	PriceBound int64
}

// Pick is an instance type with those of its offerings that may be asked for, cheapest first.
type Pick struct {
	Type      *catalog.Type
	Offerings []catalog.Offering
}

// Choice is what to ask EC2 for.
type Choice struct {
	CapacityType string
	// Tenancy is default or dedicated.
	Tenancy string
	// Reservation is the kind of reservation that all is launched out of; its zero value if CapacityType is not reserved.
	Reservation ReservationKind
	// Partition of the placement group that all is launched in; 0 for none. See Partitions.
	Partition int32
	// Picks are sorted by price; all offerings are of CapacityType.
	Picks []Pick
}

// Choose picks, of all types, those that a fleet is to choose from.
//
// Errors: *cloud.Error of class Exhausted when nothing is left, with the step that took the last one.
func Choose(types []*catalog.Type, want Want) (*Choice, error) {
	demands := byKey(want.Requirements)
	picks := possible(types, demands, want.Requests)
	if len(picks) == 0 {
		return nil, nothing("no instance type that is available now meets the requirements and has room for the requests: " + why(types, demands, want.Requests))
	}
	picks = reservedIfEnough(picks, want)
	minValues := slices.ContainsFunc(want.Requirements, func(t requirement.Term) bool { return t.MinValues > 0 })
	bounded := withoutDear(picks, want.PriceBound)
	if !minValues {
		bounded = withoutCostlySpot(withoutExotic(bounded))
		picks = bounded
	}
	sortPicks(picks)
	sortPicks(bounded)
	picks, err := truncate(picks, bounded, want)
	if err != nil {
		return nil, err
	}
	choice := &Choice{CapacityType: catalog.OnDemand, Tenancy: tenancy(demands)}
	switch {
	case anyOffering(picks, catalog.Reserved):
		choice.CapacityType, choice.Reservation = catalog.Reserved, kindOf(picks)
	case anyOffering(picks, catalog.Spot):
		choice.CapacityType = catalog.Spot
	}
	choice.Picks = limitPools(onlyCapacityType(picks, choice.CapacityType))
	choice.Partition = choice.Picks[0].Offerings[0].Partition
	return choice, nil
}

func nothing(message string) error {
	return &cloud.Error{Op: "choosing instance types", Class: cloud.Exhausted, Reason: awserr.ReasonUnfulfillableCapacity, Err: errors.New(message)}
}

// possible are the types that meet the demands and hold the requests, with the offerings that do.
func possible(types []*catalog.Type, demands map[string][]requirement.Term, requests res.List) []Pick {
	var out []Pick
	names := demands[corev1.LabelInstanceTypeStable]
	for _, t := range types {
		if !admits(names, t.Name) || !meets(t, demands) || !holds(t, requests) {
			continue
		}
		var offerings []catalog.Offering
		for _, o := range t.Offerings {
			if o.Available && (o.CapacityType != catalog.Reserved || o.Reservable > 0) && offeringMeets(&o, demands) {
				offerings = append(offerings, o)
			}
		}
		if len(offerings) > 0 {
			slices.SortFunc(offerings, func(a, b catalog.Offering) int {
				return cmp.Or(cmp.Compare(a.Price, b.Price), cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.CapacityType, b.CapacityType), cmp.Compare(a.ReservationID, b.ReservationID))
			})
			out = append(out, Pick{Type: t, Offerings: offerings})
		}
	}
	return out
}

// why says how far each demand gets, for a message.
func why(types []*catalog.Type, demands map[string][]requirement.Term, requests res.List) string {
	var compatible, big, free int
	reasons := map[string]int{}
	for _, t := range types {
		if !meets(t, demands) {
			continue
		}
		compatible++
		if !holds(t, requests) {
			continue
		}
		big++
		for _, o := range t.Offerings {
			if !offeringMeets(&o, demands) {
				continue
			}
			if free++; o.Unavailable != "" {
				reasons[o.Unavailable]++
			}
		}
	}
	out := fmt.Sprintf("of %d types %d are compatible, %d of them are big enough, with %d offerings", len(types), compatible, big, free)
	if len(reasons) > 0 {
		var parts []string
		for r, n := range reasons {
			parts = append(parts, fmt.Sprintf("%s (%d)", r, n))
		}
		slices.Sort(parts)
		out += ", none available: " + strings.Join(parts, ", ")
	}
	return out
}

// withoutDear leaves out offerings that are dearer than the cheapest by more than so many percent. The plan counted on the
// cheapest, and EC2 takes any that it is offered. It comes before withoutExotic, as the plan may have counted on bare metal.
func withoutDear(picks []Pick, percent int64) []Pick {
	if percent <= 0 || len(picks) == 0 || anyOffering(picks, catalog.Reserved) {
		return picks
	}
	cheapest := picks[0].Offerings[0].Price
	for _, p := range picks {
		cheapest = min(cheapest, p.Offerings[0].Price)
	}
	limit := cheapest + cheapest*catalog.MicroUSD(percent)/100
	return keep(picks, func(o *catalog.Offering) bool { return o.Price <= limit })
}

// withoutExotic leaves out bare metal and instances with accelerators, unless nothing else is there: a fleet must not
// hand a GPU to a pod that has no use for it because it was cheap this minute.
func withoutExotic(picks []Pick) []Pick {
	plain := slices.DeleteFunc(slices.Clone(picks), func(p Pick) bool { return exotic(p.Type) })
	if len(plain) == 0 {
		return picks
	}
	return plain
}

func exotic(t *catalog.Type) bool {
	for _, r := range t.Requirements {
		if r.Operator != requirement.In {
			continue
		}
		switch r.Key {
		case awsv1.LabelInstanceGPUCount, awsv1.LabelInstanceAcceleratorCount:
			return true
		case awsv1.LabelInstanceSize:
			if slices.ContainsFunc(r.Values, func(v string) bool { return strings.Contains(v, "metal") }) {
				return true
			}
		}
	}
	return false
}

// withoutCostlySpot leaves out spot offerings that cost more than the cheapest on-demand one.
func withoutCostlySpot(picks []Pick) []Pick {
	limit, have := catalog.MicroUSD(0), false
	for _, p := range picks {
		for _, o := range p.Offerings {
			if o.CapacityType == catalog.OnDemand && (!have || o.Price < limit) {
				limit, have = o.Price, true
			}
		}
	}
	if !have {
		return picks
	}
	return keep(picks, func(o *catalog.Offering) bool { return o.CapacityType != catalog.Spot || o.Price <= limit })
}

func onlyCapacityType(picks []Pick, capacityType string) []Pick {
	return keep(picks, func(o *catalog.Offering) bool { return o.CapacityType == capacityType })
}

// keep are the picks with those offerings for which f is true, without picks that have none.
func keep(picks []Pick, f func(*catalog.Offering) bool) []Pick {
	var out []Pick
	for _, p := range picks {
		var offerings []catalog.Offering
		for i := range p.Offerings {
			if f(&p.Offerings[i]) {
				offerings = append(offerings, p.Offerings[i])
			}
		}
		if len(offerings) > 0 {
			out = append(out, Pick{p.Type, offerings})
		}
	}
	return out
}

func anyOffering(picks []Pick, capacityType string) bool {
	return slices.ContainsFunc(picks, func(p Pick) bool {
		return slices.ContainsFunc(p.Offerings, func(o catalog.Offering) bool { return o.CapacityType == capacityType })
	})
}

func sortPicks(picks []Pick) {
	slices.SortFunc(picks, func(a, b Pick) int {
		return cmp.Or(cmp.Compare(a.Offerings[0].Price, b.Offerings[0].Price), cmp.Compare(a.Type.Name, b.Type.Name))
	})
}

// tenancy is default unless the demands allow dedicated only.
func tenancy(demands map[string][]requirement.Term) string {
	if terms, ok := demands[awsv1.LabelInstanceTenancy]; ok && !admits(terms, awsv1.TenancyDefault) && admits(terms, awsv1.TenancyDedicated) {
		return awsv1.TenancyDedicated
	}
	return awsv1.TenancyDefault
}

// truncate takes the cheapest picks, but so that minValues hold: picks that bring values still missing come first, whatever
// they cost. The others are of those within the bound of price.
func truncate(picks, bounded []Pick, want Want) ([]Pick, error) {
	chosen, missing := coverMinValues(picks, want.Requirements)
	if len(missing) > 0 && !want.RelaxMinValues {
		return nil, nothing("minValues can't be met with what is available now: " + strings.Join(missing, ", "))
	}
	out := make([]Pick, 0, maxTypes)
	for _, i := range chosen {
		out = append(out, picks[i])
	}
	for _, p := range bounded {
		if len(out) >= maxTypes {
			break
		}
		if !slices.ContainsFunc(chosen, func(i int) bool { return picks[i].Type == p.Type }) {
			out = append(out, p)
		}
	}
	sortPicks(out)
	return out, nil
}

// limitPools drops the dearest pools of what is more than EC2 takes in one request, but leaves each type its cheapest.
func limitPools(picks []Pick) []Pick {
	sortPicks(picks)
	spare := maxOverrides - len(picks)
	for i := range picks {
		n := min(len(picks[i].Offerings), 1+max(spare, 0))
		spare -= n - 1
		picks[i].Offerings = picks[i].Offerings[:n]
	}
	return picks
}

// coverMinValues picks, cheapest first, those that bring a value that a minValues demand still needs. missing says which
// demands could not be met.
func coverMinValues(picks []Pick, terms []requirement.Term) (chosen []int, missing []string) {
	type demand struct {
		term requirement.Term
		seen map[string]bool
	}
	var demands []*demand
	for _, t := range terms {
		if t.MinValues > 0 {
			demands = append(demands, &demand{t, map[string]bool{}})
		}
	}
	if len(demands) == 0 {
		return nil, nil
	}
	for i := range picks {
		if len(chosen) >= maxTypes {
			break
		}
		useful := false
		for _, d := range demands {
			if len(d.seen) >= d.term.MinValues {
				continue
			}
			for _, v := range valuesOf(&picks[i], d.term.Key) {
				if !d.seen[v] && admits([]requirement.Term{d.term}, v) {
					d.seen[v], useful = true, true
				}
			}
		}
		if useful {
			chosen = append(chosen, i)
		}
	}
	for _, d := range demands {
		if len(d.seen) < d.term.MinValues {
			missing = append(missing, fmt.Sprintf("%s has %d values, %d are demanded", d.term.Key, len(d.seen), d.term.MinValues))
		}
	}
	return chosen, missing
}

// valuesOf are the values that a key could have if this pick were launched.
func valuesOf(p *Pick, key string) []string {
	var out []string
	switch key {
	case corev1.LabelTopologyZone:
		for _, o := range p.Offerings {
			out = append(out, o.Zone)
		}
	case awsv1.LabelTopologyZoneID:
		for _, o := range p.Offerings {
			out = append(out, o.ZoneID)
		}
	case karpv1.CapacityTypeLabelKey:
		for _, o := range p.Offerings {
			out = append(out, o.CapacityType)
		}
	default:
		for _, t := range p.Type.Requirements {
			if t.Key == key && t.Operator == requirement.In {
				out = append(out, t.Values...)
			}
		}
	}
	return out
}
