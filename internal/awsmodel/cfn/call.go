package cfn

import (
	"encoding/base64"
	"strings"
)

// call works out a function.
func (e *Evaluation) call(n *Node, path string) (any, error) {
	switch n.Name {
	case fnRef:
		name, _ := n.Items[0].text()
		return e.ref(n, name, path)
	case fnGetAtt:
		name, _ := n.Items[0].text()
		attribute, err := e.text(n.Items[1], path)
		if err != nil {
			return nil, err
		}
		if u, ok := attribute.(Unknown); ok {
			return Unknown{"${" + name + "." + u.Text + "}", u.Why}, nil
		}
		return e.getAtt(n, name, attribute.(string), path)
	case fnSub:
		return e.sub(n, path)
	case fnJoin:
		return e.join(n, path)
	case fnIf:
		return e.choose(n, path)
	case fnSelect:
		return e.selectItem(n, path)
	case fnSplit:
		return e.split(n, path)
	case fnFindInMap:
		return e.findInMap(n, path)
	case fnBase64:
		return e.base64(n, path)
	case fnImport:
		return e.importValue(n, path)
	case fnCidr:
		return e.cidr(n, path)
	case fnGetAZs:
		return e.zones(n, path)
	}
	return e.truth(n, path, nil)
}

func (e *Evaluation) ref(n *Node, name, path string) (any, error) {
	p := e.s.Pseudo
	pseudo := map[string]string{
		"AWS::Partition": p.Partition, "AWS::Region": p.Region, "AWS::AccountId": p.AccountID, "AWS::URLSuffix": p.URLSuffix,
		"AWS::StackName": p.StackName, "AWS::StackId": p.StackID,
	}
	switch name {
	case "AWS::NoValue":
		return noValue{}, nil
	case "AWS::NotificationARNs":
		out := []any{}
		for _, arn := range p.NotificationARNs {
			out = append(out, arn)
		}
		return out, nil
	}
	if v, ok := pseudo[name]; ok {
		if v == "" {
			return Unknown{"${" + name + "}", name + " is known at deployment"}, nil
		}
		return v, nil
	}
	if e.t.parameters[name] != nil {
		if v, ok := e.s.Parameters[name]; ok {
			return v, nil
		}
		return Unknown{"${" + name + "}", "parameter " + name + " has no value"}, nil
	}
	if err := e.mustBeThere(n, name, path); err != nil {
		return nil, err
	}
	if e.s.Ref == nil {
		return nil, fail(n, path, "resource %s has no value here", name)
	}
	v, err := e.s.Ref(name)
	if err != nil {
		return nil, fail(n, path, "%v", err)
	}
	return v, nil
}

func (e *Evaluation) getAtt(n *Node, name, attribute, path string) (any, error) {
	if err := e.mustBeThere(n, name, path); err != nil {
		return nil, err
	}
	if e.s.GetAtt == nil {
		return nil, fail(n, path, "resource %s has no attributes here", name)
	}
	v, err := e.s.GetAtt(name, attribute)
	if err != nil {
		return nil, fail(n, path, "%v", err)
	}
	return v, nil
}

// mustBeThere refuses to name a resource that its condition leaves out.
func (e *Evaluation) mustBeThere(n *Node, name, path string) error {
	r := e.t.resources[name]
	if r == nil || e.Active(r) == false {
		block, _, _ := strings.Cut(path, ".")
		why := ""
		if r != nil {
			why = ": its condition " + r.Condition + " does not hold"
		}
		return fail(n, path, "unresolved resource dependencies [%s] in the %s block of the template%s", name, block, why)
	}
	return nil
}

func (e *Evaluation) sub(n *Node, path string) (any, error) {
	text, _ := n.Items[0].text()
	parts, err := parseSub(text)
	if err != nil {
		return nil, fail(n, path, "%v", err)
	}
	var out concat
	for _, p := range parts {
		if p.variable == "" {
			out.add(p.literal)
			continue
		}
		v, err := e.variable(n, p.variable, path)
		if err != nil {
			return nil, err
		}
		if _, ok := TextOf(v); !ok {
			return nil, fail(n, path, "the value of ${%s} in Fn::Sub must be a text, not %s", p.variable, describe(v))
		}
		out.add(v)
	}
	result := out.result()
	if s, ok := result.(string); ok && strings.Contains(s, dynamicPrefix) {
		return e.dynamicText(n, s, path)
	}
	return result, nil
}

func (e *Evaluation) variable(n *Node, name, path string) (any, error) {
	if len(n.Items) == 2 {
		if given := n.Items[1].Get(name); given != nil {
			return e.value(given, path)
		}
	}
	if resource, attribute, ok := strings.Cut(name, "."); ok {
		return e.getAtt(n, resource, attribute, path)
	}
	return e.ref(n, name, path)
}

func (e *Evaluation) join(n *Node, path string) (any, error) {
	delimiter, _ := n.Items[0].text()
	v, err := e.value(n.Items[1], path)
	if err != nil {
		return nil, err
	}
	if u, ok := v.(Unknown); ok {
		return u, nil
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fail(n, path, "Fn::Join joins a list, not %s", describe(v))
	}
	var out concat
	for i, item := range list {
		if _, ok := TextOf(item); !ok {
			return nil, fail(n, path, "Fn::Join joins texts, not %s", describe(item))
		}
		if i > 0 {
			out.add(delimiter)
		}
		out.add(item)
	}
	return out.result(), nil
}

func (e *Evaluation) choose(n *Node, path string) (any, error) {
	name, _ := n.Items[0].text()
	switch c := e.conditions[name].(type) {
	case bool:
		if c {
			return e.value(n.Items[1], path)
		}
		return e.value(n.Items[2], path)
	case Unknown:
		return Unknown{"${" + name + "?}", "condition " + name + ": " + c.Why}, nil
	}
	return nil, fail(n, path, "condition %s has no value here", name)
}

func (e *Evaluation) selectItem(n *Node, path string) (any, error) {
	index, err := e.value(n.Items[0], path)
	if err != nil {
		return nil, err
	}
	v, err := e.value(n.Items[1], path)
	if err != nil {
		return nil, err
	}
	for _, known := range []any{index, v} {
		if u, ok := known.(Unknown); ok {
			text, _ := TextOf(index)
			return Unknown{"${Select " + text + "}", u.Why}, nil
		}
	}
	i, ok := IntOf(index)
	if !ok {
		return nil, fail(n, path, "Fn::Select takes a whole number as its index, not %s", describe(index))
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fail(n, path, "Fn::Select takes from a list, not %s", describe(v))
	}
	if i < 0 || i >= len(list) {
		return nil, fail(n, path, "Fn::Select cannot select nonexistent value at index %d: the list has %d", i, len(list))
	}
	return list[i], nil
}

func (e *Evaluation) split(n *Node, path string) (any, error) {
	delimiter, _ := n.Items[0].text()
	if delimiter == "" {
		return nil, fail(n, path, "Fn::Split needs a delimiter")
	}
	v, err := e.text(n.Items[1], path)
	if err != nil {
		return nil, err
	}
	if u, ok := v.(Unknown); ok {
		return u, nil
	}
	out := []any{}
	for part := range strings.SplitSeq(v.(string), delimiter) {
		out = append(out, part)
	}
	return out, nil
}

func (e *Evaluation) findInMap(n *Node, path string) (any, error) {
	var keys [3]string
	for i := range keys {
		v, err := e.text(n.Items[i], path)
		if err != nil {
			return nil, err
		}
		if u, ok := v.(Unknown); ok {
			return Unknown{"${FindInMap " + keys[0] + "}", u.Why}, nil
		}
		keys[i] = v.(string)
	}
	v, ok := e.t.Mappings[keys[0]][keys[1]][keys[2]]
	if !ok {
		return nil, fail(n, path, "unable to get mapping for %s::%s::%s", keys[0], keys[1], keys[2])
	}
	return v, nil
}

func (e *Evaluation) base64(n *Node, path string) (any, error) {
	v, err := e.text(n.Items[0], path)
	if err != nil {
		return nil, err
	}
	if u, ok := v.(Unknown); ok {
		return Unknown{base64.StdEncoding.EncodeToString([]byte(u.Text)), u.Why}, nil
	}
	return base64.StdEncoding.EncodeToString([]byte(v.(string))), nil
}

func (e *Evaluation) importValue(n *Node, path string) (any, error) {
	v, err := e.text(n.Items[0], path)
	if err != nil {
		return nil, err
	}
	name, ok := v.(string)
	if !ok {
		return v, nil
	}
	if e.s.Import == nil {
		return nil, fail(n, path, "there are no exports to import %s from", name)
	}
	value, err := e.s.Import(name)
	if err != nil {
		return nil, fail(n, path, "%v", err)
	}
	return value, nil
}

func (e *Evaluation) zones(n *Node, path string) (any, error) {
	v, err := e.text(n.Items[0], path)
	if err != nil {
		return nil, err
	}
	region, ok := v.(string)
	if !ok {
		return v, nil
	}
	if region == "" {
		region = e.s.Pseudo.Region
	}
	if e.s.Zones == nil {
		return Unknown{"${GetAZs " + region + "}", "the zones of " + region + " are those of the account"}, nil
	}
	names, err := e.s.Zones(region)
	if err != nil {
		return nil, fail(n, path, "%v", err)
	}
	out := []any{}
	for _, name := range names {
		out = append(out, name)
	}
	return out, nil
}

// Imports returns the names of the exports of other stacks that the template uses, as far as they are known.
func (e *Evaluation) Imports() []string {
	var out []string
	add := func(n *Node) {
		e.chosen(n).each("", func(n *Node, path string) {
			if n.Kind != Call || n.Name != fnImport {
				return
			}
			if v, err := e.text(n.Items[0], path); err == nil {
				if name, ok := v.(string); ok {
					out = append(out, name)
				}
			}
		})
	}
	for _, r := range e.t.Resources {
		if e.Active(r) != false {
			add(r.Properties)
		}
	}
	for _, o := range e.t.Outputs {
		add(o.Value)
	}
	return out
}
