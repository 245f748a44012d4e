package check_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
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

// ARNs that are given are not held to an account and a region that only stand for those that nothing tells.
func TestGivenARNsAreOfAnyPlaceThatIsNotKnown(t *testing.T) {
	o := stack.Defaults(stack.Latest)
	o.ClusterName = "demo"
	data := checktest.Template(t, o)
	o.PermissionsBoundary, o.PassRoles = "arn:aws-us-gov:iam::222233334444:policy/b", []string{"arn:aws-us-gov:iam::222233334444:role/x"}
	checktest.Checked(t, "stack.yaml", data, o, setupfile.ReadOptions{ClusterName: "demo"})
}

// A later edition names no more than an older one wants, but for what the cluster itself has of it.
func TestLaterEditionsNameNothingOfOthers(t *testing.T) {
	for i, older := range stack.Editions() {
		for _, later := range stack.Editions()[i:] {
			o := checktest.Everything(later)
			o.PassRoles, o.Parameters = nil, nil
			want := o
			want.Compat = older
			for _, f := range checktest.Compare(t, checktest.SetupOf(t, o), want).Findings {
				if strings.Contains(f.What, "not all this cluster's") || strings.Contains(f.What, "nor given by an option") {
					t.Errorf("%s, compared with %s: %s: %s", later, older, f.Thing, f.What)
				}
			}
		}
	}
}

// What else the policies name for the controller's own actions is found as well: nobody could make it up.
func TestWhatPoliciesNameBesideTheClusterIsTooWide(t *testing.T) {
	one := func(sid, action, resource string, conditions ...iampolicy.Condition) iampolicy.Statement {
		return iampolicy.Statement{Sid: sid, Effect: iampolicy.Allow, Actions: strings.Split(action, " "), Resources: strings.Split(resource, " "), Conditions: conditions}
	}
	equals := func(key string, values ...string) iampolicy.Condition {
		return iampolicy.Condition{Operator: "StringEquals", Key: key, Values: values}
	}
	like := func(key, value string) iampolicy.Condition {
		return iampolicy.Condition{Operator: "StringLike", Key: key, Values: []string{value}}
	}
	const instances = "arn:aws:ec2:eu-west-1:*:instance/*"
	for name, c := range map[string]struct {
		st   iampolicy.Statement
		want []string // words of the one finding; nil: nothing is wrong
	}{
		"another queue": {one("Payments", "sqs:ReceiveMessage sqs:DeleteMessage", "arn:aws:sqs:eu-west-1:123456789012:payments"),
			[]string{"Payments", "sqs:ReceiveMessage", "sqs:DeleteMessage", ":payments"}},
		"a queue by its beginning": {one("Payments", "sqs:DeleteMessage", "arn:aws:sqs:*:*:pay*"), []string{"Payments", ":pay*"}},
		"instances by another tag": {one("Prod", "ec2:TerminateInstances", "*", equals("aws:ResourceTag/env", "prod")), []string{"Prod", "ec2:TerminateInstances", "aws:ResourceTag/env = prod"}},
		"another value of a tag": {one("Either", "ec2:TerminateInstances", instances, equals("aws:ResourceTag/kubernetes.io/cluster/demo", "owned", "shared"), like("aws:ResourceTag/karpenter.sh/nodepool", "*")),
			[]string{"Either", "owned or shared"}},
		"another instance profile": {one("Bastion", "iam:AddRoleToInstanceProfile", "arn:aws:iam::123456789012:instance-profile/bastion"), []string{"Bastion", "instance-profile/bastion"}},
		"launching for another cluster": {one("Other", "ec2:RunInstances ec2:CreateFleet", instances, equals("aws:RequestTag/kubernetes.io/cluster/other", "owned"), like("aws:RequestTag/karpenter.sh/nodepool", "*")),
			[]string{"Other", "ec2:RunInstances", "ec2:CreateFleet", "kubernetes.io/cluster/other"}},
		"ending for another cluster": {one("AllowScopedDeletion", "ec2:TerminateInstances ec2:DeleteLaunchTemplate", instances,
			equals("aws:ResourceTag/kubernetes.io/cluster/other", "owned"), like("aws:ResourceTag/karpenter.sh/nodepool", "*")),
			[]string{"InterruptionPolicy", "AllowScopedDeletion", "kubernetes.io/cluster/other"}},
		"another region, too": {one("Regions", "ec2:DescribeInstances", "*", equals("aws:RequestedRegion", "eu-west-1", "us-east-1")), []string{"Regions", "ec2:DescribeInstances"}},
		"another cluster":     {one("Other", "eks:DescribeCluster", "arn:aws:eks:eu-west-1:123456789012:cluster/other"), []string{"Other", "cluster/other"}},
		"the cluster's own again": {one("Again", "ec2:TerminateInstances", "arn:aws:ec2:eu-west-1:*:instance/i-0", equals("aws:ResourceTag/kubernetes.io/cluster/demo", "owned"),
			like("aws:ResourceTag/karpenter.sh/nodepool", "a*")), nil},
		"what AWS never asks about": {one("Subnets", "ec2:TerminateInstances", "arn:aws:ec2:eu-west-1:*:subnet/*"), nil},
		"nobody":                    {one("Nobody", "sqs:DeleteMessage", "arn:aws:sqs:eu-west-1:123456789012:${aws:PrincipalTag/queue}"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := changed(t, nil, func(s *awssetup.Setup) {
				i := slices.IndexFunc(s.Policies, func(p awssetup.Policy) bool { return strings.Contains(p.Name, "InterruptionPolicy") })
				s.Policies[i].Document.Statements = append(s.Policies[i].Document.Statements, c.st)
			}, nil)
			if c.want == nil && r.Wrong() || c.want != nil && (r.Count(check.TooWide) != 1 || !checktest.Names(r, append(c.want, "too wide"))) {
				t.Errorf("want %q, got\n%s", c.want, checktest.Text(t, r))
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
