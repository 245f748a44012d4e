package stack_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/setup/stack"
)

func TestTheReadPolicyAllowsWhatReadsAndNothingElse(t *testing.T) {
	o := stack.Defaults(stack.Latest)
	o.ClusterName, o.Region, o.AccountID = "demo", "eu-west-1", "111122223333"
	s, err := stack.New(o)
	if err != nil {
		t.Fatal(err)
	}
	var actions []string
	for _, statement := range s.ReadPolicy().Statements {
		actions = append(actions, statement.Actions...)
		if statement.Effect != iampolicy.Allow {
			t.Errorf("statement %s has effect %s", statement.Sid, statement.Effect)
		}
	}
	for _, want := range []string{"ec2:DescribeInstances", "ec2:DescribeInstanceTypes", "ec2:DescribeImages", "ec2:DescribeSubnets", "ssm:GetParameter", "pricing:GetProducts", "eks:DescribeCluster"} {
		if !slices.Contains(actions, want) {
			t.Errorf("it does not allow %s", want)
		}
	}
	for _, a := range actions {
		_, name, _ := strings.Cut(a, ":")
		if strings.Contains(a, "*") || !strings.HasPrefix(name, "Describe") && !strings.HasPrefix(name, "Get") && !strings.HasPrefix(name, "List") {
			t.Errorf("it allows %s", a)
		}
	}
	text, err := s.ReadOnlyIAM()
	if err != nil || !strings.Contains(string(text), `"Version": "2012-10-17"`) || strings.Contains(string(text), "${") {
		t.Errorf("%v\n%s", err, text)
	}
}
