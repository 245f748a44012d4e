package eventpattern

import (
	"encoding/json"
	"slices"
)

// Event is an event that has been read, for those who try many patterns on it.
type Event struct{ root *members }

// Read reads an event, which is given as JSON text ([]byte, json.RawMessage or string) or as any value that encoding/json
// can encode. What is no JSON object is no event.
func Read(event any) (Event, bool) {
	var data []byte
	switch e := event.(type) {
	case Event:
		return e, e.root != nil
	case []byte:
		data = e
	case json.RawMessage:
		data = e
	case string:
		data = []byte(e)
	default:
		var err error
		if data, err = json.Marshal(e); err != nil {
			return Event{}, false
		}
	}
	v, err := decode(data)
	if err != nil {
		return Event{}, false
	}
	root, ok := v.(*members)
	return Event{root}, ok
}

// Match tells whether the pattern matches an event, which is an Event or what Read takes. What is no event is matched by
// no pattern.
func (p *Pattern) Match(event any) bool {
	e, ok := Read(event)
	return ok && p.root.match(e.root, e.root)
}

// match tells whether v, which is a part of the event at root, has all that o wants. Of a list one element must have it
// all: what is wanted of two elements together is not found.
func (o *object) match(v any, root *members) bool {
	if list, ok := v.([]any); ok {
		return slices.ContainsFunc(list, func(e any) bool { return o.match(e, root) })
	}
	m, ok := v.(*members)
	if !ok {
		m = &members{} // there is nothing below a value, which may be what is wanted
	}
	for _, f := range o.fields {
		below, _ := m.get(f.key)
		switch {
		case f.object != nil && !f.object.match(below, root):
			return false
		case f.leaf != nil && !f.leaf.match(m, f.key, root):
			return false
		}
	}
	for _, alternatives := range o.ors {
		if !slices.ContainsFunc(alternatives, func(a *object) bool { return a.match(m, root) }) {
			return false
		}
	}
	return true
}

func (l *leaf) match(m *members, key string, root *members) bool {
	if l.absent && !present(root, l.path) {
		return true
	}
	v, ok := m.get(key)
	return ok && l.takes(v)
}

// takes tells whether a value, or one in a list of values, is wanted. Objects are no values.
func (l *leaf) takes(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, l.takes)
	case *members:
		return false
	default:
		return slices.ContainsFunc(l.matchers, func(m matcher) bool { return m(v) })
	}
}

// present tells whether there is a value at a path, in any element of the lists on the way. Objects and empty lists are
// no values.
func present(v any, path []string) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return present(e, path) })
	case *members:
		if len(path) == 0 {
			return false
		}
		below, ok := v.get(path[0])
		return ok && present(below, path[1:])
	default:
		return len(path) == 0
	}
}
