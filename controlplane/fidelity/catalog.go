package fidelity

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/instancetype"
	"github.com/kerf-sh/kerf/internal/aws/offering"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

const region = "us-west-2"

var (
	zones    = []string{"us-west-2a", "us-west-2b", "us-west-2c"}
	families = []string{"c7i", "m7i", "r7i", "c7g", "m7g", "t3", "g4dn"}
	sizes    = []string{"medium", "large", "xlarge", "2xlarge", "4xlarge"}
)

// allTypes are the types that cases draw from, as a node class with the usual settings has them.
var allTypes = sync.OnceValues(func() ([]*catalog.Type, error) {
	facts, err := ec2facts.Load()
	if err != nil {
		return nil, err
	}
	config, err := instancetype.ConfigOf(nodeClass(), instancetype.Options{Region: region, MemoryOverhead: instancetype.DefaultMemoryOverhead})
	if err != nil {
		return nil, err
	}
	offered, _ := facts.Offerings(region)
	var shapes []instancetype.Shape
	for i := range facts.Types {
		t := &facts.Types[i]
		family, size := ec2facts.SplitName(t.Name)
		if slices.Contains(families, family) && slices.Contains(sizes, size) {
			shapes = append(shapes, instancetype.NewShape(t, offered[t.Name], config))
		}
	}
	if len(shapes) < 20 {
		return nil, fmt.Errorf("region %s has only %d of the types that cases draw from", region, len(shapes))
	}
	return offering.Assemble(shapes, offering.Input{Subnets: subnets(facts), Prices: prices{facts, facts.OnDemand(region)},
		Unavailable: offering.NewUnavailable(nil).Snapshot()}), nil
})

func nodeClass() *awsv1.EC2NodeClass {
	c := &awsv1.EC2NodeClass{}
	c.Name = "default"
	c.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}}
	return c
}

func subnets(facts *ec2facts.Facts) []awsv1.Subnet {
	known, _ := facts.Zones(region)
	var out []awsv1.Subnet
	for _, z := range known {
		if slices.Contains(zones, z.Name) {
			out = append(out, awsv1.Subnet{ID: "subnet-" + z.Name, Zone: z.Name, ZoneID: z.ID})
		}
	}
	return out
}

type prices struct {
	facts *ec2facts.Facts
	table ec2facts.PriceTable
}

// OnDemand is the list price.
func (p prices) OnDemand(name string) (catalog.MicroUSD, bool) {
	price, ok := p.table.Prices[name]
	return catalog.MicroUSD(price.MicroUSD), ok
}

// Spot is the embedded quote.
func (p prices) SpotLately(string, string) *catalog.Range { return nil }

func (p prices) Spot(name, zone string) (catalog.MicroUSD, bool) {
	price, ok := p.facts.Spot(region, zone, name)
	return catalog.MicroUSD(price.MicroUSD), ok
}

// drawTypes is a copy of all types with some offerings closed, and at times with instances reserved or such as attach few
// volumes.
func drawTypes(rng *rand.Rand, reserved, attachFew bool) ([]*catalog.Type, error) {
	all, err := allTypes()
	if err != nil {
		return nil, err
	}
	closed := rng.IntN(3) * 10 // percent
	out := make([]*catalog.Type, len(all))
	for i, t := range all {
		c := *t
		c.Offerings = slices.Clone(t.Offerings)
		for j := range c.Offerings {
			if o := &c.Offerings[j]; o.Available && rng.IntN(100) < closed {
				o.Available, o.Unavailable = false, offering.NoCapacity
			}
		}
		if reserved && rng.IntN(4) == 0 {
			reserve(&c, rng)
		}
		if attachFew {
			c.AttachLimits = res.List{driver: 1 + rng.Int64N(3)}
		}
		out[i] = &c
	}
	return out, nil
}

// reserve adds one or two instances that are paid for already.
func reserve(t *catalog.Type, rng *rand.Rand) {
	base := t.Offerings[rng.IntN(len(t.Offerings))]
	if !slices.Contains(zones, base.Zone) {
		return
	}
	t.Offerings = append(t.Offerings, catalog.Offering{Zone: base.Zone, ZoneID: base.ZoneID, CapacityType: catalog.Reserved,
		ReservationID: "cr-" + t.Name, Reservable: 1 + rng.IntN(2), Available: true})
	slices.SortFunc(t.Offerings, func(a, b catalog.Offering) int {
		return cmp.Or(cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.CapacityType, b.CapacityType), cmp.Compare(a.ReservationID, b.ReservationID))
	})
	terms := slices.DeleteFunc(slices.Clone(t.Requirements), func(r requirement.Term) bool { return r.Key == requirement.ReservationID })
	for i := range terms {
		if terms[i].Key == requirement.CapacityType {
			terms[i].Values = slices.Sorted(slices.Values(append(slices.Clone(terms[i].Values), catalog.Reserved)))
		}
	}
	t.Requirements = terms
}
