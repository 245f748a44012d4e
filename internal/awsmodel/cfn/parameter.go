package cfn

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Parameter is a parameter as the template declares it.
type Parameter struct {
	Name                  string
	Type                  string // String, Number, CommaDelimitedList, List<…>, AWS::…::Id, AWS::SSM::Parameter::…
	Description           string
	Default               *string // nil without
	AllowedValues         []string
	AllowedPattern        string
	ConstraintDescription string
	NoEcho                bool
	MinLength, MaxLength  *int
	MinValue, MaxValue    *float64
	Pos                   Pos

	pattern *regexp.Regexp // nil without, and where Go cannot read it
}

const (
	ssmValuePrefix = "AWS::SSM::Parameter::Value<"
	ssmName        = "AWS::SSM::Parameter::Name"
)

var ec2ParameterTypes = []string{
	"AWS::EC2::AvailabilityZone::Name", "AWS::EC2::Image::Id", "AWS::EC2::Instance::Id", "AWS::EC2::KeyPair::KeyName",
	"AWS::EC2::SecurityGroup::GroupName", "AWS::EC2::SecurityGroup::Id", "AWS::EC2::Subnet::Id", "AWS::EC2::Volume::Id",
	"AWS::EC2::VPC::Id", "AWS::Route53::HostedZone::Id",
}

// FromStore tells whether the value that is given names a parameter of the SSM parameter store, which holds the value.
func (p *Parameter) FromStore() bool { return strings.HasPrefix(p.Type, ssmValuePrefix) }

// IsList tells whether the value is a list.
func (p *Parameter) IsList() bool {
	kind := p.kind()
	return kind == "CommaDelimitedList" || strings.HasPrefix(kind, "List<")
}

// kind is the type of the value itself.
func (p *Parameter) kind() string {
	if inner, ok := strings.CutPrefix(p.Type, ssmValuePrefix); ok {
		return strings.TrimSuffix(inner, ">")
	}
	return p.Type
}

func knownParameterType(s string) bool {
	if inner, ok := strings.CutPrefix(s, ssmValuePrefix); ok {
		s = strings.TrimSuffix(inner, ">")
	}
	if inner, ok := strings.CutPrefix(s, "List<"); ok {
		s = strings.TrimSuffix(inner, ">")
	}
	return slices.Contains([]string{"String", "Number", "CommaDelimitedList", ssmName}, s) || slices.Contains(ec2ParameterTypes, s)
}

func (r *reader) parameters(t *Template, section *Node) {
	r.members("Parameters", section, MaxParameters, func(name string, n *Node, path string) {
		p := &Parameter{Name: name, Pos: n.Pos}
		t.Parameters = append(t.Parameters, p)
		t.parameters[name] = p
		if n.Kind != Map {
			r.fail(n.Pos, path, "a parameter is a map, not %s", n.what())
			return
		}
		for i, key := range n.Keys {
			r.parameterAttribute(t, p, key, n.Items[i], join(path, key))
		}
		if !knownParameterType(p.Type) {
			r.fail(n.Pos, path, "a parameter needs a Type: String, Number, CommaDelimitedList, List<Number>, an AWS type such as AWS::EC2::Subnet::Id or a list of it, or AWS::SSM::Parameter::Value<…>; not %q", p.Type)
		} else if p.Default != nil && !p.FromStore() {
			if err := p.check(*p.Default); err != nil {
				r.fail(n.Pos, join(path, "Default"), "%v", err)
			}
		}
	})
}

func (r *reader) parameterAttribute(t *Template, p *Parameter, key string, n *Node, path string) {
	text, isScalar := n.scalar()
	if !isScalar && key != "AllowedValues" && !(key == "Default" && n.Kind == List) {
		r.fail(n.Pos, path, "%s takes one value, not %s", key, n.what())
		return
	}
	switch key {
	case "Type":
		p.Type = text
	case "Description":
		p.Description = text
	case "Default":
		p.Default = &text
		if n.Kind == List {
			r.fail(n.Pos, path, "the default of a list is one text with commas")
		}
	case "NoEcho":
		p.NoEcho = strings.EqualFold(text, "true")
	case "ConstraintDescription":
		p.ConstraintDescription = text
	case "AllowedPattern":
		p.AllowedPattern = text
		var err error
		if p.pattern, err = regexp.Compile("^(?:" + text + ")$"); err != nil {
			t.Notes = append(t.Notes, Note{n.Pos, "the AllowedPattern of " + p.Name + " is not checked, for it is not a pattern that Go can read"})
		}
	case "AllowedValues":
		r.allowedValues(p, n, path)
	case "MinLength", "MaxLength", "MinValue", "MaxValue":
		r.parameterBound(p, key, text, n.Pos, path)
	default:
		r.fail(n.Pos, path, "no attribute of a parameter is called %s", key)
	}
}

func (r *reader) allowedValues(p *Parameter, n *Node, path string) {
	if n.Kind != List {
		r.fail(n.Pos, path, "AllowedValues must be a list, not %s", n.what())
		return
	}
	for _, item := range n.Items {
		s, ok := item.scalar()
		if !ok {
			r.fail(item.Pos, path, "AllowedValues are texts, not %s", item.what())
		}
		p.AllowedValues = append(p.AllowedValues, s)
	}
}

func (r *reader) parameterBound(p *Parameter, key, text string, pos Pos, path string) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		r.fail(pos, path, "%s must be a number, not %q", key, text)
		return
	}
	switch key {
	case "MinLength":
		p.MinLength = new(int(f))
	case "MaxLength":
		p.MaxLength = new(int(f))
	case "MinValue":
		p.MinValue = &f
	case "MaxValue":
		p.MaxValue = &f
	}
}

// check tells what is wrong with a value.
func (p *Parameter) check(value string) error {
	if err := p.constraint(value); err != nil {
		if p.ConstraintDescription != "" {
			return fmt.Errorf("parameter %s failed to satisfy constraint: %s", p.Name, p.ConstraintDescription)
		}
		return err
	}
	return nil
}

func (p *Parameter) constraint(value string) error {
	if len(value) > maxParameterLen {
		return fmt.Errorf("the value of parameter %s has %d bytes; CloudFormation takes %d", p.Name, len(value), maxParameterLen)
	}
	parts := []string{value}
	if p.IsList() {
		parts = splitList(value)
	}
	for _, part := range parts {
		if len(p.AllowedValues) > 0 && !slices.Contains(p.AllowedValues, part) {
			return fmt.Errorf("parameter '%s' must be one of AllowedValues: %s, not %q", p.Name, strings.Join(p.AllowedValues, ", "), part)
		}
		if p.pattern != nil && !p.pattern.MatchString(part) {
			return fmt.Errorf("parameter %s must match pattern %s, unlike %q", p.Name, p.AllowedPattern, part)
		}
		if p.kind() == "Number" || p.kind() == "List<Number>" {
			if err := p.checkNumber(part); err != nil {
				return err
			}
		}
	}
	if p.MinLength != nil && len(value) < *p.MinLength {
		return fmt.Errorf("parameter %s must contain at least %d characters", p.Name, *p.MinLength)
	}
	if p.MaxLength != nil && len(value) > *p.MaxLength {
		return fmt.Errorf("parameter %s must contain at most %d characters", p.Name, *p.MaxLength)
	}
	return nil
}

func (p *Parameter) checkNumber(value string) error {
	f, err := strconv.ParseFloat(value, 64)
	switch {
	case err != nil:
		return fmt.Errorf("parameter %s must be a number, not %q", p.Name, value)
	case p.MinValue != nil && f < *p.MinValue:
		return fmt.Errorf("parameter %s must be a number not less than %s", p.Name, formatFloat(*p.MinValue))
	case p.MaxValue != nil && f > *p.MaxValue:
		return fmt.Errorf("parameter %s must be a number not greater than %s", p.Name, formatFloat(*p.MaxValue))
	}
	return nil
}

func splitList(s string) []string {
	if s == "" {
		return nil
	}
	parts := strings.Split(s, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// value turns a text that passed the checks into the parameter's value.
func (p *Parameter) value(text string) any {
	if !p.IsList() {
		return text
	}
	out := []any{}
	for _, s := range splitList(text) {
		out = append(out, s)
	}
	return out
}

// ParameterValues checks the values that are given for parameters and fills in defaults. The parameters whose values are
// kept in the SSM parameter store are read with store. Errors say which parameters are missing, unknown or wrong.
func (t *Template) ParameterValues(given map[string]string, store func(name string) (string, error)) (map[string]any, error) {
	if err := t.checkGiven(given); err != nil {
		return nil, err
	}
	out := map[string]any{}
	var missing []string
	for _, p := range t.Parameters {
		text, ok := given[p.Name]
		switch {
		case ok:
		case p.Default != nil:
			text = *p.Default
		default:
			missing = append(missing, p.Name)
			continue
		}
		if p.FromStore() {
			stored, err := store(text)
			if err != nil {
				return nil, fmt.Errorf("read parameter %s from the parameter store: %w", p.Name, err)
			}
			text = stored
		}
		if err := p.check(text); err != nil {
			return nil, err
		}
		out[p.Name] = p.value(text)
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("parameters: [%s] must have values", strings.Join(missing, ", "))
	}
	return out, nil
}

func (t *Template) checkGiven(given map[string]string) error {
	var strange []string
	for name := range given {
		if t.parameters[name] == nil {
			strange = append(strange, name)
		}
	}
	if len(strange) > 0 {
		slices.Sort(strange)
		return fmt.Errorf("parameters: [%s] do not exist in the template", strings.Join(strange, ", "))
	}
	return nil
}
