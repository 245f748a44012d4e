package fix

import (
	"bytes"
	"encoding/json"
	"strings"

	"go.yaml.in/yaml/v3"
)

// writeJSON writes a template as JSON, in its order, with functions in their long form.
func writeJSON(b *bytes.Buffer, n *yaml.Node, indent string) error {
	switch {
	case n.Kind == yaml.AliasNode:
		return writeJSON(b, n.Alias, indent)
	case n.Kind == yaml.ScalarNode && strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!"):
		return writeJSON(b, longForm(n), indent)
	case n.Kind == yaml.MappingNode:
		return writeMembers(b, n, indent)
	case n.Kind == yaml.SequenceNode:
		return writeItems(b, n, indent)
	}
	var v any
	if err := n.Decode(&v); err != nil {
		return err
	}
	return writeValue(b, v)
}

// longForm is a function as JSON has it: !Ref X is {"Ref": "X"}.
func longForm(n *yaml.Node) *yaml.Node {
	name := strings.TrimPrefix(n.Tag, "!")
	argument := quotedText(n.Value)
	switch name {
	case "Ref":
		return mapping(name, argument)
	case "GetAtt":
		id, attribute, _ := strings.Cut(n.Value, ".")
		argument = sequence(quotedText(id), quotedText(attribute))
	}
	return mapping("Fn::"+name, argument)
}

func writeMembers(b *bytes.Buffer, n *yaml.Node, indent string) error {
	if len(n.Content) == 0 {
		b.WriteString("{}")
		return nil
	}
	inner := indent + "  "
	for i := 0; i+1 < len(n.Content); i += 2 {
		b.WriteString(map[bool]string{true: "{\n", false: ",\n"}[i == 0] + inner)
		if err := writeValue(b, n.Content[i].Value); err != nil {
			return err
		}
		b.WriteString(": ")
		if err := writeJSON(b, n.Content[i+1], inner); err != nil {
			return err
		}
	}
	b.WriteString("\n" + indent + "}")
	return nil
}

func writeItems(b *bytes.Buffer, n *yaml.Node, indent string) error {
	if len(n.Content) == 0 {
		b.WriteString("[]")
		return nil
	}
	inner := indent + "  "
	for i, c := range n.Content {
		b.WriteString(map[bool]string{true: "[\n", false: ",\n"}[i == 0] + inner)
		if err := writeJSON(b, c, inner); err != nil {
			return err
		}
	}
	b.WriteString("\n" + indent + "]")
	return nil
}

func writeValue(b *bytes.Buffer, v any) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // the end of line
	return nil
}
