package cloudformation_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"
)

func TestWhatIsRefusedAtOnce(t *testing.T) {
	a := open(t)
	a.wantStatus(a.create("there", "Resources: {Q: {Type: AWS::SQS::Queue}}"), types.StackStatusCreateComplete)
	role := "{Type: AWS::IAM::Role, Properties: {AssumeRolePolicyDocument: {Statement: []}}}"
	for what, tt := range map[string]struct {
		in         cloudformation.CreateStackInput
		code, text string
	}{
		"a template that is none":                    {cloudformation.CreateStackInput{TemplateBody: aws.String("- a")}, "ValidationError", "Template format error: A template is a map of sections, not a list"},
		"a template without resources":               {cloudformation.CreateStackInput{TemplateBody: aws.String("Description: x")}, "ValidationError", "At least one Resources member must be defined"},
		"a type that nobody knows":                   {cloudformation.CreateStackInput{TemplateBody: aws.String("Resources: {A: {Type: AWS::Foo::Bar}}")}, "ValidationError", "Unrecognized resource types: [AWS::Foo::Bar]; the simulator knows AWS::CloudWatch::Alarm,"},
		"an attribute that a type has not":           {cloudformation.CreateStackInput{TemplateBody: aws.String("Resources: {Q: {Type: AWS::SQS::Queue}}\nOutputs: {O: {Value: !GetAtt Q.Banana}}")}, "ValidationError", "Template error: resource Q does not support attribute type Banana in Fn::GetAtt"},
		"a template that is too long":                {cloudformation.CreateStackInput{TemplateBody: aws.String("Resources: {Q: {Type: AWS::SQS::Queue}}\n" + strings.Repeat("#", 51200))}, "ValidationError", "Member must have length less than or equal to 51200"},
		"a circle":                                   {cloudformation.CreateStackInput{TemplateBody: aws.String("Resources: {A: {Type: AWS::SQS::Queue, DependsOn: B}, B: {Type: AWS::SQS::Queue, DependsOn: A}}")}, "ValidationError", "Circular dependency between resources: [A, B]"},
		"a parameter without a value":                {cloudformation.CreateStackInput{TemplateBody: aws.String("Parameters: {P: {Type: String}}\nResources: {Q: {Type: AWS::SQS::Queue}}")}, "ValidationError", "Parameters: [P] must have values"},
		"a parameter that is not in it":              {cloudformation.CreateStackInput{TemplateBody: aws.String("Resources: {Q: {Type: AWS::SQS::Queue}}"), Parameters: []types.Parameter{parameter("P", "1")}}, "ValidationError", "Parameters: [P] do not exist in the template"},
		"a role without the capability":              {cloudformation.CreateStackInput{TemplateBody: aws.String("Resources: {R: " + role + "}")}, "InsufficientCapabilitiesException", "Requires capabilities : [CAPABILITY_IAM]"},
		"a named role without the capability":        {cloudformation.CreateStackInput{TemplateBody: aws.String(small), Capabilities: []types.Capability{types.CapabilityCapabilityIam}}, "InsufficientCapabilitiesException", "Requires capabilities : [CAPABILITY_NAMED_IAM]"},
		"a name that is taken":                       {cloudformation.CreateStackInput{StackName: aws.String("there"), TemplateBody: aws.String("Resources: {Q: {Type: AWS::SQS::Queue}}")}, "AlreadyExistsException", "Stack [there] already exists"},
		"a name that is none":                        {cloudformation.CreateStackInput{StackName: aws.String("1_a"), TemplateBody: aws.String("Resources: {Q: {Type: AWS::SQS::Queue}}")}, "ValidationError", "at 'stackName' failed to satisfy constraint"},
		"two ways to go on after a failure":          {cloudformation.CreateStackInput{DisableRollback: aws.Bool(true), OnFailure: types.OnFailureDelete, TemplateBody: aws.String("Resources: {Q: {Type: AWS::SQS::Queue}}")}, "ValidationError", "Can only specify one of DisableRollback or OnFailure"},
		"a reserved tag":                             {cloudformation.CreateStackInput{Tags: []types.Tag{{Key: aws.String("aws:x"), Value: aws.String("y")}}, TemplateBody: aws.String("Resources: {Q: {Type: AWS::SQS::Queue}}")}, "ValidationError", "reserved prefix"},
		"a previous value of a stack that never was": {cloudformation.CreateStackInput{TemplateBody: aws.String(small), Capabilities: named, Parameters: []types.Parameter{{ParameterKey: aws.String("Name"), UsePreviousValue: aws.Bool(true)}}}, "ValidationError", "Cannot specify usePreviousValue"},
	} {
		t.Run(what, func(t *testing.T) {
			if tt.in.StackName == nil {
				tt.in.StackName = aws.String("new")
			}
			_, err := a.CreateStack(t.Context(), &tt.in)
			a.refused(err, tt.code, tt.text)
		})
	}
	stacks, err := a.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{})
	if err != nil || len(stacks.Stacks) != 1 {
		t.Errorf("refused stacks left something behind: %+v %v", stacks, err)
	}
}

func TestWhatResourcesAreRefusedFor(t *testing.T) {
	for what, tt := range map[string]struct{ resource, want string }{
		"a property that there is not":     {"{Type: AWS::SQS::Queue, Properties: {Banana: 1}}", "properties validation failed for resource R with message: [#: extraneous key [Banana] is not permitted]"},
		"a number that is none":            {"{Type: AWS::SQS::Queue, Properties: {DelaySeconds: soon}}", "#/DelaySeconds: expected type: Integer, found: String"},
		"a property that is missing":       {"{Type: AWS::KMS::Alias, Properties: {AliasName: alias/a}}", "#: required key [TargetKeyId] not found"},
		"a value out of bounds":            {"{Type: AWS::SQS::Queue, Properties: {MessageRetentionPeriod: 1}}", "Invalid value for the parameter MessageRetentionPeriod"},
		"a word that is none of the known": {"{Type: AWS::Events::Rule, Properties: {State: MAYBE}}", "#/State: MAYBE is not a valid enum value"},
		"a pattern that is none":           {"{Type: AWS::Events::Rule, Properties: {EventPattern: {source: aws.ec2}}}", "Service: Events, Status Code: 400, Error Code: InvalidEventPatternException"},
		"a policy that is none":            {"{Type: AWS::IAM::ManagedPolicy, Properties: {PolicyDocument: \"{}\"}}", "MalformedPolicyDocument"},
		"a role that is not there":         {"{Type: AWS::IAM::InstanceProfile, Properties: {Roles: [nobody]}}", "HandlerErrorCode: NotFound"},
		"a cluster that is not there":      {"{Type: AWS::EKS::AccessEntry, Properties: {ClusterName: other, PrincipalArn: \"arn:aws:iam::1:role/a\"}}", "No cluster found for name: other"},
		"a queue that is not there":        {"{Type: AWS::SQS::QueuePolicy, Properties: {Queues: [\"https://sqs.us-east-1.amazonaws.com/123456789012/none\"], PolicyDocument: {}}}", "The specified queue does not exist"},
	} {
		t.Run(what, func(t *testing.T) {
			a := open(t)
			before := a.contents()
			a.wantStatus(a.create("s", "Resources: {R: "+tt.resource+"}"), types.StackStatusRollbackComplete)
			story := a.story("s")
			if !strings.Contains(story, "R CREATE_FAILED") || !strings.Contains(story, tt.want) {
				t.Errorf("no %q in\n%s", tt.want, story)
			}
			if diff := cmp.Diff(before, a.contents()); diff != "" {
				t.Errorf("(-before +after):\n%s", diff)
			}
		})
	}
}

func TestDeletionKeepsWhatIsToBeKept(t *testing.T) {
	a := open(t)
	a.wantStatus(a.create("s", `
Resources:
  Kept: {Type: AWS::SQS::Queue, DeletionPolicy: Retain, Properties: {QueueName: kept}}
  Gone: {Type: AWS::SQS::Queue, Properties: {QueueName: gone}}
`), types.StackStatusCreateComplete)
	a.wantStatus(a.remove("s"), types.StackStatusDeleteComplete)
	if diff := cmp.Diff([]string{"kept"}, a.world.QueueNames()); diff != "" {
		t.Errorf("queues (-want +got):\n%s", diff)
	}
}

// The roles of nodes are in use by instance profiles that the controller makes, which is what people meet.
func TestRoleInUseFailsTheDeletion(t *testing.T) {
	a := open(t)
	a.wantStatus(a.create("s", template(t, "v1"), parameter("ClusterName", "demo")), types.StackStatusCreateComplete)
	if _, err := a.world.CreateInstanceProfile("demo_123", "/", nil); err != nil {
		t.Fatal(err)
	}
	if err := a.world.AddRoleToInstanceProfile("demo_123", "KarpenterNodeRole-demo"); err != nil {
		t.Fatal(err)
	}
	s := a.remove("s")
	a.wantStatus(s, types.StackStatusDeleteFailed)
	if want := "The following resource(s) failed to delete: [KarpenterNodeRole]. "; aws.ToString(s.StackStatusReason) != want {
		t.Errorf("reason %q, want %q", aws.ToString(s.StackStatusReason), want)
	}
	if story := a.story("s"); !strings.Contains(story, "KarpenterNodeRole DELETE_FAILED") || !strings.Contains(story, "DeleteConflict") {
		t.Error(story)
	}
	if _, err := a.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String("s"), RetainResources: []string{"KarpenterNodeRole"}}); err != nil {
		t.Fatal(err)
	}
	a.wantStatus(a.settled(*s.StackId), types.StackStatusDeleteComplete)
	if _, err := a.world.Role("KarpenterNodeRole-demo"); err != nil {
		t.Error(err)
	}
}

func TestTerminationProtection(t *testing.T) {
	a := open(t)
	a.wantStatus(a.create("s", "Resources: {Q: {Type: AWS::SQS::Queue}}"), types.StackStatusCreateComplete)
	protect := func(on bool) {
		if _, err := a.UpdateTerminationProtection(t.Context(), &cloudformation.UpdateTerminationProtectionInput{StackName: aws.String("s"), EnableTerminationProtection: &on}); err != nil {
			t.Fatal(err)
		}
	}
	protect(true)
	_, err := a.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String("s")})
	a.refused(err, "ValidationError", "cannot be deleted while TerminationProtection is enabled")
	protect(false)
	a.wantStatus(a.remove("s"), types.StackStatusDeleteComplete)
}

func TestNamedResourceIsNotMadeAnewUnderItsName(t *testing.T) {
	a := open(t)
	body := `
Resources:
  R:
    Type: AWS::IAM::Role
    Properties: {RoleName: r, Path: /a/, AssumeRolePolicyDocument: {Version: "2012-10-17", Statement: [{Effect: Allow, Principal: {Service: ec2.amazonaws.com}, Action: "sts:AssumeRole"}]}}
`
	a.wantStatus(a.create("s", body), types.StackStatusCreateComplete)
	a.wantStatus(a.update("s", strings.Replace(body, "/a/", "/b/", 1)), types.StackStatusUpdateRollbackComplete)
	if story := a.story("s"); !strings.Contains(story, "CloudFormation cannot update a stack when a custom-named resource requires replacing. Rename r and update the stack again") {
		t.Error(story)
	}
}

func TestExportsTieStacksTogether(t *testing.T) {
	a := open(t)
	a.wantStatus(a.create("s", small), types.StackStatusCreateComplete)
	user := "Resources: {P: {Type: AWS::SSM::Parameter, Properties: {Name: arn, Type: String, Value: !ImportValue s-arn}}}"
	a.wantStatus(a.create("user", user), types.StackStatusCreateComplete)
	if p, _ := a.world.Parameter("arn"); p.Value != a.world.QueueARN("first") {
		t.Errorf("imported %q", p.Value)
	}
	_, err := a.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String("s")})
	a.refused(err, "ValidationError", "Export s-arn cannot be deleted as it is in use by user")
	exports, err := a.ListExports(t.Context(), &cloudformation.ListExportsInput{})
	if err != nil || len(exports.Exports) != 1 || *exports.Exports[0].Name != "s-arn" {
		t.Errorf("%+v %v", exports, err)
	}
	a.wantStatus(a.remove("user"), types.StackStatusDeleteComplete)
	a.wantStatus(a.remove("s"), types.StackStatusDeleteComplete)
	a.wantStatus(a.create("late", user), types.StackStatusRollbackComplete)
	if story := a.story("late"); !strings.Contains(story, "No export named s-arn found") {
		t.Error(story)
	}
}

func TestTokenRepeatsARequest(t *testing.T) {
	a := open(t)
	in := &cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(small), Capabilities: named, ClientRequestToken: aws.String("t")}
	first, err := a.CreateStack(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	second, err := a.CreateStack(t.Context(), in)
	if err != nil || *first.StackId != *second.StackId {
		t.Errorf("%v %v", second, err)
	}
	a.wantStatus(a.settled("s"), types.StackStatusCreateComplete)
	if n := strings.Count(a.story("s"), "s CREATE_IN_PROGRESS"); n != 1 {
		t.Errorf("created %d times", n)
	}
}

func TestTemplatesAreDescribed(t *testing.T) {
	a := open(t)
	ctx := t.Context()
	v, err := a.ValidateTemplate(ctx, &cloudformation.ValidateTemplateInput{TemplateBody: aws.String(template(t, "v1"))})
	if err != nil || len(v.Parameters) != 1 || *v.Parameters[0].ParameterKey != "ClusterName" || v.Parameters[0].DefaultValue != nil ||
		!slices.Equal(v.Capabilities, []types.Capability{types.CapabilityCapabilityNamedIam}) {
		t.Errorf("%+v %v", v, err)
	}
	a.wantStatus(a.create("s", small), types.StackStatusCreateComplete)
	sum, err := a.GetTemplateSummary(ctx, &cloudformation.GetTemplateSummaryInput{StackName: aws.String("s")})
	if err != nil || !slices.Equal(sum.ResourceTypes, []string{"AWS::Events::Rule", "AWS::IAM::Role", "AWS::SQS::Queue"}) || *sum.Parameters[0].ParameterType != "String" || *sum.Parameters[0].DefaultValue != "first" {
		t.Errorf("%+v %v", sum, err)
	}
	got, err := a.GetTemplate(ctx, &cloudformation.GetTemplateInput{StackName: aws.String("s")})
	if err != nil || *got.TemplateBody != small {
		t.Errorf("%v %v", got, err)
	}
	resources, err := a.DescribeStackResources(ctx, &cloudformation.DescribeStackResourcesInput{StackName: aws.String("s"), LogicalResourceId: aws.String("Queue")})
	if err != nil || len(resources.StackResources) != 1 || *resources.StackResources[0].PhysicalResourceId != a.world.QueueURL("first") {
		t.Errorf("%+v %v", resources, err)
	}
	one, err := a.DescribeStackResource(ctx, &cloudformation.DescribeStackResourceInput{StackName: aws.String("s"), LogicalResourceId: aws.String("Role")})
	if err != nil || *one.StackResourceDetail.PhysicalResourceId != "role-first" {
		t.Errorf("%+v %v", one, err)
	}
	list, err := a.ListStacks(ctx, &cloudformation.ListStacksInput{StackStatusFilter: []types.StackStatus{types.StackStatusCreateComplete}})
	if err != nil || len(list.StackSummaries) != 1 {
		t.Errorf("%+v %v", list, err)
	}
}

func TestDeletionOfAStackInTheMaking(t *testing.T) {
	a := open(t)
	before := a.contents()
	var many strings.Builder
	many.WriteString("Resources:\n")
	for i := range 100 {
		many.WriteString("  Q" + string(rune('A'+i/26)) + string(rune('a'+i%26)) + ": {Type: AWS::SQS::Queue}\n")
	}
	out, err := a.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(many.String())})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String("s")}); err != nil {
		t.Fatal(err)
	}
	for a.settled(*out.StackId).StackStatus != types.StackStatusDeleteComplete { // the creation may end before it is deleted
	}
	if diff := cmp.Diff(before, a.contents()); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}
