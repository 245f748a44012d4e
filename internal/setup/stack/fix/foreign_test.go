package fix_test

import (
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/setup/stack/check/checktest"
)

// What a policy may allow whose text is not here is not added in another.
func TestNoSecondPolicyBesideOneThatIsNotHere(t *testing.T) {
	o := checktest.Everything(stack.Latest)
	s := checktest.SetupOf(t, o)
	s.Policies, s.Roles[1].ManagedPolicyARNs = nil, []string{"arn:aws:iam::123456789012:policy/mine"}
	if text, _ := script(t, s, o); strings.Contains(text, "create-policy ") {
		t.Errorf("a second policy is made:\n%s", text)
	}
	s = checktest.SetupOf(t, o)
	s.Roles[1].ManagedPolicyARNs = append(s.Roles[1].ManagedPolicyARNs, "arn:aws:iam::aws:policy/IAMFullAccess")
	if text, _ := script(t, s, o); !strings.Contains(text, "detach-role-policy --role-name demo-karpenter --policy-arn arn:aws:iam::aws:policy/IAMFullAccess") {
		t.Errorf("IAMFullAccess is kept:\n%s", text)
	}
}
