package bound_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/bound"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// One memory serves problem after problem: other pods, other resources, other prices, other lists of types, and back. Each search gives what
// it gives without a memory.
func TestAMemoryChangesNothing(t *testing.T) {
	types := ec2Types(t)
	dearer := make([]*catalog.Type, len(types))
	for i, k := range types {
		k := *k
		k.Offerings = append([]catalog.Offering(nil), k.Offerings...)
		for j := range k.Offerings {
			k.Offerings[j].Price += k.Offerings[j].Price / 10
		}
		dearer[i] = &k
	}
	gpus := func() *pack.Problem {
		p := mix(20, families, types, 4)
		for _, pod := range p.Pending[:3] {
			pod.Class.Requests["nvidia.com/gpu"] = 1
			pod.Class.ID = pod.Class.Hash()
		}
		return p
	}
	memory := &bound.Memory{}
	for i, p := range []*pack.Problem{
		mix(30, families, types, 1), mix(30, families, types, 2), mix(30, families, dearer, 2), overAllZones(mix(40, families, dearer, 3)), gpus(),
		mix(30, families, types[:len(types)/2], 2), mix(30, families, types, 1),
	} {
		out := pack.Solve(p)
		without, with := bound.Lower(p, out, bound.Budget{}), bound.Lower(p, out, bound.Budget{Memory: memory})
		if !reflect.DeepEqual(without, with) {
			t.Errorf("problem %d: %+v without a memory, %+v with it", i, without, with)
		}
	}
}

// Names that are new each time do not fill a memory: it begins anew, and gives the same.
func TestAMemoryForgetsNames(t *testing.T) {
	types := ec2Types(t)[:20]
	memory := &bound.Memory{}
	long := strings.Repeat("x", 10_000)
	most := 0
	for i := range 12 {
		p := mix(5, families, types, 1)
		values := make([]string, 200)
		for j := range values {
			values[j] = fmt.Sprint(long, i, "-", j)
		}
		for _, pod := range p.Pending {
			pod.Class.Selector = []requirement.Term{{Key: "example.com/x", Operator: requirement.NotIn, Values: values}}
			pod.Class.ID = pod.Class.Hash()
		}
		bound.Lower(p, pack.Solve(p), bound.Budget{Memory: memory})
		most = max(most, memory.Bytes())
	}
	if most > 11<<20 {
		t.Errorf("the memory held %d bytes of names at most; it is to forget them from 8 MiB on, and a problem brings 2 MB", most)
	}
}
