package iampolicy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A policy is read into a tree first, because encoding/json would let two members of one name pass and lose the order
// in which errors are best told.
type (
	object struct {
		names  []string
		values map[string]any // of string, json.Number, bool, nil, []any, *object
	}
)

// maxDepth is more than any policy needs: conditions, the deepest part, lie six levels down.
const maxDepth = 10

func readTree(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := readValue(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more text after the end of the document")
	}
	return v, nil
}

func readValue(d *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested deeper than %d levels", maxDepth)
	}
	t, err := d.Token()
	if err != nil {
		return nil, notJSON(err)
	}
	switch t {
	case json.Delim('{'):
		return readObject(d, depth)
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := readValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, closing(d)
	}
	return t, nil
}

func readObject(d *json.Decoder, depth int) (*object, error) {
	o := &object{values: map[string]any{}}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, notJSON(err)
		}
		name, ok := t.(string)
		if !ok {
			return nil, fmt.Errorf("it is not JSON: %v where the name of a member belongs", t)
		}
		if _, twice := o.values[name]; twice {
			return nil, fmt.Errorf("it has the member %q twice in one object", name)
		}
		v, err := readValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		o.names = append(o.names, name)
		o.values[name] = v
	}
	return o, closing(d)
}

func closing(d *json.Decoder) error {
	if _, err := d.Token(); err != nil {
		return notJSON(err)
	}
	return nil
}

func notJSON(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("it is not JSON: %w", err)
}

// kind names a value for messages.
func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case bool:
		return "a truth value"
	case []any:
		return "a list"
	default:
		return "an object"
	}
}
