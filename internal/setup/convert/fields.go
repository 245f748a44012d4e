package convert

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
)

// fields hands out the fields of an object and forgets each that it handed out. What is left at the end is what nobody
// knew, and so nothing can be overlooked.
type fields struct {
	c      *converter
	doc    *document
	root   map[string]any
	report *ObjectReport
	prefix string // of paths in the report
	// inside holds the paths of maps that something was handed out of.
	inside map[string]bool
}

func (f *fields) kept(path, to string)            { f.report.add(Field{Path: path, Outcome: Kept, To: to}) }
func (f *fields) translated(path, to, why string) { f.decide(path, to, why, "") }
func (f *fields) decide(path, to, why, do string) {
	f.report.add(Field{Path: path, Outcome: Translated, To: to, Why: why, Do: do})
}
func (f *fields) lost(path, why, do string) {
	f.report.add(Field{Path: path, Outcome: Lost, Why: why, Do: do})
}

// fail reports a field whose value can't be read.
func (f *fields) fail(path, format string, args ...any) {
	f.c.fail(f.doc, "%s: %w", path, fmt.Errorf(format, args...))
}

// at is the path of a field in words.
func (f *fields) at(path ...string) string {
	out := f.prefix
	for _, p := range path {
		out = member(out, p)
	}
	return out
}

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func member(path, key string) string {
	switch {
	case !plainKey.MatchString(key):
		return path + "[" + key + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// take hands out a field of any type.
func (f *fields) take(path ...string) (any, bool) {
	m := f.root
	for i, p := range path[:len(path)-1] {
		next, ok := m[p].(map[string]any)
		if !ok {
			return nil, false
		}
		m = next
		if f.inside == nil {
			f.inside = map[string]bool{}
		}
		f.inside[f.at(path[:i+1]...)] = true
	}
	last := path[len(path)-1]
	v, ok := m[last]
	delete(m, last)
	return v, ok && v != nil
}

// has tells whether a field is set that was not handed out yet.
func (f *fields) has(path ...string) bool { return look(f.root, path...) != nil }

// text hands out a text, or what can be written as one.
func (f *fields) text(path ...string) (string, bool) {
	v, ok := f.take(path...)
	if !ok {
		return "", false
	}
	if u, unknown := v.(cfn.Unknown); unknown {
		f.unknown(f.at(path...), u)
		return "", false
	}
	s, ok := scalar(v)
	if !ok {
		f.fail(f.at(path...), "want a text, not %s", describe(v))
	}
	return s, ok
}

// unknown reports a value of a CloudFormation template that is known only at deployment.
func (f *fields) unknown(path string, u cfn.Unknown) {
	f.lost(path, "its value "+u.Text+" is not known: "+u.Why, "set it by hand"+f.c.orGive(u.Text))
}

// number hands out a whole number.
func (f *fields) number(path ...string) (int64, bool) {
	s, ok := f.text(path...)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(s, ".0"), 10, 64)
	if err != nil {
		f.fail(f.at(path...), "want a whole number, not %q", s)
	}
	return n, err == nil
}

// truth hands out a truth value.
func (f *fields) truth(path ...string) (value, ok bool) {
	s, ok := f.text(path...)
	if !ok {
		return false, false
	}
	b, err := strconv.ParseBool(s)
	if err != nil {
		f.fail(f.at(path...), "want true or false, not %q", s)
	}
	return b, err == nil
}

// textMap hands out a map of texts.
func (f *fields) textMap(path ...string) map[string]string {
	v, ok := f.take(path...)
	if !ok {
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		f.fail(f.at(path...), "want a map of texts, not %s", describe(v))
		return nil
	}
	out := map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		s, ok := scalar(m[k])
		if b, is := m[k].(bool); is {
			f.fail(member(f.at(path...), k), "want a text, not the truth value %v: put it in quotes", b)
		} else if !ok {
			f.fail(member(f.at(path...), k), "want a text, not %s", describe(m[k]))
		}
		out[k] = s
	}
	return out
}

// list hands out a list.
func (f *fields) list(path ...string) []any {
	v, ok := f.take(path...)
	if !ok {
		return nil
	}
	if u, unknown := v.(cfn.Unknown); unknown {
		f.unknown(f.at(path...), u)
		return nil
	}
	l, ok := v.([]any)
	if !ok {
		f.fail(f.at(path...), "want a list, not %s", describe(v))
	}
	return l
}

// below gives the fields of an item of a list.
func (f *fields) below(v any, path string) (*fields, bool) {
	m, ok := v.(map[string]any)
	if !ok {
		f.fail(path, "want a map, not %s", describe(v))
		return nil, false
	}
	return &fields{c: f.c, doc: f.doc, root: m, report: f.report, prefix: path}, true
}

// into hands out a field as a Go value. Members that the type does not know are lost, by name.
func (f *fields) into(to any, path ...string) bool {
	v, ok := f.take(path...)
	return ok && f.decode(to, f.at(path...), v)
}

// decode reads a value that was handed out as a Go value.
func (f *fields) decode(to any, at string, v any) bool {
	raw, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(raw, to)
	}
	if err != nil {
		f.fail(at, "%w", readable(err))
		return false
	}
	again, err := json.Marshal(to)
	var known any
	if err == nil {
		err = json.Unmarshal(again, &known)
	}
	if err != nil {
		f.fail(at, "%w", err)
		return false
	}
	f.missing(at, v, known)
	return true
}

// readable says in plain words what is wrong with a value's type.
func readable(err error) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		where := ""
		if e.Field != "" {
			where = e.Field + ": "
		}
		found, _, _ := strings.Cut(e.Value, " ")
		return fmt.Errorf("%swant %s, not %s", where, inWords(strings.TrimRight(e.Type.Kind().String(), "0123456789")), inWords(found))
	}
	return err
}

// inWords names kinds of values as they are called here.
func inWords(kind string) string {
	switch kind {
	case "slice", "array":
		return "a list"
	case "map", "struct", "object":
		return "a map"
	case "int", "uint":
		return "a whole number"
	case "string":
		return "a text"
	case "bool":
		return "a truth value"
	}
	return "a " + kind
}

// missing reports as lost what the first value has and the second has not.
func (f *fields) missing(path string, had, has any) {
	switch had := had.(type) {
	case map[string]any:
		m, _ := has.(map[string]any)
		for _, k := range slices.Sorted(maps.Keys(had)) {
			if _, ok := m[k]; ok {
				f.missing(member(path, k), had[k], m[k])
			} else if !blank(had[k]) {
				f.lost(member(path, k), "no such field is known", "see whether it is needed")
			}
		}
	case []any:
		l, _ := has.([]any)
		for i := range had {
			if i < len(l) {
				f.missing(fmt.Sprintf("%s[%d]", path, i), had[i], l[i])
			}
		}
	}
}

// blank values are as if they were not set.
func blank(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case string:
		return v == ""
	case bool:
		return !v
	}
	return false
}

// leftovers reports what nobody asked for.
func (f *fields) leftovers() { f.left(f.prefix, f.root) }

func (f *fields) left(path string, m map[string]any) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		at := member(path, k)
		if below, ok := m[k].(map[string]any); ok && f.inside[at] {
			f.left(at, below)
			continue
		}
		if !blank(m[k]) {
			f.lost(at, "no such field is known", "see whether it is needed")
		}
	}
}

// scalar is a value as text, if it is a single one.
func scalar(v any) (string, bool) {
	if n, ok := v.(json.Number); ok {
		return n.String(), true
	}
	if _, ok := v.(cfn.Unknown); ok {
		return "", false
	}
	return cfn.TextOf(v)
}

func describe(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "a map"
	case []any:
		return "a list"
	case cfn.Unknown:
		return "what is known only at deployment (" + v.Why + ")"
	}
	if s, ok := scalar(v); ok {
		return strconv.Quote(s)
	}
	return fmt.Sprintf("%v", v)
}
