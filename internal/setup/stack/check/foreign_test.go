package check_test

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/setup/stack/check"
	"github.com/kerf-sh/kerf/internal/setup/stack/check/checktest"
)

// Of a policy whose text is not here it is said that it was not judged, and not as well that what it may allow is missing.
func TestAPolicyWhoseTextIsNotHereMayAllowAll(t *testing.T) {
	r := changed(t, nil, func(s *awssetup.Setup) {
		s.Roles[1].ManagedPolicyARNs = []string{"arn:aws:iam::123456789012:policy/mine"}
		s.Policies = nil
	}, nil)
	if r.Count(check.Missing) > 0 || len(r.Unread) < 2 {
		t.Errorf("want nothing missing, got\n%s", checktest.Text(t, r))
	}
	r = changed(t, nil, func(s *awssetup.Setup) {
		s.Roles[1].ManagedPolicyARNs = append(s.Roles[1].ManagedPolicyARNs, "arn:aws:iam::aws:policy/IAMFullAccess")
	}, nil)
	if !checktest.Names(r, []string{"too wide", "IAMFullAccess", "controller's role"}) {
		t.Errorf("IAMFullAccess is not named:\n%s", checktest.Text(t, r))
	}
}
