package settings

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ParseGates reads feature gates as FEATURE_GATES has them; those that the text does not name are as by default, and gates that
// there are none of are left out.
func ParseGates(text string) (g Gates, err error) {
	err = g.parse(text, nil)
	return g, err
}

func (g *Gates) parse(v string, warn func(string)) error {
	*g = Gates{ReservedCapacity: true}
	return parseGates(v, g.byName(), warn)
}

func (g *Gates) byName() map[string]*bool {
	return map[string]*bool{
		"ReservedCapacity": &g.ReservedCapacity, "NodeRepair": &g.NodeRepair, "NodeOverlay": &g.NodeOverlay,
		"SpotToSpotConsolidation": &g.SpotToSpotConsolidation, "StaticCapacity": &g.StaticCapacity, "CapacityBuffer": &g.CapacityBuffer,
	}
}

func (g *AWSGates) parse(v string, warn func(string)) error {
	*g = AWSGates{}
	return parseGates(v, g.byName(), warn)
}

func (g *AWSGates) byName() map[string]*bool {
	return map[string]*bool{"NodeClassCEL": &g.NodeClassCEL}
}

// GateNames are the gates that there are, where variable is FEATURE_GATES or AWS_FEATURE_GATES.
func GateNames(variable string) []string {
	switch variable {
	case "FEATURE_GATES":
		return slices.Sorted(maps.Keys(new(Gates).byName()))
	case "AWS_FEATURE_GATES":
		return slices.Sorted(maps.Keys(new(AWSGates).byName()))
	}
	return nil
}

// parseGates sets what a list of gates names; warn, which may be nil, is told of gates that are not known and switched on.
func parseGates(v string, known map[string]*bool, warn func(string)) error {
	for item := range strings.SplitSeq(v, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		name, value, ok := strings.Cut(item, "=")
		b, err := strconv.ParseBool(strings.TrimSpace(value))
		if !ok || err != nil {
			return fmt.Errorf("%q: want Name=true or Name=false", item)
		}
		name = strings.TrimSpace(name)
		if p := known[name]; p != nil {
			*p = b
		} else if warn != nil && b {
			warn(name)
		}
	}
	return nil
}
