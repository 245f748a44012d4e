package cfn

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Names of functions in their long form.
const (
	fnRef       = "Ref"
	fnCondition = "Condition"
	fnGetAtt    = "Fn::GetAtt"
	fnSub       = "Fn::Sub"
	fnJoin      = "Fn::Join"
	fnIf        = "Fn::If"
	fnEquals    = "Fn::Equals"
	fnNot       = "Fn::Not"
	fnAnd       = "Fn::And"
	fnOr        = "Fn::Or"
	fnSelect    = "Fn::Select"
	fnSplit     = "Fn::Split"
	fnFindInMap = "Fn::FindInMap"
	fnBase64    = "Fn::Base64"
	fnImport    = "Fn::ImportValue"
	fnCidr      = "Fn::Cidr"
	fnGetAZs    = "Fn::GetAZs"
)

// arity is how many arguments a function takes.
type arity struct{ least, most int }

var functions = map[string]arity{
	fnRef: {1, 1}, fnCondition: {1, 1}, fnGetAtt: {2, 2}, fnSub: {1, 2}, fnJoin: {2, 2}, fnIf: {3, 3}, fnEquals: {2, 2},
	fnNot: {1, 1}, fnAnd: {2, 10}, fnOr: {2, 10}, fnSelect: {2, 2}, fnSplit: {2, 2}, fnFindInMap: {3, 3}, fnBase64: {1, 1},
	fnImport: {1, 1}, fnCidr: {2, 3}, fnGetAZs: {1, 1},
}

// conditionFunctions give truth values.
var conditionFunctions = []string{fnCondition, fnEquals, fnNot, fnAnd, fnOr}

// refused are functions that CloudFormation knows and that are not worked out here, with the reason.
var refused = map[string]string{
	"Fn::Transform":    "macros run in the account at deployment and cannot be worked out from the template",
	"Fn::Length":       "it needs the transform AWS::LanguageExtensions",
	"Fn::ToJsonString": "it needs the transform AWS::LanguageExtensions",
	"Fn::ForEach":      "it needs the transform AWS::LanguageExtensions",
}

// shortForms are the YAML tags of functions.
var shortForms = func() map[string]string {
	out := map[string]string{"!Ref": fnRef, "!Condition": fnCondition}
	for name := range functions {
		if bare, ok := strings.CutPrefix(name, "Fn::"); ok {
			out["!"+bare] = name
		}
	}
	for name := range refused {
		out["!"+strings.TrimPrefix(name, "Fn::")] = name
	}
	return out
}()

func knownShortForms() string {
	known := slices.Sorted(maps.Keys(shortForms))
	known = slices.DeleteFunc(known, func(s string) bool { return refused[shortForms[s]] != "" })
	return strings.Join(known, " ")
}

// inRules tells whether a path lies in the section Rules, which has functions of its own and is not looked at.
func inRules(path string) bool { return path == "Rules" || strings.HasPrefix(path, "Rules.") }

// shortForm reads !Name value.
func (r *reader) shortForm(y *yaml.Node, name, path string, depth int) *Node {
	plain := *y
	plain.Tag = ""
	if y.Kind == yaml.ScalarNode {
		plain.Tag = "!!str" // !Ref 123 is still a name
	}
	argument := r.yamlPlain(&plain, path, depth+1)
	if argument == nil {
		return nil
	}
	return r.call(name, argument, Pos{y.Line, y.Column}, path)
}

// longForm tells {"Fn::Join": …} from a map.
func (r *reader) longForm(n *Node, path string) *Node {
	for i, key := range n.Keys {
		if key != fnRef && !strings.HasPrefix(key, "Fn::") {
			continue
		}
		if len(n.Keys) != 1 {
			if strings.HasPrefix(key, "Fn::") {
				r.fail(n.Items[i].Pos, path, "%s must be the only key of its map", key)
				return nil
			}
			continue
		}
		return r.call(key, n.Items[0], n.Pos, path)
	}
	return n
}

// call makes a function's node and checks the shape of its arguments.
func (r *reader) call(name string, argument *Node, p Pos, path string) *Node {
	if base, _, ok := strings.Cut(strings.TrimPrefix(name, "Fn::"), "::"); ok && base == "ForEach" {
		name = "Fn::ForEach"
	}
	if inRules(path) {
		return &Node{Kind: Call, Name: name, Pos: p, Items: []*Node{argument}}
	}
	if why := refused[name]; why != "" {
		r.fail(p, path, "%s is not worked out: %s", name, why)
		return nil
	}
	want, ok := functions[name]
	if !ok {
		r.fail(p, path, "no function is called %s", name)
		return nil
	}
	n := &Node{Kind: Call, Name: name, Pos: p, Items: []*Node{argument}}
	if argument.Kind == List {
		n.Items = argument.Items
	}
	if name == fnGetAtt {
		n.Items = splitAttribute(argument)
	}
	if len(n.Items) < want.least || len(n.Items) > want.most {
		r.fail(p, path, "%s takes %s, not %s", name, argumentsWanted(name), argument.what())
		return nil
	}
	if !r.checkArguments(n, path) {
		return nil
	}
	return n
}

func splitAttribute(argument *Node) []*Node {
	if s, ok := argument.text(); ok {
		resource, attribute, ok := strings.Cut(s, ".")
		if !ok {
			return nil
		}
		return []*Node{{Value: resource, Pos: argument.Pos}, {Value: attribute, Pos: argument.Pos}}
	}
	if argument.Kind != List {
		return nil
	}
	// !GetAtt [Resource, Outputs.Name] and, as people write it, [Resource, Outputs, Name]
	if len(argument.Items) > 2 {
		var rest []string
		for _, item := range argument.Items[1:] {
			s, ok := item.text()
			if !ok {
				return nil
			}
			rest = append(rest, s)
		}
		return []*Node{argument.Items[0], {Value: strings.Join(rest, "."), Pos: argument.Items[1].Pos}}
	}
	return argument.Items
}

func argumentsWanted(name string) string {
	switch name {
	case fnRef:
		return "the name of a parameter or resource"
	case fnCondition:
		return "the name of a condition"
	case fnGetAtt:
		return "a resource and an attribute, as Resource.Attribute or as a list of two"
	case fnSub:
		return "a text, or a list of a text and a map"
	case fnJoin:
		return "a list of a delimiter and a list"
	case fnIf:
		return "a list of a condition's name and two values"
	case fnEquals:
		return "a list of two values"
	case fnNot:
		return "a list of one condition"
	case fnAnd, fnOr:
		return "a list of two to ten conditions"
	case fnSelect:
		return "a list of an index and a list"
	case fnSplit:
		return "a list of a delimiter and a text"
	case fnFindInMap:
		return "a list of a mapping's name and two keys"
	case fnCidr:
		return "a list of an address block, a count and the bits of each part"
	default:
		return "one value"
	}
}

// checkArguments checks what can be seen without values.
func (r *reader) checkArguments(n *Node, path string) bool {
	bad := func(i int) bool {
		r.fail(n.Items[i].Pos, path, "%s takes %s, not %s", n.Name, argumentsWanted(n.Name), n.Items[i].what())
		return false
	}
	switch n.Name {
	case fnRef, fnCondition, fnGetAtt, fnSub, fnIf, fnJoin, fnSplit:
		if _, ok := n.Items[0].text(); !ok {
			return bad(0)
		}
	case fnBase64, fnImport, fnGetAZs:
		if k := n.Items[0].Kind; k == Map || k == List {
			return bad(0)
		}
	}
	switch n.Name {
	case fnSub:
		if len(n.Items) == 2 && n.Items[1].Kind != Map {
			return bad(1)
		}
		text, _ := n.Items[0].text()
		if _, err := parseSub(text); err != nil {
			r.fail(n.Items[0].Pos, path, "%v", err)
			return false
		}
	case fnJoin, fnSelect:
		if k := n.Items[1].Kind; k != List && k != Call {
			return bad(1)
		}
	case fnNot, fnAnd, fnOr:
		for i, item := range n.Items {
			if c := asCondition(item); c == nil {
				return bad(i)
			} else {
				n.Items[i] = c
			}
		}
	}
	return true
}

// asCondition returns a node that can be a condition, with the long form of Condition turned into a call, or nil. That
// form is told from a map only where a condition must stand, for policies have members of that name.
func asCondition(n *Node) *Node {
	if n.Kind == Call && slices.Contains(conditionFunctions, n.Name) {
		return n
	}
	if n.Kind == Map && len(n.Keys) == 1 && n.Keys[0] == fnCondition {
		if _, ok := n.Items[0].text(); ok {
			return &Node{Kind: Call, Name: fnCondition, Pos: n.Pos, Items: n.Items}
		}
	}
	return nil
}
