package main

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// writeShape writes the fields of a type as they are named in JSON, a line each: a.b[] is a field of a that is a list.
func writeShape(b *bytes.Buffer, of any) {
	head(b, "field", "type")
	shapeOf(reflect.TypeOf(of), "", "", nil, func(path, kind string) { row(b, code(path), kind) })
}

var (
	marshaler     = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// shapeOf tells each field of t. in are the types that it stands in: one that holds itself is named and not told again.
func shapeOf(t reflect.Type, path, more string, in []reflect.Type, tell func(path, kind string)) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if kind, ok := scalar(t); ok {
		if path != "" {
			tell(path, kind+more)
		}
		return
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		shapeOf(t.Elem(), path+"[]", more, in, tell)
	case reflect.Map:
		shapeOf(t.Elem(), strings.TrimPrefix(path+".NAME", "."), more, in, tell)
	case reflect.Struct:
		for _, outer := range in {
			if outer == t {
				tell(path, "as above"+more)
				return
			}
		}
		in = append(append([]reflect.Type{}, in...), t)
		for f := range t.Fields() {
			if !f.IsExported() {
				continue
			}
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case name == "-":
				continue
			case f.Anonymous && name == "":
				shapeOf(f.Type, path, more, in, tell)
				continue
			case name == "":
				name = f.Name
			}
			if path != "" {
				name = path + "." + name
			}
			optional := ""
			if strings.Contains(options, "omit") {
				optional = ", if any"
			}
			shapeOf(f.Type, name, optional, in, tell)
		}
	default:
		tell(path, "any value"+more)
	}
}

// scalar is the kind of a type that is one value in JSON.
func scalar(t reflect.Type) (string, bool) {
	switch t {
	case reflect.TypeFor[time.Time]():
		return "text: a time such as 2026-01-02T15:04:05Z", true
	case reflect.TypeFor[time.Duration]():
		return "whole number of nanoseconds", true
	}
	if p := reflect.PointerTo(t); p.Implements(marshaler) || p.Implements(textMarshaler) {
		return written(t), true
	}
	switch t.Kind() {
	case reflect.String:
		return "text", true
	case reflect.Bool:
		return "true or false", true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "whole number", true
	case reflect.Float32, reflect.Float64:
		return "number", true
	}
	return "", false
}

// written is what a type that writes itself begins with.
func written(t reflect.Type) string {
	text, err := json.Marshal(reflect.New(t).Interface())
	switch {
	case err != nil || len(text) == 0:
		return "text"
	case text[0] == '"':
		return "text"
	case text[0] == '{':
		return "object"
	case text[0] == '[':
		return "list"
	}
	return "number"
}
