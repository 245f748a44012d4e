package cloudformation_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"
)

func TestGettingStartedStacksComeAndGo(t *testing.T) {
	for _, edition := range []string{"v0.32", "v1"} {
		t.Run(edition, func(t *testing.T) {
			a := open(t)
			before := a.contents()
			s := a.create("Karpenter-demo", template(t, edition), parameter("ClusterName", "demo"))
			a.wantStatus(s, types.StackStatusCreateComplete)
			attributes, err := a.world.QueueAttributes("demo")
			if err != nil {
				t.Fatal(err)
			}
			if attributes["MessageRetentionPeriod"] != "300" || attributes["SqsManagedSseEnabled"] != "true" ||
				strings.Contains(attributes["Policy"], "DenyHTTP") != (edition == "v1") || !strings.Contains(attributes["Policy"], a.world.QueueARN("demo")) {
				t.Errorf("queue: %v", attributes)
			}
			role, err := a.world.Role("KarpenterNodeRole-demo")
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{
				"aws:cloudformation:stack-name": "Karpenter-demo", "aws:cloudformation:stack-id": *s.StackId, "aws:cloudformation:logical-id": "KarpenterNodeRole",
			}
			if diff := cmp.Diff(want, role.Tags); diff != "" {
				t.Errorf("tags of the role (-want +got):\n%s", diff)
			}
			attached, err := a.world.AttachedRolePolicies("KarpenterNodeRole-demo")
			if err != nil || len(attached) != 4 {
				t.Errorf("attached to the node role: %v, %v", attached, err)
			}
			policy, err := a.world.PolicyVersion("arn:aws:iam::"+a.world.Account()+":policy/KarpenterControllerPolicy-demo", "v1")
			if err != nil || !strings.Contains(policy.Document, `"`+role.ARN+`"`) || strings.Contains(policy.Document, "${") {
				t.Errorf("controller policy: %v\n%s", err, policy.Document)
			}
			if n := len(a.world.Rules("")); n != 4 {
				t.Errorf("%d rules, want 4", n)
			}
			for _, r := range a.world.Rules("Karpenter-demo-") {
				if len(r.Targets) != 1 || r.Targets[0].ARN != a.world.QueueARN("demo") {
					t.Errorf("rule %s: %+v", r.Name, r.Targets)
				}
			}
			a.wantStatus(a.remove("Karpenter-demo"), types.StackStatusDeleteComplete)
			if diff := cmp.Diff(before, a.contents()); diff != "" {
				t.Errorf("the stack leaves something behind (-before +after):\n%s", diff)
			}
		})
	}
}

func TestDeletedStackIsFoundByItsIDOnly(t *testing.T) {
	a := open(t)
	s := a.create("s", "Resources: {Q: {Type: AWS::SQS::Queue}}")
	a.remove("s")
	_, err := a.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("s")})
	a.refused(err, "ValidationError", "Stack with id s does not exist")
	a.wantStatus(a.settled(*s.StackId), types.StackStatusDeleteComplete)
	if _, err := a.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String("s")}); err != nil {
		t.Errorf("to delete what is gone: %v", err)
	}
}

// changes is a template in which names and values can be replaced.
const small = `
Parameters:
  Name: {Type: String, Default: first}
  Retention: {Type: Number, Default: 300}
Resources:
  Role:
    Type: AWS::IAM::Role
    Properties:
      RoleName: !Sub "role-${Name}"
      AssumeRolePolicyDocument: {Version: "2012-10-17", Statement: [{Effect: Allow, Principal: {Service: ec2.amazonaws.com}, Action: "sts:AssumeRole"}]}
  Queue:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: !Ref Name
      MessageRetentionPeriod: !Ref Retention
  Rule:
    Type: AWS::Events::Rule
    Properties:
      EventPattern: {source: [aws.ec2]}
      Targets: [{Id: queue, Arn: !GetAtt Queue.Arn}]
Outputs:
  QueueUrl: {Value: !Ref Queue, Description: where}
  QueueArn: {Value: !GetAtt Queue.Arn, Export: {Name: !Sub "${AWS::StackName}-arn"}}
`

func outputs(s *types.Stack) map[string]string {
	out := map[string]string{}
	for _, o := range s.Outputs {
		out[*o.OutputKey] = *o.OutputValue
	}
	return out
}

func TestUpdates(t *testing.T) {
	a := open(t)
	s := a.create("s", small)
	a.wantStatus(s, types.StackStatusCreateComplete)
	if diff := cmp.Diff(map[string]string{"QueueUrl": a.world.QueueURL("first"), "QueueArn": a.world.QueueARN("first")}, outputs(s)); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	rule := a.world.Rules("")[0]

	t.Run("the same template again is nothing to do", func(t *testing.T) {
		_, err := a.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(small), Capabilities: named})
		a.refused(err, "ValidationError", "No updates are to be performed.")
	})
	t.Run("a value changes in place", func(t *testing.T) {
		a.wantStatus(a.update("s", small, parameter("Retention", "600")), types.StackStatusUpdateComplete)
		attributes, err := a.world.QueueAttributes("first")
		if err != nil || attributes["MessageRetentionPeriod"] != "600" {
			t.Errorf("%v %v", attributes, err)
		}
		if len(a.world.Rules("")) != 1 || a.world.Rules("")[0].Name != rule.Name {
			t.Errorf("the rule was not left alone: %+v", a.world.Rules(""))
		}
	})
	t.Run("a new name makes a new resource, and what names it follows", func(t *testing.T) {
		_, err := a.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{
			StackName: aws.String("s"), UsePreviousTemplate: aws.Bool(true), Capabilities: named,
			Parameters: []types.Parameter{parameter("Name", "second"), {ParameterKey: aws.String("Retention"), UsePreviousValue: aws.Bool(true)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		s := a.settled("s")
		a.wantStatus(s, types.StackStatusUpdateComplete)
		if diff := cmp.Diff([]string{"second"}, a.world.QueueNames()); diff != "" {
			t.Errorf("queues (-want +got):\n%s", diff)
		}
		if r := a.world.Rules("")[0]; r.Name != rule.Name || r.Targets[0].ARN != a.world.QueueARN("second") {
			t.Errorf("rule: %+v", r)
		}
		if attributes, err := a.world.QueueAttributes("second"); err != nil || attributes["MessageRetentionPeriod"] != "600" {
			t.Errorf("the previous value is lost: %v %v", attributes, err)
		}
		if outputs(s)["QueueUrl"] != a.world.QueueURL("second") {
			t.Errorf("outputs: %v", outputs(s))
		}
	})
	t.Run("what the template no longer has goes", func(t *testing.T) {
		a.wantStatus(a.update("s", strings.Split(small, "  Rule:")[0], parameter("Name", "second")), types.StackStatusUpdateComplete)
		if rules := a.world.Rules(""); len(rules) != 0 {
			t.Errorf("rules: %+v", rules)
		}
	})
	t.Run("new tags reach the resources", func(t *testing.T) {
		if _, err := a.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{
			StackName: aws.String("s"), UsePreviousTemplate: aws.Bool(true), Capabilities: named,
			Parameters: []types.Parameter{{ParameterKey: aws.String("Name"), UsePreviousValue: aws.Bool(true)}},
			Tags:       []types.Tag{{Key: aws.String("team"), Value: aws.String("x")}},
		}); err != nil {
			t.Fatal(err)
		}
		a.wantStatus(a.settled("s"), types.StackStatusUpdateComplete)
		tags, err := a.world.QueueTags("second")
		role, roleErr := a.world.Role("role-second")
		if err != nil || roleErr != nil || tags["team"] != "x" || role.Tags["team"] != "x" {
			t.Errorf("%v %v %v", tags, role.Tags, err)
		}
	})
}

func TestFailedUpdateIsTakenBack(t *testing.T) {
	a := open(t)
	if _, err := a.world.CreateQueue("taken", nil); err != nil {
		t.Fatal(err)
	}
	a.wantStatus(a.create("s", small), types.StackStatusCreateComplete)
	before := a.contents()
	a.wantStatus(a.update("s", small, parameter("Name", "taken"), parameter("Retention", "900")), types.StackStatusUpdateRollbackComplete)
	if diff := cmp.Diff(before, a.contents()); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	story := a.story("s")
	for _, want := range []string{
		"Queue UPDATE_FAILED Resource handler returned message", "already exists", "HandlerErrorCode: AlreadyExists",
		"s UPDATE_ROLLBACK_IN_PROGRESS The following resource(s) failed to update: [Queue].", "s UPDATE_ROLLBACK_COMPLETE",
	} {
		if !strings.Contains(story, want) {
			t.Errorf("no %q in\n%s", want, story)
		}
	}
	// It can be updated again, from where it was.
	a.wantStatus(a.update("s", small, parameter("Retention", "900")), types.StackStatusUpdateComplete)
	if attributes, err := a.world.QueueAttributes("first"); err != nil || attributes["MessageRetentionPeriod"] != "900" {
		t.Errorf("%v %v", attributes, err)
	}
}

func TestInPlaceChangesAreTakenBack(t *testing.T) {
	a := open(t)
	a.wantStatus(a.create("s", small), types.StackStatusCreateComplete)
	// The queue changes, then the rule fails.
	broken := strings.Replace(small, "Id: queue,", "Id: queue, Banana: 1,", 1)
	a.wantStatus(a.update("s", broken, parameter("Retention", "900")), types.StackStatusUpdateRollbackComplete)
	if attributes, err := a.world.QueueAttributes("first"); err != nil || attributes["MessageRetentionPeriod"] != "300" {
		t.Errorf("%v %v", attributes, err)
	}
	if story := a.story("s"); !strings.Contains(story, "Rule UPDATE_FAILED properties validation failed for resource Rule with message: [#/Targets/0: extraneous key [Banana] is not permitted]") {
		t.Error(story)
	}
}

func TestFailedCreation(t *testing.T) {
	for what, tt := range map[string]struct {
		onFailure types.OnFailure
		want      types.StackStatus
		left      bool
	}{
		"is rolled back":                  {"", types.StackStatusRollbackComplete, false},
		"is left if that is asked for":    {types.OnFailureDoNothing, types.StackStatusCreateFailed, true},
		"is deleted if that is asked for": {types.OnFailureDelete, types.StackStatusDeleteComplete, false},
	} {
		t.Run(what, func(t *testing.T) {
			a := open(t)
			if _, err := a.world.CreateQueue("first", nil); err != nil {
				t.Fatal(err)
			}
			before := a.contents()
			out, err := a.CreateStack(t.Context(), &cloudformation.CreateStackInput{
				StackName: aws.String("s"), TemplateBody: aws.String(small), Capabilities: named, OnFailure: tt.onFailure,
			})
			if err != nil {
				t.Fatal(err)
			}
			a.wantStatus(a.settled(*out.StackId), tt.want)
			if left := cmp.Diff(before, a.contents()); (left != "") != tt.left {
				t.Errorf("(-before +after):\n%s", left)
			}
			story := a.story(*out.StackId)
			if !strings.Contains(story, "Queue CREATE_FAILED") || strings.Contains(story, "Rule CREATE_IN_PROGRESS") {
				t.Error(story)
			}
			if tt.want == types.StackStatusRollbackComplete {
				_, err := a.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(small), Capabilities: named})
				a.refused(err, "ValidationError", "is in ROLLBACK_COMPLETE state and can not be updated.")
			}
		})
	}
}
