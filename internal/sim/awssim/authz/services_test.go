package authz_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	ebtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// TestEachCallIsOneActionOnOneResource allows a caller exactly that, which must do, and then all but that, which must not.
func TestEachCallIsOneActionOnOneResource(t *testing.T) {
	s := start(t, everything())
	events, keys, metrics := eventbridge.NewFromConfig(s.config), kms.NewFromConfig(s.config), cloudwatch.NewFromConfig(s.config)
	key, err := s.World.CreateKey(world.NewKey{Description: "k"})
	if err != nil {
		t.Fatal(err)
	}
	queue := aws.String(s.World.QueueURL(cluster))
	rule := aws.String("watch")
	if _, err := s.World.PutRule(world.Rule{Name: *rule, Pattern: `{"source":["aws.ec2"]}`}); err != nil {
		t.Fatal(err)
	}
	s.profile("nodes")
	in := func(service, resource string) string {
		return "arn:aws:" + service + ":us-east-1:" + account + ":" + resource
	}
	global := func(resource string) string { return "arn:aws:iam::" + account + ":" + resource }
	cases := []struct {
		action, resource string
		call             func(context.Context) error
	}{
		{"events:DescribeRule", in("events", "rule/watch"), func(ctx context.Context) error {
			_, err := events.DescribeRule(ctx, &eventbridge.DescribeRuleInput{Name: rule})
			return err
		}},
		{"events:ListTargetsByRule", in("events", "rule/watch"), func(ctx context.Context) error {
			_, err := events.ListTargetsByRule(ctx, &eventbridge.ListTargetsByRuleInput{Rule: rule})
			return err
		}},
		{"events:ListRules", in("events", "rule/*"), func(ctx context.Context) error {
			_, err := events.ListRules(ctx, &eventbridge.ListRulesInput{})
			return err
		}},
		{"events:PutRule", in("events", "rule/other"), func(ctx context.Context) error {
			_, err := events.PutRule(ctx, &eventbridge.PutRuleInput{Name: aws.String("other"), EventPattern: aws.String(`{"source":["aws.ec2"]}`)})
			return err
		}},
		{"events:PutEvents", in("events", "event-bus/default"), func(ctx context.Context) error {
			_, err := events.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: []ebtypes.PutEventsRequestEntry{{
				Source: aws.String("test"), DetailType: aws.String("t"), Detail: aws.String("{}"),
			}}})
			return err
		}},
		{"kms:DescribeKey", key.ARN, func(ctx context.Context) error {
			_, err := keys.DescribeKey(ctx, &kms.DescribeKeyInput{KeyId: &key.ID})
			return err
		}},
		{"kms:GetKeyPolicy", key.ARN, func(ctx context.Context) error {
			_, err := keys.GetKeyPolicy(ctx, &kms.GetKeyPolicyInput{KeyId: &key.ID, PolicyName: aws.String("default")})
			return err
		}},
		{"kms:ListAliases", "*", func(ctx context.Context) error {
			_, err := keys.ListAliases(ctx, &kms.ListAliasesInput{})
			return err
		}},
		{"kms:CreateKey", "*", func(ctx context.Context) error {
			_, err := keys.CreateKey(ctx, &kms.CreateKeyInput{})
			return err
		}},
		{"cloudwatch:DescribeAlarms", in("cloudwatch", "alarm:*"), func(ctx context.Context) error {
			_, err := metrics.DescribeAlarms(ctx, &cloudwatch.DescribeAlarmsInput{})
			return err
		}},
		{"cloudwatch:DeleteAlarms", in("cloudwatch", "alarm:a"), func(ctx context.Context) error {
			_, err := metrics.DeleteAlarms(ctx, &cloudwatch.DeleteAlarmsInput{AlarmNames: []string{"a"}})
			if code(err) == "ResourceNotFound" {
				return nil
			}
			return err
		}},
		{"cloudwatch:ListMetrics", "*", func(ctx context.Context) error {
			_, err := metrics.ListMetrics(ctx, &cloudwatch.ListMetricsInput{})
			return err
		}},
		{"sqs:GetQueueAttributes", in("sqs", cluster), func(ctx context.Context) error {
			_, err := s.sqs.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: queue})
			return err
		}},
		{"sqs:CreateQueue", in("sqs", "new"), func(ctx context.Context) error {
			_, err := s.sqs.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("new")})
			return err
		}},
		{"ssm:GetParametersByPath", "arn:aws:ssm:us-east-1::parameter/aws/service/eks", func(ctx context.Context) error {
			_, err := s.ssm.GetParametersByPath(ctx, &ssm.GetParametersByPathInput{Path: aws.String("/aws/service/eks")})
			return err
		}},
		{"eks:ListAccessEntries", in("eks", "cluster/"+cluster), func(ctx context.Context) error {
			_, err := s.eks.ListAccessEntries(ctx, &eks.ListAccessEntriesInput{ClusterName: aws.String(cluster)})
			return err
		}},
		{"eks:DescribeAccessEntry", in("eks", "access-entry/"+cluster+"/role/"+account+"/KarpenterNodeRole-"+cluster+"/*"), func(ctx context.Context) error {
			_, err := s.eks.DescribeAccessEntry(ctx, &eks.DescribeAccessEntryInput{
				ClusterName: aws.String(cluster), PrincipalArn: aws.String(global("role/KarpenterNodeRole-" + cluster)),
			})
			if code(err) == "ResourceNotFoundException" {
				return nil
			}
			return err
		}},
		{"iam:GetRole", global("role/" + roleName), func(ctx context.Context) error {
			_, err := s.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String(roleName)})
			return err
		}},
		{"iam:GetInstanceProfile", global("instance-profile/nodes"), func(ctx context.Context) error {
			_, err := s.iam.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: aws.String("nodes")})
			return err
		}},
		{"iam:CreatePolicy", global("policy/team/mine"), func(ctx context.Context) error {
			_, err := s.iam.CreatePolicy(ctx, &iam.CreatePolicyInput{PolicyName: aws.String("mine"), Path: aws.String("/team/"), PolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}`)})
			return err
		}},
		{"iam:TagInstanceProfile", global("instance-profile/nodes"), func(ctx context.Context) error {
			_, err := s.iam.TagInstanceProfile(ctx, &iam.TagInstanceProfileInput{InstanceProfileName: aws.String("nodes"), Tags: []iamtypes.Tag{{Key: aws.String("a"), Value: aws.String("b")}}})
			return err
		}},
		{"iam:CreateServiceLinkedRole", global("role/aws-service-role/spot.amazonaws.com/*"), func(ctx context.Context) error {
			_, err := s.iam.CreateServiceLinkedRole(ctx, &iam.CreateServiceLinkedRoleInput{AWSServiceName: aws.String("spot.amazonaws.com")})
			if code(err) == "InvalidInput" { // it is there already
				return nil
			}
			return err
		}},
	}
	for _, c := range cases {
		t.Run(c.action, func(t *testing.T) {
			s.attach(policy(allow("One", c.resource, c.action)))
			if err := c.call(t.Context()); err != nil {
				t.Errorf("allowed on %s alone: %v", c.resource, err)
			}
			s.attach(everything(), policy(deny("D", c.resource, c.action)))
			err := c.call(t.Context())
			action := c.action
			if strings.HasPrefix(action, "sqs:") {
				action = strings.ToLower(action)
			}
			if !strings.Contains(message(err), "is not authorized to perform: "+action) || !strings.HasPrefix(code(err), "AccessDenied") {
				t.Errorf("forbidden on %s: %v", c.resource, err)
			}
		})
	}
}

func TestOfAStackOnlyTheCallIsJudged(t *testing.T) {
	s := start(t, policy(allow("Stack", "arn:aws:cloudformation:us-east-1:"+account+":stack/mine/*", "cloudformation:CreateStack", "cloudformation:DescribeStacks")))
	stacks := cloudformation.NewFromConfig(s.config)
	body := aws.String("Resources:\n  Queue:\n    Type: AWS::SQS::Queue\n    Properties:\n      QueueName: of-the-stack\n")
	_, err := stacks.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("mine"), TemplateBody: body})
	if err != nil {
		t.Fatal(err)
	}
	waiter := cloudformation.NewStackCreateCompleteWaiter(stacks, func(o *cloudformation.StackCreateCompleteWaiterOptions) { o.MinDelay, o.MaxDelay = 1e7, 1e8 })
	if err := waiter.Wait(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("mine")}, 20*time.Second); err != nil {
		t.Errorf("the stack makes a queue, which its caller might not: %v", err)
	}
	if _, err := s.World.QueueAttributes("of-the-stack"); err != nil {
		t.Error(err)
	}
	_, err = stacks.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("other"), TemplateBody: body})
	if want := "is not authorized to perform: cloudformation:CreateStack on resource: arn:aws:cloudformation:us-east-1:" + account + ":stack/other/*"; code(err) != "AccessDenied" || !strings.Contains(message(err), want) {
		t.Errorf("another stack: %v", err)
	}
}
