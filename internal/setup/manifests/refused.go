package manifests

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/xeipuuv/gojsonschema"
	"sigs.k8s.io/yaml"

	"github.com/kerf-sh/kerf/charts"
)

// Refusal is a value that charts/kerf refuses.
type Refusal struct {
	// Path is what --set of Helm calls the value: a dot within a name is written as \.
	Path string
	// Why says what is wrong with it.
	Why string
	// Correct is the same value as the chart takes it, such as 2 for "2"; empty: it has to be removed or set anew.
	Correct string
}

// Refused are the values that Helm would refuse for charts/kerf, by the schema of the chart, in the order of their paths.
// over are those of a release, without the defaults of its chart.
//
// Errors: the values or the schema can't be read.
func Refused(over map[string]any) ([]Refusal, error) {
	base := map[string]any{}
	if err := yaml.Unmarshal(charts.Values, &base); err != nil {
		return nil, fmt.Errorf("reading the chart's values: %w", err)
	}
	result, err := gojsonschema.Validate(gojsonschema.NewBytesLoader(charts.Schema), gojsonschema.NewGoLoader(merge(base, over, true)))
	if err != nil {
		return nil, fmt.Errorf("judging values by the chart's schema: %w", err)
	}
	var out []Refusal
	for _, e := range result.Errors() {
		names := strings.Split(e.Context().String("\x00"), "\x00")[1:] // without (root)
		r := Refusal{Why: strings.ToLower(e.Description()[:1]) + e.Description()[1:]}
		switch e.Type() {
		case "additional_property_not_allowed":
			names = append(names, fmt.Sprint(e.Details()["property"]))
			r.Why = "the chart has no such value"
		case "invalid_type":
			r.Why = fmt.Sprintf("it is of the type %v, and the chart wants %v", e.Details()["given"], e.Details()["expected"])
			r.Correct = corrected(e.Value(), fmt.Sprint(e.Details()["expected"]))
		}
		for i := range names {
			names[i] = strings.ReplaceAll(names[i], ".", `\.`)
		}
		r.Path = strings.Join(names, ".")
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Refusal) int { return cmp.Compare(a.Path, b.Path) })
	return slices.CompactFunc(out, func(a, b Refusal) bool { return a.Path == b.Path }), nil
}

// corrected is a value in quotes without them, if it is of the wanted type then.
func corrected(value any, want string) string {
	text, ok := value.(string)
	if !ok {
		return ""
	}
	var plain any
	if err := yaml.Unmarshal([]byte(text), &plain); err != nil {
		return ""
	}
	switch v := plain.(type) {
	case bool:
		ok = strings.Contains(want, "boolean")
	case float64:
		ok = strings.Contains(want, "number") || strings.Contains(want, "integer") && v == float64(int64(v))
	default:
		ok = false
	}
	if !ok {
		return ""
	}
	return text
}
