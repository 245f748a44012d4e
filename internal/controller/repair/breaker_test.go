package repair

import (
	"strings"
	"testing"
)

func TestHowManyUnhealthyNodesAreReplaced(t *testing.T) {
	type zone struct{ nodes, unhealthy, going int }
	for sentence, c := range map[string]struct {
		zones map[string]zone
		want  map[string]int // admitted of the unhealthy ones that are not going
		says  string
	}{
		"one of one is replaced: the share rounds up":              {map[string]zone{"a": {1, 1, 0}}, map[string]int{"a": 1}, ""},
		"two of ten are replaced":                                  {map[string]zone{"a": {10, 2, 0}}, map[string]int{"a": 2}, ""},
		"three of ten in one zone are a fault of what they share":  {map[string]zone{"a": {10, 3, 0}}, map[string]int{"a": 0}, "3 of the 10 nodes of NodePool p are unhealthy (3 of 10 in a)"},
		"three of thirty in the same zone are replaced":            {map[string]zone{"a": {10, 3, 0}, "b": {10, 0, 0}, "c": {10, 0, 0}}, map[string]int{"a": 3}, ""},
		"a zone that is lost is replaced a share at a time":        {map[string]zone{"a": {10, 10, 0}, "b": {10, 0, 0}, "c": {10, 0, 0}}, map[string]int{"a": 2}, "replaced 2 at a time"},
		"no more of a lost zone while as many are under way":       {map[string]zone{"a": {10, 10, 2}, "b": {10, 0, 0}, "c": {10, 0, 0}}, map[string]int{"a": 0}, "as many are under way"},
		"the other zones of a lost zone's pool are still repaired": {map[string]zone{"a": {10, 10, 2}, "b": {10, 2, 0}, "c": {10, 0, 0}}, map[string]int{"a": 0, "b": 2}, "10 of 10 in a"},
		"two lost zones are not touched":                           {map[string]zone{"a": {10, 10, 0}, "b": {10, 5, 0}, "c": {10, 1, 0}}, map[string]int{"a": 0, "b": 0, "c": 1}, "10 of 10 in a, 5 of 10 in b"},
		"three zones of one node, all lost, are not touched":       {map[string]zone{"a": {1, 1, 0}, "b": {1, 1, 0}, "c": {1, 1, 0}}, map[string]int{"a": 0, "b": 0, "c": 0}, "a fault of what they share"},
		"three zones of one node, two lost, are not touched":       {map[string]zone{"a": {1, 1, 0}, "b": {1, 1, 0}, "c": {1, 0, 0}}, map[string]int{"a": 0, "b": 0}, "a fault of what they share"},
		"those that go count while they are there":                 {map[string]zone{"a": {10, 3, 2}}, map[string]int{"a": 0}, "3 of the 10"},
		"nodes without a zone are a zone of their own":             {map[string]zone{"": {10, 3, 0}}, map[string]int{"": 0}, "3 of 10 in no zone"},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := &ward{name: "NodePool p"}
			for name, z := range c.zones {
				for i := range z.nodes {
					w.add(name, i < z.unhealthy, i < z.going)
				}
			}
			said := ""
			for name, want := range c.want {
				got := 0
				for range c.zones[name].unhealthy - c.zones[name].going {
					ok, why := w.admit(name, false)
					if ok {
						got++
					} else {
						said = why
					}
				}
				if got != want {
					t.Errorf("%d replaced in zone %q, want %d", got, name, want)
				}
			}
			if !strings.Contains(said, c.says) {
				t.Errorf("said %q, want %q in it", said, c.says)
			}
		})
	}
}

func TestANodeThatIsGoingAlreadyIsNoFurtherOne(t *testing.T) {
	w := &ward{name: "NodePool p"}
	for i := range 10 {
		w.add("a", true, i < 2)
		w.add("b", false, false)
	}
	for range 2 {
		if ok, why := w.admit("a", true); !ok {
			t.Errorf("one of the two that are under way was refused: %s", why)
		}
	}
	if ok, _ := w.admit("a", false); ok {
		t.Error("a third one was admitted")
	}
}
