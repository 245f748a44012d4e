package pack

import (
	"slices"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// Problem is the whole input of a decision. It is immutable: Solve only reads it.
type Problem struct {
	Now        time.Time        `json:"now"`
	Generation uint64           `json:"generation"`
	Nodes      []*cluster.Node  `json:"nodes,omitempty"`
	Pending    []*cluster.Pod   `json:"pending"`
	Pools      []*cluster.Pool  `json:"pools"`
	Daemons    []cluster.Daemon `json:"daemons,omitempty"`
	Options    Options          `json:"options"`
}

// Options are the settings that change a decision.
type Options struct {
	// WellKnown label keys may be demanded of a pool that does not define them.
	WellKnown []string `json:"wellKnown,omitempty"`
	// IgnorePreferences is PREFERENCE_POLICY=Ignore.
	IgnorePreferences bool `json:"ignorePreferences,omitempty"`
	// PreferenceShare is how much the preferences of a class may cost, as a share of what its pods cost on the new nodes
	// that suit them best; 0 means DefaultPreferenceShare, and below 0 they count as demands, whatever they cost, until a
	// pod finds no place.
	PreferenceShare float64 `json:"preferenceShare,omitempty"`
	// MinValuesBestEffort is MIN_VALUES_POLICY=BestEffort.
	MinValuesBestEffort bool `json:"minValuesBestEffort,omitempty"`
	// Work is what the improvement of a first plan may cost, in comparisons of a pod with a new node; 0 means DefaultWork, less
	// than 0 that nothing is improved.
	Work int64 `json:"work,omitempty"`
	// PriceGuard is how many times as much as usual a new node may cost while EC2 is short of what its pods usually get: above
	// that they wait. It doubles when a pod has waited for 10 minutes, and each time that it has waited twice as long; 0: none.
	PriceGuard int64 `json:"priceGuard,omitempty"`
	// Upkeep is what every node costs in an hour besides its instance, in micro-USD: its disk, what is licensed by the host.
	// It decides, and is part of no price that a plan states.
	Upkeep catalog.MicroUSD `json:"upkeep,omitempty"`
	// Currency of all prices, for what is said of them; empty is USD.
	Currency catalog.Currency `json:"currency,omitempty"`
	// MaxTypes caps the types listed for a new node; 0 means 600 (the NodeClaim's own practical limit).
	MaxTypes int `json:"maxTypes,omitempty"`
}

// Same reports whether all settings are the same. It is not called Equal, as tests that compare field by field would then use it.
func (o *Options) Same(p *Options) bool {
	return slices.Equal(o.WellKnown, p.WellKnown) && o.IgnorePreferences == p.IgnorePreferences && o.PreferenceShare == p.PreferenceShare &&
		o.MinValuesBestEffort == p.MinValuesBestEffort && o.Work == p.Work && o.PriceGuard == p.PriceGuard && o.Upkeep == p.Upkeep && o.MaxTypes == p.MaxTypes &&
		o.Currency == p.Currency
}
