package overview

import (
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// TestProblemsNameCostsInTheCurrencyOfTheRegion where nodes cost on that nobody can use.
func TestProblemsNameCostsInTheCurrencyOfTheRegion(t *testing.T) {
	at := time.Unix(1e9, 0)
	for currency, want := range map[catalog.Currency]string{"": "$0.0600/h", "USD": "$0.0600/h", "CNY": "¥0.0600/h"} {
		d := &Document{At: at, Currency: currency, Stalls: []Stall{{Node: "n", Text: "it waits", Since: at.Add(-24 * time.Hour), Price: 60_000}}}
		if got := d.cost([]*Node{{Price: 60_000}}); got != "; it costs "+want+" meanwhile" {
			t.Errorf("%q: %s", currency, got)
		}
		if got := stalled(d); len(got) != 1 || !strings.HasSuffix(got[0].Text, "the wait costs "+want) {
			t.Errorf("%q: %+v", currency, got)
		}
	}
}
