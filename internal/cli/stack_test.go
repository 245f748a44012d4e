package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func runStack(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Main(append([]string{"stack"}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

func TestStackIsPrinted(t *testing.T) {
	for name, c := range map[string]struct {
		args     string
		has, not []string
	}{
		"a template": {"cloudformation --cluster-name demo", []string{
			"KarpenterControllerNodeLifecyclePolicy", "aws:SourceArn", "AWS::CloudWatch::Alarm", "ec2:DescribeInstanceStatus", "${ClusterName}-dlq",
			"AWS::EKS::PodIdentityAssociation", "Type: EC2_LINUX", "${ClusterName}-karpenter",
		}, []string{"AWS::KMS::Key"}},
		"a template without what needs the cluster": {"cloudformation --cluster-name demo --controller none --access-entry none", nil, []string{"AWS::EKS::", "-karpenter"}},
		"a template with a provider": {"cloudformation --cluster-name demo --oidc-provider https://oidc.eks.eu-west-1.amazonaws.com/id/1",
			[]string{"sts:AssumeRoleWithWebIdentity", "Type: EC2_LINUX"}, []string{"PodIdentity"}},
		"a node role by its name": {"cloudformation --cluster-name demo --node-role nodes",
			[]string{"arn:${AWS::Partition}:iam::${AWS::AccountId}:role/nodes"}, []string{"KarpenterNodeRole"}},
		"an item of aws-auth": {"aws-auth --cluster-name demo --account-id 111122223333 --region cn-north-1",
			[]string{"- rolearn: arn:aws-cn:iam::111122223333:role/KarpenterNodeRole-demo\n", "    - system:nodes\n", "eksctl create iamidentitymapping --cluster demo --region cn-north-1"}, []string{"windows"}},
		"an item of aws-auth for a role with a path, with Windows": {"aws-auth --cluster-name demo --windows --node-role arn:aws:iam::111122223333:role/team/nodes",
			[]string{"- rolearn: arn:aws:iam::111122223333:role/nodes\n", "    - eks:kube-proxy-windows\n"}, nil},
		"a module that takes over the EKS module's": {"terraform --cluster-name demo --adopt eks-module", []string{"# moved.tf\n", "ignore_changes = [name, name_prefix]"}, nil},
		"a template of v0.32, without the extras": {"cloudformation --cluster-name demo --compat v0.32",
			[]string{"KarpenterControllerPolicy-${ClusterName}"}, []string{"aws:SourceArn", "AWS::CloudWatch::Alarm", "DescribeInstanceStatus", "dlq", "DenyHTTP", "AWS::EKS::"}},
		"a template of v0.32 with one of the extras": {"cloudformation --cluster-name demo --compat v0.32 --alarms", []string{"AWS::CloudWatch::Alarm"}, []string{"aws:SourceArn", "dlq"}},
		"the latest without one of the extras":       {"cloudformation --cluster-name demo --alarms=false", []string{"aws:SourceArn"}, []string{"AWS::CloudWatch::Alarm"}},
		"a module, all files":                        {"terraform --cluster-name demo", []string{"# main.tf\n", "# versions.tf\n", `output "node_iam_role_name"`, "aws_eks_pod_identity_association"}, []string{"moved", "ignore_changes"}},
		"plain policies":                             {"iam --cluster-name demo --region cn-north-1 --account-id 111122223333", []string{`"arn:aws-cn:sqs:cn-north-1:111122223333:demo"`}, []string{"${"}},
		"the help, which speaks of the spot role":    {"--help", []string{"create-service-linked-role", "cloudformation", "terraform", "iam"}, nil},
		"the help of a command, with the deployment": {"cloudformation --help", []string{"aws cloudformation deploy", "CAPABILITY_NAMED_IAM"}, nil},
	} {
		code, stdout, stderr := runStack(strings.Fields(c.args)...)
		if code != 0 {
			t.Errorf("%s: exit %d: %s", name, code, stderr)
		}
		for _, w := range c.has {
			if !strings.Contains(stdout, w) {
				t.Errorf("%s: there is no %s", name, w)
			}
		}
		for _, w := range c.not {
			if strings.Contains(stdout, w) {
				t.Errorf("%s: there is %s", name, w)
			}
		}
	}
}

// The region of aws-auth is that of the variable, and none is made up.
func TestAWSAuthTakesTheRegionOfTheVariable(t *testing.T) {
	args := strings.Fields("aws-auth --cluster-name demo --account-id 111122223333")
	t.Setenv("AWS_REGION", "us-gov-west-1")
	if code, stdout, stderr := runStack(args...); code != 0 || !strings.Contains(stdout, "- rolearn: arn:aws-us-gov:iam::") || !strings.Contains(stdout, "--cluster demo --region us-gov-west-1 --arn ") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	t.Setenv("AWS_REGION", "")
	if code, stdout, stderr := runStack(args...); code != 0 || !strings.Contains(stdout, "--cluster demo --arn ") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
}

func TestStackRefusesWrongUse(t *testing.T) {
	for name, c := range map[string]struct{ args, want string }{
		"no cluster":               {"cloudformation", "--cluster-name is missing"},
		"an unknown edition":       {"terraform --cluster-name demo --compat v2", "want v0.32, v0.32-later, v1.0 or latest"},
		"the AWS-managed key":      {"cloudformation --cluster-name demo --kms-key alias/aws/sqs", "EventBridge can't deliver"},
		"plain policies, no place": {"iam --cluster-name demo", "--region and --account-id"},
		"a flag that is unknown":   {"iam --nonsense", "nonsense"},
		"an argument":              {"cloudformation demo", "demo"},

		"nothing to adopt":             {"terraform --cluster-name demo --adopt all", "eks-module, live"},
		"an address without an import": {"terraform --cluster-name demo --adopt eks-module --adopt-module-address module.x", "--adopt live"},
		"a role that would be lost":    {"terraform --cluster-name demo --adopt eks-module --controller none", "--controller pod-identity or irsa"},
		"aws-auth without an account":  {"aws-auth --cluster-name demo", "--account-id is missing"},
		"a node role that is none":     {"cloudformation --cluster-name demo --node-role a/b", "neither the name nor the ARN"},
	} {
		code, _, stderr := runStack(strings.Fields(c.args)...)
		if code != 2 || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit %d, want 2: %s", name, code, stderr)
		}
	}
}

func TestStackIsWritten(t *testing.T) {
	dir := t.TempDir()
	template, module := filepath.Join(dir, "stack.yaml"), filepath.Join(dir, "modules", "karpenter")
	if code, stdout, stderr := runStack("cloudformation", "--cluster-name", "demo", "--output-file", template); code != 0 || stdout != "" {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	if b, err := os.ReadFile(template); err != nil || !bytes.Contains(b, []byte("AWSTemplateFormatVersion")) {
		t.Errorf("template: %v\n%s", err, b)
	}
	if code, stdout, stderr := runStack("terraform", "--cluster-name", "demo", "--output-dir", module); code != 0 || stdout != "" {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	var names []string
	entries, err := os.ReadDir(module)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"alarms.tf", "events.tf", "iam.tf", "main.tf", "outputs.tf", "queue.tf", "variables.tf", "versions.tf"}; !slices.Equal(names, want) {
		t.Errorf("files are %q, want %q", names, want)
	}
	if code, _, stderr := runStack("iam", "--cluster-name", "demo", "--region", "eu-west-1", "--account-id", "111122223333", "--output-file", filepath.Join(dir, "no", "such", "file")); code != 1 || !strings.Contains(stderr, "writing") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
