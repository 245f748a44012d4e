package main

import "encoding/json"

// breakings are ways to break objects, each by what it does. They change copies.
func breakings() map[string]func([]map[string]any) []map[string]any {
	return map[string]func([]map[string]any) []map[string]any{
		"it has a field that there is none of":             changed(func(o map[string]any) { o["unknownField"] = "x" }),
		"its metadata has a field that there is none of":   changed(func(o map[string]any) { metadata(o)["label"] = "x" }),
		"its deepest object has a field that there is not": changed(func(o map[string]any) { deepest(o)["unknownField"] = "x" }),
		"its labels are a list":                            changed(func(o map[string]any) { metadata(o)["labels"] = []any{"x"} }),
	}
}

func changed(worse func(map[string]any)) func([]map[string]any) []map[string]any {
	return func(objects []map[string]any) (out []map[string]any) {
		for _, o := range objects {
			text, err := json.Marshal(o)
			copied := map[string]any{}
			if err == nil {
				err = json.Unmarshal(text, &copied)
			}
			if err != nil {
				panic(err) // it was read from YAML
			}
			worse(copied)
			out = append(out, copied)
		}
		return out
	}
}

func metadata(o map[string]any) map[string]any {
	m, ok := o["metadata"].(map[string]any)
	if !ok {
		m = map[string]any{}
		o["metadata"] = m
	}
	return m
}

// deepest follows fields that have a fixed form, from the object inwards.
func deepest(o map[string]any) map[string]any {
	for _, path := range [][]string{
		{"spec", "template", "spec", "containers", "", "securityContext"}, {"spec", "template", "spec"}, {"spec"},
		{"rules", ""}, {"subjects", ""}, {"webhooks", ""},
	} {
		if m, ok := follow(o, path); ok {
			return m
		}
	}
	return o
}

func follow(at any, path []string) (map[string]any, bool) {
	for _, name := range path {
		if list, ok := at.([]any); name == "" && ok && len(list) > 0 {
			at = list[0]
			continue
		}
		m, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		at = m[name]
	}
	m, ok := at.(map[string]any)
	return m, ok
}
