package setupfile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// document is the policy of a data source aws_iam_policy_document. If a part of it cannot be told, missing says which;
// the document is then not whole.
func (r *resolver) document(c *planned) (doc *iampolicy.Document, missing string) {
	if text, ok := c.Values["json"].(string); ok && text != "" {
		d, err := iampolicy.Parse([]byte(text))
		if err != nil {
			return nil, err.Error()
		}
		return d, ""
	}
	b := documentBuilder{r: r, c: c, doc: &iampolicy.Document{Version: "2012-10-17"}}
	if v, ok := c.Values["version"].(string); ok && v != "" {
		b.doc.Version = v
	}
	b.merge("source_policy_documents")
	var blocks []json.RawMessage
	if c.conf != nil {
		_ = json.Unmarshal(c.conf.Expressions["statement"], &blocks)
	}
	statements, _ := c.Values["statement"].([]any)
	for i, s := range statements {
		values, ok := s.(map[string]any)
		if !ok {
			b.miss(fmt.Sprintf("statement %d", i+1))
			continue
		}
		var conf map[string]json.RawMessage
		if len(blocks) == len(statements) {
			_ = json.Unmarshal(blocks[i], &conf)
		}
		b.doc.Statements = append(b.doc.Statements, b.statement(values, conf, i))
	}
	if len(statements) == 0 && len(blocks) > 0 {
		b.miss("its statements")
	}
	b.merge("override_policy_documents")
	return b.doc, strings.Join(b.missing, ", ")
}

type documentBuilder struct {
	r       *resolver
	c       *planned
	doc     *iampolicy.Document
	missing []string
}

func (b *documentBuilder) miss(what string) { b.missing = append(b.missing, what) }

// merge takes over the statements of other documents; one with the same Sid is replaced, as the data source does.
func (b *documentBuilder) merge(attr string) {
	raw, asked := b.c.Values[attr]
	if asked && raw == nil {
		return
	}
	if !asked && (b.c.conf == nil || b.c.conf.Expressions[attr] == nil) {
		return
	}
	texts, ok := b.r.values(b.c, attr)
	if !ok {
		b.miss(attr)
	}
	for _, t := range texts {
		d, err := iampolicy.Parse([]byte(fmt.Sprint(t)))
		if err != nil {
			b.miss(attr)
			continue
		}
		for _, s := range d.Statements {
			b.replace(s)
		}
	}
}

func (b *documentBuilder) replace(s iampolicy.Statement) {
	for i := range b.doc.Statements {
		if s.Sid != "" && b.doc.Statements[i].Sid == s.Sid {
			b.doc.Statements[i] = s
			return
		}
	}
	b.doc.Statements = append(b.doc.Statements, s)
}

func (b *documentBuilder) statement(values map[string]any, conf map[string]json.RawMessage, i int) iampolicy.Statement {
	s := iampolicy.Statement{Effect: iampolicy.Allow}
	if sid, ok := values["sid"].(string); ok {
		s.Sid = sid
	}
	if e, ok := values["effect"].(string); ok && e != "" {
		s.Effect = iampolicy.Effect(e)
	}
	name := s.Sid
	if name == "" {
		name = fmt.Sprintf("statement %d", i+1)
	}
	list := func(attr string) []string { return b.list(values, conf, attr, name) }
	s.Actions, s.NotActions = list("actions"), list("not_actions")
	s.Resources, s.NotResources = list("resources"), list("not_resources")
	s.Principal = b.principals(values, conf, "principals", name)
	s.NotPrincipal = b.principals(values, conf, "not_principals", name)
	s.Conditions = b.conditions(values, conf, name)
	return s
}

// list is a list of texts, with those that are known only after the plan is applied predicted.
func (b *documentBuilder) list(values map[string]any, conf map[string]json.RawMessage, attr, name string) []string {
	v, present := values[attr]
	if present && !hasHole(v) {
		return texts(flatten(v))
	}
	raw, asked := conf[attr]
	if !asked {
		if present {
			b.miss(attr + " of " + name)
		}
		return texts(flatten(v))
	}
	predicted, ok := b.r.expr(raw, b.c.scope, b.c)
	out := texts(predicted)
	if holes := holesIn(v); strings.HasSuffix(attr, "resources") && holes > 0 {
		// One of create ? [role.arn] : [var.arn] is meant, and a plan lists all that the expression refers to.
		out = slices.DeleteFunc(out, func(t string) bool { return !strings.HasPrefix(t, "arn:") })
		ok = len(out) == holes
	}
	if !ok {
		b.miss(attr + " of " + name)
	}
	for _, t := range texts(flatten(v)) {
		out = appendNew(out, t)
	}
	return out
}

// holesIn is how many elements of a list are unknown.
func holesIn(v any) int {
	list, _ := v.([]any)
	n := 0
	for _, e := range list {
		if e == nil {
			n++
		}
	}
	return n
}

func texts(values []any) []string {
	var out []string
	for _, v := range values {
		if v == nil {
			continue
		}
		// Terraform writes variables of policies with &, for $ is its own.
		out = appendNew(out, strings.ReplaceAll(fmt.Sprint(v), "&{", "${"))
	}
	return out
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

func blocksOf(values map[string]any, conf map[string]json.RawMessage, attr string) (blocks []map[string]any, confs []map[string]json.RawMessage) {
	list, _ := values[attr].([]any)
	var all []map[string]json.RawMessage
	_ = json.Unmarshal(conf[attr], &all)
	for i, e := range list {
		m, ok := e.(map[string]any)
		if !ok {
			continue
		}
		blocks = append(blocks, m)
		if len(all) == len(list) {
			confs = append(confs, all[i])
		} else {
			confs = append(confs, nil)
		}
	}
	return blocks, confs
}

func (b *documentBuilder) principals(values map[string]any, conf map[string]json.RawMessage, attr, name string) *iampolicy.Principals {
	blocks, confs := blocksOf(values, conf, attr)
	if len(blocks) == 0 {
		return nil
	}
	p := &iampolicy.Principals{}
	for i, block := range blocks {
		ids := b.list(block, confs[i], "identifiers", name)
		switch kind, _ := block["type"].(string); kind {
		case "*":
			p.Any = true
		case "AWS":
			p.AWS = append(p.AWS, ids...)
		case "Service":
			p.Service = append(p.Service, ids...)
		case "Federated":
			p.Federated = append(p.Federated, ids...)
		case "CanonicalUser":
			p.CanonicalUser = append(p.CanonicalUser, ids...)
		default:
			b.miss("principals of " + name)
		}
	}
	return p
}

func (b *documentBuilder) conditions(values map[string]any, conf map[string]json.RawMessage, name string) []iampolicy.Condition {
	blocks, confs := blocksOf(values, conf, "condition")
	var out []iampolicy.Condition
	for i, block := range blocks {
		test, _ := block["test"].(string)
		key := b.list(block, confs[i], "variable", name)
		if test == "" || len(key) != 1 {
			b.miss("a condition of " + name)
			continue
		}
		out = append(out, iampolicy.Condition{Operator: test, Key: key[0], Values: b.list(block, confs[i], "values", name)})
	}
	return out
}
