package main

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"

	"github.com/kerf-sh/kerf/internal/settings"
	"github.com/kerf-sh/kerf/internal/setup/manifests"
)

// valuesSchema is the JSON schema of the values, from the type that they are read into.
func valuesSchema(values []value) ([]byte, error) {
	says := map[string]string{}
	for _, v := range values {
		says[v.path] = v.text
	}
	schema := schemaOf(reflect.TypeFor[manifests.Values](), "", says)
	schema["$schema"] = "http://json-schema.org/draft-07/schema#"
	schema["title"] = "Values of the chart kerf"
	// Helm passes global to every chart. A chart that has this one as a dependency may have enabled as its condition.
	schema["properties"].(map[string]any)["global"] = map[string]any{"type": "object"}
	schema["properties"].(map[string]any)["enabled"] = map[string]any{}
	for _, u := range manifests.UnusedValues() {
		at := schema
		names := strings.Split(u.Path, ".")
		for _, name := range names[:len(names)-1] {
			at = at["properties"].(map[string]any)[name].(map[string]any)
		}
		at["properties"].(map[string]any)[names[len(names)-1]] = map[string]any{"description": "Without effect: " + u.Why + "."}
	}
	out, err := json.MarshalIndent(schema, "", "  ")
	return append(out, '\n'), err
}

// schemaOf describes a type. Of Kubernetes' own types only the kind is said: the API server judges the rest.
func schemaOf(t reflect.Type, path string, says map[string]string) map[string]any {
	out := map[string]any{}
	if text := says[path]; text != "" {
		out["description"] = text
	}
	kind := func(names ...string) map[string]any {
		out["type"] = names
		if len(names) == 1 {
			out["type"] = names[0]
		}
		return out
	}
	if choices := manifests.Choices(path); len(choices) > 0 {
		return acceptedSchema(out, settings.Accepts{Choices: choices}, true)
	}
	if variable, ok := manifests.Variable(path); ok {
		if accepts, _ := settings.Accepted(variable); accepts.Pattern != "" || len(accepts.Choices) > 0 {
			if manifests.IsPort(path) {
				accepts.Min, accepts.Pattern = new(1.0), aboveZero
			}
			return acceptedSchema(out, accepts, strings.HasPrefix(path, "settings."))
		}
	}
	if pattern := manifests.Pattern(path); pattern != "" {
		out["pattern"] = pattern
	}
	if t.Kind() == reflect.Pointer {
		e := t.Elem()
		if e.PkgPath() == "k8s.io/apimachinery/pkg/util/intstr" {
			return kind("integer", "string", "null")
		}
		if e.Kind() == reflect.Struct {
			return kind("object", "null")
		}
		out["pattern"] = wholeNumber
		return kind("integer", "string", "null")
	}
	if path == "settings.kerf" {
		kind("object", "null")
		properties := map[string]any{}
		for name, help := range manifests.OwnSettings() {
			properties[name] = ownSchema(name, help)
		}
		out["properties"], out["additionalProperties"] = properties, false
		return out
	}
	switch t.Kind() {
	case reflect.Struct:
		kind("object")
		if !strings.HasSuffix(t.PkgPath(), "internal/setup/manifests") {
			return out
		}
		properties := map[string]any{}
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			if name == "-" {
				continue
			}
			properties[name] = schemaOf(t.Field(i).Type, strings.TrimPrefix(path+"."+name, "."), says)
		}
		out["properties"], out["additionalProperties"] = properties, false
		return out
	case reflect.Map:
		return kind("object", "null")
	case reflect.Slice:
		out["maxProperties"] = 0 // the Karpenter chart has {} where there is no list
		return kind("array", "object", "null")
	case reflect.Bool:
		if strings.HasPrefix(path, "settings.") {
			out["pattern"] = "^(|true|false)$"
			return kind("boolean", "string", "null")
		}
		return kind("boolean")
	case reflect.Int32, reflect.Int64:
		out["pattern"] = wholeNumber
		return kind("integer", "string")
	case reflect.Float64:
		return kind("number")
	case reflect.String:
		return kind("string")
	}
	return kind("integer", "number", "string", "null") // any
}

// wholeNumber is a number in quotes, as templates print it: like one without.
const wholeNumber = "^[0-9]+$"

// aboveZero is such a number of 1 at least.
const aboveZero = "^0*[1-9][0-9]*$"

// ownSchema describes one of Kerf's own settings.
func ownSchema(name, help string) map[string]any {
	out := map[string]any{"description": help}
	variable, _ := manifests.Variable("settings.kerf." + name)
	accepts, _ := settings.Accepted(variable)
	return acceptedSchema(out, accepts, true)
}

// acceptedSchema describes what the controller's reader takes, as YAML has it: in quotes or not. Where a setting may be empty, an
// empty one is left to its default.
func acceptedSchema(out map[string]any, a settings.Accepts, mayBeEmpty bool) map[string]any {
	if len(a.Choices) > 0 {
		var choices []any
		for _, c := range a.Choices {
			if c != "" {
				choices = append(choices, c)
			}
		}
		out["enum"] = append(choices, "", nil)
		return out
	}
	var types []string
	if a.Bool || a.Off {
		types = append(types, "boolean")
	}
	if a.Off {
		out["not"] = map[string]any{"const": true}
	}
	switch {
	case a.Number && a.Whole:
		types = append(types, "integer")
	case a.Number:
		types = append(types, "number")
	}
	if a.Min != nil {
		out["minimum"] = *a.Min
	}
	if a.Below != nil {
		out["exclusiveMaximum"] = *a.Below
	}
	if a.Max != nil {
		out["maximum"] = *a.Max
	}
	types = append(types, "string")
	pattern := a.Pattern
	if mayBeEmpty {
		types = append(types, "null")
		inner, isGroup := strings.CutPrefix(pattern, "^(")
		switch {
		case regexp.MustCompile(pattern).MatchString(""):
		case isGroup:
			pattern = "^(|" + inner
		default:
			pattern = "^$|" + pattern
		}
	}
	if pattern != "" {
		out["pattern"] = pattern
	}
	out["type"] = types
	if len(types) == 1 {
		out["type"] = types[0]
	}
	return out
}
