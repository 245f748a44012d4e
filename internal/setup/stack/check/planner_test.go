package check_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// planner makes the JSON of a first plan of Terraform source: what AWS gives a resource only when it is made, such as its
// ARN, is unknown, and so is all that is put together from it; the configuration lists what expressions refer to.
type planner struct {
	t         *testing.T
	resources []*hclsyntax.Block
	locals    map[string]hclsyntax.Expression
	ctx       *hcl.EvalContext
	module    string // name of the module call; empty: the root
}

var planFunctions = map[string]function.Function{
	"jsonencode": stdlib.JSONEncodeFunc, "coalesce": stdlib.CoalesceFunc, "merge": stdlib.MergeFunc, "concat": stdlib.ConcatFunc,
	"contains": stdlib.ContainsFunc, "keys": stdlib.KeysFunc,
}

// firstPlan is the plan of the source with these values of variables; with a module name, of a call of it as a module.
func firstPlan(t *testing.T, source []byte, vars map[string]cty.Value, module string) []byte {
	t.Helper()
	file, diags := hclparse.NewParser().ParseHCL(source, "main.tf")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	p := &planner{t: t, locals: map[string]hclsyntax.Expression{}, module: module}
	variables := map[string]cty.Value{}
	conf := map[string]any{}
	for _, b := range file.Body.(*hclsyntax.Body).Blocks {
		switch b.Type {
		case "resource", "data":
			p.resources = append(p.resources, b)
		case "locals":
			for name, a := range b.Body.Attributes {
				p.locals[name] = a.Expr
			}
		case "variable":
			name := b.Labels[0]
			conf[name] = map[string]any{}
			if a := b.Body.Attributes["default"]; a != nil {
				v, d := a.Expr.Value(nil)
				if d.HasErrors() {
					t.Fatal(d)
				}
				variables[name], conf[name] = v, map[string]any{"default": plainOf(t, v)}
			}
			if v, ok := vars[name]; ok {
				variables[name] = v
			}
		}
	}
	p.ctx = &hcl.EvalContext{Functions: planFunctions, Variables: map[string]cty.Value{"var": cty.ObjectVal(variables)}}
	for range 4 { // until what refers to what refers to others is known
		p.evaluate()
	}
	return p.write(vars, conf)
}

func object(m map[string]cty.Value) cty.Value {
	if len(m) == 0 {
		return cty.EmptyObjectVal
	}
	return cty.ObjectVal(m)
}

// lenient is the value of an expression, unknown where something that it needs is.
func lenient(e hcl.Expression, ctx *hcl.EvalContext) cty.Value {
	v, diags := e.Value(ctx)
	if diags.HasErrors() {
		return cty.DynamicVal
	}
	return v
}

func (p *planner) evaluate() {
	locals := map[string]cty.Value{}
	for name, e := range p.locals {
		locals[name] = lenient(e, p.ctx)
	}
	data, managed := map[string]map[string]cty.Value{}, map[string]map[string]cty.Value{}
	for _, b := range p.resources {
		into := managed
		if b.Type == "data" {
			into = data
		}
		if into[b.Labels[0]] == nil {
			into[b.Labels[0]] = map[string]cty.Value{}
		}
		byKey := map[string]cty.Value{}
		var list []cty.Value
		for _, i := range p.instances(b) {
			v := p.objectOf(b, i.ctx)
			byKey[fmt.Sprint(i.index)] = v
			list = append(list, v)
		}
		switch {
		case b.Body.Attributes["for_each"] != nil:
			into[b.Labels[0]][b.Labels[1]] = object(byKey)
		case b.Body.Attributes["count"] != nil:
			into[b.Labels[0]][b.Labels[1]] = cty.TupleVal(list)
		default:
			into[b.Labels[0]][b.Labels[1]] = list[0]
		}
	}
	variables := map[string]cty.Value{"var": p.ctx.Variables["var"], "local": object(locals)}
	all := map[string]cty.Value{}
	for kind, m := range data {
		all[kind] = object(m)
	}
	variables["data"] = object(all)
	for kind, m := range managed {
		variables[kind] = object(m)
	}
	p.ctx.Variables = variables
}

type instance struct {
	index any // nil, a number or a key
	ctx   *hcl.EvalContext
}

func (p *planner) instances(b *hclsyntax.Block) []instance {
	if a := b.Body.Attributes["for_each"]; a != nil {
		v := lenient(a.Expr, p.ctx)
		if !v.IsKnown() || !v.CanIterateElements() {
			return nil
		}
		var out []instance
		for it := v.ElementIterator(); it.Next(); {
			key, value := it.Element()
			ctx := p.ctx.NewChild()
			ctx.Variables = map[string]cty.Value{"each": cty.ObjectVal(map[string]cty.Value{"key": key, "value": value})}
			out = append(out, instance{key.AsString(), ctx})
		}
		return out
	}
	if b.Body.Attributes["count"] != nil {
		return []instance{{0.0, p.ctx}}
	}
	return []instance{{nil, p.ctx}}
}

// objectOf is what others see of a resource.
func (p *planner) objectOf(b *hclsyntax.Block, ctx *hcl.EvalContext) cty.Value {
	if b.Type == "data" {
		if v, ok := map[string]map[string]string{
			"aws_caller_identity": {"account_id": "123456789012"},
			"aws_region":          {"id": "eu-west-1", "name": "eu-west-1", "region": "eu-west-1"},
			"aws_partition":       {"partition": "aws", "dns_suffix": "amazonaws.com"},
		}[b.Labels[0]]; ok {
			m := map[string]cty.Value{}
			for k, s := range v {
				m[k] = cty.StringVal(s)
			}
			return object(m)
		}
		return object(map[string]cty.Value{"json": p.documentOf(b, ctx)})
	}
	m := map[string]cty.Value{}
	for name, a := range b.Body.Attributes {
		m[name] = lenient(a.Expr, ctx)
	}
	for _, computed := range []string{"arn", "id", "url", "key_id", "name"} {
		if _, given := m[computed]; !given {
			m[computed] = cty.UnknownVal(cty.String)
		}
	}
	return object(m)
}

// documentOf is the text of a policy document if all of it is known.
func (p *planner) documentOf(b *hclsyntax.Block, ctx *hcl.EvalContext) cty.Value {
	values := p.blockValues(b.Body, ctx)
	if hasUnknown(values) {
		return cty.UnknownVal(cty.String)
	}
	var statements []any
	list, _ := values["statement"].([]any)
	for _, v := range list {
		s := v.(map[string]any)
		out := map[string]any{"Effect": "Allow", "Action": s["actions"], "Resource": s["resources"]}
		if e, ok := s["effect"]; ok {
			out["Effect"] = e
		}
		if s["resources"] == nil {
			delete(out, "Resource")
		}
		if sid, ok := s["sid"]; ok {
			out["Sid"] = sid
		}
		conditions := map[string]any{}
		for _, c := range listOf(s["condition"]) {
			m := c.(map[string]any)
			test := m["test"].(string)
			if conditions[test] == nil {
				conditions[test] = map[string]any{}
			}
			conditions[test].(map[string]any)[m["variable"].(string)] = m["values"]
		}
		if len(conditions) > 0 {
			out["Condition"] = conditions
		}
		for _, c := range listOf(s["principals"]) {
			m := c.(map[string]any)
			out["Principal"] = map[string]any{m["type"].(string): m["identifiers"]}
		}
		statements = append(statements, out)
	}
	text, err := json.Marshal(map[string]any{"Version": "2012-10-17", "Statement": statements})
	if err != nil {
		p.t.Fatal(err)
	}
	return cty.StringVal(string(text))
}

func listOf(v any) []any { l, _ := v.([]any); return l }

// unknown stands for a value that is not known in what blockValues returns.
type unknown struct{}

func hasUnknown(v any) bool {
	switch v := v.(type) {
	case unknown:
		return true
	case []any:
		return slices.ContainsFunc(v, hasUnknown)
	case map[string]any:
		for _, e := range v {
			if hasUnknown(e) {
				return true
			}
		}
	}
	return false
}

// omit does what a plan does with unknown values: members are left out, elements of lists are null.
func omit(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			if _, hole := e.(unknown); !hole {
				out[i] = omit(e)
			}
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			if _, hole := e.(unknown); !hole {
				out[k] = omit(e)
			}
		}
		return out
	}
	return v
}

func (p *planner) blockValues(b *hclsyntax.Body, ctx *hcl.EvalContext) map[string]any {
	out := map[string]any{}
	for name, a := range b.Attributes {
		if name != "for_each" && name != "count" {
			out[name] = p.plain(lenient(a.Expr, ctx))
		}
	}
	for _, n := range b.Blocks {
		if n.Type == "dynamic" {
			content := n.Body.Blocks[0].Body
			v := lenient(n.Body.Attributes["for_each"].Expr, ctx)
			for it := v.ElementIterator(); it.Next(); {
				key, value := it.Element()
				child := ctx.NewChild()
				child.Variables = map[string]cty.Value{n.Labels[0]: cty.ObjectVal(map[string]cty.Value{"key": key, "value": value})}
				out[n.Labels[0]] = append(listOf(out[n.Labels[0]]), p.blockValues(content, child))
			}
			continue
		}
		out[n.Type] = append(listOf(out[n.Type]), p.blockValues(n.Body, ctx))
	}
	return out
}

func (p *planner) plain(v cty.Value) any {
	switch {
	case !v.IsKnown():
		return unknown{}
	case v.IsNull():
		return nil
	case v.IsWhollyKnown():
		return plainOf(p.t, v)
	case v.Type().IsObjectType() || v.Type().IsMapType():
		out := map[string]any{}
		for k, e := range v.AsValueMap() {
			out[k] = p.plain(e)
		}
		return out
	}
	var out []any
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		out = append(out, p.plain(e))
	}
	return out
}

func plainOf(t *testing.T, v cty.Value) any {
	t.Helper()
	b, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// references are what an expression refers to, each also without its attribute, as a plan lists them. Of what comes after
// an index that is not constant nothing is listed.
func references(e hcl.Expression) []string {
	var out []string
	add := func(s string) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, traversal := range e.Variables() {
		at := []string{traversal.RootName()}
		for _, s := range traversal[1:] {
			switch s := s.(type) {
			case hcl.TraverseAttr:
				at = append(at, "."+s.Name)
			case hcl.TraverseIndex:
				if s.Key.Type() == cty.Number {
					n, _ := s.Key.AsBigFloat().Int64()
					at = append(at, fmt.Sprintf("[%d]", n))
				} else {
					at = append(at, fmt.Sprintf("[%q]", s.Key.AsString()))
				}
			}
		}
		least := 2
		if at[0] == "data" {
			least = 3
		}
		for n := len(at); n >= min(least, len(at)); n-- {
			add(strings.Join(at[:n], ""))
			if at[0] == "var" || at[0] == "local" || at[0] == "each" {
				break
			}
		}
	}
	return out
}

func expressionsOf(t *testing.T, b *hclsyntax.Body) map[string]any {
	t.Helper()
	out := map[string]any{}
	for name, a := range b.Attributes {
		if refs := references(a.Expr); len(refs) > 0 {
			out[name] = map[string]any{"references": refs}
		} else if v, d := a.Expr.Value(&hcl.EvalContext{Functions: planFunctions}); !d.HasErrors() {
			out[name] = map[string]any{"constant_value": plainOf(t, v)}
		}
	}
	for _, n := range b.Blocks {
		if n.Type != "dynamic" && n.Type != "lifecycle" { // dynamic blocks are not in the configuration of a plan
			out[n.Type] = append(listOf(out[n.Type]), expressionsOf(t, n.Body))
		}
	}
	return out
}

func (p *planner) write(vars map[string]cty.Value, variables map[string]any) []byte {
	prefix := ""
	if p.module != "" {
		prefix = "module." + p.module + "."
	}
	var planned, prior, conf, changes []any
	for _, b := range p.resources {
		mode, address := "managed", strings.Join(b.Labels, ".")
		if b.Type == "data" {
			mode, address = "data", "data."+address
		}
		conf = append(conf, map[string]any{"address": address, "mode": mode, "type": b.Labels[0], "name": b.Labels[1], "expressions": expressionsOf(p.t, b.Body)})
		for _, i := range p.instances(b) {
			at := prefix + address
			switch v := i.index.(type) {
			case string:
				at += fmt.Sprintf("[%q]", v)
			case float64:
				at += fmt.Sprintf("[%g]", v)
			}
			values := p.blockValues(b.Body, i.ctx)
			r := map[string]any{"address": at, "mode": mode, "type": b.Labels[0], "name": b.Labels[1]}
			if i.index != nil {
				r["index"] = i.index
			}
			switch {
			case mode == "managed":
				r["values"] = omit(values)
				planned = append(planned, r)
			case hasUnknown(values): // read when the plan is applied
				r["module_address"] = strings.TrimSuffix(prefix, ".")
				r["change"] = map[string]any{"actions": []any{"read"}, "after": omit(values)}
				changes = append(changes, r)
			default:
				for k, v := range p.objectOf(b, i.ctx).AsValueMap() {
					values[k] = plainOf(p.t, v)
				}
				r["values"] = values
				prior = append(prior, r)
			}
		}
	}
	given, passed := map[string]any{}, map[string]any{}
	for k, v := range vars {
		given[k], passed[k] = map[string]any{"value": plainOf(p.t, v)}, map[string]any{"constant_value": plainOf(p.t, v)}
	}
	values := func(list []any) map[string]any {
		if p.module == "" {
			return map[string]any{"root_module": map[string]any{"resources": list}}
		}
		return map[string]any{"root_module": map[string]any{"child_modules": []any{map[string]any{"address": "module." + p.module, "resources": list}}}}
	}
	root := map[string]any{"resources": conf, "variables": variables}
	if p.module != "" {
		root = map[string]any{"module_calls": map[string]any{p.module: map[string]any{"expressions": passed, "module": root}}}
		given = map[string]any{}
	}
	out, err := json.Marshal(map[string]any{
		"format_version": "1.2", "terraform_version": "1.11.4", "variables": given, "planned_values": values(planned),
		"prior_state": map[string]any{"values": values(prior)}, "resource_changes": changes, "configuration": map[string]any{"root_module": root},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}
