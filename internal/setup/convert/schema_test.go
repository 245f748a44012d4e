package convert

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/kerf-sh/kerf/api/crds"
)

// checkAgainstCRDs holds every object of ours against the schema of its kind, but for the rules in CEL, for which a test
// with a real API server is there.
func checkAgainstCRDs(t *testing.T, output []byte) {
	t.Helper()
	all, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq(string(output), "---\n") {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(part), &o); err != nil {
			t.Errorf("what comes out is no YAML: %v\n%s", err, part)
			continue
		}
		for _, crd := range all {
			version := crd.Spec.Versions[0]
			if o["kind"] != crd.Spec.Names.Kind || o["apiVersion"] != crd.Spec.Group+"/"+version.Name {
				continue
			}
			for _, wrong := range check(fmt.Sprint(o["kind"]), version.Schema.OpenAPIV3Schema, o) {
				t.Errorf("the schema refuses: %s\n%s", wrong, part)
			}
		}
	}
}

// check holds a value against the parts of a schema that these definitions use.
func check(path string, s *apiextensionsv1.JSONSchemaProps, v any) (wrong []string) {
	bad := func(format string, args ...any) { wrong = append(wrong, path+": "+fmt.Sprintf(format, args...)) }
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e apiextensionsv1.JSON) bool { return same(e.Raw, v) }) {
		bad("%v is none of the values", v)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				bad("%s is required", name)
			}
		}
		if s.MaxProperties != nil && int64(len(v)) > *s.MaxProperties {
			bad("has %d members", len(v))
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			switch p, ok := s.Properties[k]; {
			case ok:
				wrong = append(wrong, check(path+"."+k, &p, v[k])...)
			case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
				wrong = append(wrong, check(path+"."+k, s.AdditionalProperties.Schema, v[k])...)
			case len(s.Properties) > 0 && path != "":
				bad("%s is not known", k)
			}
		}
	case []any:
		if s.Type != "array" {
			bad("a list")
			return wrong
		}
		if s.MaxItems != nil && int64(len(v)) > *s.MaxItems || s.MinItems != nil && int64(len(v)) < *s.MinItems {
			bad("has %d items", len(v))
		}
		for i, item := range v {
			wrong = append(wrong, check(fmt.Sprintf("%s[%d]", path, i), s.Items.Schema, item)...)
		}
	case string:
		if s.Type != "string" && !s.XIntOrString {
			bad("a text, want %s", s.Type)
		}
		if s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(v) {
			bad("%q does not match %s", v, s.Pattern)
		}
		if s.MaxLength != nil && int64(len(v)) > *s.MaxLength {
			bad("too long")
		}
	case float64:
		if s.Type != "integer" && s.Type != "number" && !s.XIntOrString {
			bad("a number, want %s", s.Type)
		}
		if s.Minimum != nil && v < *s.Minimum || s.Maximum != nil && v > *s.Maximum {
			bad("%v is out of bounds", v)
		}
	case bool:
		if s.Type != "boolean" {
			bad("a truth value, want %s", s.Type)
		}
	}
	return wrong
}

func same(raw []byte, v any) bool {
	var e any
	return json.Unmarshal(raw, &e) == nil && e == v
}
