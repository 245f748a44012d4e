package stack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// CloudFormationJSON is the template of CloudFormation as JSON, in which functions have their long forms.
//
// Errors: those of CloudFormation.
func (s *Stack) CloudFormationJSON() ([]byte, error) {
	text, err := s.CloudFormation()
	if err != nil {
		return nil, err
	}
	var top yaml.Node
	if err := yaml.Unmarshal(text, &top); err != nil {
		return nil, fmt.Errorf("writing the template as JSON: %w", err)
	}
	tree, err := longForm(top.Content[0])
	if err != nil {
		return nil, fmt.Errorf("writing the template as JSON: %w", err)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(tree); err != nil {
		return nil, fmt.Errorf("writing the template as JSON: %w", err)
	}
	return b.Bytes(), nil
}

// longForm is a node as a tree. The short forms are those that node writes.
func longForm(n *yaml.Node) (any, error) {
	switch n.Tag {
	case "!Ref":
		return map[string]any{"Ref": n.Value}, nil
	case "!Sub":
		return map[string]any{"Fn::Sub": n.Value}, nil
	case "!GetAtt":
		resource, attribute, _ := strings.Cut(n.Value, ".")
		return map[string]any{"Fn::GetAtt": []string{resource, attribute}}, nil
	case "!If":
		parts, err := longForm(&yaml.Node{Kind: yaml.SequenceNode, Content: n.Content})
		return map[string]any{"Fn::If": parts}, err
	}
	switch n.Kind {
	case yaml.MappingNode:
		out := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			v, err := longForm(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			out[n.Content[i].Value] = v
		}
		return out, nil
	case yaml.SequenceNode:
		out := []any{}
		for _, c := range n.Content {
			v, err := longForm(c)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	case yaml.ScalarNode:
		if strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") {
			return nil, fmt.Errorf("line %d: no long form of %s is known", n.Line, n.Tag)
		}
		var v any
		err := n.Decode(&v)
		return v, err
	case yaml.DocumentNode, yaml.AliasNode:
	}
	return nil, fmt.Errorf("line %d: it is neither a map, a list nor a value", n.Line)
}
