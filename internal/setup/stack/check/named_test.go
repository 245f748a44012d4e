package check_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/setup/stack/check"
	"github.com/kerf-sh/kerf/internal/setup/stack/check/checktest"
	"github.com/kerf-sh/kerf/internal/setup/stack/setupfile"
)

// Each role that may be passed and each parameter that may be read is somebody's preference: what no option gives is named, with
// the option that would.
func TestRolesAndParametersThatNobodyAskedForAreNamed(t *testing.T) {
	const (
		admin     = "arn:aws:iam::222233334444:role/Administrator"
		team      = "arn:aws:iam::222233334444:role/team/nodes"
		parameter = "arn:aws:ssm:eu-west-1:222233334444:parameter/prod/db"
	)
	o := stack.Defaults(stack.Latest)
	o.ClusterName = "demo"
	o.PassRoles, o.Parameters = []string{admin, team}, []string{parameter}
	text := checktest.Template(t, o)
	for name, c := range map[string]struct {
		passRoles, parameters []string
		want                  []string // resource and the option in the remedy
	}{
		"none is given":           {want: []string{parameter + " --ssm-parameter", admin + " --pass-role", team + " --pass-role"}},
		"one of several is given": {passRoles: []string{team}, parameters: []string{parameter}, want: []string{admin + " --pass-role"}},
		"all are given":           {passRoles: o.PassRoles, parameters: o.Parameters},
	} {
		t.Run(name, func(t *testing.T) {
			want := stack.Defaults(stack.Latest)
			want.PassRoles, want.Parameters = c.passRoles, c.parameters
			var got []string
			for _, f := range checktest.Checked(t, "stack.yaml", text, want, setupfile.ReadOptions{ClusterName: "demo"}).Findings {
				if f.Severity != check.TooWide || !strings.Contains(f.What, f.Resource) {
					t.Errorf("unexpected: %+v", f)
				}
				for _, flag := range []string{"--pass-role", "--ssm-parameter"} {
					if strings.Contains(f.Fix, flag+" "+f.Resource) {
						got = append(got, f.Resource+" "+flag)
					}
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("named (-want +got):\n%s", diff)
			}
		})
	}
}

// The region is that of the file, else of what was given beside it; one that stands for it is said to.
func TestARegionThatIsTakenForGrantedIsSaid(t *testing.T) {
	const key = "arn:aws:kms:eu-west-1:222233334444:key/abc"
	o := stack.Defaults(stack.Latest)
	o.ClusterName = "demo"
	data := checktest.Template(t, o)
	for name, c := range map[string]struct {
		in     setupfile.ReadOptions
		region string
		said   bool
	}{
		"nothing tells it":         {setupfile.ReadOptions{}, "us-east-1", true},
		"an option's ARN tells it": {setupfile.ReadOptions{Given: []string{"", key}}, "eu-west-1", false},
		"it is given":              {setupfile.ReadOptions{Region: "us-east-1"}, "us-east-1", false},
		"it beats an option's ARN": {setupfile.ReadOptions{Region: "us-west-2", Given: []string{key}}, "us-west-2", false},
	} {
		t.Run(name, func(t *testing.T) {
			c.in.ClusterName = "demo"
			r := checktest.Checked(t, "stack.yaml", data, stack.Defaults(stack.Latest), c.in)
			said := strings.Contains(strings.Join(r.Notes, "\n"), "us-east-1 stands for it (--region)")
			if r.Region != c.region || said != c.said {
				t.Errorf("region %s, said %v: %q", r.Region, said, r.Notes)
			}
		})
	}
}
