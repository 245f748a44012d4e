package stack

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

// fields is an object whose members keep their order.
type fields []field

type field struct {
	name  string
	value any // string with references, literal, int, bool, []any, fields, *iampolicy.Document, embedded
}

// literal is text without references, whatever it looks like.
type literal string

// embedded is a document to be written as a string of JSON. That is how CloudFormation takes references in the names of
// members, such as condition keys with the cluster's name.
type embedded struct{ *iampolicy.Document }

func (f fields) with(name string, value any) fields { return append(f, field{name, value}) }

// node turns a value into YAML with CloudFormation's short forms of its functions.
func node(v any) (*yaml.Node, error) {
	switch v := v.(type) {
	case string:
		return textNode(v), nil
	case literal:
		return scalar("!!str", string(v)), nil
	case int:
		return scalar("!!int", strconv.Itoa(v)), nil
	case bool:
		return scalar("!!bool", strconv.FormatBool(v)), nil
	case embedded:
		n := scalar("!Sub", string(v.Indent())+"\n")
		n.Style = yaml.LiteralStyle
		return n, nil
	case *iampolicy.Document:
		return documentNode(v)
	case []any:
		out := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, e := range v {
			n, err := node(e)
			if err != nil {
				return nil, err
			}
			out.Content = append(out.Content, n)
		}
		return out, nil
	case fields:
		out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, f := range v {
			n, err := node(f.value)
			if err != nil {
				return nil, err
			}
			out.Content = append(out.Content, scalar("!!str", f.name), n)
		}
		return out, nil
	}
	return nil, fmt.Errorf("no way to write a %T as YAML", v)
}

// ambiguous are strings that YAML 1.1, which CloudFormation reads, takes for something else, such as yes and 012. Where
// YAML 1.2 would, too, the encoder sees to it.
var ambiguous = regexp.MustCompile(`^(?i:y|n|yes|no|on|off|[-+.]?[0-9].*)$`)

func scalar(tag, value string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
	if tag == "!!str" && ambiguous.MatchString(value) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// textNode is a string, or the function that makes it from references.
func textNode(s string) *yaml.Node {
	name, sole := soleReference(s)
	switch {
	case !reference.MatchString(s):
		return scalar("!!str", s)
	case sole && name == idEC2:
		return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!If", Style: yaml.FlowStyle, Content: []*yaml.Node{
			scalar("!!str", inChina), scalar("!!str", partition.EC2ServiceChina), scalar("!!str", partition.EC2Service),
		}}
	case sole && attribute.MatchString(name):
		return scalar("!GetAtt", name)
	case sole:
		return scalar("!Ref", name)
	}
	n := scalar("!Sub", s)
	n.Style = yaml.DoubleQuotedStyle
	return n
}

// documentNode is a policy as YAML; its members keep the order of its JSON, which YAML is a superset of.
func documentNode(d *iampolicy.Document) (*yaml.Node, error) {
	var top yaml.Node
	if err := yaml.Unmarshal(d.JSON(), &top); err != nil {
		return nil, fmt.Errorf("writing a policy as YAML: %w", err)
	}
	n := top.Content[0]
	plain(n)
	return n, nil
}

// plain takes JSON's brackets and quotes from a node and puts functions in where strings hold references.
func plain(n *yaml.Node) {
	n.Style = 0
	for i, c := range n.Content {
		if c.Kind == yaml.ScalarNode && c.Tag == "!!str" && (n.Kind == yaml.SequenceNode || i%2 == 1) {
			n.Content[i] = textNode(c.Value)
			continue
		}
		plain(c)
	}
}

func writeYAML(head string, v any) ([]byte, error) {
	n, err := node(v)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(head)
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		return nil, fmt.Errorf("writing YAML: %w", err)
	}
	if err := e.Close(); err != nil {
		return nil, fmt.Errorf("writing YAML: %w", err)
	}
	return b.Bytes(), nil
}
