package catalog_test

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

func TestAmountsBeginWithTheirCurrency(t *testing.T) {
	for _, c := range []struct {
		currency catalog.Currency
		amount   catalog.MicroUSD
		want     string
	}{
		{"", 41_600, "$0.0416"}, {"USD", -41_600, "-$0.0416"}, {"USD", 41_650_001, "$41.650001"}, {"CNY", 41_600, "¥0.0416"}, {"CNY", -7, "-¥0.000007"},
		{"EUR", 0, "€0.0000"}, {"XYZ", 1_000_000, "XYZ 1.0000"},
	} {
		if got := c.currency.Amount(c.amount); got != c.want {
			t.Errorf("%d in %q: %s, want %s", c.amount, c.currency, got, c.want)
		}
	}
}
