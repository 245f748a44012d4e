package audit

import (
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// A quote of one day long ago that is far below the usual saving decides no floor; a fresh one counts as it is.
func TestOldQuotesAreNotFarBelowTheUsualSaving(t *testing.T) {
	facts, err := ec2facts.Load()
	if err != nil {
		t.Fatal(err)
	}
	o := &Options{Facts: facts}
	old := newMarket(o, "us-east-1", time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC))
	fresh := newMarket(o, "us-east-1", time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC)) // quotes of the region are of 2025-05-28
	raised := 0
	for i := range facts.Types {
		name := facts.Types[i].Name
		a, known := facts.SpotAdvice("us-east-1", name)
		od, priced := old.OnDemand(name)
		if !known || !priced {
			continue
		}
		least := catalog.MicroUSD(float64(od) * float64(100-a.SavingPercent) / 100 * 0.7)
		for _, zone := range []string{"us-east-1a", "us-east-1b"} {
			plain, _ := facts.Spot("us-east-1", zone, name)
			price, basis, ok := old.spot(name, zone)
			if ok && price < least {
				t.Errorf("%s costs %d in %s, and %d is 70 %% of the price with the usual saving", name, price, zone, least)
			}
			if basis.raised {
				raised++
			}
			if now, _, _ := fresh.spot(name, zone); plain.Basis == ec2facts.ZoneUnknown && now != catalog.MicroUSD(plain.MicroUSD) {
				t.Errorf("a fresh quote of %s is %d, and counts as %d", name, plain.MicroUSD, now)
			}
		}
	}
	if raised == 0 {
		t.Error("no quote is")
	}
}
