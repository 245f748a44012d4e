package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// importsOf are the ids of import blocks by address, without the module's.
func importsOf(t *testing.T, file, module string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f, diags := hclparse.NewParser().ParseHCL(text, file)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	out := map[string]string{}
	for _, b := range f.Body.(*hclsyntax.Body).Blocks {
		to := string(b.Body.Attributes["to"].Expr.Range().SliceBytes(text))
		id, diags := b.Body.Attributes["id"].Expr.Value(nil)
		if b.Type != "import" || diags.HasErrors() || !strings.HasPrefix(to, module+".") {
			t.Fatalf("block %s to %s: %v", b.Type, to, diags)
		}
		to = strings.TrimPrefix(to, module+".")
		if out[to] != "" {
			t.Errorf("%s is imported twice", to)
		}
		out[to] = id.AsString()
	}
	return out
}

// exists reads what an import block names, as Terraform's provider does for the resource.
func (a *liveAccount) exists(t *testing.T, address, id string) error {
	t.Helper()
	kind, _, _ := strings.Cut(address, ".")
	var err error
	first, second, _ := strings.Cut(id, "/")
	switch kind {
	case "aws_iam_role":
		_, err = a.session.IAM.GetRole(t.Context(), &iam.GetRoleInput{RoleName: &id})
	case "aws_iam_policy":
		_, err = a.session.IAM.GetPolicy(t.Context(), &iam.GetPolicyInput{PolicyArn: &id})
	case "aws_iam_role_policy_attachment":
		out, e := a.session.IAM.ListAttachedRolePolicies(t.Context(), &iam.ListAttachedRolePoliciesInput{RoleName: &first})
		if err = e; err == nil {
			err = fmt.Errorf("role %s has no policy %s", first, second)
			for _, p := range out.AttachedPolicies {
				if *p.PolicyArn == second {
					err = nil
				}
			}
		}
	case "aws_sqs_queue", "aws_sqs_queue_policy":
		_, err = a.session.SQS.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &id})
	case "aws_cloudwatch_event_rule":
		_, err = a.session.EventBridge().DescribeRule(t.Context(), &eventbridge.DescribeRuleInput{Name: &id})
	case "aws_cloudwatch_event_target":
		out, e := a.session.EventBridge().ListTargetsByRule(t.Context(), &eventbridge.ListTargetsByRuleInput{Rule: &first})
		if err = e; err == nil && (len(out.Targets) != 1 || *out.Targets[0].Id != second) {
			err = fmt.Errorf("rule %s has no target %s", first, second)
		}
	case "aws_eks_access_entry":
		cluster, principal, _ := strings.Cut(id, ":")
		_, err = a.session.EKS.DescribeAccessEntry(t.Context(), &eks.DescribeAccessEntryInput{ClusterName: &cluster, PrincipalArn: &principal})
	case "aws_eks_pod_identity_association":
		cluster, association, _ := strings.Cut(id, ",")
		_, err = a.session.EKS.DescribePodIdentityAssociation(t.Context(), &eks.DescribePodIdentityAssociationInput{ClusterName: &cluster, AssociationId: &association})
	case "aws_cloudwatch_metric_alarm", "aws_kms_key", "aws_kms_alias": // the id is the name that was found
	default:
		err = fmt.Errorf("nothing imports %s", kind)
	}
	return err
}

func (a *liveAccount) adopt(t *testing.T, code int, flags ...string) (imports map[string]string, stderr string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "imports.tf")
	args := append([]string{"terraform", "--cluster-name", "demo", "--adopt", "live", "--output-dir", filepath.Join(dir, "modules"), "--adopt-output", file}, flags...)
	got, _, stderr := runStack(args...)
	if got != code {
		t.Fatalf("kerf stack %s: exit code %d, want %d: %s", strings.Join(args, " "), got, code, stderr)
	}
	imports = importsOf(t, file, "module.karpenter")
	for address, id := range imports {
		if err := a.exists(t, address, id); err != nil {
			t.Errorf("%s is imported as %s: %v", address, id, err)
		}
	}
	return imports, stderr
}

// TestAllOfAStackIsTakenOver: of what the same stack made by CloudFormation, every resource of the module has its import
// block.
func TestAllOfAStackIsTakenOver(t *testing.T) {
	a := newLiveAccount(t)
	flags := []string{"--cluster-name", "demo", "--kms"}
	_, template, _ := runStack(append([]string{"cloudformation"}, flags...)...)
	a.deploy(t, template)
	imports, stderr := a.adopt(t, 0, "--kms")
	if stderr != "" {
		t.Errorf("it says %s", stderr)
	}
	counts := map[string]int{}
	for address := range imports {
		kind, _, _ := strings.Cut(address, ".")
		counts[kind]++
	}
	for kind, want := range map[string]int{
		"aws_iam_role": 2, "aws_iam_policy": 6, "aws_iam_role_policy_attachment": 4 + 6, "aws_sqs_queue": 2, "aws_sqs_queue_policy": 2, "aws_kms_key": 1, "aws_kms_alias": 1,
		"aws_cloudwatch_event_rule": 5, "aws_cloudwatch_event_target": 5, "aws_cloudwatch_metric_alarm": 12, "aws_eks_access_entry": 1, "aws_eks_pod_identity_association": 1,
	} {
		if counts[kind] != want {
			t.Errorf("%d of %s are imported, want %d", counts[kind], kind, want)
		}
	}
}

// TestTheGuidesStackIsTakenOverAsFarAsItGoes: it has one policy, and a role that eksctl made; that policy becomes the
// module's first.
func TestTheGuidesStackIsTakenOverAsFarAsItGoes(t *testing.T) {
	a := newLiveAccount(t)
	_, template, _ := runStack("cloudformation", "--cluster-name", "demo", "--compat", "v0.32-later", "--controller", "pod-identity")
	a.deploy(t, template)
	imports, stderr := a.adopt(t, 0)
	policy := "arn:aws:iam::" + a.sim.World.Account() + ":policy/KarpenterControllerPolicy-demo"
	for address, want := range map[string]string{
		"aws_iam_policy.node_lifecycle": policy, `aws_iam_role_policy_attachment.controller["node_lifecycle"]`: "demo-karpenter/" + policy,
		"aws_iam_role.node": "KarpenterNodeRole-demo", "aws_sqs_queue.this": a.sim.World.QueueURL("demo"), "aws_eks_access_entry.node": "", "aws_sqs_queue.dead_letter": "",
	} {
		if imports[address] != want {
			t.Errorf("%s is imported as %q, want %q", address, imports[address], want)
		}
	}
	if !strings.Contains(stderr, "KarpenterControllerPolicy-demo becomes the aws_iam_policy.node_lifecycle of the module") || !strings.Contains(stderr, "5 policies are made beside it") {
		t.Errorf("it does not say what becomes of the policy: %s", stderr)
	}
}

// TestWhatCouldSurpriseIsSaid: another queue's name is found, and what is not taken over is named.
func TestWhatCouldSurpriseIsSaid(t *testing.T) {
	a := newLiveAccount(t)
	_, template, _ := runStack("cloudformation", "--cluster-name", "demo", "--queue-name", "Karpenter-demo", "--kms", "--node-role-name", "nodes", "--access-entry", "EC2_WINDOWS")
	a.deploy(t, template)
	imports, stderr := a.adopt(t, 0)
	if imports["aws_sqs_queue.this"] != a.sim.World.QueueURL("Karpenter-demo") || imports["aws_iam_role.node"] != "" {
		t.Errorf("imported are %v", imports)
	}
	for _, want := range []string{"no role of the nodes called KarpenterNodeRole-demo", "--node-role-name", "is encrypted with", "--kms-key"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("it does not say %q: %s", want, stderr)
		}
	}
	imports, stderr = a.adopt(t, 0, "--node-role-name", "nodes", "--kms")
	if imports["aws_iam_role.node"] != "nodes" || !strings.Contains(stderr, "of type EC2_WINDOWS, and Terraform replaces it by one of type EC2_LINUX") || !strings.Contains(stderr, "--access-entry EC2_WINDOWS") {
		t.Errorf("imported are %v; it says %s", imports, stderr)
	}
}

// TestWhatCannotBeReadIsNotTakenForAbsent: the file is written, and the exit code says that it is not all.
func TestWhatCannotBeReadIsNotTakenForAbsent(t *testing.T) {
	a := newLiveAccount(t)
	_, template, _ := runStack("cloudformation", "--cluster-name", "demo")
	a.deploy(t, template)
	key, err := a.sim.World.RoleSession("demo-karpenter", "controller") // it may read little
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", key.ID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", key.Secret)
	t.Setenv("AWS_SESSION_TOKEN", key.SessionToken)
	_, stderr := a.adopt(t, 1)
	for _, want := range []string{"not read, and so not taken over: rules", "events:ListRules", "not all could be read"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("it does not say %q: %s", want, stderr)
		}
	}
}
