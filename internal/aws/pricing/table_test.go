package pricing

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

func TestPriceListItems(t *testing.T) {
	item := func(instanceType, rate string) string {
		return `{"product":{"attributes":{"instanceType":"` + instanceType + `"}},"terms":{"OnDemand":{"A.B":{"priceDimensions":{"A.B.C":{"unit":"Hrs","pricePerUnit":{` + rate + `}}}}}}}`
	}
	for name, c := range map[string]struct {
		item, currency string
		want           catalog.MicroUSD
		ok             bool
	}{
		"a price":                       {item("m5.large", `"USD":"0.0960000000"`), "USD", 96000, true},
		"a price below a millionth":     {item("m5.large", `"USD":"0.0000005000"`), "USD", 1, true},
		"China's currency":              {item("m5.large", `"CNY":"1.0700000000"`), "CNY", 1070000, true},
		"another currency":              {item("m5.large", `"CNY":"1.0700000000"`), "USD", 0, false},
		"free of charge is no price":    {item("m5.large", `"USD":"0.0000000000"`), "USD", 0, false},
		"an item without a type":        {item("", `"USD":"1"`), "USD", 0, false},
		"an item without terms":         {`{"product":{"attributes":{"instanceType":"m5.large"}}}`, "USD", 0, false},
		"an item that is no JSON":       {`{`, "USD", 0, false},
		"an item of another shape":      {`{"terms":[]}`, "USD", 0, false},
		"a price that is not a decimal": {item("m5.large", `"USD":"1e-3"`), "USD", 0, false},
	} {
		gotName, got, ok := parseProduct(c.item, c.currency)
		if got != c.want || ok != c.ok || ok && gotName != "m5.large" {
			t.Errorf("%s: %q %d %v, want %d %v", name, gotName, got, ok, c.want, c.ok)
		}
	}
}

func TestTheTableToBeginWith(t *testing.T) {
	facts, err := ec2facts.Load()
	if err != nil {
		t.Fatal(err)
	}
	home := factsTable(facts, "us-east-1")
	if p, ok := home.OnDemand("m5.large"); p != 96000 || !ok {
		t.Errorf("m5.large costs %d", p)
	}
	if p, ok := home.Spot("m5.large", "us-east-1a"); p != 44000 || !ok {
		t.Errorf("m5.large costs %d as spot", p)
	}
	if p, ok := home.Spot("m5.large", "us-east-1-bos-1a"); p != 96000 || !ok {
		t.Errorf("in a zone that nothing is known of m5.large costs %d as spot, want the on-demand price", p)
	}
	away := factsTable(facts, "xx-nowhere-1")
	if p, ok := away.Spot("m5.large", "xx-nowhere-1a"); p != 96000 || !ok {
		t.Errorf("in a region that nothing is known of m5.large costs %d as spot", p)
	}
	if _, ok := home.OnDemand("m5.huge"); ok {
		t.Error("a type that does not exist has a price")
	}
}
