package audit

import (
	"fmt"
	"slices"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/instancetype"
	"github.com/kerf-sh/kerf/internal/aws/offering"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/state/cloud/overlay"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// market is the instance types of a region and what they cost.
type market struct {
	facts    *ec2facts.Facts
	region   string
	at       time.Time
	onDemand ec2facts.PriceTable
	discount *float64          // spot below on-demand, as a part of it; nil: by the facts
	overlays []catalog.Overlay // of the price file
	cluster  []catalog.Overlay // of NodeOverlays, which are for nodes of NodePools
	own      map[string]bool   // types of which overlays change the price

	offered map[string][]string // type to zones
	zones   []awsv1.Subnet      // one subnet for each zone
	all     map[string]*catalog.Type
	empty   *offering.Snapshot
}

// newMarket is the market of a region at a moment.
func newMarket(o *Options, region string, at time.Time) *market {
	m := &market{at: at, own: map[string]bool{}, facts: o.Facts, region: region, onDemand: o.Facts.OnDemand(region), discount: o.SpotDiscount, overlays: o.Prices.In(region), empty: offering.NewUnavailable(nil).Snapshot()}
	catalog.SortOverlays(m.overlays)
	m.offered, _ = o.Facts.Offerings(region)
	zones, _ := o.Facts.Zones(region)
	for _, z := range zones {
		m.zones = append(m.zones, awsv1.Subnet{ID: "subnet-" + z.Name, Zone: z.Name, ZoneID: z.ID})
	}
	m.all = map[string]*catalog.Type{}
	plain, _ := instancetype.ConfigOf(&awsv1.EC2NodeClass{}, m.options())
	for _, t := range m.types(plain, nil, true) {
		m.all[t.Name] = t
	}
	return m
}

func (m *market) options() instancetype.Options {
	return instancetype.Options{Region: m.region, MemoryOverhead: instancetype.DefaultMemoryOverhead}
}

// types are all types as nodes of a class would be, in the class's subnets; nil subnets are one in each zone of the region. Nodes may
// run which could not be launched: types that are no longer offered, and offerings of reservations, are among them only if running is set.
func (m *market) types(c instancetype.Config, subnets []awsv1.Subnet, running bool) []*catalog.Type {
	if subnets == nil {
		subnets = m.zones
	}
	var everywhere []string
	for _, z := range m.zones {
		everywhere = append(everywhere, z.Zone)
	}
	var shapes []instancetype.Shape
	for i := range m.facts.Types {
		t := &m.facts.Types[i]
		zones, ok := m.offered[t.Name]
		if !ok {
			if !running {
				continue
			}
			zones = everywhere
		}
		shapes = append(shapes, instancetype.NewShape(t, zones, c))
	}
	out := offering.Assemble(shapes, offering.Input{Subnets: subnets, Prices: m, Unavailable: m.empty})
	if running {
		for _, t := range out {
			t.Offerings = withReserved(t.Offerings)
		}
	}
	if len(m.overlays) > 0 {
		for i := range out {
			listed := out[i]
			out[i] = listed.Overlay(m.overlays, nil)
			m.own[listed.Name] = m.own[listed.Name] || out[i] != listed
		}
	}
	return out
}

// withReserved adds to each offering on demand one out of a reservation, at the list price: AWS charges that whether or not an
// instance uses the reservation, and no list has the prices of capacity blocks. Rules of a price file change it like any other.
func withReserved(offerings []catalog.Offering) []catalog.Offering {
	for _, o := range slices.Clone(offerings) {
		if o.CapacityType == catalog.OnDemand {
			o.CapacityType = catalog.Reserved
			offerings = append(offerings, o)
		}
	}
	return offerings
}

// OnDemand is part of offering.Prices.
func (m *market) OnDemand(instanceType string) (catalog.MicroUSD, bool) {
	p, ok := m.onDemand.Prices[instanceType]
	return catalog.MicroUSD(p.MicroUSD), ok
}

// layer is NodeOverlays for the nodes of a NodePool; nil: none are for them.
func (m *market) layer(pool *karpv1.NodePool) *overlay.Layer {
	if pool == nil {
		return nil
	}
	return overlay.NewLayer(m.cluster, intake.PoolLabels(pool))
}

// price is what a node of a NodePool, or of none, costs: the price of its type, zone and capacity type; of any zone where the node's is
// not known. A price that is nothing is known if somebody gave it.
func (m *market) price(instanceType, zone, capacityType string, pool *karpv1.NodePool) (catalog.MicroUSD, bool) {
	t := m.all[instanceType]
	if t == nil {
		return 0, false
	}
	t = m.layer(pool).Types([]*catalog.Type{t})[0]
	given := func(i int) bool {
		return t.Listed != nil && (t.Listed.Offerings[i].Price != t.Offerings[i].Price || t.Listed.Offerings[i].Available != t.Offerings[i].Available)
	}
	if capacityType != catalog.Spot && capacityType != catalog.Reserved {
		capacityType = catalog.OnDemand
	}
	best, found := catalog.MicroUSD(0), false
	for _, exact := range []bool{true, false} {
		for i := range t.Offerings {
			o := &t.Offerings[i]
			if o.CapacityType != capacityType || exact && o.Zone != zone || o.Price <= 0 && !given(i) || o.Price == catalog.NoPrice {
				continue
			}
			if !found || o.Price < best {
				best, found = o.Price, true
			}
		}
		if found {
			return best, true
		}
	}
	return 0, false
}

// describe says what the prices stand on.
func (m *market) describe(o *Options) Prices {
	out := Prices{Source: "facts that are built into kerf", Currency: m.onDemand.Currency}
	if o.Live {
		out.Source = "your account, asked now"
	}
	switch {
	case m.onDemand.BorrowedFrom != "":
		out.OnDemand = fmt.Sprintf("of %s, for nothing is known of %s", m.onDemand.BorrowedFrom, m.region)
	case o.Live:
		out.OnDemand = "list prices of " + m.region
	case m.onDemand.Oldest == m.onDemand.Newest:
		out.OnDemand = fmt.Sprintf("list prices of %s of %s", m.region, m.onDemand.Oldest)
	default:
		out.OnDemand = fmt.Sprintf("list prices of %s of %s to %s", m.region, m.onDemand.Oldest, m.onDemand.Newest)
	}
	if n := o.Prices.Len(); n > 0 {
		out.Overrides = len(m.overlays)
		for i := range m.overlays {
			one := m.overlays[i : i+1]
			matches := false
			for _, t := range m.all {
				if matches = t.Overlay(one, nil) != t; matches {
					break
				}
			}
			if !matches {
				out.Unmatched = append(out.Unmatched, m.overlays[i].Name)
				out.Overrides--
			}
		}
	}
	return out
}

// interrupted is the band of spot instances of a type that are taken back in a month, such as "<5"; empty where not known.
func (m *market) interrupted(instanceType string) string {
	a, ok := m.facts.SpotAdvice(m.region, instanceType)
	if !ok || !a.Known {
		return ""
	}
	return a.Interrupted
}

// label is the one value that a type has for a label.
func label(t *catalog.Type, key string) string {
	for _, r := range t.Requirements {
		if r.Key == key && r.Operator == requirement.In && len(r.Values) == 1 {
			return r.Values[0]
		}
	}
	return ""
}
