package simulate

import (
	"bytes"
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
