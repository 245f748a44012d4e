// Package eventpattern reads EventBridge event patterns and tells which events they match, with all of the published
// content filters: exact values, prefix, suffix, anything-but, exists, numeric, cidr, wildcard, equals-ignore-case and
// $or. It is used to find out whether a rule catches what it should, and by the simulated EventBridge to decide.
package eventpattern

import (
	"fmt"
	"slices"
	"strings"
)

// Pattern is a compiled event pattern. It may be used by several goroutines.
type Pattern struct{ root *object }

// object wants all of its fields and, of each $or, one alternative.
type object struct {
	fields []field
	ors    [][]*object
}

// field wants a value below a key: an object there, or one of some values.
type field struct {
	key    string
	object *object
	leaf   *leaf
}

// leaf wants a value that one of the matchers takes, or, if absent is set, no value at its path.
type leaf struct {
	path     []string
	matchers []matcher
	absent   bool
}

// Error says what is wrong with a pattern and where.
type Error struct {
	Path   string // such as detail.state; empty for the pattern as a whole
	Reason string
}

func (e *Error) Error() string {
	if e.Path == "" {
		return "event pattern: " + e.Reason
	}
	return "event pattern: " + e.Path + ": " + e.Reason
}

func wrong(path []string, format string, args ...any) *Error {
	return &Error{Path: strings.Join(path, "."), Reason: fmt.Sprintf(format, args...)}
}

// Parse compiles a pattern from its JSON text. The error is an *Error that names the path of what is wrong.
func Parse(text []byte) (*Pattern, error) {
	v, err := decode(text)
	if err != nil {
		return nil, wrong(nil, "is not JSON: %v", err)
	}
	m, ok := v.(*members)
	if !ok {
		return nil, wrong(nil, "must be a JSON object, it is %s", describe(v))
	}
	root, err := parseObject(m, nil)
	if err != nil {
		return nil, err
	}
	return &Pattern{root: root}, nil
}

func parseObject(m *members, path []string) (*object, error) {
	if len(m.keys) == 0 {
		return nil, wrong(path, "is an empty object; name at least one field to match")
	}
	o := &object{}
	for i, key := range m.keys {
		at := append(slices.Clone(path), key)
		if slices.Contains(m.keys[:i], key) {
			return nil, wrong(at, "is there twice")
		}
		v := m.values[i]
		if list, ok := v.([]any); ok && key == "$or" && areObjects(list) {
			or, err := parseOr(list, path)
			if err != nil {
				return nil, err
			}
			o.ors = append(o.ors, or)
			continue
		}
		f := field{key: key}
		var err error
		switch v := v.(type) {
		case *members:
			f.object, err = parseObject(v, at)
		case []any:
			f.leaf, err = parseLeaf(v, at)
		default:
			err = wrong(at, "must be an object or a list of values, it is %s; write [%s]", describe(v), show(v))
		}
		if err != nil {
			return nil, err
		}
		o.fields = append(o.fields, f)
	}
	return o, nil
}

// areObjects tells alternatives of $or from values of a field that happens to have that name.
func areObjects(list []any) bool {
	for _, v := range list {
		m, ok := v.(*members)
		if !ok || len(m.keys) == 1 && filters[m.keys[0]] != nil {
			return false
		}
	}
	return len(list) > 1
}

func parseOr(list []any, path []string) ([]*object, error) {
	var out []*object
	for _, v := range list {
		m, _ := v.(*members)
		o, err := parseObject(m, path)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

func parseLeaf(list []any, path []string) (*leaf, error) {
	if len(list) == 0 {
		return nil, wrong(path, "is an empty list, which matches nothing")
	}
	l := &leaf{path: path}
	for _, v := range list {
		switch v := v.(type) {
		case *members:
			if len(v.keys) != 1 || filters[v.keys[0]] == nil {
				return nil, wrong(path, "has an unknown filter %q; there are %s", strings.Join(v.keys, ", "), filterNames)
			}
			if v.keys[0] == "exists" && v.values[0] == false {
				l.absent = true
				continue
			}
			m, err := filters[v.keys[0]](v.values[0])
			if err != nil {
				return nil, wrong(path, "%s %v", v.keys[0], err)
			}
			l.matchers = append(l.matchers, m)
		case []any:
			return nil, wrong(path, "has a list within its list")
		default:
			l.matchers = append(l.matchers, exactly(v))
		}
	}
	return l, nil
}
