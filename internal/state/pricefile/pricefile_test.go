package pricefile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

const sample = `# what we pay since June
prices:
  - match: {type: m7i.large, capacityType: on-demand, region: [us-east-1, eu-west-1]}
    price: 0.05
    comment: a private rate
  - match:
      family: [m7i, m7a]
      capacityType: on-demand
    factor: 0.72
  - match: {zone: us-east-1a, region: us-east-1}
    factor: 1.01
`

func instance(name string) *catalog.Type {
	family, _, _ := strings.Cut(name, ".")
	return &catalog.Type{
		Name:         name,
		Requirements: []requirement.Term{{Key: familyLabel, Operator: requirement.In, Values: []string{family}}},
		Offerings: []catalog.Offering{
			{Zone: "us-east-1a", CapacityType: catalog.OnDemand, Price: 100_000, Available: true},
			{Zone: "us-east-1b", CapacityType: catalog.OnDemand, Price: 100_000, Available: true},
			{Zone: "us-east-1b", CapacityType: catalog.Spot, Price: 40_000, Available: true},
		},
	}
}

func TestTheFirstRuleThatMatchesDecides(t *testing.T) {
	rules, err := Parse("prices.yaml", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		instanceType, region string
		want                 [3]catalog.MicroUSD
	}{
		{"m7i.large", "us-east-1", [3]catalog.MicroUSD{50_000, 50_000, 40_000}},
		{"m7i.large", "us-west-2", [3]catalog.MicroUSD{72_000, 72_000, 40_000}},
		{"m7a.xlarge", "us-east-1", [3]catalog.MicroUSD{72_000, 72_000, 40_000}},
		{"c7i.large", "us-east-1", [3]catalog.MicroUSD{101_000, 100_000, 40_000}},
		{"c7i.large", "eu-west-1", [3]catalog.MicroUSD{100_000, 100_000, 40_000}},
	} {
		overlays := rules.In(c.region)
		catalog.SortOverlays(overlays)
		got := instance(c.instanceType).Overlay(overlays, nil).Offerings
		if diff := cmp.Diff(c.want, [3]catalog.MicroUSD{got[0].Price, got[1].Price, got[2].Price}); diff != "" {
			t.Errorf("%s in %s (-want +got):\n%s", c.instanceType, c.region, diff)
		}
	}
	if json, err := Parse("prices.json", []byte(`{"prices":[{"match":{"type":"m7i.large"},"price":0.05}]}`)); err != nil || json.Len() != 1 {
		t.Errorf("JSON: %v", err)
	}
	if none, err := Parse("prices.yaml", []byte("prices: []")); err != nil || none.Len() != 0 {
		t.Errorf("a file without rules: %v", err)
	}
}

func TestErrorsNameTheLineAndTheWayOut(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 `p.yaml:1: the file is empty: begin with "prices:"`,
		"prices: {":                        "p.yaml: neither YAML nor JSON",
		"- a":                              "p.yaml:1: the file: want the fields prices",
		"price: []":                        `p.yaml:1: "price" is not known in the file: use prices`,
		"prices: 7":                        "p.yaml:1: prices: want a list of rules",
		"prices:\n- match: {}":             "p.yaml:2: a rule sets either price or factor",
		"prices:\n- price: 1\n  factor: 1": "p.yaml:2: a rule sets either price or factor",
		"prices:\n- price: -1":             `p.yaml:2: price: "-1" is not dollars per hour such as 0.096`,
		"prices:\n- price: 1e3":            `p.yaml:2: price: "1e3" is not`,
		"prices:\n- price: 99999999999999": `p.yaml:2: price: "99999999999999" is not`,
		"prices:\n- factor: 28%":           `p.yaml:2: factor: "28%" is not a number such as 0.72`,
		"prices:\n- price: 1\n  match: {family: m7i.large}":      "p.yaml:3: family: \"m7i.large\" is an instance type; write type: m7i.large, or family: m7i",
		"prices:\n- price: 1\n  match: {type: m7i}":              "p.yaml:3: type: \"m7i\" is not an instance type such as m7i.large; for all sizes write family: m7i",
		"prices:\n- price: 1\n  match: {capacityType: ondemand}": `p.yaml:3: capacityType: "ondemand" is none of on-demand, spot, reserved`,
		"prices:\n- price: 1\n  match: {instance: m7i.large}":    `p.yaml:3: "instance" is not known in match: use type, family, region, zone, capacityType`,
		"prices:\n- price: 1\n  match: {zone: []}":               "p.yaml:3: zone: the list is empty",
		"prices:\n- price: 1\n  match: {zone: {a: b}}":           "p.yaml:3: zone: want a name or a list of names",
		"prices:\n- price: 1\n- price: 2\n  price: 3":            "p.yaml:4",
		"prices:\n- factor: x\n- match: {zone: ''}\n  price: 1":  "p.yaml:3: zone: want a name",
	} {
		_, err := Parse("p.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample)
	f.Add("prices: &a [*a]")
	f.Fuzz(func(_ *testing.T, text string) {
		if rules, err := Parse("f", []byte(text)); err == nil {
			rules.In("us-east-1")
		}
	})
}
