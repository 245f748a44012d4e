package check_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/setup/stack/check"
	"github.com/kerf-sh/kerf/internal/setup/stack/check/checktest"
)

// What nodes need they may have from any policy.
func TestPoliciesOfOnesOwnOfTheNodeRole(t *testing.T) {
	const mine = "arn:aws:iam::123456789012:policy/mine"
	pull := &iampolicy.Document{Version: "2012-10-17", Statements: []iampolicy.Statement{
		{Effect: iampolicy.Allow, Actions: []string{"ecr:GetAuthorizationToken"}, Resources: []string{"*"}},
		{Effect: iampolicy.Allow, Actions: []string{"ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"}, Resources: []string{"arn:aws:ecr:*:*:repository/*"}},
		{Effect: iampolicy.Allow, Actions: []string{"ec2:Describe*"}, Resources: []string{"*"}},
	}}
	half := &iampolicy.Document{Version: "2012-10-17", Statements: pull.Statements[:1]}
	for name, c := range map[string]struct {
		change          func(s *awssetup.Setup)
		missing, unread bool
	}{
		"none":               {func(*awssetup.Setup) {}, true, false},
		"inline":             {func(s *awssetup.Setup) { s.Roles[0].Inline = []iampolicy.Named{{Name: "pull", Document: pull}} }, false, false},
		"inline, not enough": {func(s *awssetup.Setup) { s.Roles[0].Inline = []iampolicy.Named{{Name: "pull", Document: half}} }, true, false},
		"attached": {func(s *awssetup.Setup) {
			s.Roles[0].ManagedPolicyARNs = append(s.Roles[0].ManagedPolicyARNs, mine)
			s.Policies = append(s.Policies, awssetup.Policy{Name: "mine", ARN: mine, Document: pull, AttachedTo: []string{s.Roles[0].Name}})
		}, false, false},
		"attached, not here": {func(s *awssetup.Setup) { s.Roles[0].ManagedPolicyARNs = append(s.Roles[0].ManagedPolicyARNs, mine) }, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := changed(t, nil, func(s *awssetup.Setup) {
				s.Roles[0].ManagedPolicyARNs = slices.DeleteFunc(slices.Clone(s.Roles[0].ManagedPolicyARNs), func(arn string) bool {
					return strings.Contains(arn, "ContainerRegistry") || strings.Contains(arn, "WorkerNode")
				})
				c.change(s)
			}, nil)
			unread := slices.ContainsFunc(r.Unread, func(u check.Unread) bool { return strings.Contains(u.What, "ecr:BatchGetImage") })
			if missing := checktest.Names(r, []string{"missing", "AmazonEC2ContainerRegistryPullOnly"}); missing != c.missing || unread != c.unread {
				t.Errorf("missing %v, not judged %v, got\n%s", missing, unread, checktest.Text(t, r))
			}
		})
	}
}
