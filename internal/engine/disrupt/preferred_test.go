package disrupt_test

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/verify"
)

func TestMovesCountThePreferencesTheyDecline(t *testing.T) {
	prefers := func(zone string) []cluster.WeightedTerms {
		return []cluster.WeightedTerms{{Weight: 1, Terms: []requirement.Term{in(requirement.Zone, zone)}}}
	}
	type outcome struct{ moves, declined int }
	for name, tc := range map[string]struct {
		zone  string           // that the pod prefers; it is in a
		price catalog.MicroUSD // of the only new node, in b
		share float64
		none  bool
		want  outcome
	}{
		"a move that saves much may take a pod from where it likes to be, and says so": {zone: "a", price: 100_000, want: outcome{1, 1}},
		"one that saves less than the preference may cost is not made":                 {zone: "a", price: 199_000, want: outcome{0, 0}},
		"with a larger share it takes more":                                            {zone: "a", price: 150_000, share: 0.9, want: outcome{0, 0}},
		"a demand in all but name is not given up at any price":                        {zone: "a", price: 1_000, share: -1, want: outcome{0, 0}},
		"preferences that are ignored count for nothing":                               {zone: "a", price: 199_000, none: true, want: outcome{1, 0}},
		"a pod that is not where it likes to be loses nothing":                         {zone: "c", price: 199_000, want: outcome{1, 0}},
		"a pod that comes to where it likes to be loses nothing":                       {zone: "b", price: 199_000, want: outcome{1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			p := lone(typeOf("new", 2, way{"b", catalog.OnDemand, tc.price}))
			n := p.Cluster.Nodes[0]
			n.Labels = map[string]string{requirement.Zone: "a"}
			n.Pods[0].Class.Preferred = prefers(tc.zone)
			p.Cluster.Options.PreferenceShare, p.Cluster.Options.IgnorePreferences = tc.share, tc.none
			d := disrupt.Decide(p)
			for _, v := range verify.Moves(p, d) {
				t.Error(v)
			}
			got := outcome{moves: len(d.Moves)}
			for _, m := range d.Moves {
				got.declined += len(m.Declined)
			}
			if got != tc.want {
				t.Errorf("moves and declined: %+v, want %+v\n%s", got, tc.want, d)
			}
		})
	}
}
