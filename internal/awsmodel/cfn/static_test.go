package cfn_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
)

func static(t *testing.T, text string, p cfn.Pseudo, given map[string]string) *cfn.Static {
	t.Helper()
	tpl, err := cfn.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s, err := tpl.Static(p, given)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestGuidesFragmentsAreReadInEveryPartition(t *testing.T) {
	for _, name := range []string{"guide-v0.32.yaml", "guide-v1.yaml"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		text := "Parameters: {ClusterName: {Type: String}}\nResources:\n" + indent(string(b))
		for region, want := range map[string][2]string{
			"us-east-1":     {"arn:aws:sqs:us-east-1:123456789012:demo", "ec2.amazonaws.com"},
			"cn-north-1":    {"arn:aws-cn:sqs:cn-north-1:123456789012:demo", "ec2.amazonaws.com.cn"},
			"us-gov-west-1": {"arn:aws-us-gov:sqs:us-gov-west-1:123456789012:demo", "ec2.amazonaws.com"},
		} {
			s := static(t, text, cfn.Pseudo{Region: region, AccountID: "123456789012", StackName: "s"}, map[string]string{"ClusterName": "demo"})
			if len(s.Gaps) != 0 || len(s.Resources) != 4 {
				t.Errorf("%s: %d resources, gaps %v", name, len(s.Resources), s.Gaps)
			}
			statements := s.Resources[2].Values["PolicyDocument"].(map[string]any)["Statement"].([]any)
			for _, st := range statements {
				if got := st.(map[string]any)["Resource"]; got != want[0] {
					t.Errorf("%s in %s: %v, want %s", name, region, got, want[0])
				}
			}
			trust := s.Resources[0].Values["AssumeRolePolicyDocument"].(map[string]any)["Statement"].([]any)[0].(map[string]any)
			if got := trust["Principal"].(map[string]any)["Service"]; got != want[1] {
				t.Errorf("%s in %s trusts %v, want %s", name, region, got, want[1])
			}
		}
	}
}

func TestWhatRefAndGetAttWillGive(t *testing.T) {
	s := static(t, `
Parameters: {Name: {Type: String}}
Resources:
  Role: {Type: AWS::IAM::Role, Properties: {RoleName: !Ref Name, Path: /p/, AssumeRolePolicyDocument: {}}}
  Policy: {Type: AWS::IAM::ManagedPolicy, Properties: {ManagedPolicyName: !Sub "${Name}-p", PolicyDocument: {}}}
  Profile: {Type: AWS::IAM::InstanceProfile, Properties: {InstanceProfileName: prof, Roles: [!Ref Role]}}
  Spot: {Type: AWS::IAM::ServiceLinkedRole, Properties: {AWSServiceName: spot.amazonaws.com}}
  Queue: {Type: AWS::SQS::Queue, Properties: {QueueName: !Ref Name}}
  NoName: {Type: AWS::SQS::Queue}
  Rule: {Type: AWS::Events::Rule, Properties: {Name: r}}
  Key: {Type: AWS::KMS::Key}
  Alias: {Type: AWS::KMS::Alias, Properties: {AliasName: !Sub "alias/${Name}", TargetKeyId: !Ref Key}}
  Alarm: {Type: AWS::CloudWatch::Alarm, Properties: {AlarmName: a}}
  Cluster: {Type: AWS::EKS::Cluster, Properties: {Name: !Ref Name}}
  Table: {Type: AWS::DynamoDB::Table}
  Last:
    Type: AWS::SSM::Parameter
    Properties:
      Name: /x
      Value: {Role: !GetAtt Role.Arn, Policy: !Ref Policy, Profile: !GetAtt Profile.Arn, ProfileName: !Ref Profile, Spot: !Ref Spot, Queue: !Ref Queue,
        QueueArn: !GetAtt Queue.Arn, NoName: !GetAtt NoName.Arn, Rule: !GetAtt Rule.Arn, Key: !GetAtt Key.Arn, Alias: !Ref Alias, Alarm: !GetAtt Alarm.Arn,
        Cluster: !GetAtt Cluster.Arn, OIDC: !GetAtt Cluster.OpenIdConnectIssuerUrl, Table: !Ref Table}
`, cfn.Pseudo{Region: "us-east-1", AccountID: "123456789012", StackName: "s"}, map[string]string{"Name": "demo"})
	want := map[string]any{
		"Role": "arn:aws:iam::123456789012:role/p/demo", "Policy": "arn:aws:iam::123456789012:policy/demo-p",
		"Profile": "arn:aws:iam::123456789012:instance-profile/prof", "ProfileName": "prof", "Spot": "AWSServiceRoleForEC2Spot",
		"Queue": "https://sqs.us-east-1.amazonaws.com/123456789012/demo", "QueueArn": "arn:aws:sqs:us-east-1:123456789012:demo",
		"NoName": cfn.Unknown{Text: "arn:aws:sqs:us-east-1:123456789012:s-NoName-${random}", Why: "CloudFormation makes the name of NoName at deployment"},
		"Rule":   "arn:aws:events:us-east-1:123456789012:rule/r",
		"Key":    cfn.Unknown{Text: "arn:aws:kms:us-east-1:123456789012:key/${Key}", Why: "AWS makes the identifier of Key at deployment"},
		"Alias":  "alias/demo", "Alarm": "arn:aws:cloudwatch:us-east-1:123456789012:alarm:a", "Cluster": "arn:aws:eks:us-east-1:123456789012:cluster/demo",
		"OIDC":  cfn.Unknown{Text: "${Cluster.OpenIdConnectIssuerUrl}", Why: "the attribute OpenIdConnectIssuerUrl of Cluster is known at deployment"},
		"Table": cfn.Unknown{Text: "${Table}", Why: "what Table is called is known at deployment"},
	}
	last := s.Resources[len(s.Resources)-1]
	if diff := cmp.Diff(want, last.Values["Value"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatIsUnknownStaysVisible(t *testing.T) {
	s := static(t, `
Parameters:
  Name: {Type: String}
  Subnets: {Type: "List<AWS::EC2::Subnet::Id>"}
  Image: {Type: "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>", Default: /image}
  Kind: {Type: String}
Conditions:
  Big: !Equals [!Ref Kind, big]
  Surely: !Or [!Condition Big, !Equals [a, a]]
  Never: !And [!Condition Big, !Equals [a, b]]
Resources:
  Maybe: {Type: AWS::SQS::Queue, Condition: Big}
  Sure: {Type: AWS::SQS::Queue, Condition: Surely}
  Not: {Type: AWS::SQS::Queue, Condition: Never}
  R:
    Type: AWS::SQS::Queue
    Properties:
      Text: !Sub '{"Resource": "arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:${Name}"}'
      Joined: !Join [",", [a, !Ref Name, !Ref Image]]
      If: !If [Big, a, b]
      First: !Select [0, !Ref Subnets]
      Encoded: !Base64 {Ref: Name}
      Import: !ImportValue vpc
`, cfn.Pseudo{Region: "us-east-1"}, nil)
	noName := "parameter Name has no value"
	want := map[string]any{
		"Text":    cfn.Unknown{Text: `{"Resource": "arn:aws:sqs:us-east-1:${AWS::AccountId}:${Name}"}`, Why: "AWS::AccountId is known at deployment; " + noName},
		"Joined":  cfn.Unknown{Text: "a,${Name},${Image}", Why: noName + "; parameter Image is read from the parameter store (/image) at deployment"},
		"If":      cfn.Unknown{Text: "${Big?}", Why: "condition Big: parameter Kind has no value"},
		"First":   cfn.Unknown{Text: "${Select 0}", Why: "parameter Subnets has no value"},
		"Encoded": cfn.Unknown{Text: "JHtOYW1lfQ==", Why: noName},
		"Import":  cfn.Unknown{Text: "${ImportValue vpc}", Why: "the export vpc is another stack's"},
	}
	var ids []string
	for _, r := range s.Resources {
		id := r.ID
		if r.Maybe {
			id += "?"
		}
		ids = append(ids, id)
	}
	if diff := cmp.Diff([]string{"Maybe?", "Sure", "R"}, ids); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, s.Resources[len(s.Resources)-1].Values); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(s.Gaps) != 6 || s.Gaps[0].Path != "Resources.R.Properties.Encoded" || s.Gaps[0].Pos.Line != 22 {
		t.Errorf("gaps: %+v", s.Gaps)
	}
}

func TestNameThatNeedsItselfIsRefused(t *testing.T) {
	tpl, err := cfn.Parse([]byte("Resources:\n  A: {Type: AWS::SQS::Queue, Properties: {QueueName: !GetAtt B.Arn}}\n  B: {Type: AWS::SQS::Queue, Properties: {QueueName: !GetAtt A.Arn}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tpl.Static(cfn.Pseudo{}, nil); err == nil {
		t.Error("two queues are named after each other")
	}
}

func TestValuesOfProperties(t *testing.T) {
	for _, tt := range []struct {
		v    any
		text string
		n    int
		isN  bool
	}{{"300", "300", 300, true}, {300, "300", 300, true}, {300.0, "300", 300, true}, {0.5, "0.5", 0, false}, {true, "true", 0, false}, {cfn.Unknown{Text: "${x}"}, "${x}", 0, false}} {
		text, ok := cfn.TextOf(tt.v)
		n, isN := cfn.IntOf(tt.v)
		if !ok || text != tt.text || isN != tt.isN || (isN && n != tt.n) {
			t.Errorf("%v is %q and %d %v", tt.v, text, n, isN)
		}
	}
	if b, ok := cfn.BoolOf("True"); !b || !ok {
		t.Error("True is no truth value")
	}
	if _, ok := cfn.BoolOf("on"); ok {
		t.Error("on is a truth value")
	}
	if diff := cmp.Diff([]string{"a", "1"}, cfn.TextsOf([]any{"a", 1, map[string]any{}})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a"}, cfn.TextsOf("a")); diff != "" {
		t.Error(diff)
	}
}
