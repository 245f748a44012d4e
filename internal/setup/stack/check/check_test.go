package check_test

import (
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/setup/stack/check/checktest"
	"github.com/kerf-sh/kerf/internal/setup/stack/setupfile"
)

func TestGettingStartedStacksAreAsTheirEditionsWantThem(t *testing.T) {
	for name, edition := range map[string]stack.Compat{"getting-started-v0.32.yaml": stack.V032, "getting-started-v1.yaml": stack.V032Later, "getting-started-v1.0.yaml": stack.V10} {
		t.Run(name, func(t *testing.T) {
			r := checktest.Checked(t, name, checktest.ReadFile(t, name), stack.Defaults(edition), setupfile.ReadOptions{ClusterName: "demo"})
			if len(r.Findings) > 0 || len(r.Unread) > 0 {
				t.Errorf("want nothing, got\n%s", checktest.Text(t, r))
			}
		})
	}
}

func TestGettingStartedStacksLackWhatCameLater(t *testing.T) {
	r := checktest.Checked(t, "v1", checktest.ReadFile(t, "getting-started-v1.yaml"), stack.Defaults(stack.Latest), setupfile.ReadOptions{ClusterName: "demo"})
	got := checktest.Text(t, r)
	for _, want := range []string{"ec2:DescribeInstanceStatus", "iam:ListInstanceProfiles", "spot-instances-request/*", "capacity reservation interruption"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not named", want)
		}
	}
	if testing.Verbose() {
		t.Log(got)
	}
}
