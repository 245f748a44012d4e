package kubesim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// appendJSON writes a value of JSON as json.Marshal does. It need not find out by reflection what it is.
func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case string:
		return appendText(b, v)
	case map[string]any:
		if v == nil {
			return append(b, "null"...)
		}
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		b = append(b, '{')
		for i, name := range names {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendText(b, name), ':')
			b = appendJSON(b, v[name])
		}
		return append(b, '}')
	case []any:
		if v == nil {
			return append(b, "null"...)
		}
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, item)
		}
		return append(b, ']')
	}
	return appendOther(b, v)
}

// appendText writes a text; those that need nothing escaped are nearly all.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return appendOther(b, s)
		}
	}
	b = append(append(b, '"'), s...)
	return append(b, '"')
}

func appendOther(b []byte, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %v: %v", v, err)) // it was made of JSON
	}
	return append(b, text...)
}
