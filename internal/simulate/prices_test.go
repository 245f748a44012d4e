package simulate

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
)

// The region, the days of its prices, and that it is a guess stand in every form.
func TestTheRegionAndTheDaysOfPricesAreSaid(t *testing.T) {
	facts, err := ec2facts.Load()
	if err != nil {
		t.Fatal(err)
	}
	const prices = "list prices of us-east-1 of 2025-05-28 to 2026-07-20; spot prices begin with those of 2024-01-09 to 2025-06-28"
	if got := pricesOf(facts, "us-east-1"); got != prices {
		t.Errorf("got %q, want %q", got, prices)
	}
	a, b := runsOf("a", 1), runsOf("b", 2)
	for _, r := range append(a, b...) {
		r.Region, r.Prices, r.RegionUnknown = "us-east-1", prices, true
	}
	c, err := Compare([]string{"a", "b"}, [][]*Result{a, b})
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*Report{"a run": {Runs: a}, "seeds": {Runs: append(a, b...)}, "a comparison": {Compared: []string{"a", "b"}, Comparison: c}} {
		var text, page bytes.Buffer
		if err := r.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		if err := r.WriteHTML(&page); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"Region: us-east-1; " + prices, "he region is not known: types and prices are those of us-east-1; --region says another"} {
			if strings.Count(text.String(), want) != 1 || strings.Count(page.String(), want) != 1 {
				t.Errorf("%s: not once %q in\n%s\n%s", name, want, text.String(), page.String())
			}
		}
	}
}

// Old spot prices are warned of in every form, with a way out; not where a price file changes all of them, nor without spot instances.
func TestOldSpotPricesAreWarnedOf(t *testing.T) {
	facts, err := ec2facts.Load()
	if err != nil {
		t.Fatal(err)
	}
	types := []string{"m6i.large", "c6i.large"}
	note := func(of string) string {
		own := func(string, string, string, int64) int64 { return 7 }
		if of != "all" {
			path := filepath.Join(t.TempDir(), "prices.yaml")
			if err := os.WriteFile(path, []byte("prices: ["+of+"]"), 0o644); err != nil {
				t.Fatal(err)
			}
			if own, err = ownPrices(path, "us-east-1"); err != nil {
				t.Fatal(err)
			}
		}
		return spotNote(facts, "us-east-1", types, own)
	}
	for of, warns := range map[string]bool{
		"": true, "{match: {capacityType: on-demand}, factor: 0.7}": true, "{match: {family: m6i, capacityType: spot}, factor: 1.3}": true,
		"{match: {capacityType: spot}, factor: 1.3}": false, "all": false,
	} {
		if got := note(of); strings.HasPrefix(got, "spot prices begin with those of 2024-01-09 to 2025-06-28, and the bill") != warns || (got != "") != warns {
			t.Errorf("%q: %q", of, got)
		}
	}
	a, b := runsOf("a", 1), runsOf("b", 2)
	b[0].SpotPrices = note("")
	c, err := Compare([]string{"a", "b"}, [][]*Result{a, b})
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*Report{"a run": {Runs: b}, "seeds": {Runs: append(a, b...)}, "a comparison": {Compared: []string{"a", "b"}, Comparison: c}} {
		text, data, page := written(t, r)
		if strings.Count(text, "NOTE: spot prices begin with those") != 1 || strings.Count(page, "Spot prices begin with those") != 1 || !strings.Contains(data, `"spotPricesWarning":"spot`) {
			t.Errorf("%s: no warning in %s", name, text)
		}
	}
}
