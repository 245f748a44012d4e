package iampolicy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Versions of the policy language. A document without a version has the old one.
const (
	Version2012 = "2012-10-17"
	Version2008 = "2008-10-17"
)

// Parse reads a policy document. It refuses what the grammar of IAM policies does not have: unknown members and
// operators, both of an element and its opposite, statements without effect or action. What only some kinds of policies
// may have, such as principals, is for CheckIdentity, CheckTrust and CheckResource to judge.
//
// Errors: name the statement, by Sid or by number from 1, and the field.
// Source: IAM User Guide, "Grammar of the IAM JSON policy language", checked 2026-11.
func Parse(text []byte) (*Document, error) {
	tree, err := readTree(text)
	if err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	top, ok := tree.(*object)
	if !ok {
		return nil, fmt.Errorf("read policy: the document is %s, want an object with Version and Statement", kind(tree))
	}
	d, err := parseDocument(top)
	if err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	return d, nil
}

func parseDocument(top *object) (*Document, error) {
	d := &Document{}
	var statements []any
	for _, name := range top.names {
		v := top.values[name]
		switch name {
		case "Version":
			s, _ := v.(string)
			if s != Version2012 && s != Version2008 {
				return nil, fmt.Errorf("Version is %v, want %q or %q", shown(v), Version2012, Version2008)
			}
			d.Version = s
		case "Id":
			s, ok := v.(string)
			if !ok {
				return nil, fmt.Errorf("Id is %s, want a string", kind(v))
			}
			d.ID = s
		case "Statement":
			if list, ok := v.([]any); ok {
				statements = list
			} else {
				statements = []any{v}
			}
		default:
			return nil, fmt.Errorf("%q is no member of a policy: it has Version, Id and Statement", name)
		}
	}
	if len(statements) == 0 {
		return nil, fmt.Errorf("Statement is missing or empty: a policy has at least one")
	}
	sids := map[string]int{}
	for n, v := range statements {
		s, err := parseStatement(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", place(s.Sid, n), err)
		}
		if first, twice := sids[s.Sid]; twice && s.Sid != "" {
			return nil, fmt.Errorf("statement %d: Sid %q is that of statement %d too", n+1, s.Sid, first+1)
		}
		sids[s.Sid] = n
		d.Statements = append(d.Statements, s)
	}
	return d, nil
}

// place names the n-th statement from 0.
func place(sid string, n int) string {
	if sid != "" {
		return "statement " + sid
	}
	return "statement " + strconv.Itoa(n+1)
}

func parseStatement(v any) (Statement, error) {
	o, ok := v.(*object)
	if !ok {
		return Statement{}, fmt.Errorf("it is %s, want an object", kind(v))
	}
	var s Statement
	s.Sid, _ = o.values["Sid"].(string) // first, for the errors of the others
	for _, name := range o.names {
		if err := s.parseMember(name, o.values[name]); err != nil {
			return s, err
		}
	}
	return s, s.checkMembers()
}

func (s *Statement) parseMember(name string, v any) (err error) {
	switch name {
	case "Sid":
		if _, ok := v.(string); !ok {
			return fmt.Errorf("Sid is %s, want a string", kind(v))
		}
	case "Effect":
		e, _ := v.(string)
		if e != string(Allow) && e != string(Deny) {
			return fmt.Errorf("Effect is %v, want %q or %q", shown(v), Allow, Deny)
		}
		s.Effect = Effect(e)
	case "Principal":
		s.Principal, err = parsePrincipals(name, v)
	case "NotPrincipal":
		s.NotPrincipal, err = parsePrincipals(name, v)
	case "Action":
		s.Actions, err = parseActions(name, v)
	case "NotAction":
		s.NotActions, err = parseActions(name, v)
	case "Resource":
		s.Resources, err = parseStrings(name, v)
	case "NotResource":
		s.NotResources, err = parseStrings(name, v)
	case "Condition":
		s.Conditions, err = parseConditions(v)
	default:
		return fmt.Errorf("%q is no member of a statement", name)
	}
	return err
}

func (s *Statement) checkMembers() error {
	for _, pair := range []struct {
		name          string
		plain, negate bool
	}{
		{"Action", s.Actions != nil, s.NotActions != nil},
		{"Resource", s.Resources != nil, s.NotResources != nil},
		{"Principal", s.Principal != nil, s.NotPrincipal != nil},
	} {
		if pair.plain && pair.negate {
			return fmt.Errorf("%[1]s and Not%[1]s are both there, want one of them", pair.name)
		}
	}
	if s.Effect == "" {
		return fmt.Errorf("Effect is missing, want %q or %q", Allow, Deny)
	}
	if s.Actions == nil && s.NotActions == nil {
		return fmt.Errorf("Action is missing, as is NotAction: want one of them")
	}
	return nil
}

// parseStrings reads a string or a list of at least one.
func parseStrings(name string, v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s is an empty list, want at least one", name)
	}
	out := make([]string, 0, len(list))
	for _, e := range list {
		s, ok := e.(string)
		switch {
		case !ok:
			return nil, fmt.Errorf("%s holds %s, want strings only", name, kind(e))
		case s == "":
			return nil, fmt.Errorf("%s holds an empty string", name)
		}
		out = append(out, s)
	}
	return out, nil
}

var actionForm = regexp.MustCompile(`^(\*|(\*|[A-Za-z0-9-]+):[A-Za-z0-9*?]+)$`)

func parseActions(name string, v any) ([]string, error) {
	actions, err := parseStrings(name, v)
	if err != nil {
		return nil, err
	}
	for _, a := range actions {
		if !actionForm.MatchString(a) {
			return nil, fmt.Errorf("%s %q is not of the form service:Name, such as ec2:RunInstances or ec2:Describe*", name, a)
		}
	}
	return actions, nil
}

func parsePrincipals(name string, v any) (*Principals, error) {
	if v == "*" {
		return &Principals{Any: true}, nil
	}
	o, ok := v.(*object)
	if !ok {
		return nil, fmt.Errorf(`%s is %v, want "*" or an object with AWS, Service or Federated`, name, shown(v))
	}
	if len(o.names) == 0 {
		return nil, fmt.Errorf("%s is empty, want AWS, Service or Federated in it", name)
	}
	p := &Principals{}
	for _, member := range o.names {
		values, err := parseStrings(name+"."+member, o.values[member])
		if err != nil {
			return nil, err
		}
		switch member {
		case "AWS":
			p.AWS = values
		case "Service":
			p.Service = values
		case "Federated":
			p.Federated = values
		case "CanonicalUser":
			p.CanonicalUser = values
		default:
			return nil, fmt.Errorf("%s.%s is no kind of principal: there are AWS, Service, Federated and CanonicalUser", name, member)
		}
	}
	return p, nil
}

func parseConditions(v any) ([]Condition, error) {
	operators, ok := v.(*object)
	if !ok {
		return nil, fmt.Errorf("Condition is %s, want an object with operators", kind(v))
	}
	var out []Condition
	for _, operator := range operators.names {
		if _, ok := operatorsByName[operator]; !ok {
			return nil, fmt.Errorf("Condition: there is no operator %q%s", operator, nearestOperator(operator))
		}
		keys, ok := operators.values[operator].(*object)
		if !ok {
			return nil, fmt.Errorf("Condition.%s is %s, want an object with condition keys", operator, kind(operators.values[operator]))
		}
		for _, key := range keys.names {
			if key == "" {
				return nil, fmt.Errorf("Condition.%s has an empty condition key", operator)
			}
			values, err := parseConditionValues(operator, key, keys.values[key])
			if err != nil {
				return nil, err
			}
			out = append(out, Condition{Operator: operator, Key: key, Values: values})
		}
	}
	slices.SortStableFunc(out, func(a, b Condition) int {
		return cmp.Or(strings.Compare(a.Operator, b.Operator), strings.Compare(a.Key, b.Key))
	})
	return out, nil
}

// parseConditionValues takes strings, numbers and truth values, which mean what they would as strings.
func parseConditionValues(operator, key string, v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var out []string
	for _, e := range list {
		switch e := e.(type) {
		case string:
			out = append(out, e)
		case json.Number:
			out = append(out, e.String())
		case bool:
			out = append(out, strconv.FormatBool(e))
		default:
			return nil, fmt.Errorf("Condition.%s.%s holds %s, want strings, numbers or truth values", operator, key, kind(e))
		}
	}
	return out, nil
}

// nearestOperator suggests what differs in case only.
func nearestOperator(name string) string {
	for known := range operatorsByName {
		if strings.EqualFold(known, name) {
			return fmt.Sprintf("; %q is meant, perhaps", known)
		}
	}
	return ""
}

// shown puts a value into a message.
func shown(v any) string {
	if s, ok := v.(string); ok {
		return strconv.Quote(s)
	}
	return kind(v)
}
