package cloudformation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
)

// shape is what a property may hold.
type shape struct {
	kind     shapeKind
	item     *shape            // of a list, or of the values of a map
	members  map[string]*shape // of an object
	required []string          // members
	words    []string          // values that a text may have; empty for any
}

type shapeKind int

const (
	anyText shapeKind = iota
	wholeNumber
	anyNumber
	truthValue
	listOf
	mapOf
	object
	anything // JSON, as a map or as text
)

// Shapes without details.
var (
	text    = &shape{kind: anyText}
	integer = &shape{kind: wholeNumber}
	number  = &shape{kind: anyNumber}
	boolean = &shape{kind: truthValue}
	free    = &shape{kind: anything}
	texts   = &shape{kind: listOf, item: text}
	textMap = &shape{kind: mapOf, item: text}
	tagList = &shape{kind: listOf, item: members(map[string]*shape{"Key": text, "Value": text}, "Key", "Value")}
)

func oneOf(words ...string) *shape { return &shape{kind: anyText, words: words} }

func list(item *shape) *shape { return &shape{kind: listOf, item: item} }

func members(m map[string]*shape, required ...string) *shape {
	return &shape{kind: object, members: m, required: required}
}

// fit checks a value against the shape and returns it with texts, numbers and truth values turned into what the shape has.
// What is wrong is added to problems, with the path as JSON pointers have it.
func (s *shape) fit(v any, path string, problems *[]string) any {
	bad := func(want string) any {
		*problems = append(*problems, fmt.Sprintf("%s: expected type: %s, found: %s", path, want, typeName(v)))
		return v
	}
	switch s.kind {
	case anyText:
		t, ok := cfn.TextOf(v)
		if !ok {
			return bad("String")
		}
		if len(s.words) > 0 && !slices.Contains(s.words, t) {
			*problems = append(*problems, fmt.Sprintf("%s: %s is not a valid enum value, valid are %s", path, t, strings.Join(s.words, ", ")))
		}
		return t
	case wholeNumber:
		if n, ok := cfn.IntOf(v); ok {
			return n
		}
		return bad("Integer")
	case anyNumber:
		if n, ok := cfn.FloatOf(v); ok {
			return n
		}
		return bad("Number")
	case truthValue:
		if b, ok := cfn.BoolOf(v); ok {
			return b
		}
		return bad("Boolean")
	case listOf:
		items, ok := v.([]any)
		if !ok {
			return bad("JSONArray")
		}
		out := make([]any, len(items))
		for i, item := range items {
			out[i] = s.item.fit(item, fmt.Sprintf("%s/%d", path, i), problems)
		}
		return out
	case mapOf:
		return s.fitMap(v, path, problems, bad)
	case object:
		return s.fitObject(v, path, problems, bad)
	}
	switch v.(type) {
	case map[string]any, string:
		return v
	}
	return bad("JSONObject")
}

func (s *shape) fitMap(v any, path string, problems *[]string, bad func(string) any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return bad("JSONObject")
	}
	out := make(map[string]any, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out[k] = s.item.fit(m[k], path+"/"+k, problems)
	}
	return out
}

func (s *shape) fitObject(v any, path string, problems *[]string, bad func(string) any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return bad("JSONObject")
	}
	out := make(map[string]any, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		member := s.members[k]
		if member == nil {
			*problems = append(*problems, fmt.Sprintf("%s: extraneous key [%s] is not permitted", path, k))
			continue
		}
		out[k] = member.fit(m[k], path+"/"+k, problems)
	}
	for _, k := range s.required {
		if m[k] == nil {
			*problems = append(*problems, fmt.Sprintf("%s: required key [%s] not found", path, k))
		}
	}
	return out
}

func typeName(v any) string {
	switch v.(type) {
	case []any:
		return "JSONArray"
	case map[string]any:
		return "JSONObject"
	case bool:
		return "Boolean"
	case int:
		return "Integer"
	case float64:
		return "Number"
	default:
		return "String"
	}
}
