package provision

import (
	"testing"
	"time"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

type noPools struct{ State }

func (noPools) Pools() []*karpv1.NodePool { return nil }

// TestAProblemHasTheCurrencyOfThisMoment: a price list that is read later may be in another one than the table that comes with Kerf.
func TestAProblemHasTheCurrencyOfThisMoment(t *testing.T) {
	now := catalog.Currency("EUR")
	m := &Problems{State: noPools{}, Now: time.Now, Currency: func() catalog.Currency { return now }}
	for _, now = range []catalog.Currency{"EUR", "USD"} {
		if got := m.Problem(t.Context(), &cluster.Snapshot{}).Options.Currency; got != now {
			t.Errorf("%s, want %s", got, now)
		}
	}
}
