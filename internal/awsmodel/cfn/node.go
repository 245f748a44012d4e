package cfn

import "strconv"

// Kind tells what a Node is.
type Kind uint8

// The kinds of nodes.
const (
	Text Kind = iota
	Number
	Bool
	List
	Map
	Call // an intrinsic function
)

// Node is a value as it is written: functions are not worked out.
type Node struct {
	Kind  Kind
	Pos   Pos
	Value any      // Text: string; Number: int or float64; Bool: bool
	Name  string   // Call: Ref, Condition or Fn::…
	Keys  []string // Map: in the order of the file, beside Items
	Items []*Node  // List and Map: what they hold; Call: arguments
}

// Get returns a member of a map, nil if it has none of that name or is no map.
func (n *Node) Get(key string) *Node {
	if n == nil || n.Kind != Map {
		return nil
	}
	for i, k := range n.Keys {
		if k == key {
			return n.Items[i]
		}
	}
	return nil
}

// At follows members (string) and indices (int) as far as it can, so that a message about a value that was worked out
// can name the line it comes from: where a function stands in the way, the function's place is as near as it gets.
func (n *Node) At(path ...any) *Node {
	for _, step := range path {
		var next *Node
		switch s := step.(type) {
		case string:
			next = n.Get(s)
		case int:
			if n != nil && n.Kind == List && s >= 0 && s < len(n.Items) {
				next = n.Items[s]
			}
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

// text is the node's text, if it is one.
func (n *Node) text() (string, bool) {
	if n == nil || n.Kind != Text {
		return "", false
	}
	s, ok := n.Value.(string)
	return s, ok
}

// scalar is the text of a text, number or truth value.
func (n *Node) scalar() (string, bool) {
	if n == nil {
		return "", false
	}
	switch v := n.Value.(type) {
	case string:
		return v, true
	case int:
		return strconv.Itoa(v), true
	case float64:
		return formatFloat(v), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

func (n *Node) what() string {
	switch n.Kind {
	case Text:
		return "a text"
	case Number:
		return "a number"
	case Bool:
		return "a truth value"
	case List:
		return "a list"
	case Map:
		return "a map"
	default:
		return "the function " + n.Name
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func at(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// each visits n and all below it, with their paths.
func (n *Node) each(path string, visit func(*Node, string)) {
	if n == nil {
		return
	}
	visit(n, path)
	for i, item := range n.Items {
		switch n.Kind {
		case Map:
			item.each(join(path, n.Keys[i]), visit)
		case List:
			item.each(at(path, i), visit)
		default:
			item.each(path, visit)
		}
	}
}
