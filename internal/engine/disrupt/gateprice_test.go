package disrupt_test

import (
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
)

// Of four spot nodes two would each merge into one that costs less. By itself none could be replaced for less: they are asked about together.
func TestWhatTheGateHoldsBackIsSaidWithItsSum(t *testing.T) {
	for name, tt := range map[string]struct {
		gate  bool
		saves catalog.MicroUSD
		text  string
	}{
		"off": {saves: 100_000, text: "it and 3 other spot nodes would save $0.1000/h together on new spot instances, and the feature gate SpotToSpotConsolidation is off"},
		"on":  {gate: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := crowd{}.problem(10)
			p.Options.SpotToSpot = tt.gate
			for _, n := range p.Cluster.Nodes {
				n.CapacityType = catalog.Spot
			}
			for _, typ := range p.Cluster.Pools[0].Types {
				for i := range typ.Offerings {
					typ.Offerings[i].CapacityType = catalog.Spot
				}
			}
			d := disrupt.Decide(p)
			if tt.gate {
				if d.Before-d.After != 100_000 {
					t.Errorf("saves %d:\n%s", d.Before-d.After, d)
				}
				return
			}
			sum := catalog.MicroUSD(0)
			for _, k := range d.Kept {
				sum += k.Saves
				if text := k.Reasons[0].Text(); k.Reasons[0].Code != disrupt.SpotToSpotOff || !strings.HasPrefix(text, tt.text) {
					t.Errorf("%s is kept, as it says, for: %s", k.Node, text)
				}
			}
			if len(d.Moves) > 0 || sum != tt.saves {
				t.Errorf("%d moves, and %d held back, want %d", len(d.Moves), sum, tt.saves)
			}
		})
	}
}

// A single node is held back by the gate, or by the rule of fifteen types.
func TestWhatASingleSpotNodeWouldSaveIsSaid(t *testing.T) {
	for name, tt := range map[string]struct {
		gate  bool
		types int
		text  string
	}{
		"the gate":      {types: 15, text: "a cheaper spot instance in its place would save $0.1990/h, and the feature gate SpotToSpotConsolidation is off"},
		"fifteen types": {types: 14, gate: true, text: "14 types would be cheaper on spot, and 15 are asked (replacing it would save $0.1990/h)"},
	} {
		t.Run(name, func(t *testing.T) {
			p := cheaper(tt.types)
			p.Options.SpotToSpot = tt.gate
			d := disrupt.Decide(p)
			if len(d.Kept) != 1 || d.Kept[0].Saves != 199_000 || d.Kept[0].Reasons[0].Text() != tt.text {
				t.Errorf("%s", d)
			}
		})
	}
}
