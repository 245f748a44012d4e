package ec2facts

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func small(t *testing.T) *Facts {
	t.Helper()
	types := []Type{{Name: "b1.large", VCPUs: 2}, {Name: "m1.large", VCPUs: 2, UsageClasses: []string{"spot"}}, {Name: "m1.xlarge", VCPUs: 4}}
	f, err := New([]Source{{Part: "types", Date: "2020-01-01"}}, types, []*Region{
		{Name: "here", Currency: "USD", Zones: []Zone{{"here-a", "h-az1"}, {"here-b", "h-az2"}}, OfferedIn: []uint32{1, 2, 3},
			OnDemand: []Listed{{1, "2020-01-01"}, {2, "2020-01-01"}, {3, "2020-01-01"}}, SpotQuotes: [][]int64{nil, {1}, nil}},
		{Name: "there", Currency: "USD", OnDemand: []Listed{{10, "2020-01-01"}, {20, "2020-01-01"}, {}}, Estimate: []int64{0, 0, 30},
			SpotZone: map[string][]int64{"there-a": {5, 6, 7}}, Advice: []Advice{{}, {true, 50, "<5"}, {}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestUpdateKeepsOtherRegionsInStep(t *testing.T) {
	f := small(t)
	got, err := f.With(Update{
		Region: "here", Date: "2021-01-01", Currency: "USD",
		Types:     []Type{{Name: "c1.large", VCPUs: 2}, {Name: "m1.large", VCPUs: 3, UsageClasses: []string{"spot"}}},
		Zones:     []Zone{{"here-c", "h-az3"}, {"here-a", "h-az1"}},
		Offerings: map[string][]string{"c1.large": {"here-c"}, "m1.large": {"here-a", "here-c"}, "z9.large": {"here-a"}},
		OnDemand:  map[string]int64{"c1.large": 9, "z9.large": 1},
		Spot:      map[string]map[string]int64{"here-a": {"m1.large": 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range got.Types {
		names = append(names, x.Name)
	}
	if diff := cmp.Diff([]string{"b1.large", "c1.large", "m1.large", "m1.xlarge"}, names); diff != "" {
		t.Error(diff)
	}
	if x, _ := got.Type("m1.large"); x.VCPUs != 3 {
		t.Error("m1.large was not replaced")
	}
	offered, _ := got.Offerings("here")
	if diff := cmp.Diff(map[string][]string{"c1.large": {"here-c"}, "m1.large": {"here-a", "here-c"}}, offered); diff != "" {
		t.Errorf("offerings (-want +got):\n%s", diff)
	}
	there := got.OnDemand("there").Prices
	want := map[string]Price{"b1.large": {10, Exact, "2020-01-01"}, "m1.large": {20, Exact, "2020-01-01"}, "m1.xlarge": {30, Estimated, ""}}
	if diff := cmp.Diff(want, there); diff != "" {
		t.Errorf("prices elsewhere (-want +got):\n%s", diff)
	}
	if p, _ := got.Spot("there", "there-a", "m1.large"); p.MicroUSD != 6 {
		t.Errorf("spot price elsewhere: %+v", p)
	}
	if a, _ := got.SpotAdvice("there", "m1.large"); a.SavingPercent != 50 {
		t.Errorf("advice elsewhere: %+v", a)
	}
	here := got.OnDemand("here").Prices
	want = map[string]Price{"b1.large": {1, Exact, "2020-01-01"}, "c1.large": {9, Exact, "2021-01-01"}, "m1.large": {2, Exact, "2020-01-01"}, "m1.xlarge": {3, Exact, "2020-01-01"}}
	if diff := cmp.Diff(want, here); diff != "" {
		t.Errorf("prices here (-want +got):\n%s", diff)
	}
	if p, ok := got.Spot("here", "here-a", "m1.large"); !ok || p.Basis != Exact || p.Date != "2021-01-01" {
		t.Errorf("a spot price that was learned: %+v %v", p, ok)
	}
	if before, _ := f.Offerings("here"); len(before) != 3 {
		t.Error("the facts that were updated have changed")
	}
}

func TestUpdatesThatContradictThemselves(t *testing.T) {
	for name, c := range map[string]struct {
		update Update
		want   string
	}{
		"an offering in a zone that is not listed":   {Update{Region: "here", Offerings: map[string][]string{"m1.large": {"here-z"}}}, "offered in zone here-z"},
		"spot prices of a zone that is not listed":   {Update{Region: "here", Spot: map[string]map[string]int64{"here-z": {}}}, "spot prices for zone here-z"},
		"a type whose name has no size":              {Update{Region: "here", Types: []Type{{Name: "m1"}}}, "not of the form family.size"},
		"more zones than the file can tell of":       {Update{Region: "here", Zones: make([]Zone, 33)}, "33 zones"},
		"a new region, offered where no zone is yet": {Update{Region: "new", Offerings: map[string][]string{"m1.large": {"new-a"}}}, "new-a"},
	} {
		if _, err := small(t).With(c.update); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	f := facts(t)
	for name, c := range map[string]struct {
		instanceType, region string
		want                 []string
	}{
		"a plain type":                  {"m5.large", "us-east-1", []string{"8192 MiB, of which a Linux guest sees 7811", "0.096 USD an hour in us-east-1 (listed 2026-07-20)", "Spot us-east-1a", "29 pods"}},
		"a GPU type":                    {"g4dn.12xlarge", "us-east-1", []string{"4 × NVIDIA T4, 16384 MiB each", "1 × 900 GB ssd"}},
		"a retired type":                {"p3.8xlarge", "us-east-1", []string{"p3.8xlarge"}},
		"an estimate":                   {"c7a.large", "eu-west-2", []string{"(estimated)"}},
		"a region without data":         {"m5.large", "xx-nowhere-1", []string{"borrowed from us-east-1, 2026-07-20", "the offerings of xx-nowhere-1 are not known"}},
		"a type that is not offered":    {"p5.48xlarge", "eu-west-1", []string{"not offered in eu-west-1"}},
		"a region with no price at all": {"p5.48xlarge", "eu-west-1", []string{"no price known in eu-west-1"}},
	} {
		var b bytes.Buffer
		d, err := f.Describe(c.instanceType, c.region)
		if err == nil {
			err = d.Write(&b)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(b.String(), w) {
				t.Errorf("%s: %q is not in\n%s", name, w, b.String())
			}
		}
	}
	_, err := f.Describe("m5.huge", "us-east-1")
	if err == nil || !strings.Contains(err.Error(), `"m5.huge" is not known; of that family there are m5.large`) {
		t.Errorf("a type that does not exist: %v", err)
	}
	if _, err := f.Describe("", "us-east-1"); err == nil {
		t.Error("the empty name is a type")
	}
}

func TestDecimal(t *testing.T) {
	for in, want := range map[int64]string{0: "0", 1: "0.000001", 96000: "0.096", 1_000_000: "1", 10_500_000: "10.5"} {
		if got := Decimal(in); got != want {
			t.Errorf("Decimal(%d) = %q, want %q", in, got, want)
		}
	}
}
