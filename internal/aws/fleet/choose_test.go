package fleet

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

const (
	zoneKey     = "topology.kubernetes.io/zone"
	capacityKey = "karpenter.sh/capacity-type"
	typeKey     = "node.kubernetes.io/instance-type"
	familyKey   = "karpenter.k8s.aws/instance-family"
	cpuKey      = "karpenter.k8s.aws/instance-cpu"
	gpuKey      = "karpenter.k8s.aws/instance-gpu-count"
	sizeKey     = "karpenter.k8s.aws/instance-size"
)

func in(key string, values ...string) requirement.Term {
	return requirement.Term{Key: key, Operator: requirement.In, Values: values}
}

// newType has offerings in zones a and b: on demand at a price, spot at a third of it.
func newType(name string, cpu int64, price catalog.MicroUSD, extra ...requirement.Term) *catalog.Type {
	family, size, _ := strings.Cut(name, ".")
	t := &catalog.Type{
		Name: name, Capacity: res.List{res.CPU: cpu * 1000, res.Memory: cpu * 4 << 30, res.Pods: 29}, Overhead: res.List{res.CPU: 70},
		Requirements: []requirement.Term{
			in(typeKey, name), in(familyKey, family), in(sizeKey, size), in(cpuKey, fmt.Sprint(cpu)), in(zoneKey, "a", "b"), in(capacityKey, "on-demand", "spot"),
		},
	}
	hasGPU := slices.ContainsFunc(extra, func(r requirement.Term) bool { return r.Key == gpuKey })
	if !hasGPU {
		extra = append(extra, requirement.Term{Key: gpuKey, Operator: requirement.DoesNotExist})
	}
	t.Requirements = append(t.Requirements, extra...)
	for _, z := range []string{"a", "b"} {
		t.Offerings = append(t.Offerings,
			catalog.Offering{Zone: z, ZoneID: "id-" + z, CapacityType: catalog.OnDemand, Price: price, Available: true},
			catalog.Offering{Zone: z, ZoneID: "id-" + z, CapacityType: catalog.Spot, Price: price / 3, Available: true})
	}
	return t
}

func names(c *Choice) []string {
	var out []string
	for _, p := range c.Picks {
		out = append(out, p.Type.Name)
	}
	return out
}

func TestChoose(t *testing.T) {
	closed := newType("m5.large", 2, 96)
	for i := range closed.Offerings {
		closed.Offerings[i].Available, closed.Offerings[i].Unavailable = false, "insufficient capacity"
	}
	dearSpot := newType("c9.large", 2, 60)
	for i := range dearSpot.Offerings {
		if dearSpot.Offerings[i].CapacityType == catalog.Spot {
			dearSpot.Offerings[i].Price = 90
		}
	}
	onlyOnDemand := func(t *catalog.Type) *catalog.Type {
		t.Offerings = slices.DeleteFunc(t.Offerings, func(o catalog.Offering) bool { return o.CapacityType == catalog.Spot })
		return t
	}
	metal := newType("m5.metal", 96, 10)
	gpu := newType("g4dn.xlarge", 4, 20, in(gpuKey, "1"))
	small, big := newType("m6.large", 2, 90), newType("m6.xlarge", 4, 180)
	both := in(capacityKey, "spot", "on-demand")
	od := in(capacityKey, "on-demand")
	tests := []struct {
		name         string
		types        []*catalog.Type
		want         Want
		names        []string
		capacityType string
		err          string
	}{
		{"the cheapest comes first", []*catalog.Type{big, small}, Want{Requirements: []requirement.Term{od}}, []string{"m6.large", "m6.xlarge"}, "on-demand", ""},
		{"spot wins when it is allowed", []*catalog.Type{small}, Want{Requirements: []requirement.Term{both}}, []string{"m6.large"}, "spot", ""},
		{"on demand when spot is not offered", []*catalog.Type{onlyOnDemand(newType("m7.large", 2, 9))}, Want{Requirements: []requirement.Term{both}}, []string{"m7.large"}, "on-demand", ""},
		{"without a word on it, spot", []*catalog.Type{small}, Want{}, []string{"m6.large"}, "spot", ""},
		{"requests must fit", []*catalog.Type{big, small}, Want{Requirements: []requirement.Term{od}, Requests: res.List{res.CPU: 1931}}, []string{"m6.xlarge"}, "on-demand", ""},
		{"requests that just fit", []*catalog.Type{small}, Want{Requirements: []requirement.Term{od}, Requests: res.List{res.CPU: 1930}}, []string{"m6.large"}, "on-demand", ""},
		{"closed offerings are not asked for", []*catalog.Type{closed, big}, Want{Requirements: []requirement.Term{od}}, []string{"m6.xlarge"}, "on-demand", ""},
		{"nothing open", []*catalog.Type{closed}, Want{Requirements: []requirement.Term{od}}, nil, "", "insufficient capacity (2)"},
		{"nothing big enough", []*catalog.Type{small}, Want{Requests: res.List{res.CPU: 9000}}, nil, "", "0 of them are big enough"},
		{"a resource that no type has", []*catalog.Type{small}, Want{Requests: res.List{"nvidia.com/gpu": 1}}, nil, "", "0 of them are big enough"},
		{"a zone that does not exist", []*catalog.Type{small}, Want{Requirements: []requirement.Term{in(zoneKey, "z")}}, nil, "", "0 are compatible"},
		{"metal and GPUs are left out", []*catalog.Type{metal, gpu, small}, Want{Requirements: []requirement.Term{od}}, []string{"m6.large"}, "on-demand", ""},
		{"unless there is nothing else", []*catalog.Type{metal, gpu}, Want{Requirements: []requirement.Term{od}}, []string{"m5.metal", "g4dn.xlarge"}, "on-demand", ""},
		{"spot dearer than on-demand is left out", []*catalog.Type{dearSpot, small}, Want{Requirements: []requirement.Term{both}}, []string{"m6.large"}, "spot", ""},
		{"unless only spot is allowed", []*catalog.Type{dearSpot, small}, Want{Requirements: []requirement.Term{in(capacityKey, "spot")}}, []string{"m6.large", "c9.large"}, "spot", ""},
		{"bounds on numbers", []*catalog.Type{big, small}, Want{Requirements: []requirement.Term{od, {Key: cpuKey, Operator: requirement.Gt, Values: []string{"2"}}}}, []string{"m6.xlarge"}, "on-demand", ""},
		{"a bound that is none", []*catalog.Type{small}, Want{Requirements: []requirement.Term{{Key: cpuKey, Operator: requirement.Gt, Values: []string{"x"}}}}, nil, "", "0 are compatible"},
		{"a label that must not be there", []*catalog.Type{gpu, small}, Want{Requirements: []requirement.Term{od, {Key: gpuKey, Operator: requirement.DoesNotExist}}}, []string{"m6.large"}, "on-demand", ""},
		{"a label that must be there", []*catalog.Type{gpu, small}, Want{Requirements: []requirement.Term{od, {Key: gpuKey, Operator: requirement.Exists}}}, []string{"g4dn.xlarge"}, "on-demand", ""},
		{"labels that only the claim knows", []*catalog.Type{small}, Want{Requirements: []requirement.Term{od, in("team", "blue")}}, []string{"m6.large"}, "on-demand", ""},
		{"no types at all", nil, Want{}, nil, "", "of 0 types"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Choose(tt.types, tt.want)
			if tt.err != "" {
				if cloud.ClassOf(err) != cloud.Exhausted || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.names, names(got)); diff != "" {
				t.Error(diff)
			}
			if got.CapacityType != tt.capacityType || got.Tenancy != "default" {
				t.Errorf("got %s, %s", got.CapacityType, got.Tenancy)
			}
			for _, p := range got.Picks {
				for _, o := range p.Offerings {
					if o.CapacityType != tt.capacityType || !o.Available {
						t.Errorf("%s has the offering %+v", p.Type.Name, o)
					}
				}
			}
		})
	}
}

func TestZonesOfAClaimBoundTheOfferings(t *testing.T) {
	got, err := Choose([]*catalog.Type{newType("m6.large", 2, 90)}, Want{Requirements: []requirement.Term{in(zoneKey, "b")}})
	if err != nil {
		t.Fatal(err)
	}
	if o := got.Picks[0].Offerings; len(o) != 1 || o[0].Zone != "b" {
		t.Errorf("got %+v", o)
	}
}

func TestOnlyTheCheapestAreAskedForAndMinValuesHold(t *testing.T) {
	var types []*catalog.Type
	for i := range 100 {
		types = append(types, newType(fmt.Sprintf("f%d.large", i/50), 2, catalog.MicroUSD(100+i)))
		types[i].Name = fmt.Sprintf("f%d.t%02d", i/50, i)
	}
	od := in(capacityKey, "on-demand")
	got, err := Choose(types, Want{Requirements: []requirement.Term{od}})
	if err != nil || len(got.Picks) != 60 || got.Picks[59].Type.Name != types[59].Name {
		t.Fatalf("%d picks, %v", len(got.Picks), err)
	}
	families := requirement.Term{Key: familyKey, Operator: requirement.Exists, MinValues: 2}
	rare := newType("rare.large", 2, 1_000)
	three := families
	three.MinValues = 3
	got, err = Choose(append(types, rare), Want{Requirements: []requirement.Term{od, three}})
	if err != nil || len(got.Picks) != 60 || !slices.Contains(names(got), "rare.large") || !slices.IsSortedFunc(got.Picks, func(a, b Pick) int { return int(a.Offerings[0].Price - b.Offerings[0].Price) }) {
		t.Fatalf("the third family is not among %v, %v", names(got), err)
	}
	four := families
	four.MinValues = 4
	if _, err = Choose(append(types, rare), Want{Requirements: []requirement.Term{od, four}}); cloud.ClassOf(err) != cloud.Exhausted || !strings.Contains(err.Error(), familyKey+" has 3 values, 4 are demanded") {
		t.Errorf("got %v", err)
	}
	if got, err = Choose(append(types, rare), Want{Requirements: []requirement.Term{od, four}, RelaxMinValues: true}); err != nil || len(got.Picks) != 60 {
		t.Errorf("got %d picks, %v", len(got.Picks), err)
	}
}

func TestARequestHasNoMorePoolsThanEC2Takes(t *testing.T) {
	var picks []Pick
	for i := range 60 {
		p := Pick{Type: &catalog.Type{Name: fmt.Sprintf("t%02d", i)}}
		for z := range 6 {
			p.Offerings = append(p.Offerings, catalog.Offering{Zone: fmt.Sprint(z), Price: catalog.MicroUSD(i)})
		}
		picks = append(picks, p)
	}
	n := 0
	for _, p := range limitPools(picks) {
		if len(p.Offerings) == 0 {
			t.Errorf("%s has no pool left", p.Type.Name)
		}
		n += len(p.Offerings)
	}
	if n != maxOverrides {
		t.Errorf("%d pools, want %d", n, maxOverrides)
	}
}

func TestDedicatedTenancyIsTakenOnlyWhenDefaultIsNotAllowed(t *testing.T) {
	key := "karpenter.k8s.aws/instance-tenancy"
	types := []*catalog.Type{newType("m6.large", 2, 90, in(key, "default", "dedicated"))}
	for want, values := range map[string][]string{"default": {"default", "dedicated"}, "dedicated": {"dedicated"}} {
		got, err := Choose(types, Want{Requirements: []requirement.Term{in(key, values...)}})
		if err != nil || got.Tenancy != want {
			t.Errorf("%v: got %+v, %v", values, got, err)
		}
	}
}

func TestWhatIsDearerThanTheBoundIsNotAskedFor(t *testing.T) {
	types := []*catalog.Type{
		newType("m8g.metal", 8, 90_000), newType("c7.xl", 4, 99_000), newType("c6.xl", 4, 100_000), newType("m6.xl", 4, 120_000), newType("r6.xl", 4, 200_000),
	}
	onDemand := in(capacityKey, "on-demand")
	for name, tt := range map[string]struct {
		bound int64
		terms []requirement.Term
		want  []string
	}{
		"off: what is cheap and not exotic":                   {0, []requirement.Term{onDemand}, []string{"c7.xl", "c6.xl", "m6.xl", "r6.xl"}},
		"10 % above bare metal, which is left out":            {10, []requirement.Term{onDemand}, []string{"c7.xl"}},
		"nothing else within the bound: bare metal":           {5, []requirement.Term{onDemand}, []string{"m8g.metal"}},
		"the bound is one of what the claim may have":         {1, []requirement.Term{onDemand, in(typeKey, "c7.xl", "c6.xl", "m6.xl")}, []string{"c7.xl"}},
		"minValues come first, and the cheapest that do":      {1, []requirement.Term{onDemand, {Key: familyKey, Operator: requirement.Exists, MinValues: 3}}, []string{"m8g.metal", "c7.xl", "c6.xl"}},
		"spot is measured by the cheapest of spot and others": {10, []requirement.Term{in(typeKey, "c7.xl", "c6.xl", "m6.xl")}, []string{"c7.xl", "c6.xl"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Choose(types, Want{Requirements: tt.terms, Requests: res.List{res.CPU: 1000}, PriceBound: tt.bound})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, names(c)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
