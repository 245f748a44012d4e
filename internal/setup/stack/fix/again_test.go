package fix_test

import (
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/setup/stack/check/checktest"
)

// A script that is run again takes no access entry away, and a target keeps how its events are tried again.
func TestScriptsChangeNoMoreThanTheyHaveTo(t *testing.T) {
	o := checktest.Everything(stack.Latest)
	s := checktest.SetupOf(t, o)
	s.AccessEntries[0].Type = "STANDARD"
	attempts := int32(3)
	s.Rules[0].Targets[0].DeadLetter = ""
	s.Rules[0].Targets[0].RoleARN, s.Rules[0].Targets[0].Retry = "arn:aws:iam::123456789012:role/events", &awssetup.Retry{MaximumRetryAttempts: &attempts}
	text, left := script(t, s, o)
	if len(left) > 0 {
		t.Errorf("left %+v", left)
	}
	for _, want := range []string{
		`if [ -n "$entry" ] && [ "$entry" != EC2_LINUX ]; then` + "\n  aws eks delete-access-entry ", `if [ "$entry" != EC2_LINUX ]; then` + "\n  aws eks create-access-entry ",
		`"RoleArn":"arn:aws:iam::123456789012:role/events","RetryPolicy":{"MaximumRetryAttempts":3}`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
}
