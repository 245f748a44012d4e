package setupfile

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

// Values that Terraform learns only when it applies a plan, such as the ARN of a queue that does not exist yet, are left
// out of the plan. Its configuration still says which resources an expression refers to; ARNs follow from names, and so
// such values are predicted here. A plan does not keep how an expression is put together: one that refers to a single
// attribute is taken to be that attribute.

// expression is how a plan shows an attribute's expression.
type expression struct {
	Constant   json.RawMessage `json:"constant_value"`
	References []string        `json:"references"`
}

const maxDepth = 40 // of references to references

// resolver predicts values. It counts its depth, for configurations may be made up.
type resolver struct {
	p     *plan
	where Place
	depth int
}

// expr is the values that an expression stands for, and whether they are all.
func (r *resolver) expr(raw json.RawMessage, s *scope, self *planned) ([]any, bool) {
	if len(raw) == 0 || s == nil {
		return nil, false
	}
	var e expression
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, false // a nested block
	}
	if e.Constant != nil {
		var v any
		if err := json.Unmarshal(e.Constant, &v); err != nil {
			return nil, false
		}
		return flatten(v), true
	}
	var out []any
	complete, resolved := true, false
	for _, ref := range deepest(e.References) {
		if isLoopVariable(ref) {
			continue
		}
		values, ok := r.reference(ref, s, self)
		out = append(out, values...)
		complete = complete && ok
		resolved = resolved || ok
	}
	return out, complete && resolved
}

func isLoopVariable(ref string) bool {
	return strings.HasPrefix(ref, "each.") || ref == "each" || strings.HasPrefix(ref, "count.")
}

// deepest drops references that another one begins with: a plan lists both a.b.arn and a.b.
func deepest(refs []string) []string {
	var out []string
	for i, a := range refs {
		covered := false
		for j, b := range refs {
			if i == j {
				continue
			}
			if strings.HasPrefix(b, a+".") || strings.HasPrefix(b, a+"[") || (a == b && j < i) {
				covered = true
			}
		}
		if !covered {
			out = append(out, a)
		}
	}
	return out
}

func flatten(v any) []any {
	list, ok := v.([]any)
	if !ok {
		if v == nil {
			return nil
		}
		return []any{v}
	}
	var out []any
	for _, e := range list {
		out = append(out, flatten(e)...)
	}
	return out
}

// reference is the values that one reference stands for.
func (r *resolver) reference(ref string, s *scope, self *planned) ([]any, bool) {
	if r.depth++; r.depth > maxDepth {
		r.depth--
		return nil, false
	}
	defer func() { r.depth-- }()
	steps := splitReference(ref)
	if len(steps) < 2 {
		return nil, false
	}
	switch steps[0].name {
	case "var":
		return r.variable(steps[1].name, s)
	case "module":
		return r.output(steps[1:], s)
	case "data":
		return r.attribute("data", steps[1:], s, self)
	case "local", "path", "terraform", "self":
		return nil, false
	}
	return r.attribute("managed", steps, s, self)
}

func (r *resolver) variable(name string, s *scope) ([]any, bool) {
	if s.call == nil {
		if v, ok := r.p.file.Variables[name]; ok && s.parent == nil {
			return flatten(v.Value), v.Value != nil
		}
	} else if raw, ok := s.call.Expressions[name]; ok {
		return r.expr(raw, s.parent, nil)
	}
	if v, ok := s.conf.Variables[name]; ok && v.Default != nil {
		return flatten(v.Default), true
	}
	return nil, false
}

func (r *resolver) output(steps []step, s *scope) ([]any, bool) {
	if len(steps) < 2 {
		return nil, false
	}
	var out []any
	complete := false
	for _, c := range s.children {
		if c.name != steps[0].name || (steps[0].indexed && !strings.HasSuffix(c.address, steps[0].String())) {
			continue
		}
		o, ok := c.conf.Outputs[steps[1].name]
		if !ok {
			continue
		}
		values, ok := r.expr(o.Expression, c, nil)
		out = append(out, values...)
		complete = ok
	}
	return out, complete
}

// attribute is an attribute of the resources of a type and name: of the one with the index, or with the index of the
// resource that refers to it (each.key on both sides), or of all.
func (r *resolver) attribute(mode string, steps []step, s *scope, self *planned) ([]any, bool) {
	if len(steps) < 2 {
		return nil, false
	}
	var found []*planned
	for _, c := range s.resources {
		if c.Mode == mode && c.Type == steps[0].name && c.Name == steps[1].name {
			found = append(found, c)
		}
	}
	found = matching(found, steps[1], self)
	var out []any
	complete := len(found) > 0
	for _, c := range found {
		attr := "id"
		if len(steps) > 2 {
			attr = steps[2].name
		} else if mode == "managed" && steps[1].indexed || len(found) == 1 {
			attr = "arn" // a whole resource: this[each.key].arn is listed without what follows
		}
		values, ok := r.values(c, attr)
		out = append(out, values...)
		complete = complete && ok
	}
	return out, complete
}

// matching are the resources of found that a step of a reference means.
func matching(found []*planned, by step, self *planned) []*planned {
	pick := func(index string) []*planned {
		for _, c := range found {
			if fmt.Sprint(c.Index) == index {
				return []*planned{c}
			}
		}
		return nil
	}
	if by.indexed {
		if one := pick(by.index); one != nil {
			return one
		}
	}
	if self != nil && self.Index != nil && len(found) > 1 {
		if one := pick(fmt.Sprint(self.Index)); one != nil {
			return one
		}
	}
	return found
}

// values are those of an attribute of a planned resource: known ones, else those its expression stands for, else what
// follows from its name.
func (r *resolver) values(c *planned, attr string) ([]any, bool) {
	known, present := c.Values[attr]
	if present && known != nil && !hasHole(known) {
		return flatten(known), true
	}
	if v, ok := r.predict(c, attr); ok {
		return []any{v}, true
	}
	if c.conf != nil {
		if raw, ok := c.conf.Expressions[attr]; ok {
			values, ok := r.expr(raw, c.scope, c)
			return append(values, flatten(known)...), ok
		}
	}
	return flatten(known), present && !hasHole(known)
}

// hasHole tells whether a list holds the nulls that stand for unknown elements.
func hasHole(v any) bool {
	list, ok := v.([]any)
	if !ok {
		return false
	}
	for _, e := range list {
		if e == nil {
			return true
		}
	}
	return false
}

// predict is an attribute that AWS makes from a resource's name.
func (r *resolver) predict(c *planned, attr string) (string, bool) {
	if c.Mode == "data" {
		return r.predictData(c, attr)
	}
	switch c.Type {
	case "aws_sqs_queue":
		switch attr {
		case "arn":
			return r.where.ARN("sqs", r.name(c)), true
		case "id", "url":
			return fmt.Sprintf("https://sqs.%s.%s/%s/%s", r.where.Region, partition.SuffixOf(r.where.Partition), r.where.Account, r.name(c)), true
		}
	case "aws_iam_role":
		switch attr {
		case "arn":
			return r.where.Global("iam", "role"+pathOf(c)+r.name(c)), true
		case "id":
			return r.name(c), true
		}
	case "aws_iam_policy":
		if attr == "arn" || attr == "id" {
			return r.where.Global("iam", "policy"+pathOf(c)+r.name(c)), true
		}
	case "aws_cloudwatch_event_rule":
		switch attr {
		case "arn":
			return r.where.ARN("events", "rule/"+r.name(c)), true
		case "id":
			return r.name(c), true
		}
	case "aws_kms_key":
		id := "planned-" + strings.Trim(strings.NewReplacer(".", "-", "[", "-", "]", "", `"`, "", "_", "-").Replace(c.Address), "-")
		switch attr {
		case "arn":
			return r.where.ARN("kms", "key/"+id), true
		case "id", "key_id":
			return id, true
		}
	case "aws_kms_alias":
		if attr == "arn" {
			return r.where.ARN("kms", r.name(c)), true
		}
	case "aws_eks_cluster":
		switch attr {
		case "arn":
			return r.where.ARN("eks", "cluster/"+r.name(c)), true
		case "id":
			return r.name(c), true
		}
	}
	if attr == "name" {
		if _, present := c.Values["name"].(string); !present {
			if prefix, ok := c.Values["name_prefix"].(string); ok && prefix != "" {
				return r.name(c), true
			}
		}
	}
	return "", false
}

func (r *resolver) predictData(c *planned, attr string) (string, bool) {
	switch c.Type {
	case "aws_iam_policy_document":
		if attr == "json" || attr == "minified_json" {
			doc, missing := r.document(c)
			if doc == nil || missing != "" {
				return "", false
			}
			return string(doc.JSON()), true
		}
	case "aws_caller_identity":
		if attr == "account_id" || attr == "id" {
			return r.where.Account, true
		}
	case "aws_region":
		if attr == "name" || attr == "region" || attr == "id" {
			return r.where.Region, true
		}
	case "aws_partition":
		switch attr {
		case "partition", "id":
			return r.where.Partition, true
		case "dns_suffix":
			return partition.SuffixOf(r.where.Partition), true
		}
	}
	return "", false
}

// name is a resource's name; one that AWS will complete from a prefix gets an ending of its own.
func (r *resolver) name(c *planned) string {
	if n, ok := c.Values["name"].(string); ok && n != "" {
		return n
	}
	if c.conf != nil {
		if raw, ok := c.conf.Expressions["name"]; ok {
			if r.depth++; r.depth <= maxDepth {
				if v, ok := r.expr(raw, c.scope, c); ok && len(v) == 1 {
					r.depth--
					return fmt.Sprint(v[0])
				}
			}
			r.depth--
		}
	}
	ending := c.Name
	if c.Index != nil {
		ending += "-" + fmt.Sprint(c.Index)
	}
	if prefix, ok := c.Values["name_prefix"].(string); ok {
		return prefix + ending
	}
	return ending
}

func pathOf(c *planned) string {
	if p, ok := c.Values["path"].(string); ok && strings.HasPrefix(p, "/") {
		return p
	}
	return "/"
}
