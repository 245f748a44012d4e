package manifests

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// readValues reads a tree of values, as the templates of a chart do: a number may be in quotes, and so may a boolean under settings,
// since both become text.
//
// Errors: every value of a wrong type and every name that no value has, each with its path and what is wanted.
func readValues(tree map[string]any) (*Values, error) {
	if errs := settle(reflect.TypeFor[Values](), tree, ""); len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	text, err := yaml.Marshal(tree)
	if err == nil {
		text, err = yaml.YAMLToJSON(text)
	}
	if err != nil {
		return nil, fmt.Errorf("reading values: %w", err)
	}
	v := &Values{}
	unknown, err := kjson.UnmarshalStrict(text, v) // names in another case are other names
	if err != nil {
		return nil, deeper(text, err)
	}
	var errs []error
	for _, u := range unknown {
		if name, ok := strings.CutPrefix(u.Error(), "unknown field "); ok {
			u = fmt.Errorf("value %s: Kubernetes has no field of that name there: correct it, or remove it", name)
		}
		errs = append(errs, u)
	}
	return v, errors.Join(errs...)
}

// noSuchValue refuses a name, with the one that is meant where only capitals differ.
func noSuchValue(path string, name string, known []string) error {
	at := strings.TrimPrefix(path+"."+name, ".")
	if i := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, name) }); i >= 0 {
		return fmt.Errorf("value %q: the chart has none of that name: is it %s?", at, strings.TrimSuffix(at, name)+known[i])
	}
	return fmt.Errorf("value %q: the chart has none of that name: correct it, or remove it; charts/kerf/README.md lists the names", at)
}

// deeper words an error about a value inside an object of Kubernetes.
func deeper(text []byte, err error) error {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](json.Unmarshal(text, &Values{}))
	if !ok {
		return fmt.Errorf("reading values: %w", err)
	}
	is := wrong.Value
	if kind, _, ok := strings.Cut(is, " "); ok { // such as "number 1.5"
		is = kind
	}
	said := map[string]string{"string": "text", "number": "a number", "bool": "a boolean", "object": "an object", "array": "a list"}[is]
	if said == "" {
		said = is
	}
	return fmt.Errorf("value %s is %s, wants %s", wrong.Field, said, wants(wrong.Type))
}

// settle brings the values of a tree to the types that they are read into, as far as those say the same, and tells of the others and of
// names that there are none of.
// Of Kubernetes' own types it leaves all to their reader.
func settle(t reflect.Type, tree map[string]any, path string) (errs []error) {
	var known []string
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		known = append(known, name)
		v, ok := tree[name]
		if !ok || v == nil {
			continue
		}
		at := strings.TrimPrefix(path+"."+name, ".")
		if sub, isObject := v.(map[string]any); isObject && field.Type.Kind() == reflect.Struct {
			if field.Type.PkgPath() == t.PkgPath() {
				errs = append(errs, settle(field.Type, sub, at)...)
			}
			continue
		}
		settled, err := settleOne(field.Type, v, at)
		switch {
		case err != nil:
			errs = append(errs, err)
		case settled == nil:
			delete(tree, name)
		default:
			tree[name] = settled
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		if !slices.Contains(known, name) || name == "-" {
			errs = append(errs, noSuchValue(path, name, known))
		}
	}
	return errs
}

// settleOne brings one value to a type. Nil stands for a setting that is not set.
func settleOne(t reflect.Type, v any, path string) (any, error) {
	text, isText := v.(string)
	setting := strings.HasPrefix(path, "settings.")
	wrong := fmt.Errorf("value %s: %s, wants %s", path, said(v), wants(t))
	if isText && text == "" && setting && t.Kind() != reflect.String {
		return nil, nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		if t.Elem().Kind() == reflect.Struct {
			if t.Elem().Name() == "IntOrString" && isText {
				if n, err := strconv.ParseInt(text, 10, 32); err == nil {
					return n, nil
				}
				return v, nil
			}
			if _, isObject := v.(map[string]any); !isObject && t.Elem().Name() != "IntOrString" {
				return nil, wrong
			}
			return v, nil
		}
		return settleOne(t.Elem(), v, path)
	case reflect.Bool:
		if isText && setting {
			if b, err := strconv.ParseBool(text); err == nil {
				return b, nil
			}
		}
		if _, ok := v.(bool); !ok {
			return nil, wrong
		}
	case reflect.Int32, reflect.Int64, reflect.Float64:
		return settleNumber(t, v, wrong)
	case reflect.String:
		if isScalar := !slices.Contains([]reflect.Kind{reflect.Map, reflect.Slice}, reflect.TypeOf(v).Kind()); isScalar && setting {
			return scalar(v), nil
		}
		if !isText {
			return nil, wrong
		}
	case reflect.Slice:
		list, ok := v.([]any)
		if !ok {
			return nil, wrong
		}
		return list, texts(t, func(yield func(string, any) bool) {
			for i, e := range list {
				if !yield(fmt.Sprintf("%s[%d]", path, i), e) {
					return
				}
			}
		})
	case reflect.Map, reflect.Struct:
		object, ok := v.(map[string]any)
		if !ok {
			return nil, wrong
		}
		if t.Kind() == reflect.Map {
			return object, texts(t, func(yield func(string, any) bool) {
				for k, e := range object {
					if !yield(path+"."+k, e) {
						return
					}
				}
			})
		}
	}
	return v, nil
}

func settleNumber(t reflect.Type, v any, wrong error) (any, error) {
	f, err := strconv.ParseFloat(scalar(v), 64)
	if _, isBool := v.(bool); isBool || err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, wrong
	}
	switch {
	case t.Kind() == reflect.Float64:
		return f, nil
	case f != math.Trunc(f) || t.Kind() == reflect.Int32 && math.Abs(f) > math.MaxInt32 || math.Abs(f) > 1<<53:
		return nil, wrong
	}
	return int64(f), nil
}

// texts refuses what is no text where a list or an object holds texts.
func texts(t reflect.Type, each func(func(string, any) bool)) error {
	var errs []error
	for path, v := range each {
		if _, ok := v.(string); !ok && v != nil && t.Elem().Kind() == reflect.String {
			errs = append(errs, fmt.Errorf("value %s: %s, wants text: put it in quotes", path, said(v)))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// said is a value and what it is, in words.
func said(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%q is text", v)
	case bool:
		return fmt.Sprintf("%t is a boolean", v)
	case map[string]any:
		return "it is an object"
	case []any:
		return "it is a list"
	}
	return scalar(v) + " is a number"
}

// wants is what a type is read from, in words.
func wants(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return wants(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.String:
		return "text"
	case reflect.Slice:
		return "a list"
	}
	return "an object"
}
