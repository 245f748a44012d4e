package stack

import (
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// TestANodeRoleThatExistsIsUsedAndNotMade: the stack has no role for nodes, lets the controller pass the one that exists, and
// that one alone, and maps it to the cluster.
func TestANodeRoleThatExistsIsUsedAndNotMade(t *testing.T) {
	const role = "arn:aws:iam::111122223333:role/team/nodes"
	s := makeStack(t, Latest, func(o *Options) { o.NodeRole, o.AccessEntry, o.Controller = role, "EC2_LINUX", PodIdentity })
	text, err := s.CloudFormation()
	if err != nil {
		t.Fatal(err)
	}
	for _, not := range []string{"KarpenterNodeRole:", "${KarpenterNodeRole", "!GetAtt KarpenterNodeRole.Arn", "!Ref KarpenterNodeRole"} {
		if strings.Contains(string(text), not) {
			t.Errorf("the template has %s", not)
		}
	}
	for _, want := range []string{"PrincipalArn: " + role, "Value: nodes\n", "Value: " + role} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the template has no %q", want)
		}
	}

	m := parseModule(t, s) // which refuses references to what is not there
	for _, not := range []string{"aws_iam_role.node", "aws_iam_role_policy_attachment.node"} {
		if m.resources[not] != nil {
			t.Errorf("the module has %s", not)
		}
	}
	if m.variables["node_iam_role_name"] != nil {
		t.Error("the module has a variable for the name of a role that it does not make")
	}
	files, err := s.Terraform()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.Contains(string(f.Content), "aws_iam_role.node") || strings.Contains(string(f.Content), "var.node_iam_role_name") {
			t.Errorf("%s speaks of a role that the module does not make", f.Name)
		}
	}

	setup := s.Setup("111122223333", "eu-west-1")
	var policies []iampolicy.Named
	for _, p := range setup.Policies {
		policies = append(policies, iampolicy.Named{Name: p.Name, Document: p.Document})
	}
	for resource, want := range map[string]bool{role: true, "arn:aws:iam::111122223333:role/KarpenterNodeRole-demo": false} {
		call := iampolicy.Call{
			Caller: iampolicy.Caller{Account: "111122223333"}, Action: "iam:PassRole", Resource: resource,
			Context: iampolicy.Context{"iam:passedtoservice": {"ec2.amazonaws.com"}},
		}
		if got := iampolicy.Evaluate(call, iampolicy.Policies{Identity: policies}).OK(); got != want {
			t.Errorf("passing %s is allowed: %t, want %t", resource, got, want)
		}
	}
	if got := setup.AccessEntries[0].PrincipalARN; got != role {
		t.Errorf("the access entry is of %s", got)
	}
	if len(setup.Roles) != 1 {
		t.Errorf("it has %d roles, want the controller's alone", len(setup.Roles))
	}
}

// TestOnlyTheGivenParametersOfAWSAreRead: nothing else under /aws/service/, and what is needed is asked for by the same paths.
func TestOnlyTheGivenParametersOfAWSAreRead(t *testing.T) {
	s := makeStack(t, Latest, func(o *Options) { o.PublicParameters = []string{"/aws/service/bottlerocket/*"} })
	setup := s.Setup(testAccount, "eu-west-1")
	var policies []iampolicy.Named
	for _, p := range setup.Policies {
		policies = append(policies, iampolicy.Named{Name: p.Name, Document: p.Document})
	}
	ask := func(resource string) bool {
		return iampolicy.Evaluate(iampolicy.Call{
			Caller: iampolicy.Caller{Account: testAccount}, Action: "ssm:GetParameter", Resource: resource, Context: iampolicy.Context{},
		}, iampolicy.Policies{Identity: policies}).OK()
	}
	if !ask("arn:aws:ssm:eu-west-1::parameter/aws/service/bottlerocket/aws-k8s-1.36/x86_64/latest/image_id") {
		t.Error("Bottlerocket's images can't be found")
	}
	if ask("arn:aws:ssm:eu-west-1::parameter/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id") {
		t.Error("more may be read than was given")
	}
	asked := 0
	for _, n := range s.Needs() {
		for _, call := range n.Calls(s.Where(testAccount, "eu-west-1")) {
			if call.Action == "ssm:GetParameter" {
				asked++
				if !ask(call.Resource) {
					t.Errorf("%s is said to be needed, and is refused", call.Resource)
				}
			}
		}
	}
	if asked == 0 {
		t.Error("no parameter is said to be needed")
	}
}
