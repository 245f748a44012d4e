package fleet

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

func TestPartitionsThatAreCheapest(t *testing.T) {
	const key = requirement.PlacementPartition
	offer := func(price catalog.MicroUSD, partitions ...int32) (out []catalog.Offering) {
		for _, n := range []int32{1, 2, 3} {
			o := catalog.Offering{Zone: "a", CapacityType: catalog.OnDemand, Price: price, Partition: n, Unavailable: "insufficient capacity"}
			for _, open := range partitions {
				if open == n {
					o.Available, o.Unavailable = true, ""
				}
			}
			out = append(out, o)
		}
		return out
	}
	for name, c := range map[string]struct {
		small, large []catalog.Offering
		want         Want
		partitions   []int32
	}{
		"all are alike":                                    {offer(1, 1, 2, 3), offer(2, 1, 2, 3), Want{}, []int32{1, 2, 3}},
		"one is closed":                                    {offer(1, 1, 3), offer(2, 1, 3), Want{}, []int32{1, 3}},
		"in one only what is dearer is left":               {offer(1, 1, 3), offer(2, 1, 2, 3), Want{}, []int32{1, 3}},
		"the dearer one, when the cheap type is too small": {offer(1, 1, 2, 3), offer(2, 2), Want{Requirements: []requirement.Term{in(typeKey, "m5.xlarge")}}, []int32{2}},
		"the one that is demanded":                         {offer(1, 1, 2, 3), nil, Want{Requirements: []requirement.Term{in(key, "2")}}, []int32{2}},
		"the one that is demanded is closed":               {offer(1, 1, 3), nil, Want{Requirements: []requirement.Term{in(key, "2")}}, nil},
		"there are no partitions":                          {[]catalog.Offering{{Zone: "a", CapacityType: catalog.OnDemand, Price: 1, Available: true}}, nil, Want{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			small, large := newType("m5.large", 2, 0), newType("m5.xlarge", 4, 0)
			small.Offerings, large.Offerings = c.small, c.large
			all := []*catalog.Type{small, large}
			got := Partitions(all, c.want)
			if diff := cmp.Diff(c.partitions, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if len(got) == 0 {
				return
			}
			c.want.Requirements = append(c.want.Requirements, in(key, catalog.PartitionLabel(got[0])))
			choice, err := Choose(all, c.want)
			if err != nil || choice.Partition != got[0] {
				t.Fatalf("chosen in partition %d: %+v, %v", got[0], choice, err)
			}
			for _, p := range choice.Picks {
				for _, o := range p.Offerings {
					if o.Partition != got[0] {
						t.Errorf("%s in partition %d", p.Type.Name, o.Partition)
					}
				}
			}
		})
	}
}
