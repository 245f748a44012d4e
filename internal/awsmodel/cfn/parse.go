package cfn

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var alphanumeric = regexp.MustCompile(`^[A-Za-z0-9]+$`)

// Parse reads a template and checks its structure and every name in it. The error is of type Errors and tells all that is
// wrong, with lines and paths.
func Parse(data []byte) (*Template, error) {
	if len(data) > MaxStoredBody {
		return nil, Errors{{Message: fmt.Sprintf("the template has %d bytes; CloudFormation takes %d", len(data), MaxStoredBody)}}
	}
	r := &reader{}
	root := r.read(data)
	t := &Template{
		Mappings: map[string]map[string]map[string]any{}, parameters: map[string]*Parameter{},
		conditions: map[string]*Node{}, resources: map[string]*Resource{},
	}
	if root != nil {
		if root.Kind == Map {
			r.sections(t, root)
			r.checkNames(t)
		} else {
			r.fail(root.Pos, "", "a template is a map of sections, not %s", root.what())
		}
	}
	if len(r.errs) > 0 {
		slices.SortStableFunc(r.errs, compareErrors)
		return nil, r.errs
	}
	return t, nil
}

func (r *reader) sections(t *Template, root *Node) {
	for i, key := range root.Keys {
		n := root.Items[i]
		switch key {
		case "AWSTemplateFormatVersion":
			t.Version, _ = n.text()
			if t.Version != "2010-09-09" {
				r.fail(n.Pos, key, "the only version is 2010-09-09")
			}
		case "Description":
			r.description(t, n)
		case "Metadata":
			t.Metadata = n
		case "Parameters":
			r.parameters(t, n)
		case "Mappings":
			r.mappings(t, n)
		case "Conditions":
			r.conditions(t, n)
		case "Resources":
			r.resources(t, n)
		case "Outputs":
			r.outputs(t, n)
		case "Rules":
			t.Notes = append(t.Notes, Note{n.Pos, "Rules are not checked"})
		case "Transform":
			r.fail(n.Pos, key, "transforms run in the account at deployment and cannot be worked out from the template; deploy it, and read the processed template (aws cloudformation get-template --template-stage Processed)")
		default:
			r.fail(n.Pos, key, "no section of a template is called %s", key)
		}
	}
	if root.Get("Resources") == nil {
		r.fail(root.Pos, "", "at least one Resources member must be defined")
	}
}

func (r *reader) description(t *Template, n *Node) {
	text, ok := n.text()
	if !ok {
		r.fail(n.Pos, "Description", "the description must be a text, not %s", n.what())
	}
	if len(text) > MaxDescription {
		r.fail(n.Pos, "Description", "the description has %d bytes; CloudFormation takes %d", len(text), MaxDescription)
	}
	t.Description = text
}

// members visits the entries of a section and checks their names.
func (r *reader) members(section string, n *Node, most int, visit func(name string, n *Node, path string)) {
	if n.Kind != Map {
		r.fail(n.Pos, section, "%s must be a map, not %s", section, n.what())
		return
	}
	if len(n.Keys) > most {
		r.fail(n.Pos, section, "there are %d of them; CloudFormation takes %d in one template", len(n.Keys), most)
	}
	for i, name := range n.Keys {
		path := join(section, name)
		if !alphanumeric.MatchString(name) || len(name) > MaxLogicalID {
			r.fail(n.Items[i].Pos, path, "names in %s consist of letters and digits only, at most %d", section, MaxLogicalID)
			continue
		}
		visit(name, n.Items[i], path)
	}
}

func (r *reader) mappings(t *Template, section *Node) {
	r.members("Mappings", section, MaxMappings, func(name string, n *Node, path string) {
		mapping := map[string]map[string]any{}
		t.Mappings[name] = mapping
		if n.Kind != Map {
			r.fail(n.Pos, path, "a mapping is a map of maps, not %s", n.what())
			return
		}
		for i, key := range n.Keys {
			inner := n.Items[i]
			if inner.Kind != Map {
				r.fail(inner.Pos, join(path, key), "a mapping is a map of maps, not %s", inner.what())
				continue
			}
			mapping[key] = map[string]any{}
			for j, second := range inner.Keys {
				v, ok := plainValue(inner.Items[j])
				if !ok {
					r.fail(inner.Items[j].Pos, join(join(path, key), second), "mappings hold texts and lists of texts, not %s", inner.Items[j].what())
					continue
				}
				mapping[key][second] = v
			}
		}
	})
}

// plainValue is the value of a scalar or of a list of scalars.
func plainValue(n *Node) (any, bool) {
	switch n.Kind {
	case Text, Number, Bool:
		return n.Value, true
	case List:
		out := make([]any, len(n.Items))
		for i, item := range n.Items {
			if item.Kind > Bool {
				return nil, false
			}
			out[i] = item.Value
		}
		return out, true
	}
	return nil, false
}

func (r *reader) conditions(t *Template, section *Node) {
	r.members("Conditions", section, MaxResources, func(name string, n *Node, path string) {
		c := asCondition(n)
		if c == nil {
			r.fail(n.Pos, path, "a condition is one of Fn::Equals, Fn::Not, Fn::And, Fn::Or and Condition, not %s", n.what())
			c = n
		}
		t.Conditions = append(t.Conditions, NamedNode{name, c})
		t.conditions[name] = c
	})
}

func (r *reader) resources(t *Template, section *Node) {
	if section.Kind == Map && len(section.Keys) == 0 {
		r.fail(section.Pos, "Resources", "at least one Resources member must be defined")
	}
	r.members("Resources", section, MaxResources, func(name string, n *Node, path string) {
		res := &Resource{ID: name, Pos: n.Pos, DeletionPolicy: "Delete", UpdateReplacePolicy: "Delete"}
		t.Resources = append(t.Resources, res)
		t.resources[name] = res
		if n.Kind != Map {
			r.fail(n.Pos, path, "a resource is a map, not %s", n.what())
			return
		}
		for i, key := range n.Keys {
			r.resourceAttribute(t, res, key, n.Items[i], join(path, key))
		}
		if n.Get("Type") == nil {
			r.fail(n.Pos, path, "every resource needs a Type")
		}
	})
}

func (r *reader) resourceAttribute(t *Template, res *Resource, key string, n *Node, path string) {
	word := func(known ...string) string {
		s, ok := n.text()
		if !ok || (len(known) > 0 && !slices.Contains(known, s)) {
			want := "a text"
			if len(known) > 0 {
				want = "one of " + strings.Join(known, ", ")
			}
			r.fail(n.Pos, path, "%s must be %s", key, want)
		}
		return s
	}
	switch key {
	case "Type":
		res.Type = word()
	case "Properties":
		res.Properties = n
		if n.Kind != Map {
			r.fail(n.Pos, path, "Properties must be a map, not %s", n.what())
		}
	case "DependsOn":
		r.dependsOn(res, n, path)
	case "Condition":
		res.Condition = word()
	case "DeletionPolicy":
		res.DeletionPolicy = word("Delete", "Retain", "RetainExceptOnCreate", "Snapshot")
	case "UpdateReplacePolicy":
		res.UpdateReplacePolicy = word("Delete", "Retain", "Snapshot")
	case "Metadata":
		res.Metadata = n
	case "CreationPolicy", "UpdatePolicy":
		t.Notes = append(t.Notes, Note{n.Pos, key + " of " + res.ID + " has no effect here"})
	default:
		r.fail(n.Pos, path, "no attribute of a resource is called %s; what describes it belongs under Properties", key)
	}
}

func (r *reader) dependsOn(res *Resource, n *Node, path string) {
	items := []*Node{n}
	if n.Kind == List {
		items = n.Items
	}
	for _, item := range items {
		s, ok := item.text()
		if !ok {
			r.fail(item.Pos, path, "DependsOn takes names of resources, not %s", item.what())
			continue
		}
		res.DependsOn = append(res.DependsOn, s)
	}
}

func (r *reader) outputs(t *Template, section *Node) {
	r.members("Outputs", section, MaxOutputs, func(name string, n *Node, path string) {
		out := &Output{Name: name, Pos: n.Pos}
		t.Outputs = append(t.Outputs, out)
		if n.Kind != Map {
			r.fail(n.Pos, path, "an output is a map, not %s", n.what())
			return
		}
		for i, key := range n.Keys {
			item, here := n.Items[i], join(path, key)
			switch key {
			case "Value":
				out.Value = item
			case "Description":
				out.Description, _ = item.text()
			case "Condition":
				out.Condition, _ = item.text()
			case "Export":
				if out.Export = item.Get("Name"); out.Export == nil {
					r.fail(item.Pos, here, "Export needs a Name")
				}
			default:
				r.fail(item.Pos, here, "no attribute of an output is called %s", key)
			}
		}
		if out.Value == nil {
			r.fail(n.Pos, path, "every output needs a Value")
		}
	})
}
