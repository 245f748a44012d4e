package catalog_test

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

func TestLastingPrices(t *testing.T) {
	steady := sample()
	if steady.Lasting() != steady {
		t.Error("a type whose prices did not move is another one")
	}
	moved := sample()
	moved.Offerings[1].Lately = &catalog.Range{Low: 30_000, High: 55_000}
	got := moved.Lasting()
	if p := got.Offerings[1].Price; p != 55_000 {
		t.Errorf("what cost 55,000 for an hour is reckoned with at %d", p)
	}
	if p := got.Offerings[1].Least(); p != 30_000 {
		t.Errorf("what cost 30,000 for an hour is given up for %d", p)
	}
	if p := got.Offerings[0].Price; p != 96_000 || got.Offerings[0].Least() != 96_000 {
		t.Errorf("on-demand costs %d", p)
	}
	if moved.Offerings[1].Price != 40_000 {
		t.Error("the type itself was changed")
	}
	cheapest := sample()
	cheapest.Offerings[1].Lately = &catalog.Range{Low: 30_000, High: 40_000}
	if cheapest.Lasting() != cheapest {
		t.Error("a type that never cost more than now is another one")
	}
}

func TestAnOverlayChangesWhatAnOfferingCostLately(t *testing.T) {
	half := int64(-50_000_000)
	for name, c := range map[string]struct {
		rule catalog.PriceRule
		want *catalog.Range
	}{
		"a discount":    {catalog.PriceRule{Percent: &half}, &catalog.Range{Low: 15_000, High: 27_500}},
		"a fixed price": {catalog.PriceRule{Price: 7}, nil},
	} {
		spot := sample()
		spot.Offerings[1].Lately = &catalog.Range{Low: 30_000, High: 55_000}
		got := spot.Overlay([]catalog.Overlay{{Price: &c.rule}}, nil).Offerings[1].Lately
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if was := spot.Offerings[1].Lately; was.Low != 30_000 || was.High != 55_000 {
			t.Errorf("%s: what the list says was changed: %v", name, was)
		}
	}
}
