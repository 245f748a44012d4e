package ec2

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type describeInstanceTypeOfferingsInput struct {
	paging
	Filters      []filter `query:"Filter"`
	LocationType string   `query:"LocationType"`
}

type describeInstanceTypeOfferingsOutput struct {
	Offerings []offering `xml:"instanceTypeOfferingSet>item"`
	NextToken string     `xml:"nextToken,omitempty"`
}

type offering struct {
	InstanceType string `xml:"instanceType"`
	LocationType string `xml:"locationType"`
	Location     string `xml:"location"`
}

var offeringFilters = filterable[offering]{attributes: map[string]func(*offering) []string{
	"instance-type": one(func(o *offering) string { return o.InstanceType }),
	"location":      one(func(o *offering) string { return o.Location }),
}}

func (s *service) describeInstanceTypeOfferings(_ *wire.Request, in *describeInstanceTypeOfferingsInput) (any, error) {
	kind := in.LocationType
	if kind == "" {
		kind = "region"
	}
	var all []offering
	zones := s.world.Zones()
	for _, t := range s.world.Types() {
		switch kind {
		case "region":
			all = append(all, offering{t.Name, kind, s.world.Region()})
		case "availability-zone", "availability-zone-id":
			for _, z := range zones {
				if !s.world.Offered(t.Name, z.Name) {
					continue
				}
				location := z.Name
				if kind == "availability-zone-id" {
					location = z.ID
				}
				all = append(all, offering{t.Name, kind, location})
			}
		default:
			return nil, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter LocationType is invalid.", kind)
		}
	}
	all, err := offeringFilters.choose(all, in.Filters)
	if err != nil {
		return nil, err
	}
	all, token, err := page(all, func(o *offering) string { return o.InstanceType + "/" + o.Location }, in.paging, limits{5, 1000, 1000})
	if err != nil {
		return nil, err
	}
	return describeInstanceTypeOfferingsOutput{all, token}, nil
}

type describeSpotPriceHistoryInput struct {
	paging
	Filters          []filter `query:"Filter"`
	InstanceTypes    []string `query:"InstanceType"`
	AvailabilityZone string   `query:"AvailabilityZone"`
	Products         []string `query:"ProductDescription"`
	StartTime        string   `query:"StartTime"`
	EndTime          string   `query:"EndTime"`
}

type describeSpotPriceHistoryOutput struct {
	Prices    spotPrices `xml:"spotPriceHistorySet"`
	NextToken string     `xml:"nextToken"` // present and empty at the end, as EC2 has it
}

// spotPrices are the items of an answer in XML: there are thousands, of plain words only.
type spotPrices struct {
	Items []byte `xml:",innerxml"`
}

type spotPrice struct{ kind, price, stamp, zone, zoneID string }

func (p *spotPrice) appendXML(b []byte) []byte {
	for _, part := range []string{
		"<item><instanceType>", p.kind, "</instanceType><productDescription>", linux, "</productDescription><spotPrice>", p.price, "</spotPrice><timestamp>", p.stamp,
		"</timestamp><availabilityZone>", p.zone, "</availabilityZone><availabilityZoneId>", p.zoneID, "</availabilityZoneId></item>",
	} {
		b = append(b, part...)
	}
	return b
}

// linux is the product that prices are for. EC2 answers the VPC spelling with the same.
const linux = "Linux/UNIX"

// otherProducts are asked for in vain: the facts have no prices for them.
var otherProducts = []string{"SUSE Linux", "Red Hat Enterprise Linux", "Windows"}

func spotPriceFilters(worded func(*world.SpotPrice) spotPrice) filterable[world.SpotPrice] {
	return filterable[world.SpotPrice]{attributes: map[string]func(*world.SpotPrice) []string{
		"availability-zone":   one(func(p *world.SpotPrice) string { return p.Zone }),
		"instance-type":       one(func(p *world.SpotPrice) string { return p.Type }),
		"product-description": func(*world.SpotPrice) []string { return []string{linux, linux + " (Amazon VPC)"} },
		"spot-price":          one(func(p *world.SpotPrice) string { return worded(p).price }),
		"timestamp":           one(func(p *world.SpotPrice) string { return worded(p).stamp }),
	}}
}

func (s *service) describeSpotPriceHistory(_ *wire.Request, in *describeSpotPriceHistoryInput) (any, error) {
	now := s.world.Now()
	start, err := parseTime("StartTime", in.StartTime, now.AddDate(0, -3, 0))
	if err != nil {
		return nil, err
	}
	end, err := parseTime("EndTime", in.EndTime, now)
	if err != nil {
		return nil, err
	}
	for _, p := range in.Products {
		if !strings.HasPrefix(p, linux) && !slices.Contains(otherProducts, strings.TrimSuffix(p, " (Amazon VPC)")) {
			return nil, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter ProductDescription is invalid.", p)
		}
	}
	var prices []world.SpotPrice
	if len(in.Products) == 0 || slices.ContainsFunc(in.Products, func(p string) bool { return strings.HasPrefix(p, linux) }) {
		var zones []string
		if in.AvailabilityZone != "" {
			zones = []string{in.AvailabilityZone}
		}
		prices = s.world.SpotPrices(in.InstanceTypes, zones, start, end)
	}
	ids := map[string]string{}
	for _, z := range s.world.Zones() {
		ids[z.Name] = z.ID
	}
	worded := func(p *world.SpotPrice) spotPrice {
		return spotPrice{kind: p.Type, price: fmt.Sprintf("%d.%06d", p.MicroUSD/1e6, p.MicroUSD%1e6), stamp: stamp(p.At), zone: p.Zone, zoneID: ids[p.Zone]}
	}
	if len(in.Filters) > 0 {
		if prices, err = spotPriceFilters(worded).choose(prices, in.Filters); err != nil {
			return nil, err
		}
	}
	cut := orderedPage[world.SpotPrice]
	if in.InstanceTypes != nil { // in the order in which they were asked for
		cut = page[world.SpotPrice]
	}
	prices, token, err := cut(prices, func(p *world.SpotPrice) string { // the newest of a pool first
		return p.Type + "\x00" + p.Zone + "\x00" + strconv.FormatInt(1<<40-p.At.Unix(), 10)
	}, in.paging, limits{1, 100_000, 1000})
	if err != nil {
		return nil, err
	}
	var all []byte
	for i := range prices {
		p := worded(&prices[i])
		all = p.appendXML(all)
	}
	return describeSpotPriceHistoryOutput{spotPrices{all}, token}, nil
}

func parseTime(name, s string, otherwise time.Time) (time.Time, error) {
	if s == "" {
		return otherwise, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter %s is invalid. It must be a time.", s, name)
	}
	return t, nil
}
