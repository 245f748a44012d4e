package cfn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

// Pseudo holds the pseudo parameters. URLSuffix and Partition follow from Region when empty.
type Pseudo struct {
	Partition, Region, AccountID, URLSuffix string
	StackName, StackID                      string
	NotificationARNs                        []string
}

// Scope is where a template is evaluated: all that its functions get their values from. The callbacks may return an
// Unknown. A callback that is nil makes the values it would give an error.
type Scope struct {
	Pseudo     Pseudo
	Parameters map[string]any // from ParameterValues
	Ref        func(resource string) (any, error)
	GetAtt     func(resource, attribute string) (any, error)
	Import     func(export string) (any, error)
	Zones      func(region string) ([]string, error)
	// Store reads the SSM parameter that a {{resolve:ssm:name}} names.
	Store func(name string) (any, error)
}

// Evaluation works out the values of a template in one scope.
type Evaluation struct {
	t          *Template
	s          Scope
	conditions map[string]any // bool or Unknown
}

// In evaluates the conditions of a template and returns what works out the rest.
func (t *Template) In(s Scope) (*Evaluation, error) {
	p := &s.Pseudo
	if p.Partition == "" {
		p.Partition = partition.Of(p.Region).Name
	}
	if p.URLSuffix == "" {
		p.URLSuffix = partition.SuffixOf(p.Partition)
	}
	e := &Evaluation{t: t, s: s, conditions: map[string]any{}}
	for _, c := range t.Conditions {
		if _, err := e.condition(c.Name, nil); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// Active tells whether a resource is there under its condition. It is an Unknown where the condition is one.
func (e *Evaluation) Active(r *Resource) any {
	if r.Condition == "" {
		return true
	}
	return e.conditions[r.Condition]
}

// Condition returns the value of a condition: a bool, or an Unknown.
func (e *Evaluation) Condition(name string) any { return e.conditions[name] }

// Properties works out the properties of a resource; nil when it has none.
func (e *Evaluation) Properties(r *Resource) (map[string]any, error) {
	if r.Properties == nil {
		return nil, nil
	}
	v, err := e.value(r.Properties, join(join("Resources", r.ID), "Properties"))
	if err != nil {
		return nil, err
	}
	m, _ := v.(map[string]any)
	return m, nil
}

// Value works out any node of the template; path is for messages.
func (e *Evaluation) Value(n *Node, path string) (any, error) { return e.value(n, path) }

// OutputValue is an output that has been worked out.
type OutputValue struct {
	Name, Description string
	Value             any // text or Unknown
	Export            any // nil when not exported
}

// Outputs works out the outputs whose conditions hold.
func (e *Evaluation) Outputs() ([]OutputValue, error) {
	var out []OutputValue
	for _, o := range e.t.Outputs {
		if o.Condition != "" && e.conditions[o.Condition] == false {
			continue
		}
		v, err := e.text(o.Value, join("Outputs", o.Name)+".Value")
		if err != nil {
			return nil, err
		}
		value := OutputValue{Name: o.Name, Description: o.Description, Value: v}
		if o.Export != nil {
			if value.Export, err = e.text(o.Export, join("Outputs", o.Name)+".Export.Name"); err != nil {
				return nil, err
			}
		}
		out = append(out, value)
	}
	return out, nil
}

func fail(n *Node, path, format string, args ...any) error {
	return &Error{Pos: n.Pos, Path: path, Message: fmt.Sprintf(format, args...)}
}

// value works out a node. Functions that leave a value out give noValue, which lists and maps drop.
func (e *Evaluation) value(n *Node, path string) (any, error) {
	switch n.Kind {
	case List:
		out := make([]any, 0, len(n.Items))
		for i, item := range n.Items {
			v, err := e.value(item, at(path, i))
			if err != nil {
				return nil, err
			}
			if v != (noValue{}) {
				out = append(out, v)
			}
		}
		return out, nil
	case Map:
		out := make(map[string]any, len(n.Items))
		for i, item := range n.Items {
			v, err := e.value(item, join(path, n.Keys[i]))
			if err != nil {
				return nil, err
			}
			if v != (noValue{}) {
				out[n.Keys[i]] = v
			}
		}
		return out, nil
	case Call:
		return e.call(n, path)
	case Text:
		return e.dynamic(n, path)
	}
	return n.Value, nil
}

const dynamicPrefix = "{{resolve:"

// dynamic resolves {{resolve:ssm:name}} within a text.
func (e *Evaluation) dynamic(n *Node, path string) (any, error) {
	text, _ := n.text()
	if !strings.Contains(text, dynamicPrefix) {
		return text, nil
	}
	return e.dynamicText(n, text, path)
}

func (e *Evaluation) dynamicText(n *Node, text, path string) (any, error) {
	var out concat
	for {
		before, rest, found := strings.Cut(text, dynamicPrefix)
		out.add(before)
		if !found {
			return out.result(), nil
		}
		reference, after, ok := strings.Cut(rest, "}}")
		if !ok {
			return nil, fail(n, path, "the dynamic reference %q has no end", dynamicPrefix+rest)
		}
		service, name, _ := strings.Cut(reference, ":")
		if service != "ssm" {
			out.add(Unknown{Text: dynamicPrefix + reference + "}}", Why: "secrets are read at deployment"})
		} else {
			if e.s.Store == nil {
				return nil, fail(n, path, "there is no parameter store to read %s from", name)
			}
			name, _, _ = strings.Cut(name, ":") // a version
			v, err := e.s.Store(name)
			if err != nil {
				return nil, fail(n, path, "read parameter %s from the parameter store: %v", name, err)
			}
			out.add(v)
		}
		text = after
	}
}

// text works out a node that must be a text.
func (e *Evaluation) text(n *Node, path string) (any, error) {
	v, err := e.value(n, path)
	if err != nil {
		return nil, err
	}
	if u, ok := v.(Unknown); ok {
		return u, nil
	}
	s, ok := TextOf(v)
	if !ok {
		return nil, fail(n, path, "a text is wanted here, not %s", describe(v))
	}
	return s, nil
}

func describe(v any) string {
	switch v := v.(type) {
	case []any:
		return fmt.Sprintf("a list of %d", len(v))
	case map[string]any:
		return "a map"
	case noValue:
		return "AWS::NoValue"
	default:
		return fmt.Sprintf("%v", v)
	}
}

// concat joins texts that may be unknown.
type concat struct {
	text    strings.Builder
	why     string
	unknown bool
}

func (c *concat) add(v any) {
	s, _ := TextOf(v)
	c.text.WriteString(s)
	if u, ok := v.(Unknown); ok {
		c.unknown = true
		c.why = both(c.why, u.Why)
	}
}

func (c *concat) result() any {
	if c.unknown {
		return Unknown{c.text.String(), c.why}
	}
	return c.text.String()
}

// condition works out a named condition; visiting are those that are being worked out.
func (e *Evaluation) condition(name string, visiting []string) (any, error) {
	if v, ok := e.conditions[name]; ok {
		return v, nil
	}
	n := e.t.conditions[name]
	path := join("Conditions", name)
	if n == nil {
		return nil, &Error{Path: path, Message: "there is no such condition"}
	}
	if slices.Contains(visiting, name) {
		return nil, fail(n, path, "circular dependency between conditions: %s", strings.Join(append(visiting, name), ", "))
	}
	v, err := e.truth(n, path, append(visiting, name))
	if err != nil {
		return nil, err
	}
	e.conditions[name] = v
	return v, nil
}

// truth works out a condition function to a bool or an Unknown.
func (e *Evaluation) truth(n *Node, path string, visiting []string) (any, error) {
	switch n.Name {
	case fnCondition:
		name, _ := n.Items[0].text()
		return e.condition(name, visiting)
	case fnEquals:
		return e.equals(n, path)
	case fnNot:
		v, err := e.truth(n.Items[0], path, visiting)
		if b, ok := v.(bool); ok {
			return !b, err
		}
		return v, err
	case fnAnd, fnOr:
		decides := n.Name == fnOr // an operand that settles it
		var unknown any
		for _, item := range n.Items {
			v, err := e.truth(item, path, visiting)
			if err != nil {
				return nil, err
			}
			if v == decides {
				return decides, nil
			}
			if _, ok := v.(bool); !ok {
				unknown = v
			}
		}
		if unknown != nil {
			return unknown, nil
		}
		return !decides, nil
	}
	return nil, fail(n, path, "a condition is wanted here, not %s", n.what())
}

func (e *Evaluation) equals(n *Node, path string) (any, error) {
	var sides [2]string
	for i := range sides {
		v, err := e.value(n.Items[i], path)
		if err != nil {
			return nil, err
		}
		if u, ok := v.(Unknown); ok {
			return u, nil
		}
		if list, ok := v.([]any); ok {
			sides[i] = strings.Join(TextsOf(list), ",")
			continue
		}
		s, ok := TextOf(v)
		if !ok {
			return nil, fail(n, path, "Fn::Equals compares texts, not %s", describe(v))
		}
		sides[i] = s
	}
	return sides[0] == sides[1], nil
}
