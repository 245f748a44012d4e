package disrupt_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// TestADecisionIsInTheCurrencyOfItsProblem in its moves, and in the reasons of nodes that are kept.
func TestADecisionIsInTheCurrencyOfItsProblem(t *testing.T) {
	said := ""
	for _, f := range []scenario.Fragmentation{{Percent: 30}, {Percent: 80}, {Percent: 80, Spot: true}} {
		f.Nodes, f.Pods, f.Seed = 40, 10, 1
		p := anyway(fragmented(t, f))
		p.Options.PodPrice = 100_000
		if f.Spot {
			for _, n := range p.Cluster.Nodes {
				n.CapacityType = "spot"
			}
		}
		p.Cluster.Options.Currency = "CNY"
		d := disrupt.Decide(p)
		data, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		text := d.String()
		said += text
		if !strings.Contains(text, "¥") || strings.Contains(text+string(data), "$") {
			t.Errorf("%s\n%s", text, data)
		}
	}
	for _, want := range []string{"saves ¥", "is assumed to cost ¥", "letting it go would save ¥"} {
		if !strings.Contains(said, want) {
			t.Errorf("nothing says %q:\n%s", want, said)
		}
	}
}
