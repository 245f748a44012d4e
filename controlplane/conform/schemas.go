package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kerf-sh/kerf/api/crds"
)

// schemas knows the JSON schemas of Kubernetes' kinds and of Kerf's, by apiVersion and kind.
type schemas struct {
	components map[string]map[string]any // of all OpenAPI documents, by name
	kinds      map[string]map[string]any // reference to a component, or the schema of a CRD
}

// objectMeta is the component that the metadata of every object has.
const objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

const refs, defs = "#/components/schemas/", "#/$defs/"

// readSchemas reads the OpenAPI documents of the module k8s.io/kubernetes and the CRDs of this tree.
func readSchemas(kubernetes string) (*schemas, error) {
	s := &schemas{components: map[string]map[string]any{}, kinds: map[string]map[string]any{}}
	paths, err := filepath.Glob(filepath.Join(kubernetes, "api", "openapi-spec", "v3", "*_openapi.json"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if err := s.readDocument(path); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	if s.components[objectMeta] == nil {
		return nil, fmt.Errorf("%s: %d OpenAPI documents, in which there is no %s", kubernetes, len(paths), objectMeta)
	}
	all, err := crds.All()
	if err != nil {
		return nil, err
	}
	for _, crd := range all {
		for _, v := range crd.Spec.Versions {
			text, err := json.Marshal(v.Schema.OpenAPIV3Schema)
			if err != nil {
				return nil, err
			}
			schema := map[string]any{}
			if err := json.Unmarshal(text, &schema); err != nil {
				return nil, err
			}
			properties, ok := schema["properties"].(map[string]any)
			if !ok {
				return nil, fmt.Errorf("CRD %s: version %s has no properties", crd.Name, v.Name)
			}
			properties["metadata"] = map[string]any{"$ref": refs + objectMeta}
			s.kinds[crd.Spec.Group+"/"+v.Name+" "+crd.Spec.Names.Kind] = schema
		}
	}
	return s, nil
}

func (s *schemas) readDocument(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var doc struct {
		Components struct {
			Schemas map[string]map[string]any `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return err
	}
	for name, schema := range doc.Components.Schemas {
		s.components[name] = schema
		kinds, _ := schema["x-kubernetes-group-version-kind"].([]any)
		properties, _ := schema["properties"].(map[string]any)
		if len(kinds) != 1 || properties["metadata"] == nil {
			continue // not an object that is applied
		}
		kind, ok := kinds[0].(map[string]any)
		if !ok {
			return errors.New("component " + name + ": its kind is no object")
		}
		version := fmt.Sprint(kind["version"])
		if group := fmt.Sprint(kind["group"]); group != "" {
			version = group + "/" + version
		}
		s.kinds[version+" "+fmt.Sprint(kind["kind"])] = map[string]any{"$ref": refs + name}
	}
	return nil
}

// location is where kubeconform looks for schemas in a folder.
func location(dir string) string {
	return filepath.Join(dir, "{{.Group}}", "{{.ResourceKind}}_{{.ResourceAPIVersion}}.json")
}

// write writes the schema of a kind where location leads to, in which no field is allowed that is not named. Of a fragment no
// field is required. A kind that is not known gets none, and kubeconform says so.
func (s *schemas) write(dir, apiVersion, kind string, fragment bool) error {
	schema := s.kinds[apiVersion+" "+kind]
	if schema == nil {
		return nil
	}
	reached := map[string]any{}
	out := s.strict(schema, fragment, reached)
	out["$defs"] = reached
	group, version, _ := strings.Cut(apiVersion, "/")
	if version == "" {
		version = group
	}
	text, err := json.Marshal(out)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, group, strings.ToLower(kind)+"_"+version+".json")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// strict copies a schema of OpenAPI as one of JSON Schema that refuses fields which are not named; components that it refers
// to go to reached.
func (s *schemas) strict(schema map[string]any, fragment bool, reached map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range schema {
		switch sub := value.(type) {
		case map[string]any:
			switch key {
			case "properties":
				fields := map[string]any{}
				for name, field := range sub {
					if f, ok := field.(map[string]any); ok {
						fields[name] = s.strict(f, fragment, reached)
					}
				}
				value = fields
			case "items", "additionalProperties":
				value = s.strict(sub, fragment, reached)
			}
		case []any:
			if key == "allOf" { // the OpenAPI of Kubernetes wraps a reference in one
				list := make([]any, 0, len(sub))
				for _, one := range sub {
					if m, ok := one.(map[string]any); ok && m["$ref"] != nil {
						one = s.strict(m, fragment, reached)
					}
					list = append(list, one)
				}
				value = list
			}
		case string:
			if name, ok := strings.CutPrefix(sub, refs); ok && key == "$ref" {
				value = defs + name
				if _, known := reached[name]; !known {
					reached[name] = true // it may refer to itself
					reached[name] = s.strict(s.components[name], fragment, reached)
				}
			}
		}
		out[key] = value
	}
	if out["properties"] != nil && out["additionalProperties"] == nil && out["x-kubernetes-preserve-unknown-fields"] != true {
		out["additionalProperties"] = false
	}
	if kind, ok := out["type"].(string); ok && out["nullable"] == true {
		out["type"] = []any{kind, "null"}
	}
	if fragment {
		delete(out, "required")
	}
	return out
}
