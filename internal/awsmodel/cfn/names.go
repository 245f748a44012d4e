package cfn

import (
	"slices"
	"strings"
)

// pseudoParameters are there in every template.
var pseudoParameters = []string{
	"AWS::AccountId", "AWS::NotificationARNs", "AWS::NoValue", "AWS::Partition", "AWS::Region", "AWS::StackId", "AWS::StackName",
	"AWS::URLSuffix",
}

// reference is a name that a value needs: of a parameter, a pseudo parameter or a resource, with the attribute that is
// asked for, empty for Ref.
type reference struct {
	name, attribute string
	getAtt          bool
	node            *Node
	path            string
}

// references lists all names within a node, in order. Variables that Fn::Sub brings along itself are none.
func references(n *Node, path string) []reference {
	var out []reference
	n.each(path, func(n *Node, path string) {
		if n.Kind != Call {
			return
		}
		switch n.Name {
		case fnRef:
			name, _ := n.Items[0].text()
			out = append(out, reference{name: name, node: n, path: path})
		case fnGetAtt:
			name, _ := n.Items[0].text()
			attribute, _ := n.Items[1].text()
			out = append(out, reference{name: name, attribute: attribute, getAtt: true, node: n, path: path})
		case fnSub:
			out = append(out, subReferences(n, path)...)
		}
	})
	return out
}

func subReferences(n *Node, path string) []reference {
	text, _ := n.Items[0].text()
	parts, err := parseSub(text)
	if err != nil {
		return nil // reported when the function was read
	}
	var out []reference
	for _, p := range parts {
		if p.variable == "" || (len(n.Items) == 2 && n.Items[1].Get(p.variable) != nil) {
			continue
		}
		name, attribute, getAtt := strings.Cut(p.variable, ".")
		out = append(out, reference{name, attribute, getAtt, n, path})
	}
	return out
}

// checkNames checks that everything that is named exists.
func (r *reader) checkNames(t *Template) {
	for _, c := range t.Conditions {
		path := join("Conditions", c.Name)
		r.checkReferences(t, c.Node, path, false)
		r.checkConditionNames(t, c.Node, path)
	}
	for _, res := range t.Resources {
		path := join("Resources", res.ID)
		for _, part := range []NamedNode{{"Properties", res.Properties}, {"Metadata", res.Metadata}} {
			r.checkReferences(t, part.Node, join(path, part.Name), true)
			r.checkConditionNames(t, part.Node, join(path, part.Name))
		}
		for _, d := range res.DependsOn {
			if t.resources[d] == nil {
				r.fail(res.Pos, join(path, "DependsOn"), "unresolved resource dependencies [%s] in the Resources block of the template", d)
			}
		}
		r.checkCondition(t, res.Condition, res.Pos, path)
	}
	for _, o := range t.Outputs {
		path := join("Outputs", o.Name)
		for _, part := range []NamedNode{{"Value", o.Value}, {"Export.Name", o.Export}} {
			r.checkReferences(t, part.Node, join(path, part.Name), true)
			r.checkConditionNames(t, part.Node, join(path, part.Name))
		}
		r.checkCondition(t, o.Condition, o.Pos, path)
	}
}

// checkReferences checks the names within a node; conditions may name no resources.
func (r *reader) checkReferences(t *Template, n *Node, path string, resources bool) {
	block, _, _ := strings.Cut(path, ".")
	for _, ref := range references(n, path) {
		switch {
		case ref.getAtt && (!resources || t.resources[ref.name] == nil):
			if !resources {
				r.fail(ref.node.Pos, ref.path, "conditions are worked out before there are resources, so Fn::GetAtt has no place in them")
				continue
			}
			r.fail(ref.node.Pos, ref.path, "instance of Fn::GetAtt references undefined resource %s", ref.name)
		case ref.getAtt, slices.Contains(pseudoParameters, ref.name), t.parameters[ref.name] != nil:
		case t.resources[ref.name] != nil && resources:
		default:
			r.fail(ref.node.Pos, ref.path, "unresolved resource dependencies [%s] in the %s block of the template", ref.name, block)
		}
	}
}

func (r *reader) checkConditionNames(t *Template, n *Node, path string) {
	n.each(path, func(n *Node, path string) {
		if n.Kind == Call && (n.Name == fnIf || n.Name == fnCondition) {
			name, _ := n.Items[0].text()
			r.checkCondition(t, name, n.Pos, path)
		}
	})
}

func (r *reader) checkCondition(t *Template, name string, p Pos, path string) {
	if name != "" && t.conditions[name] == nil {
		r.fail(p, path, "unresolved condition dependency %s: the section Conditions has none of that name", name)
	}
}

// AttributeUse is a Fn::GetAtt, or its form in Fn::Sub.
type AttributeUse struct {
	Resource, Attribute string
	Pos                 Pos
	Path                string
}

// AttributeUses lists which attributes of resources the template asks for.
func (t *Template) AttributeUses() []AttributeUse {
	var out []AttributeUse
	add := func(n *Node, path string) {
		for _, ref := range references(n, path) {
			if ref.getAtt && ref.attribute != "" {
				out = append(out, AttributeUse{ref.name, ref.attribute, ref.node.Pos, ref.path})
			}
		}
	}
	for _, r := range t.Resources {
		add(r.Properties, "Resources."+r.ID+".Properties")
	}
	for _, o := range t.Outputs {
		add(o.Value, "Outputs."+o.Name+".Value")
	}
	return out
}
