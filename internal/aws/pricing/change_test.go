package pricing

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

func TestATableKnowsWhatChanged(t *testing.T) {
	type m = map[string]catalog.MicroUSD
	first := &Table{Generation: 1, SpotLive: true, onDemand: m{"a": 10, "b": 20, "c": 30}, spot: map[string]m{"z1": {"a": 1, "b": 2}, "z2": {"a": 1}}}
	step := func(last *Table, edit func(*Table)) *Table {
		next := *last
		edit(&next)
		next.follow(last)
		return &next
	}
	cheaper := step(first, func(t *Table) { t.onDemand = m{"a": 9, "b": 20, "c": 30} })
	gone := step(cheaper, func(t *Table) { t.spot = map[string]m{"z1": {"a": 1, "b": 3}} })
	same := step(gone, func(t *Table) { t.spot = map[string]m{"z1": {"a": 1, "b": 3}} })
	ranged := step(same, func(t *Table) {
		t.lately = map[string]map[string]catalog.Range{"z2": {"c": {Low: 1, High: 2}}}
	})
	listed := step(same, func(t *Table) { t.OnDemandLive = true })
	far := listed
	for i := range maxChanges + 1 {
		far = step(far, func(t *Table) { t.onDemand = m{"a": catalog.MicroUSD(100 + i)} })
	}
	for name, c := range map[string]struct {
		now, since *Table
		want       []string
		known      bool
	}{
		"the same table":                  {first, first, nil, true},
		"a price":                         {cheaper, first, []string{"a"}, true},
		"a zone and a price":              {gone, cheaper, []string{"a", "b"}, true},
		"two steps":                       {gone, first, []string{"a", "b"}, true},
		"nothing":                         {same, gone, nil, true},
		"what a price was":                {ranged, same, []string{"c"}, true},
		"another source":                  {listed, gone, nil, false},
		"a step over another source":      {listed, first, nil, false},
		"too long ago":                    {far, listed, nil, false},
		"an older table than the present": {first, gone, nil, false},
	} {
		got, known := c.now.Changed(c.since)
		if diff := cmp.Diff(c.want, got); diff != "" || known != c.known {
			t.Errorf("%s: known %v, want %v; (-want +got):\n%s", name, known, c.known, diff)
		}
	}
	if len(far.changes) > maxChanges {
		t.Errorf("%d changes are kept", len(far.changes))
	}
	if same.Generation != gone.Generation {
		t.Error("equal prices have another generation")
	}
}
