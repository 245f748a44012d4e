package eventpattern

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// number is a JSON number as it is written.
type number string

// members are those of a JSON object, in order, so that a key that is there twice can be seen.
type members struct {
	keys   []string
	values []any
}

// get returns the last value of a key.
func (m *members) get(key string) (any, bool) {
	for i := len(m.keys) - 1; i >= 0; i-- {
		if m.keys[i] == key {
			return m.values[i], true
		}
	}
	return nil, false
}

// MarshalJSON writes the members back, for messages.
func (m *members) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, k := range m.keys {
		if i > 0 {
			b = append(b, ',')
		}
		key, err := json.Marshal(k)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.values[i])
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, key...), ':'), value...)
	}
	return append(b, '}'), nil
}

// MarshalJSON writes the number as it was read.
func (n number) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// decode reads one JSON value: nil, bool, string, number, []any or *members.
func decode(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := readValue(d, 0)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one value")
	}
	return v, nil
}

// maxDepth bounds how deep values are nested.
const maxDepth = 1000

func readValue(d *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("is nested deeper than %d", maxDepth)
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Number:
		return number(t), nil
	case json.Delim:
		if t == '[' {
			return readList(d, depth+1)
		}
		return readMembers(d, depth+1)
	}
	return t, nil
}

func readList(d *json.Decoder, depth int) (any, error) {
	list := []any{}
	for d.More() {
		v, err := readValue(d, depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := d.Token()
	return list, err
}

func readMembers(d *json.Decoder, depth int) (any, error) {
	m := &members{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok {
			return nil, fmt.Errorf("the name of a member is %v", key)
		}
		v, err := readValue(d, depth)
		if err != nil {
			return nil, err
		}
		m.keys, m.values = append(m.keys, name), append(m.values, v)
	}
	_, err := d.Token()
	return m, err
}

// describe names the kind of a value.
func describe(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case number:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "a list"
	}
	return "an object"
}

// show writes a value as JSON, cut when long.
func show(v any) string {
	const most = 80
	b, err := json.Marshal(v)
	if err != nil {
		return describe(v)
	}
	if len(b) > most {
		return string(b[:most]) + "…"
	}
	return string(b)
}
