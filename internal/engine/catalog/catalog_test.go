package catalog_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

func drawTypes(t *rapid.T) []*catalog.Type {
	var out []*catalog.Type
	for i := range rapid.IntRange(1, 80).Draw(t, "types") {
		ty := &catalog.Type{Name: fmt.Sprintf("t%d", i), Capacity: res.List{res.CPU: rapid.Int64Range(0, 9).Draw(t, "cpu"), res.Memory: rapid.Int64Range(0, 9).Draw(t, "memory")}}
		switch rapid.IntRange(0, 3).Draw(t, "gen") {
		case 0:
			ty.Requirements = []requirement.Term{{Key: "gen", Operator: requirement.In, Values: []string{"1"}}}
		case 1:
			ty.Requirements = []requirement.Term{{Key: "gen", Operator: requirement.In, Values: []string{"2", "3"}}}
		case 2:
			ty.Requirements = []requirement.Term{{Key: "gen", Operator: requirement.DoesNotExist}}
		}
		ty.Offerings = []catalog.Offering{{Zone: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "zone"), CapacityType: catalog.Spot, Price: 1, Available: rapid.Bool().Draw(t, "available")}}
		out = append(out, ty)
	}
	return out
}

func names(c *catalog.Catalog, s catalog.TypeSet) []string {
	var out []string
	for i := range s.Each {
		out = append(out, c.Types[i].Name)
	}
	slices.Sort(out)
	return out
}

func TestColumnsAgreeWithLookingAtEveryType(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		types := drawTypes(t)
		vocab := requirement.NewVocabulary()
		c, err := catalog.Compile(types, vocab, res.NewSchema(res.CPU, res.Memory))
		if err != nil {
			t.Fatal(err)
		}
		ask := res.List{res.CPU: rapid.Int64Range(0, 10).Draw(t, "ask cpu"), res.Memory: rapid.Int64Range(0, 10).Draw(t, "ask memory")}
		term := rapid.SampledFrom([]requirement.Term{
			{Key: "gen", Operator: requirement.In, Values: []string{"1", "3"}},
			{Key: "gen", Operator: requirement.NotIn, Values: []string{"1"}},
			{Key: "gen", Operator: requirement.Exists},
			{Key: "gen", Operator: requirement.DoesNotExist},
			{Key: "gen", Operator: requirement.Gt, Values: []string{"1"}},
			{Key: "other", Operator: requirement.Exists},
		}).Draw(t, "term")
		reqs, err := vocab.Parse([]requirement.Term{term})
		if err != nil {
			t.Fatal(err)
		}
		got := c.All().Clone()
		c.KeepFitting(got, c.Schema.Vector(ask))
		c.KeepMatching(got, reqs, nil)
		var want []string
		for _, ty := range types {
			have, err := vocab.Parse(ty.Requirements)
			if err != nil {
				t.Fatal(err)
			}
			if ty.Capacity[res.CPU] >= ask[res.CPU] && ty.Capacity[res.Memory] >= ask[res.Memory] && have.Compatible(reqs, nil) {
				want = append(want, ty.Name)
			}
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, names(c, got)); diff != "" {
			t.Fatalf("%v of %v: %s", term, ask, diff)
		}
	})
}

func TestCellsHoldWhatCanBeLaunched(t *testing.T) {
	types := []*catalog.Type{
		{Name: "x", Offerings: []catalog.Offering{
			{Zone: "b", CapacityType: catalog.Spot, Price: 3, Available: true},
			{Zone: "a", CapacityType: catalog.OnDemand, Price: 9, Available: false},
			{Zone: "a", CapacityType: catalog.Reserved, ReservationID: "r", Price: 0, Available: true},
		}},
	}
	vocab := requirement.NewVocabulary()
	c, err := catalog.Compile(types, vocab, res.NewSchema(res.CPU))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, cell := range c.Cells {
		got = append(got, fmt.Sprint(cell.Zone, " ", cell.CapacityType, " ", cell.Exists.Count(), " ", cell.Available.Count()))
	}
	// The reservation holds nothing any more.
	want := []string{"a on-demand 1 0", "a reserved 1 0", "b spot 1 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := c.CellsMatching(vocab.Only(requirement.Zone, "a")); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("zone a has cells %v", got)
	}
}

func TestCellsOfReservationsHaveTheirLabels(t *testing.T) {
	types := []*catalog.Type{
		{Name: "x", Offerings: []catalog.Offering{
			{Zone: "a", CapacityType: catalog.OnDemand, Price: 9, Available: true},
			{Zone: "a", CapacityType: catalog.Reserved, ReservationID: "block", ReservationType: "capacity-block", Reservable: 1, Available: true},
			{Zone: "a", CapacityType: catalog.Reserved, ReservationID: "lent", ReservationType: "default", Interruptible: true, Reservable: 1, Available: true},
		}},
	}
	vocab := requirement.NewVocabulary()
	c, err := catalog.Compile(types, vocab, res.NewSchema(res.CPU))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		reqs requirement.Requirements
		want []int
	}{
		"a kind of reservation":          {vocab.Only(requirement.ReservationType, "capacity-block"), []int{1}},
		"not that kind, or none at all":  {vocab.Without(requirement.ReservationType, "capacity-block"), []int{0, 2}},
		"what may be taken back":         {vocab.Only(requirement.ReservationInterruptible, "true"), []int{2}},
		"reserved and not interruptible": {vocab.Only(requirement.ReservationInterruptible, "false"), []int{1}},
	} {
		if got := c.CellsMatching(tc.reqs); !slices.Equal(got, tc.want) {
			t.Errorf("%s: cells %v, want %v", name, got, tc.want)
		}
	}
}

func TestEveryPartitionIsACell(t *testing.T) {
	types := []*catalog.Type{
		{Name: "x", Offerings: []catalog.Offering{
			{Zone: "a", CapacityType: catalog.OnDemand, Partition: 1, Price: 9, Available: true},
			{Zone: "a", CapacityType: catalog.OnDemand, Partition: 2, Price: 9},
		}},
		{Name: "y", Offerings: []catalog.Offering{{Zone: "a", CapacityType: catalog.OnDemand, Partition: 2, Price: 5, Available: true}}},
		{Name: "z", Offerings: []catalog.Offering{{Zone: "a", CapacityType: catalog.OnDemand, Price: 1, Available: true}}},
	}
	vocab := requirement.NewVocabulary()
	c, err := catalog.Compile(types, vocab, res.NewSchema(res.CPU))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, at := range c.CellsMatching(vocab.Only(requirement.PlacementPartition, "2")) {
		cell := &c.Cells[at]
		value, _ := cell.Label(vocab.Key(requirement.PlacementPartition))
		got = append(got, fmt.Sprint(cell.Partition, " ", value, " ", cell.Exists.Count(), " ", cell.Available.Count()))
	}
	if diff := cmp.Diff([]string{"2 2 2 1"}, got); diff != "" {
		t.Error(diff)
	}
	if got := c.CellsMatching(vocab.Without(requirement.PlacementPartition, "2")); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("outside of partition 2 there are the cells %v", got)
	}
}

func TestBadTypesAreRefusedByName(t *testing.T) {
	cases := map[string]struct {
		types []*catalog.Type
		want  string
	}{
		"listed twice":    {[]*catalog.Type{{Name: "x"}, {Name: "x"}}, "instance type x is listed twice"},
		"bad requirement": {[]*catalog.Type{{Name: "x", Requirements: []requirement.Term{{Key: "k", Operator: requirement.In}}}}, "instance type x: requirement on k: In needs at least one value"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := catalog.Compile(tc.types, requirement.NewVocabulary(), res.NewSchema(res.CPU))
			if err == nil || err.Error() != tc.want {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// What a catalog shares with another makes no difference.
func TestACatalogMadeLikeAnotherIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		types := drawTypes(t)
		vocab, schema := requirement.NewVocabulary(), res.NewSchema(res.CPU, res.Memory)
		before, err := catalog.Compile(types, vocab, schema)
		if err != nil {
			t.Fatal(err)
		}
		next := slices.Clone(types)
		change := rapid.SampledFrom([]string{"price", "capacity", "gone", "label", "room", "overhead"}).Draw(t, "change")
		for i := range next {
			own := *next[i]
			own.Offerings = slices.Clone(own.Offerings)
			next[i] = &own
		}
		one := next[rapid.IntRange(0, len(next)-1).Draw(t, "of")]
		switch change {
		case "price":
			one.Offerings[0].Price = 2
		case "capacity":
			one.Offerings[0].Available = !one.Offerings[0].Available
		case "gone":
			next = next[1:]
		case "label":
			one.Requirements = append(slices.Clone(one.Requirements), requirement.Term{Key: "more", Operator: requirement.In, Values: []string{"1"}})
		case "room":
			one.Capacity = res.List{res.CPU: one.Capacity[res.CPU] + 1, res.Memory: one.Capacity[res.Memory]}
		case "overhead":
			one.Overhead = res.List{res.CPU: 1}
		}
		got, err := catalog.CompileLike(before, next, vocab, schema)
		if err != nil {
			t.Fatal(err)
		}
		want, err := catalog.Compile(next, vocab, schema)
		if err != nil {
			t.Fatal(err)
		}
		look := func(c *catalog.Catalog) any {
			out := []any{c.Types, c.Allocatable, c.Capacity, c.Keys()}
			for _, cell := range c.Cells {
				out = append(out, cell.Zone, cell.Price, names(c, cell.Available), names(c, cell.Exists))
			}
			for _, key := range []string{"gen", "more", requirement.InstanceType} {
				k := vocab.Key(key)
				out = append(out, c.Values(c.All(), k))
				for _, value := range c.Values(c.All(), k) {
					s := c.All().Clone()
					c.KeepMatching(s, vocab.Labels(map[string]string{key: value}), nil)
					out = append(out, names(c, s))
				}
			}
			s := c.All().Clone()
			c.KeepFitting(s, res.Vector{4, 4})
			return append(out, names(c, s))
		}
		if diff := cmp.Diff(look(want), look(got)); diff != "" {
			t.Fatalf("after a change of %s:\n%s", change, diff)
		}
	})
}
