package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestManifestsAreFoundOnAPage(t *testing.T) {
	page := "# Page\n\n```yaml\n# a comment\napiVersion: v1\nkind: A\n\nspec: {}\n```\n\nText.\n\n    apiVersion: v1\n    kind: B\n\n    spec: {}\n\nMore:\n\n    kubectl get pods\n\n```yaml\nspec: {}\n```\n" +
		"```\n    apiVersion: v1\n```\n"
	want := []block{{4, "# a comment\napiVersion: v1\nkind: A\n\nspec: {}"}, {13, "apiVersion: v1\nkind: B\n\nspec: {}\n"}}
	got := blocks(page)
	if diff := cmp.Diff(want, got[:min(2, len(got))], cmp.AllowUnexported(block{})); diff != "" {
		t.Error(diff)
	}
}

func TestASchemaRefusesWhatItDoesNotName(t *testing.T) {
	s := &schemas{components: map[string]map[string]any{"Spec": {
		"type": "object", "required": []any{"a"},
		"properties": map[string]any{"a": map[string]any{"type": "string", "nullable": true}, "again": map[string]any{"allOf": []any{map[string]any{"$ref": refs + "Spec"}}}},
	}}}
	schema := map[string]any{"properties": map[string]any{
		"spec": map[string]any{"$ref": refs + "Spec"},
		"map":  map[string]any{"additionalProperties": map[string]any{"properties": map[string]any{}}},
		"open": map[string]any{"properties": map[string]any{}, "x-kubernetes-preserve-unknown-fields": true},
	}}
	for fragment, want := range map[bool]string{
		false: `{"additionalProperties":false,"properties":{"a":{"nullable":true,"type":["string","null"]},"again":{"allOf":[{"$ref":"#/$defs/Spec"}]}},"required":["a"],"type":"object"}`,
		true:  `{"additionalProperties":false,"properties":{"a":{"nullable":true,"type":["string","null"]},"again":{"allOf":[{"$ref":"#/$defs/Spec"}]}},"type":"object"}`,
	} {
		reached := map[string]any{}
		out, err := json.Marshal(s.strict(schema, fragment, reached))
		if err != nil {
			t.Fatal(err)
		}
		const top = `{"additionalProperties":false,"properties":{"map":{"additionalProperties":{"additionalProperties":false,"properties":{}}},"open":{"properties":{},"x-kubernetes-preserve-unknown-fields":true},"spec":{"$ref":"#/$defs/Spec"}}}`
		if diff := cmp.Diff(top, string(out)); diff != "" {
			t.Error(diff)
		}
		spec, err := json.Marshal(reached["Spec"])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(spec)); diff != "" {
			t.Errorf("fragment %v: %s", fragment, diff)
		}
	}
}
