package pricing

import (
	"context"
	"testing"

	api "github.com/aws/aws-sdk-go-v2/service/pricing"
)

// list is a price list of one page.
type list []string

func (l list) GetProducts(context.Context, *api.GetProductsInput, ...func(*api.Options)) (*api.GetProductsOutput, error) {
	return &api.GetProductsOutput{PriceList: l}, nil
}

// The currency is that of the list, where a region's may be in more than one, and one for all its prices.
func TestTheListSaysItsCurrency(t *testing.T) {
	item := func(name, rates string) string {
		return `{"product":{"attributes":{"instanceType":"` + name + `"}},"terms":{"OnDemand":{"A.B":{"priceDimensions":{"A.B.C":{"pricePerUnit":{` + rates + `}}}}}}}`
	}
	for name, tt := range map[string]struct {
		region   string
		list     list
		currency string
		types    int
	}{
		"dollars":                        {"us-east-1", list{item("a", `"USD":"1"`), item("b", `"EUR":"1"`)}, "USD", 1},
		"yuan":                           {"cn-north-1", list{item("a", `"CNY":"1"`)}, "CNY", 1},
		"euro":                           {"eusc-de-east-1", list{item("a", `"EUR":"1"`), item("b", `"EUR":"1"`)}, "EUR", 2},
		"dollars in the sovereign cloud": {"eusc-de-east-1", list{item("a", `"USD":"1"`), item("b", `"USD":"1"`)}, "USD", 2},
		"no list of two currencies":      {"eusc-de-east-1", list{item("a", `"EUR":"1"`), item("b", `"USD":"1"`)}, "EUR", 1},
	} {
		t.Run(name, func(t *testing.T) {
			prices, currency, err := FetchOnDemand(t.Context(), tt.list, tt.region)
			if err != nil || currency != tt.currency || len(prices) != tt.types {
				t.Errorf("got %v in %q, %v; want %d prices in %s", prices, currency, err, tt.types, tt.currency)
			}
		})
	}
}
