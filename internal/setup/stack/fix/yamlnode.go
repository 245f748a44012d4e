package fix

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

func scalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

// number writes whole numbers without a point, and leaves it to YAML to tell what they are.
func number(f float64) *yaml.Node {
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if strings.Contains(s, ".") {
		return scalar("!!float", s)
	}
	return scalar("!!int", s)
}

func plainText(s string) *yaml.Node { return scalar("!!str", s) }

func quotedText(s string) *yaml.Node {
	n := plainText(s)
	n.Style = yaml.DoubleQuotedStyle
	return n
}

func function(tag, argument string) *yaml.Node { return scalar(tag, argument) }

func sequence(items ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: items}
}

// mapping makes a map of names and nodes in turn.
func mapping(pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i := 0; i+1 < len(pairs); i += 2 {
		name, _ := pairs[i].(string)
		value, _ := pairs[i+1].(*yaml.Node)
		set(n, name, value)
	}
	return n
}

func member(n *yaml.Node, name string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

func set(n *yaml.Node, name string, value *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			n.Content[i+1] = value
			return
		}
	}
	n.Content = append(n.Content, plainText(name), value)
}

func drop(n *yaml.Node, name string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			n.Content = append(n.Content[:i:i], n.Content[i+2:]...)
			return
		}
	}
}

// forget takes what refers to a resource out of lists and maps: outputs, attachments, DependsOn.
func forget(n *yaml.Node, id string) {
	refers := func(n *yaml.Node) bool {
		switch {
		case n.Kind == yaml.ScalarNode:
			return (n.Tag == "!Ref" || n.Tag == "!GetAtt") && (n.Value == id || strings.HasPrefix(n.Value, id+"."))
		case n.Kind == yaml.MappingNode && len(n.Content) == 2 && (n.Content[0].Value == "Ref" || n.Content[0].Value == "Fn::GetAtt"):
			return refersTo(n.Content[1], id)
		}
		return false
	}
	switch n.Kind {
	case yaml.SequenceNode:
		n.Content = slices.DeleteFunc(n.Content, refers)
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			value := n.Content[i+1]
			dependsOn := n.Content[i].Value == "DependsOn"
			if dependsOn && value.Kind == yaml.SequenceNode {
				value.Content = slices.DeleteFunc(value.Content, func(v *yaml.Node) bool { return v.Value == id })
			}
			if refers(value) || dependsOn && value.Value == id || refers(orEmpty(member(value, "Value"))) {
				n.Content = append(n.Content[:i:i], n.Content[i+2:]...)
				i -= 2
			}
		}
	}
	for _, c := range n.Content {
		forget(c, id)
	}
}

func orEmpty(n *yaml.Node) *yaml.Node {
	if n == nil {
		return &yaml.Node{}
	}
	return n
}

func clone(n *yaml.Node) *yaml.Node {
	if n == nil {
		return nil
	}
	out := *n
	out.Content = make([]*yaml.Node, len(n.Content))
	for i, c := range n.Content {
		out.Content[i] = clone(c)
	}
	return &out
}

// jsonNode is JSON as YAML in block style.
func jsonNode(text []byte) *yaml.Node {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil || len(doc.Content) != 1 {
		return plainText(string(text))
	}
	blockStyle(doc.Content[0])
	return doc.Content[0]
}

func blockStyle(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		blockStyle(c)
	}
}

var soleReference = regexp.MustCompile(`^\$\{([A-Za-z0-9:]+)(\.[A-Za-z]+)?\}$`)

// text is a text with functions where it holds what the template gives.
func (w *templateWriter) text(s string) *yaml.Node {
	t, changed := w.g.text(s)
	switch m := soleReference.FindStringSubmatch(t); {
	case !changed:
		return plainText(s)
	case m != nil && m[2] != "":
		return function("!GetAtt", m[1]+m[2])
	case m != nil:
		return function("!Ref", m[1])
	}
	n := function("!Sub", t)
	n.Style = yaml.DoubleQuotedStyle
	return n
}

func (w *templateWriter) texts(list []string) *yaml.Node {
	out := sequence()
	for _, s := range list {
		out.Content = append(out.Content, w.text(s))
	}
	return out
}

// document is a policy as an object, or as a text of JSON if its keys hold references, for functions cannot stand in keys.
func (w *templateWriter) document(d *iampolicy.Document) *yaml.Node {
	for _, st := range d.Statements {
		for _, c := range st.Conditions {
			if _, changed := w.g.text(c.Key); changed {
				return w.embedded(d)
			}
		}
	}
	n := jsonNode(d.JSON())
	w.references(n)
	return n
}

func (w *templateWriter) references(n *yaml.Node) {
	for i, c := range n.Content {
		if c.Kind == yaml.ScalarNode && c.Tag == "!!str" && (n.Kind == yaml.SequenceNode || i%2 == 1) {
			n.Content[i] = w.text(c.Value)
			continue
		}
		w.references(c)
	}
}

// embedded is a policy as a text of JSON.
func (w *templateWriter) embedded(d *iampolicy.Document) *yaml.Node {
	// Texts are generalised one by one: what surrounds them in JSON would hide where they end.
	text := jsonStrings.ReplaceAllStringFunc(string(d.Indent()), w.jsonText)
	n := function("!Sub", text+"\n")
	n.Style = yaml.LiteralStyle
	return n
}

var jsonStrings = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

func (w *templateWriter) jsonText(quoted string) string {
	var s string
	if json.Unmarshal([]byte(quoted), &s) != nil {
		return quoted
	}
	t, changed := w.g.text(s)
	if !changed {
		t = escaped.ReplaceAllString(s, "$${!")
	}
	out, err := json.Marshal(t)
	if err != nil {
		return quoted
	}
	return string(out)
}
