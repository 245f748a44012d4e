package cfn_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
)

const queue = "Resources: {Q: {Type: AWS::SQS::Queue}}\n"

func TestParseRefuses(t *testing.T) {
	for what, tt := range map[string]struct{ text, want string }{
		"nothing":                         {"", "the template is empty (line 1)"},
		"only a comment":                  {"# x\n", "neither YAML nor JSON"},
		"a list":                          {"- a\n", "a template is a map of sections, not a list (line 1)"},
		"broken YAML":                     {"a: [\n", "neither YAML nor JSON"},
		"two documents":                   {queue + "---\n" + queue, "more than one YAML document"},
		"no resources":                    {"Description: x\n", "at least one Resources member must be defined"},
		"empty resources":                 {"Resources: {}\n", "at least one Resources member must be defined (line 1, Resources)"},
		"another version":                 {"AWSTemplateFormatVersion: 2011-01-01\n" + queue, "the only version is 2010-09-09 (line 1, AWSTemplateFormatVersion)"},
		"an unknown section":              {"Resource: {}\n" + queue, "no section of a template is called Resource (line 1, Resource)"},
		"a transform":                     {"Transform: AWS::Serverless-2016-10-31\n" + queue, "transforms run in the account"},
		"a name with a hyphen":            {"Resources: {a-b: {Type: AWS::SQS::Queue}}\n", "names in Resources consist of letters and digits only"},
		"a resource without a type":       {"Resources:\n  Q:\n    Properties: {}\n", "every resource needs a Type (line 3, Resources.Q)"},
		"a property beside Properties":    {"Resources:\n  Q:\n    Type: AWS::SQS::Queue\n    QueueName: x\n", "no attribute of a resource is called QueueName; what describes it belongs under Properties (line 4, Resources.Q.QueueName)"},
		"a deletion policy that is none":  {"Resources: {Q: {Type: AWS::SQS::Queue, DeletionPolicy: Keep}}\n", "DeletionPolicy must be one of Delete, Retain, RetainExceptOnCreate, Snapshot"},
		"a null":                          {"Resources:\n  Q:\n    Type: AWS::SQS::Queue\n    Properties:\n      QueueName:\n", "null values are not allowed in templates (line 5, Resources.Q.Properties.QueueName)"},
		"the same key twice":              {"Resources:\n  Q: {Type: AWS::SQS::Queue}\n  Q: {Type: AWS::SQS::Queue}\n", `the key "Q" stands here twice (line 3, Resources)`},
		"an alias":                        {"Metadata: {a: &x 1, b: *x}\n" + queue, "CloudFormation takes no YAML aliases (*x): write the value out (line 1, Metadata.b)"},
		"a merge":                         {"Metadata: {a: &x {b: 1}, c: {<<: *x}}\n" + queue, "CloudFormation takes no YAML merges"},
		"a binary":                        {"Metadata: !!binary aGk=\n" + queue, "does not take the YAML type !!binary"},
		"a function that nobody knows":    {"Resources: {Q: {Type: AWS::SQS::Queue, Properties: {QueueName: !Upper x}}}\n", "no function is called !Upper; known are !And !Base64"},
		"a long form that nobody knows":   {`{"Resources":{"Q":{"Type":"AWS::SQS::Queue","Properties":{"QueueName":{"Fn::Upper":"x"}}}}}`, "no function is called Fn::Upper (line 1, Resources.Q.Properties.QueueName)"},
		"a function beside other keys":    {"Resources: {Q: {Type: AWS::SQS::Queue, Properties: {QueueName: {Fn::Sub: x, y: z}}}}\n", "Fn::Sub must be the only key of its map"},
		"a macro":                         {"Resources: {Q: {Type: AWS::SQS::Queue, Properties: {Fn::Transform: {Name: x}}}}\n", "Fn::Transform is not worked out: macros run"},
		"a loop":                          {"Resources: {Q: {Type: AWS::SQS::Queue, Properties: {Fn::ForEach::Loop: [x]}}}\n", "Fn::ForEach is not worked out: it needs the transform"},
		"a reference to nothing":          {"Resources:\n  Q:\n    Type: AWS::SQS::Queue\n    Properties:\n      QueueName: !Ref Nme\n", "unresolved resource dependencies [Nme] in the Resources block of the template (line 5, Resources.Q.Properties.QueueName)"},
		"a variable of nothing":           {"Resources: {Q: {Type: AWS::SQS::Queue, Properties: {QueueName: !Sub \"a-${Nme}\"}}}\n", "unresolved resource dependencies [Nme]"},
		"a pseudo parameter of nothing":   {"Resources: {Q: {Type: AWS::SQS::Queue, Properties: {QueueName: !Ref \"AWS::Regoin\"}}}\n", "unresolved resource dependencies [AWS::Regoin]"},
		"an attribute of nothing":         {queue + "Outputs: {O: {Value: !GetAtt P.Arn}}\n", "instance of Fn::GetAtt references undefined resource P (line 2, Outputs.O.Value)"},
		"an attribute without a name":     {queue + "Outputs: {O: {Value: !GetAtt Q}}\n", "Fn::GetAtt takes a resource and an attribute"},
		"a dependency on nothing":         {"Resources: {Q: {Type: AWS::SQS::Queue, DependsOn: [P]}}\n", "unresolved resource dependencies [P] in the Resources block of the template"},
		"a condition of nothing":          {"Resources: {Q: {Type: AWS::SQS::Queue, Condition: C}}\n", "unresolved condition dependency C"},
		"an if of nothing":                {"Resources: {Q: {Type: AWS::SQS::Queue, Properties: {QueueName: !If [C, a, b]}}}\n", "unresolved condition dependency C"},
		"a resource in a condition":       {"Conditions: {C: !Equals [!Ref Q, x]}\n" + queue, "unresolved resource dependencies [Q] in the Conditions block of the template"},
		"an attribute in a condition":     {"Conditions: {C: !Equals [!GetAtt Q.Arn, x]}\n" + queue, "conditions are worked out before there are resources"},
		"a condition that is a text":      {"Conditions: {C: yes}\n" + queue, "a condition is one of Fn::Equals, Fn::Not, Fn::And, Fn::Or and Condition, not a text"},
		"an and of one":                   {"Conditions: {C: !And [!Equals [a, b]]}\n" + queue, "Fn::And takes a list of two to ten conditions"},
		"a not of a text":                 {"Conditions: {C: !Not [a]}\n" + queue, "Fn::Not takes a list of one condition, not a text"},
		"a join without a list":           {"Resources: {Q: {Type: AWS::SQS::Queue, Properties: {QueueName: !Join [a, b]}}}\n", "Fn::Join takes a list of a delimiter and a list, not a text"},
		"a variable that is none":         {"Resources: {Q: {Type: AWS::SQS::Queue, Properties: {QueueName: !Sub \"${HOME:-x}\"}}}\n", "write ${!HOME:-x} to keep it as text"},
		"a ref to a list":                 {"Resources: {Q: {Type: AWS::SQS::Queue, Properties: {QueueName: !Ref [a, b]}}}\n", "Ref takes the name of a parameter or resource"},
		"a parameter without a type":      {"Parameters: {P: {Default: x}}\n" + queue, "a parameter needs a Type"},
		"a parameter of an odd type":      {"Parameters: {P: {Type: Text}}\n" + queue, `not "Text"`},
		"a default that is not allowed":   {"Parameters: {P: {Type: String, Default: c, AllowedValues: [a, b]}}\n" + queue, `parameter 'P' must be one of AllowedValues: a, b, not "c" (line 1, Parameters.P.Default)`},
		"an attribute of a parameter":     {"Parameters: {P: {Type: String, Min: 1}}\n" + queue, "no attribute of a parameter is called Min"},
		"a mapping that is flat":          {"Mappings: {M: {a: b}}\n" + queue, "a mapping is a map of maps, not a text"},
		"a function in a mapping":         {"Mappings: {M: {a: {b: !Ref X}}}\n" + queue, "mappings hold texts and lists of texts, not the function Ref"},
		"an output without a value":       {queue + "Outputs: {O: {Description: x}}\n", "every output needs a Value"},
		"an export without a name":        {queue + "Outputs: {O: {Value: x, Export: y}}\n", "Export needs a Name"},
		"a description that is too long":  {"Description: " + strings.Repeat("x", 1025) + "\n" + queue, "the description has 1025 bytes; CloudFormation takes 1024"},
		"a template that is too long":     {queue + strings.Repeat("#", 1<<20), "CloudFormation takes 1048576"},
		"too many parameters":             {"Parameters:\n" + many("  P%: {Type: String}\n", 201) + queue, "there are 201 of them; CloudFormation takes 200 in one template"},
		"too many resources":              {"Resources:\n" + many("  R%: {Type: AWS::SQS::Queue}\n", 501), "there are 501 of them; CloudFormation takes 500 in one template"},
		"a nest without end":              {"Metadata: " + strings.Repeat("[", 300) + strings.Repeat("]", 300) + "\n" + queue, "nested deeper than 200 levels"},
		"a nest of JSON without end":      {`{"Metadata":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + "}", "nested deeper than 200 levels"},
		"a dependency that is a function": {"Resources: {Q: {Type: AWS::SQS::Queue, DependsOn: !Ref Q}}\n", "DependsOn takes names of resources, not the function Ref"},
	} {
		t.Run(what, func(t *testing.T) {
			_, err := cfn.Parse([]byte(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if _, ok := errors.AsType[cfn.Errors](err); err != nil && !ok {
				t.Errorf("the error is a %T", err)
			}
		})
	}
}

func many(line string, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(line, "%", strings.Repeat("x", i/50)+string(rune('0'+i%50/10))+string(rune('0'+i%10))))
	}
	return b.String()
}

func TestParseTellsAllThatIsWrong(t *testing.T) {
	_, err := cfn.Parse([]byte("Resources:\n  A: {Type: AWS::SQS::Queue, DependsOn: X}\n  B: {Type: AWS::SQS::Queue, DependsOn: Y}\nFoo: 1\n"))
	all, ok := errors.AsType[cfn.Errors](err)
	if !ok || len(all) != 3 {
		t.Fatalf("%v", err)
	}
	var lines []int
	for _, e := range all {
		lines = append(lines, e.Pos.Line)
	}
	if diff := cmp.Diff([]int{2, 3, 4}, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestYAMLAndJSONAreTheSame(t *testing.T) {
	yaml := `
Parameters: {Name: {Type: String, Default: x, AllowedPattern: "[a-z]+"}}
Conditions:
  C: !Or [!Equals [!Ref Name, y], !Not [Condition: D]]
  D: !Equals [a, b]
Resources:
  Q:
    Type: AWS::SQS::Queue
    Condition: C
    Properties:
      QueueName: !Join ["-", [!Ref Name, !Select [1, !Split [",", "a,b"]]]]
      DelaySeconds: 5
      Tags: [{Key: a, Value: !Sub ["${Name}-${X}", {X: 1.5}]}, {Key: b, Value: !If [D, a, !Ref "AWS::NoValue"]}]
Outputs:
  Arn: {Value: !GetAtt Q.Arn}
`
	json := `{
	"Parameters": {"Name": {"Type": "String", "Default": "x", "AllowedPattern": "[a-z]+"}},
	"Conditions": {
		"C": {"Fn::Or": [{"Fn::Equals": [{"Ref": "Name"}, "y"]}, {"Fn::Not": [{"Condition": "D"}]}]},
		"D": {"Fn::Equals": ["a", "b"]}
	},
	"Resources": {"Q": {"Type": "AWS::SQS::Queue", "Condition": "C", "Properties": {
		"QueueName": {"Fn::Join": ["-", [{"Ref": "Name"}, {"Fn::Select": [1, {"Fn::Split": [",", "a,b"]}]}]]},
		"DelaySeconds": 5,
		"Tags": [{"Key": "a", "Value": {"Fn::Sub": ["${Name}-${X}", {"X": 1.5}]}}, {"Key": "b", "Value": {"Fn::If": ["D", "a", {"Ref": "AWS::NoValue"}]}}]
	}}},
	"Outputs": {"Arn": {"Value": {"Fn::GetAtt": ["Q", "Arn"]}}}
}`
	var got [2]*cfn.Static
	for i, text := range []string{yaml, json} {
		tpl, err := cfn.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got[i], err = tpl.Static(cfn.Pseudo{Region: "us-east-1", AccountID: "123456789012", StackName: "s"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]any{"QueueName": "x-b", "DelaySeconds": 5, "Tags": []any{map[string]any{"Key": "a", "Value": "x-1.5"}, map[string]any{"Key": "b"}}}
	for i, s := range got {
		if diff := cmp.Diff(want, s.Resources[0].Values); diff != "" {
			t.Errorf("%d (-want +got):\n%s", i, diff)
		}
	}
	if diff := cmp.Diff(got[0].Outputs, got[1].Outputs); diff != "" {
		t.Errorf("outputs (-YAML +JSON):\n%s", diff)
	}
}

func TestPlacesInJSONAndYAML(t *testing.T) {
	for what, text := range map[string]string{
		"YAML": "Resources:\n  Q:\n    Type: AWS::SQS::Queue\n    Properties:\n      Tags:\n        - Key: a\n          Value: b\n",
		"JSON": "{\n \"Resources\": {\"Q\":\n{\"Type\": \"AWS::SQS::Queue\",\n \"Properties\":\n  {\"Tags\": [\n  {\"Key\": \"a\", \n  \"Value\": \"b\"}]}}}}",
	} {
		tpl, err := cfn.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		p := tpl.Resource("Q").Properties
		if line := p.At("Tags", 0, "Value").Pos.Line; line != 7 {
			t.Errorf("%s: line %d, want 7", what, line)
		}
		if p.At("Tags", 5, "Value").Pos != p.At("Tags").Pos || p.At("None") != p {
			t.Errorf("%s: what is not there is not at the nearest place", what)
		}
	}
}

func TestScalarsAreWhatCloudFormationTakesThemFor(t *testing.T) {
	tpl, err := cfn.Parse([]byte(`
Resources:
  Q:
    Type: AWS::SQS::Queue
    Properties:
      date: 2012-10-17
      account: 012345678901
      underscore: 1_000
      octal: 0o17
      number: 300
      negative: -1
      fraction: 0.50
      large: 123456789012345678901234567890
      "on": on
      yes: yes
      "true": True
      quoted: "300"
      folded: >-
        a
        b
`))
	if err != nil {
		t.Fatal(err)
	}
	s, err := tpl.Static(cfn.Pseudo{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"date": "2012-10-17", "account": "012345678901", "underscore": "1_000", "octal": "0o17", "number": 300, "negative": -1, "fraction": 0.5,
		"large": 123456789012345678901234567890.0, "on": "on", "yes": "yes", "true": true, "quoted": "300", "folded": "a b",
	}
	if diff := cmp.Diff(want, s.Resources[0].Values); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatHasNoEffectIsNoted(t *testing.T) {
	tpl, err := cfn.Parse([]byte(`
Rules: {R: {Assertions: [{Assert: !Contains [[a], b]}, {Assert: {"Fn::EachMemberIn": [[a], [b]]}}]}}
Parameters: {P: {Type: String, AllowedPattern: "(?=x).*"}}
Resources: {Q: {Type: AWS::SQS::Queue, UpdatePolicy: {x: y}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range tpl.Notes {
		got = append(got, n.Message)
	}
	want := []string{
		"Rules are not checked", "the AllowedPattern of P is not checked, for it is not a pattern that Go can read", "UpdatePolicy of Q has no effect here",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"guide-v0.32.yaml", "guide-v1.yaml"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte("Parameters: {ClusterName: {Type: String}}\nResources:\n" + indent(string(b))))
	}
	f.Add([]byte(`{"Resources":{"Q":{"Type":"AWS::SQS::Queue","Properties":{"QueueName":{"Fn::Sub":"${AWS::StackName}${!x}"}}}}}`))
	f.Add([]byte("Conditions: {C: !And [!Equals [a, b], Condition: C]}\nResources: {Q: {Type: a, Condition: C, Properties: !If [C, {}, !Cidr [10.0.0.0/8, 4, 8]]}}"))
	f.Add([]byte("Resources: {A: {Type: a, DependsOn: B}, B: {Type: b, Properties: {x: !GetAtt A.b}}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		tpl, err := cfn.Parse(data)
		if err != nil {
			return
		}
		_, _ = tpl.Static(cfn.Pseudo{Region: "us-east-1"}, nil)
		if e, err := tpl.In(cfn.Scope{}); err == nil {
			_, _ = e.Order()
			_, _ = e.Outputs()
			_ = e.Imports()
		}
		_ = tpl.AttributeUses()
	})
}

func indent(s string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n  ") + "\n"
}
