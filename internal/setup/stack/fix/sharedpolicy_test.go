package fix_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/setup/stack/check"
	"github.com/kerf-sh/kerf/internal/setup/stack/check/checktest"
)

// A policy that others have, too, is not written anew for this cluster.
func TestPoliciesOfOthersAreNotRewritten(t *testing.T) {
	o := checktest.Everything(stack.Latest)
	for attachments, rewritten := range map[int]bool{0: true, 1: true, 2: false} {
		s := checktest.SetupOf(t, o)
		p := &s.Policies[0]
		p.AttachedTo, p.Attachments = []string{s.Roles[1].Name}, attachments
		d := *p.Document
		d.Statements = slices.Clone(d.Statements)
		i := slices.IndexFunc(d.Statements, func(st iampolicy.Statement) bool { return st.Sid == "AllowScopedDeletion" })
		d.Statements[i].Conditions = nil
		p.Document = &d
		text, left := script(t, s, o)
		if got := strings.Contains(text, "create-policy-version --policy-arn "+p.ARN); got != rewritten {
			t.Errorf("attached to %d: written %v:\n%s", attachments, got, text)
		}
		said := slices.ContainsFunc(left, func(f check.Finding) bool {
			return f.Policy == p.Name && strings.Contains(f.Fix, "a policy of its own")
		})
		if said == rewritten {
			t.Errorf("attached to %d: left %+v", attachments, left)
		}
	}
}
