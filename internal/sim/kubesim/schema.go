package kubesim

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"unicode/utf8"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// node is a schema of a definition, or a part of one, as it is used: what a value must be, and what it is if it is left
// out.
type node struct {
	s          *apiextensionsv1.JSONSchemaProps
	properties map[string]*node
	items      *node
	additional *node // of maps
	pattern    *regexp.Regexp
	standard   any // the default
	enum       []any
	anyOf      []*node
	keepAll    bool // unknown fields stay
}

func newNode(s *apiextensionsv1.JSONSchemaProps) (*node, error) {
	n := &node{s: s, keepAll: s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields || s.XEmbeddedResource}
	var err error
	if len(s.Properties) > 0 {
		n.properties = map[string]*node{}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		if n.properties[name], err = newNode(&p); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if s.Items != nil && s.Items.Schema != nil {
		if n.items, err = newNode(s.Items.Schema); err != nil {
			return nil, err
		}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		if n.additional, err = newNode(s.AdditionalProperties.Schema); err != nil {
			return nil, err
		}
	}
	for i := range s.AnyOf {
		one, err := newNode(&s.AnyOf[i])
		if err != nil {
			return nil, err
		}
		n.anyOf = append(n.anyOf, one)
	}
	if s.Pattern != "" {
		if n.pattern, err = regexp.Compile(s.Pattern); err != nil {
			return nil, err
		}
	}
	if s.Default != nil {
		if n.standard, err = value(s.Default.Raw); err != nil {
			return nil, err
		}
	}
	for _, raw := range s.Enum {
		v, err := value(raw.Raw)
		if err != nil {
			return nil, err
		}
		n.enum = append(n.enum, v)
	}
	return n, nil
}

// value decodes JSON; numbers without a fraction stay whole.
func value(raw []byte) (any, error) {
	whole := map[string]any{}
	if err := kjson.Unmarshal(slices.Concat([]byte(`{"v":`), raw, []byte("}")), &whole); err != nil {
		return nil, err
	}
	return whole["v"], nil
}

// prune drops fields that the schema does not know. Metadata of the whole object is not the schema's.
func (n *node) prune(v any, root bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, child := range v {
			switch next := n.child(name); {
			case root && (name == "metadata" || name == "apiVersion" || name == "kind"):
			case next != nil:
				next.prune(child, false)
			case !n.keepAll:
				delete(v, name)
			}
		}
	case []any:
		for _, item := range v {
			if n.items != nil {
				n.items.prune(item, false)
			}
		}
	}
}

func (n *node) child(name string) *node {
	if p := n.properties[name]; p != nil {
		return p
	}
	return n.additional
}

// fill sets what is left out and has a default. A null where none is allowed counts as left out.
func (n *node) fill(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, p := range n.properties {
			have, ok := v[name]
			if ok && have == nil && !p.s.Nullable {
				delete(v, name)
				ok = false
			}
			if !ok && p.standard != nil {
				v[name] = runtime.DeepCopyJSONValue(p.standard)
			}
		}
		for name, child := range v {
			if next := n.child(name); next != nil {
				next.fill(child)
			}
		}
	case []any:
		for _, item := range v {
			if n.items != nil {
				n.items.fill(item)
			}
		}
	}
}

// judge is what is wrong with a value.
func (n *node) judge(v any, at *field.Path) field.ErrorList { return n.judgeBut(v, at, nil) }

// judgeBut is judge that, if skip is set, does not look into those fields of the value for which skip returns true.
func (n *node) judgeBut(v any, at *field.Path, skip func(name string) bool) field.ErrorList {
	if v == nil {
		return nil
	}
	if !n.typeFits(v) {
		return field.ErrorList{field.TypeInvalid(at, typeOf(v), fmt.Sprintf("%s in body must be of type %s: %q", at, n.s.Type, typeOf(v)))}
	}
	var errs field.ErrorList
	if len(n.enum) > 0 && !slices.ContainsFunc(n.enum, func(e any) bool { return same(e, v) }) {
		var allowed []string
		for _, e := range n.enum {
			allowed = append(allowed, fmt.Sprint(e))
		}
		errs = append(errs, field.NotSupported(at, v, allowed))
	}
	if len(n.anyOf) > 0 && !slices.ContainsFunc(n.anyOf, func(one *node) bool { return len(one.judge(v, at)) == 0 }) {
		errs = append(errs, field.Invalid(at, v, "must validate at least one schema (anyOf)"))
	}
	switch v := v.(type) {
	case string:
		errs = append(errs, n.judgeText(v, at)...)
	case int64:
		errs = append(errs, n.judgeNumber(float64(v), at)...)
	case float64:
		errs = append(errs, n.judgeNumber(v, at)...)
	case []any:
		errs = append(errs, n.judgeList(v, at)...)
	case map[string]any:
		errs = append(errs, n.judgeMap(v, at, skip)...)
	}
	return errs
}

func (n *node) typeFits(v any) bool {
	_, whole := v.(int64)
	if n.s.XIntOrString {
		_, text := v.(string)
		return whole || text
	}
	switch n.s.Type {
	case "string":
		_, ok := v.(string)
		return ok
	case "integer":
		return whole
	case "number":
		_, ok := v.(float64)
		return ok || whole
	case "boolean":
		_, ok := v.(bool)
		return ok
	case "array":
		_, ok := v.([]any)
		return ok
	case "object":
		_, ok := v.(map[string]any)
		return ok
	}
	return true
}

// typeOf names the type of a value as JSON schemas do.
func typeOf(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case int64:
		return "integer"
	case float64:
		return "number"
	case bool:
		return "boolean"
	case []any:
		return "array"
	}
	return "object"
}

// ruled tells whether the schema has rules in CEL.
func (n *node) ruled() bool {
	if n == nil {
		return false
	}
	if len(n.s.XValidations) > 0 || n.items.ruled() || n.additional.ruled() {
		return true
	}
	for _, p := range n.properties {
		if p.ruled() {
			return true
		}
	}
	return false
}

func (n *node) judgeText(v string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	length := int64(utf8.RuneCountInString(v))
	if n.s.MinLength != nil && length < *n.s.MinLength {
		errs = append(errs, field.Invalid(at, v, fmt.Sprintf("%s in body should be at least %d chars long", at, *n.s.MinLength)))
	}
	if n.s.MaxLength != nil && length > *n.s.MaxLength {
		errs = append(errs, field.TooLong(at, v, int(*n.s.MaxLength)))
	}
	if n.pattern != nil && !n.pattern.MatchString(v) {
		errs = append(errs, field.Invalid(at, v, fmt.Sprintf("%s in body should match '%s'", at, n.s.Pattern)))
	}
	return errs
}

func (n *node) judgeNumber(v float64, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if n.s.Minimum != nil && (v < *n.s.Minimum || n.s.ExclusiveMinimum && v == *n.s.Minimum) {
		errs = append(errs, field.Invalid(at, json.Number(fmt.Sprint(v)), fmt.Sprintf("%s in body should be greater than or equal to %v", at, *n.s.Minimum)))
	}
	if n.s.Maximum != nil && (v > *n.s.Maximum || n.s.ExclusiveMaximum && v == *n.s.Maximum) {
		errs = append(errs, field.Invalid(at, json.Number(fmt.Sprint(v)), fmt.Sprintf("%s in body should be less than or equal to %v", at, *n.s.Maximum)))
	}
	return errs
}

func (n *node) judgeList(v []any, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if n.s.MinItems != nil && int64(len(v)) < *n.s.MinItems {
		errs = append(errs, field.Invalid(at, len(v), fmt.Sprintf("%s in body should have at least %d items", at, *n.s.MinItems)))
	}
	if n.s.MaxItems != nil && int64(len(v)) > *n.s.MaxItems {
		errs = append(errs, field.TooMany(at, len(v), int(*n.s.MaxItems)))
	}
	if n.items != nil {
		for i, item := range v {
			errs = append(errs, n.items.judge(item, at.Index(i))...)
		}
	}
	return errs
}

func (n *node) judgeMap(v map[string]any, at *field.Path, skip func(name string) bool) field.ErrorList {
	var errs field.ErrorList
	for _, name := range n.s.Required {
		if _, ok := v[name]; !ok {
			errs = append(errs, field.Required(child(at, name), ""))
		}
	}
	if n.s.MinProperties != nil && int64(len(v)) < *n.s.MinProperties {
		errs = append(errs, field.Invalid(at, len(v), fmt.Sprintf("%s in body should have at least %d properties", at, *n.s.MinProperties)))
	}
	if n.s.MaxProperties != nil && int64(len(v)) > *n.s.MaxProperties {
		errs = append(errs, field.TooMany(at, len(v), int(*n.s.MaxProperties)))
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if at == nil && name == "metadata" || skip != nil && skip(name) {
			continue
		}
		if next := n.child(name); next != nil {
			errs = append(errs, next.judge(v[name], child(at, name))...)
		}
	}
	return errs
}

func child(at *field.Path, name string) *field.Path {
	if at == nil {
		return field.NewPath(name)
	}
	return at.Child(name)
}
