package pricing

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/pricing/types"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// ProductsAPI is what Book needs of the Price List API. The client must be made for the region whose endpoint serves
// the price list (session.PricingRegion).
type ProductsAPI interface {
	GetProducts(context.Context, *pricing.GetProductsInput, ...func(*pricing.Options)) (*pricing.GetProductsOutput, error)
}

// fetchOnDemand asks for instances of shared tenancy and for bare metal, which the price list keeps apart. Both answers must
// hold something: half a price list would make the rest of the types unaffordable. All prices are in one currency.
func fetchOnDemand(ctx context.Context, api ProductsAPI, region string) (out map[string]catalog.MicroUSD, currency string, _ error) {
	out = map[string]catalog.MicroUSD{}
	accepted := currencies(region)
	for _, q := range []struct{ family, tenancy string }{
		{"Compute Instance", "Shared"},
		{"Compute Instance (bare metal)", "Dedicated"},
	} {
		found := map[string]catalog.MicroUSD{}
		var err error
		if accepted, err = fetchFamily(ctx, api, region, q.family, q.tenancy, accepted, found); err != nil {
			return nil, "", awserr.Wrap(fmt.Sprintf("getting on-demand prices of %q in %s", q.family, region), err)
		}
		if len(found) == 0 {
			return nil, "", fmt.Errorf("getting on-demand prices of %q in %s: the price list has none; the last known prices stay", q.family, region)
		}
		for name, p := range found {
			if _, shared := out[name]; !shared {
				out[name] = p
			}
		}
	}
	return out, accepted[0], nil
}

// fetchFamily adds prices in the first currency that the list turns out to be in, and returns that one; accepted where it holds nothing.
func fetchFamily(ctx context.Context, api ProductsAPI, region, family, tenancy string, accepted []string, into map[string]catalog.MicroUSD) ([]string, error) {
	filter := func(field, value string) types.Filter {
		return types.Filter{Type: types.FilterTypeTermMatch, Field: &field, Value: &value}
	}
	pages := pricing.NewGetProductsPaginator(api, &pricing.GetProductsInput{
		ServiceCode: new("AmazonEC2"),
		MaxResults:  new(int32(100)),
		Filters: []types.Filter{
			filter("regionCode", region),
			filter("serviceCode", "AmazonEC2"),
			filter("preInstalledSw", "NA"),
			filter("operatingSystem", "Linux"),
			filter("capacitystatus", "Used"),
			filter("marketoption", "OnDemand"),
			filter("tenancy", tenancy),
			filter("productFamily", family),
		},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, item := range page.PriceList {
			for _, currency := range accepted {
				if name, price, ok := parseProduct(item, currency); ok {
					into[name], accepted = price, []string{currency}
					break
				}
			}
		}
	}
	return accepted, nil
}

// product is the part of a price list item that counts.
type product struct {
	Product struct {
		Attributes struct {
			InstanceType string `json:"instanceType"`
		} `json:"attributes"`
	} `json:"product"`
	Terms struct {
		OnDemand map[string]struct {
			PriceDimensions map[string]struct {
				PricePerUnit map[string]string `json:"pricePerUnit"`
			} `json:"priceDimensions"`
		} `json:"OnDemand"`
	} `json:"terms"`
}

// parseProduct reads a price list item. Items that are not understood are passed over: one odd item must not cost the
// prices of all others.
func parseProduct(item, currency string) (string, catalog.MicroUSD, bool) {
	var p product
	if json.Unmarshal([]byte(item), &p) != nil || p.Product.Attributes.InstanceType == "" {
		return "", 0, false
	}
	for _, term := range slices.Sorted(maps.Keys(p.Terms.OnDemand)) {
		dimensions := p.Terms.OnDemand[term].PriceDimensions
		for _, d := range slices.Sorted(maps.Keys(dimensions)) {
			micro, err := ec2facts.ParseMicro(dimensions[d].PricePerUnit[currency])
			if err == nil && micro > 0 {
				return p.Product.Attributes.InstanceType, catalog.MicroUSD(micro), true
			}
		}
	}
	return "", 0, false
}

// FetchOnDemand asks the Price List API once for all on-demand prices of a region, in millionths of the currency that it returns.
func FetchOnDemand(ctx context.Context, api ProductsAPI, region string) (out map[string]int64, currency string, _ error) {
	prices, currency, err := fetchOnDemand(ctx, api, region)
	if err != nil {
		return nil, "", err
	}
	out = make(map[string]int64, len(prices))
	for name, p := range prices {
		out[name] = int64(p)
	}
	return out, currency, nil
}
