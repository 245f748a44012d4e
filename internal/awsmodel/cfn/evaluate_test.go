package cfn_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
)

const header = `
Parameters:
  Name: {Type: String, Default: demo}
  Count: {Type: Number, Default: 3}
  Zones: {Type: CommaDelimitedList, Default: "a, b,c"}
  Open: {Type: String, Default: ""}
Mappings:
  Sizes: {demo: {small: 1, names: [x, y]}}
Conditions:
  Yes: !Equals [!Ref Name, demo]
  No: !Not [!Condition Yes]
  Both: !And [!Condition Yes, !Not [!Condition No]]
  Either: !Or [!Condition No, !Equals [!Ref Open, ""]]
Resources:
  Other: {Type: AWS::SQS::Queue}
  Off: {Type: AWS::SQS::Queue, Condition: No}
  R:
    Type: AWS::SQS::Queue
    Properties:
      V: `

var pseudo = cfn.Pseudo{Region: "us-east-1", AccountID: "123456789012", StackName: "stack", StackID: "arn:stack"}

func scope() cfn.Scope {
	return cfn.Scope{
		Pseudo: pseudo,
		Ref:    func(id string) (any, error) { return "ref-" + id, nil },
		GetAtt: func(id, attribute string) (any, error) {
			if attribute == "Bad" {
				return nil, errors.New("no such attribute")
			}
			return id + "/" + attribute, nil
		},
		Import: func(name string) (any, error) { return "import-" + name, nil },
		Zones:  func(region string) ([]string, error) { return []string{region + "a", region + "b"}, nil },
		Store: func(name string) (any, error) {
			if name == "missing" {
				return nil, errors.New("no such parameter")
			}
			return "stored-" + name, nil
		},
	}
}

func evaluate(t *testing.T, value string) (any, error) {
	t.Helper()
	tpl, err := cfn.Parse([]byte(header + value + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := scope()
	if s.Parameters, err = tpl.ParameterValues(nil, nil); err != nil {
		t.Fatal(err)
	}
	e, err := tpl.In(s)
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.Properties(tpl.Resource("R"))
	if err != nil {
		return nil, err
	}
	return p["V"], nil
}

func TestFunctions(t *testing.T) {
	for what, tt := range map[string]struct {
		value string
		want  any
	}{
		"a parameter": {"!Ref Name", "demo"},
		"a number is a text when it is a parameter": {"!Ref Count", "3"},
		"a list":                              {"!Ref Zones", []any{"a", "b", "c"}},
		"the partition":                       {`!Ref "AWS::Partition"`, "aws"},
		"the domain":                          {`!Ref "AWS::URLSuffix"`, "amazonaws.com"},
		"topics":                              {`!Ref "AWS::NotificationARNs"`, []any{}},
		"a resource":                          {"!Ref Other", "ref-Other"},
		"an attribute":                        {"!GetAtt Other.Arn", "Other/Arn"},
		"an attribute of several parts":       {"!GetAtt Other.Endpoint.Address", "Other/Endpoint.Address"},
		"an attribute as a list of parts":     {"!GetAtt [Other, Endpoint, Address]", "Other/Endpoint.Address"},
		"an attribute named by a parameter":   {"{\"Fn::GetAtt\": [Other, !Ref Name]}", "Other/demo"},
		"a text with all kinds of variables":  {`!Sub "${Name} ${AWS::AccountId} ${Other} ${Other.Arn} ${!Kept} $ {x} $"`, "demo 123456789012 ref-Other Other/Arn ${Kept} $ {x} $"},
		"a text with variables of its own":    {`!Sub ["${a}-${Name}-${Zone.x}", {a: !Ref Count, "Zone.x": y}]`, "3-demo-y"},
		"a text without an end":               {`!Sub "a ${Name"`, "a ${Name"},
		"a join":                              {`!Join ["-", [a, 1, true, !Ref Name]]`, "a-1-true-demo"},
		"a join of a list parameter":          {`!Join ["", !Ref Zones]`, "abc"},
		"a join that leaves out nothing":      {`!Join ["-", [a, !Ref "AWS::NoValue", b]]`, "a-b"},
		"an if that holds":                    {"!If [Yes, a, b]", "a"},
		"an if that does not":                 {"!If [No, a, b]", "b"},
		"and":                                 {"!If [Both, a, b]", "a"},
		"or":                                  {"!If [Either, a, b]", "a"},
		"an if without a value":               {`{k: !If [No, a, !Ref "AWS::NoValue"], l: [!Ref "AWS::NoValue", b]}`, map[string]any{"l": []any{"b"}}},
		"a selection":                         {"!Select [1, !Ref Zones]", "b"},
		"a selection by a text":               {`!Select ["0", [x]]`, "x"},
		"a split":                             {`!Split ["|", "a|b||"]`, []any{"a", "b", "", ""}},
		"a part of an ARN":                    {`!Select [5, !Split [":", !Sub "arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:${Name}"]]`, "demo"},
		"a mapping":                           {"!FindInMap [Sizes, !Ref Name, small]", 1},
		"a mapping to a list":                 {"!FindInMap [Sizes, demo, names]", []any{"x", "y"}},
		"base64":                              {"!Base64 hello", "aGVsbG8="},
		"base64 of a function":                {`{"Fn::Base64": !Sub "${Name}"}`, "ZGVtbw=="},
		"an import":                           {`!ImportValue x`, "import-x"},
		"an import with a made name":          {`{"Fn::ImportValue": !Sub "${Name}-x"}`, "import-demo-x"},
		"zones":                               {`!GetAZs ""`, []any{"us-east-1a", "us-east-1b"}},
		"zones of a region":                   {`!GetAZs eu-west-1`, []any{"eu-west-1a", "eu-west-1b"}},
		"address blocks":                      {"!Cidr [10.0.0.0/16, 3, 8]", []any{"10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24"}},
		"address blocks of IPv6":              {`!Cidr ["2001:db8::/56", 2, 64]`, []any{"2001:db8::/64", "2001:db8:0:1::/64"}},
		"a stored parameter":                  {`"a-{{resolve:ssm:/x/y:3}}-b"`, "a-stored-/x/y-b"},
		"a stored parameter with a made name": {`!Sub "{{resolve:ssm:/${Name}}}"`, "stored-/demo"},
		"a secret":                            {`"{{resolve:secretsmanager:x}}"`, cfn.Unknown{Text: "{{resolve:secretsmanager:x}}", Why: "secrets are read at deployment"}},
		"a condition that is a member":        {"{Condition: Yes}", map[string]any{"Condition": "Yes"}},
		"a map with a key Ref among others":   {"{Ref: a, x: b}", map[string]any{"Ref": "a", "x": "b"}},
	} {
		t.Run(what, func(t *testing.T) {
			got, err := evaluate(t, tt.value)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFunctionsFail(t *testing.T) {
	for what, tt := range map[string]struct{ value, want string }{
		"a resource that is not there":   {"!Ref Off", "unresolved resource dependencies [Off] in the Resources block of the template: its condition No does not hold (line 20, Resources.R.Properties.V)"},
		"an attribute that is not there": {"!GetAtt Other.Bad", "no such attribute (line 20, Resources.R.Properties.V)"},
		"a list in a text":               {`!Sub "${Zones}"`, "the value of ${Zones} in Fn::Sub must be a text, not a list of 3"},
		"a join of a text":               {`!Join ["", !Ref Name]`, "Fn::Join joins a list, not demo"},
		"a join of maps":                 {`!Join ["", [{a: b}]]`, "Fn::Join joins texts, not a map"},
		"a selection beyond the end":     {"!Select [3, !Ref Zones]", "Fn::Select cannot select nonexistent value at index 3: the list has 3"},
		"a selection by a word":          {"!Select [x, !Ref Zones]", "Fn::Select takes a whole number as its index, not x"},
		"a mapping without the key":      {"!FindInMap [Sizes, other, small]", "unable to get mapping for Sizes::other::small"},
		"a split by nothing":             {`!Split ["", a]`, "Fn::Split needs a delimiter"},
		"a block that is none":           {"!Cidr [x, 1, 8]", `Fn::Cidr: "x" is not an address block`},
		"more blocks than there is room": {"!Cidr [10.0.0.0/24, 3, 7]", "10.0.0.0/24 has room for 2 parts with 7 bits of addresses, not for 3"},
		"a block that is too large":      {"!Cidr [10.0.0.0/24, 1, 9]", "does not fit into 10.0.0.0/24"},
		"too many blocks":                {"!Cidr [10.0.0.0/8, 257, 8]", "between 1 and 256"},
		"a stored parameter that is not": {`"{{resolve:ssm:missing}}"`, "read parameter missing from the parameter store: no such parameter"},
		"a reference without an end":     {`"{{resolve:ssm:x"`, "has no end"},
		"base64 of a list":               {`{"Fn::Base64": !Ref Zones}`, "a text is wanted here, not a list of 3"},
	} {
		t.Run(what, func(t *testing.T) {
			_, err := evaluate(t, tt.value)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestParameterValues(t *testing.T) {
	const declared = `
Parameters:
  S: {Type: String, MinLength: 2, MaxLength: 4, AllowedPattern: "[a-z]*"}
  N: {Type: Number, Default: 5, MinValue: 1, MaxValue: 9.5}
  L: {Type: List<Number>, Default: "1,2"}
  E: {Type: CommaDelimitedList, Default: ""}
  A: {Type: "List<AWS::EC2::Subnet::Id>", Default: "subnet-1, subnet-2"}
  C: {Type: String, Default: a, AllowedValues: [a, b], ConstraintDescription: a or b}
  P: {Type: "AWS::SSM::Parameter::Value<List<String>>", Default: /x}
` + queue
	tpl, err := cfn.Parse([]byte(declared))
	if err != nil {
		t.Fatal(err)
	}
	store := func(name string) (string, error) {
		if name != "/x" {
			return "", fmt.Errorf("no parameter %s", name)
		}
		return "p,q", nil
	}
	for what, tt := range map[string]struct {
		given map[string]string
		want  any // values, or the text of an error
	}{
		"all defaults": {map[string]string{"S": "abc"}, map[string]any{
			"S": "abc", "N": "5", "L": []any{"1", "2"}, "E": []any{}, "A": []any{"subnet-1", "subnet-2"}, "C": "a", "P": []any{"p", "q"},
		}},
		"none for one without a default": {nil, "parameters: [S] must have values"},
		"one that is not there":          {map[string]string{"S": "abc", "X": "", "W": ""}, "parameters: [W, X] do not exist in the template"},
		"too short":                      {map[string]string{"S": "a"}, "parameter S must contain at least 2 characters"},
		"too long":                       {map[string]string{"S": "abcde"}, "parameter S must contain at most 4 characters"},
		"another pattern":                {map[string]string{"S": "ab1"}, `parameter S must match pattern [a-z]*, unlike "ab1"`},
		"no number":                      {map[string]string{"S": "abc", "N": "x"}, `parameter N must be a number, not "x"`},
		"too small":                      {map[string]string{"S": "abc", "N": "0"}, "parameter N must be a number not less than 1"},
		"too large":                      {map[string]string{"S": "abc", "N": "9.6"}, "parameter N must be a number not greater than 9.5"},
		"a list with a word":             {map[string]string{"S": "abc", "L": "1,x"}, `parameter L must be a number, not "x"`},
		"a word that is not allowed":     {map[string]string{"S": "abc", "C": "c"}, "parameter C failed to satisfy constraint: a or b"},
		"a store that has it not":        {map[string]string{"S": "abc", "P": "/y"}, "read parameter P from the parameter store: no parameter /y"},
		"far too long":                   {map[string]string{"S": "abc", "E": strings.Repeat("x", 4097)}, "CloudFormation takes 4096"},
	} {
		t.Run(what, func(t *testing.T) {
			got, err := tpl.ParameterValues(tt.given, store)
			if text, ok := tt.want.(string); ok {
				if err == nil || !strings.Contains(err.Error(), text) {
					t.Errorf("got %v, want %q", err, text)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, any(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestOrder(t *testing.T) {
	for what, tt := range map[string]struct {
		resources string
		want      string // ids, or an error
	}{
		"that of the file":             {"A: {Type: a}, B: {Type: a}, C: {Type: a}", "A B C"},
		"after what is named":          {"A: {Type: a, Properties: {x: !Ref B}}, B: {Type: a, Properties: {x: [{y: !GetAtt C.d}]}}, C: {Type: a}", "C B A"},
		"after what a text names":      {"A: {Type: a, Properties: {x: !Sub \"${B.Arn}\"}}, B: {Type: a}", "B A"},
		"after what it depends on":     {"A: {Type: a, DependsOn: [C, B]}, B: {Type: a}, C: {Type: a, DependsOn: B}", "B C A"},
		"without what is not there":    {"A: {Type: a, DependsOn: B}, B: {Type: a, Condition: No}", "A"},
		"by the branch that is chosen": {"A: {Type: a, Properties: {x: !If [No, !Ref B, y]}}, B: {Type: a, Properties: {x: !Ref A}}", "A B"},
		"not in a circle":              {"A: {Type: a, Properties: {x: !Ref C}}, B: {Type: a, DependsOn: A}, C: {Type: a, Properties: {x: !Ref B}}, D: {Type: a, DependsOn: A}", "circular dependency between resources: [A, B, C]"},
		"not on itself":                {"A: {Type: a, Properties: {x: !Ref A}}", "circular dependency between resources: [A]"},
	} {
		t.Run(what, func(t *testing.T) {
			tpl, err := cfn.Parse([]byte("Conditions: {No: !Equals [a, b]}\nResources: {" + tt.resources + "}\n"))
			if err != nil {
				t.Fatal(err)
			}
			e, err := tpl.In(scope())
			if err != nil {
				t.Fatal(err)
			}
			order, err := e.Order()
			var got []string
			for _, r := range order {
				got = append(got, r.ID)
			}
			text := strings.Join(got, " ")
			if err != nil {
				text = err.Error()
			}
			if text != tt.want {
				t.Errorf("got %q, want %q", text, tt.want)
			}
		})
	}
}

func TestConditionsInACircle(t *testing.T) {
	tpl, err := cfn.Parse([]byte("Conditions: {A: !Not [!Condition B], B: !Not [!Condition A]}\n" + queue))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = tpl.In(scope()); err == nil || !strings.Contains(err.Error(), "circular dependency between conditions: A, B, A") {
		t.Error(err)
	}
}
