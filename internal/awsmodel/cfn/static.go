package cfn

import (
	"fmt"
	"slices"
)

// Static is a template as far as it can be known without deploying it.
type Static struct {
	Pseudo     Pseudo
	Parameters map[string]any // those without a value are absent
	Resources  []StaticResource
	Outputs    []OutputValue
	Gaps       []Gap // all that is Unknown in Resources
}

// StaticResource is a resource with its values.
type StaticResource struct {
	*Resource
	Values map[string]any // Properties; Unknown where a value is known only at deployment
	Ref    any            // what Ref gives
	// Maybe is set when the resource's condition can't be known; resources whose condition doesn't hold are left out.
	Maybe bool
}

// Gap is a value that cannot be known.
type Gap struct {
	Pos     Pos
	Path    string
	Unknown Unknown
}

// Static works out what can be known of a template that is only read: the values of parameters are those given and the
// defaults, and what Ref and GetAtt of resources will give is predicted from the names in the template. What cannot be
// known is an Unknown: no pseudo parameter, parameter or resource has to be known. An error is a mistake in the template
// or in what is given.
func (t *Template) Static(p Pseudo, given map[string]string) (*Static, error) {
	if err := t.checkGiven(given); err != nil {
		return nil, err
	}
	values := map[string]any{}
	for _, param := range t.Parameters {
		text, ok := given[param.Name]
		if !ok && param.Default != nil {
			text, ok = *param.Default, true
		}
		switch {
		case !ok:
		case param.FromStore():
			values[param.Name] = Unknown{"${" + param.Name + "}", "parameter " + param.Name + " is read from the parameter store (" + text + ") at deployment"}
		default:
			if err := param.check(text); err != nil {
				return nil, err
			}
			values[param.Name] = param.value(text)
		}
	}
	s := &predictor{t: t}
	scope := Scope{
		Pseudo: p, Parameters: values, Ref: s.ref, GetAtt: s.getAtt,
		Import: func(name string) (any, error) {
			return Unknown{"${ImportValue " + name + "}", "the export " + name + " is another stack's"}, nil
		},
		Store: func(name string) (any, error) {
			return Unknown{"{{resolve:ssm:" + name + "}}", "parameter " + name + " is read from the parameter store at deployment"}, nil
		},
	}
	var err error
	if s.e, err = t.In(scope); err != nil {
		return nil, err
	}
	return s.all(values)
}

func (s *predictor) all(values map[string]any) (*Static, error) {
	out := &Static{Pseudo: s.e.s.Pseudo, Parameters: values}
	for _, r := range s.t.Resources {
		active := s.e.Active(r)
		if active == false {
			continue
		}
		properties, err := s.e.Properties(r)
		if err != nil {
			return nil, err
		}
		ref, err := s.ref(r.ID)
		if err != nil {
			return nil, err
		}
		out.Resources = append(out.Resources, StaticResource{Resource: r, Values: properties, Ref: ref, Maybe: active != true})
		for _, find := range Unknowns(properties) {
			path := join(join(join("Resources", r.ID), "Properties"), find.Path)
			out.Gaps = append(out.Gaps, Gap{r.Properties.At(find.Steps...).Pos, path, find.Unknown})
		}
	}
	var err error
	out.Outputs, err = s.e.Outputs()
	return out, err
}

// predictor says what Ref and GetAtt of resources will give.
type predictor struct {
	t        *Template
	e        *Evaluation
	visiting []string
}

// form says how the names of a type of resource are made. In texts, P is the partition, R the region, A the account, S the
// domain of services, N the name and H the path, each in braces.
type form struct {
	name       string // property that holds the name; empty for types whose identifier AWS makes
	ref        string // form of what Ref gives; empty when it can't be known
	attributes map[string]string
}

const (
	formName = "{N}"
	iamForm  = "arn:{P}:iam::{A}:"
)

var forms = map[string]form{
	"AWS::IAM::Role":              {"RoleName", formName, map[string]string{"Arn": iamForm + "role{H}{N}"}},
	"AWS::IAM::ManagedPolicy":     {"ManagedPolicyName", iamForm + "policy{H}{N}", map[string]string{"PolicyArn": iamForm + "policy{H}{N}"}},
	"AWS::IAM::InstanceProfile":   {"InstanceProfileName", formName, map[string]string{"Arn": iamForm + "instance-profile{H}{N}"}},
	"AWS::IAM::Policy":            {"PolicyName", formName, nil},
	"AWS::IAM::RolePolicy":        {"PolicyName", formName, nil},
	"AWS::IAM::User":              {"UserName", formName, map[string]string{"Arn": iamForm + "user{H}{N}"}},
	"AWS::IAM::ServiceLinkedRole": {"AWSServiceName", "", nil},
	"AWS::SQS::Queue": {"QueueName", "https://sqs.{R}.{S}/{A}/{N}", map[string]string{
		"Arn": "arn:{P}:sqs:{R}:{A}:{N}", "QueueName": formName, "QueueUrl": "https://sqs.{R}.{S}/{A}/{N}",
	}},
	"AWS::Events::Rule":      {"Name", formName, map[string]string{"Arn": "arn:{P}:events:{R}:{A}:rule/{N}"}},
	"AWS::KMS::Key":          {"", "{N}", map[string]string{"Arn": "arn:{P}:kms:{R}:{A}:key/{N}", "KeyId": formName}},
	"AWS::KMS::Alias":        {"AliasName", formName, nil},
	"AWS::CloudWatch::Alarm": {"AlarmName", formName, map[string]string{"Arn": "arn:{P}:cloudwatch:{R}:{A}:alarm:{N}"}},
	"AWS::SNS::Topic": {"TopicName", "arn:{P}:sns:{R}:{A}:{N}", map[string]string{
		"TopicArn": "arn:{P}:sns:{R}:{A}:{N}", "TopicName": formName,
	}},
	"AWS::SSM::Parameter":      {"Name", formName, nil},
	"AWS::EKS::Cluster":        {"Name", formName, map[string]string{"Arn": "arn:{P}:eks:{R}:{A}:cluster/{N}"}},
	"AWS::EC2::SecurityGroup":  {"", "{N}", map[string]string{"GroupId": formName, "Id": formName}},
	"AWS::EC2::LaunchTemplate": {"", "{N}", map[string]string{"LaunchTemplateId": formName}},
}

// serviceLinkedRoles are the names of roles that services make for themselves.
var serviceLinkedRoles = map[string]string{
	"spot.amazonaws.com":      "AWSServiceRoleForEC2Spot",
	"spotfleet.amazonaws.com": "AWSServiceRoleForEC2SpotFleet",
	"eks.amazonaws.com":       "AWSServiceRoleForAmazonEKS",
}

// ServiceLinkedRole returns the name of the role that a service makes for itself, for those that matter here.
func ServiceLinkedRole(service string) (string, bool) {
	name, ok := serviceLinkedRoles[service]
	return name, ok
}

func (s *predictor) ref(id string) (any, error) {
	r := s.t.resources[id]
	f := forms[r.Type]
	if r.Type == "AWS::IAM::ServiceLinkedRole" {
		name, err := s.property(r, "AWSServiceName")
		if role, ok := serviceLinkedRoles[fmt.Sprint(name)]; ok || err != nil {
			return role, err
		}
	}
	if f.ref == "" {
		return Unknown{"${" + id + "}", "what " + id + " is called is known at deployment"}, nil
	}
	return s.fill(r, f, f.ref)
}

func (s *predictor) getAtt(id, attribute string) (any, error) {
	r := s.t.resources[id]
	f := forms[r.Type]
	if text, ok := f.attributes[attribute]; ok {
		return s.fill(r, f, text)
	}
	return Unknown{"${" + id + "." + attribute + "}", "the attribute " + attribute + " of " + id + " is known at deployment"}, nil
}

// fill replaces the places of a form.
func (s *predictor) fill(r *Resource, f form, text string) (any, error) {
	var out concat
	for len(text) > 0 {
		if text[0] != '{' {
			out.add(text[:1])
			text = text[1:]
			continue
		}
		v, err := s.place(r, f, text[1])
		if err != nil {
			return nil, err
		}
		out.add(v)
		text = text[3:]
	}
	return out.result(), nil
}

func (s *predictor) place(r *Resource, f form, which byte) (any, error) {
	pseudo := map[byte]string{'P': "AWS::Partition", 'R': "AWS::Region", 'A': "AWS::AccountId", 'S': "AWS::URLSuffix"}
	if name, ok := pseudo[which]; ok {
		return s.e.ref(nil, name, "")
	}
	if which == 'H' {
		path, err := s.property(r, "Path")
		if path == nil {
			path = "/"
		}
		return path, err
	}
	if f.name == "" {
		return Unknown{"${" + r.ID + "}", "AWS makes the identifier of " + r.ID + " at deployment"}, nil
	}
	name, err := s.property(r, f.name)
	if err != nil || name != nil {
		return name, err
	}
	stack, err := s.e.ref(nil, "AWS::StackName", "")
	if err != nil {
		return nil, err
	}
	text, _ := TextOf(stack)
	return Unknown{text + "-" + r.ID + "-${random}", "CloudFormation makes the name of " + r.ID + " at deployment"}, nil
}

// property works out one property that is a text; nil when it is not set.
func (s *predictor) property(r *Resource, name string) (any, error) {
	n := r.Properties.Get(name)
	if n == nil {
		return nil, nil
	}
	path := "Resources." + r.ID + ".Properties." + name
	if slices.Contains(s.visiting, r.ID) {
		return nil, fail(n, path, "circular dependency between resources: the name of %s needs itself", r.ID)
	}
	s.visiting = append(s.visiting, r.ID)
	defer func() { s.visiting = s.visiting[:len(s.visiting)-1] }()
	v, err := s.e.value(n, path)
	if err != nil || v == (noValue{}) {
		return nil, err
	}
	if u, ok := v.(Unknown); ok {
		return u, nil
	}
	text, ok := TextOf(v)
	if !ok {
		return nil, fail(n, path, "%s must be a text, not %s", name, describe(v))
	}
	return text, nil
}
