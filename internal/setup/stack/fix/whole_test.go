package fix_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/setup/stack/check"
	"github.com/kerf-sh/kerf/internal/setup/stack/check/checktest"
	"github.com/kerf-sh/kerf/internal/setup/stack/fix"
	"github.com/kerf-sh/kerf/internal/setup/stack/setupfile"
)

// script is what fixes a live account.
func script(t *testing.T, s *awssetup.Setup, o stack.Options) (text string, left []check.Finding) {
	t.Helper()
	m, err := fix.Write(s, setupfile.KindLive, nil, fix.Options{Options: check.Options{Stack: o}})
	if err != nil {
		t.Fatal(err)
	}
	return string(m.Text), m.Left
}

// TestRulesOfOthersStayAsTheyAre has rules that serve somebody else, or several kinds of events, in the place of the
// stack's own rule for spot warnings. Such a rule is not changed; the kind gets a rule of its own.
func TestRulesOfOthersStayAsTheyAre(t *testing.T) {
	o := checktest.Everything(stack.Latest)
	const topic = "arn:aws:sns:eu-west-1:123456789012:people"
	for name, change := range map[string]func(r *awssetup.Rule){
		"sends to people": func(r *awssetup.Rule) { r.Targets = []awssetup.Target{{ID: "1", ARN: topic}} },
		"sends to people as well, and is disabled": func(r *awssetup.Rule) {
			r.Targets = append(slices.Clone(r.Targets), awssetup.Target{ID: "1", ARN: topic})
			r.Enabled = false
		},
		"is meant for the kind, and catches another": func(r *awssetup.Rule) {
			r.Pattern = json.RawMessage(`{"source":["aws.ec2"],"detail-type":["EC2 Instance Rebalance Recommendation","EC2 Spot Instance Interruption Warning"],"detail":{"instance-action":[{"exists":false}]}}`)
		},
		"is on another bus": func(r *awssetup.Rule) { r.Bus = "own" },
	} {
		s := checktest.SetupOf(t, o)
		i := slices.IndexFunc(s.Rules, func(r awssetup.Rule) bool { return strings.Contains(string(r.Pattern), "Spot Instance Interruption") })
		s.Rules[i].Name, s.Rules[i].LogicalID = "theirs", "theirs"
		s.Rules[i].ARN = strings.Replace(s.Rules[i].ARN, "rule/", "rule/theirs-", 1)
		change(&s.Rules[i])
		if r := checktest.Compare(t, s, o); !checktest.Names(r, []string{"missing", "spot interruption warning"}) {
			t.Errorf("%s: nothing is missing:\n%s", name, checktest.Text(t, r))
		}
		got, left := script(t, s, o)
		if len(left) > 0 {
			t.Errorf("%s: left %+v", name, left)
		}
		if regexp.MustCompile(`--(name|rule) theirs\b`).MatchString(got) || !strings.Contains(got, "aws events put-rule --name demo-SpotInterruptionRule ") {
			t.Errorf("%s: want a rule of its own, and theirs as it is:\n%s", name, got)
		}
	}
}

func TestTargetsThatChangeTheEventAreFoundAndMended(t *testing.T) {
	o := checktest.Everything(stack.Latest)
	for _, way := range []awssetup.Input{awssetup.Constant, awssetup.Path, awssetup.Transformer} {
		s := checktest.SetupOf(t, o)
		s.Rules[0].Targets[0].Input = way
		if r := checktest.Compare(t, s, o); !checktest.Names(r, []string{"missing", string(way), s.Rules[0].LogicalID}) {
			t.Errorf("%s is not found:\n%s", way, checktest.Text(t, r))
		}
		if got, left := script(t, s, o); len(left) > 0 || !strings.Contains(got, "aws events put-targets --rule "+s.Rules[0].Name+" ") {
			t.Errorf("%s: left %+v by\n%s", way, left, got)
		}
	}
}

// TestNoPolicyIsWrittenWithoutStatements gives the controller policies of which nothing is needed.
func TestNoPolicyIsWrittenWithoutStatements(t *testing.T) {
	o := checktest.Everything(stack.Latest)
	more := &iampolicy.Document{Version: "2012-10-17", Statements: []iampolicy.Statement{
		{Effect: iampolicy.Allow, Actions: []string{"s3:DeleteBucket"}, Resources: []string{"*"}},
	}}
	add := func(s *awssetup.Setup) {
		s.Policies = append(s.Policies, awssetup.Policy{LogicalID: "More", Name: "more", ARN: "arn:aws:iam::123456789012:policy/more", Document: more, AttachedTo: []string{s.Roles[1].Name}})
		s.Roles[1].ManagedPolicyARNs = append(slices.Clone(s.Roles[1].ManagedPolicyARNs), "arn:aws:iam::123456789012:policy/more")
		s.Roles[1].Inline = []iampolicy.Named{{Name: "inside", Document: more}, {Name: "inside2", Document: more}}
	}
	s := checktest.SetupOf(t, o)
	add(s)
	got, left := script(t, s, o)
	if len(left) > 0 {
		t.Errorf("left %+v", left)
	}
	for _, want := range []string{"detach-role-policy --role-name demo-karpenter --policy-arn arn:aws:iam::123456789012:policy/more",
		"delete-role-policy --role-name demo-karpenter --policy-name inside\n", "delete-role-policy --role-name demo-karpenter --policy-name inside2\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
	for _, m := range regexp.MustCompile(`(?s)--policy-document '(.*?)'`).FindAllStringSubmatch(got, -1) {
		if _, err := iampolicy.Parse([]byte(m[1])); err != nil {
			t.Errorf("%v in\n%s", err, m[1])
		}
	}
}

// TestAPolicyOfWhichNothingIsLeftGoesOutOfTheTemplate has the policy once as a resource, and once within the role.
func TestAPolicyOfWhichNothingIsLeftGoesOutOfTheTemplate(t *testing.T) {
	o := checktest.Everything(stack.Latest)
	st, err := stack.New(o)
	if err != nil {
		t.Fatal(err)
	}
	template, err := st.CloudFormation()
	if err != nil {
		t.Fatal(err)
	}
	const document = `{Version: "2012-10-17", Statement: [{Effect: Allow, Action: "s3:DeleteBucket", Resource: "*"}]}`
	right := string(template)
	resource := strings.Replace(right, "Resources:\n", "Resources:\n  More:\n    Type: AWS::IAM::ManagedPolicy\n    Properties:\n      Roles: [demo-karpenter]\n      PolicyDocument: "+document+"\n", 1)
	role := strings.Index(right, "RoleName: !Sub \"${ClusterName}-karpenter\"")
	if role < 0 {
		t.Fatal("the template has no role of the controller")
	}
	inside := right[:role] + "Policies:\n        - PolicyName: more\n          PolicyDocument: " + document + "\n      " + right[role:]
	for name, data := range map[string]string{"a resource": resource, "within the role": inside} {
		setup, kind, err := setupfile.Read([]byte(data), setupfile.ReadOptions{Source: name, ClusterName: "demo"})
		if err != nil {
			t.Fatal(err)
		}
		m, err := fix.Write(setup, kind, []byte(data), fix.Options{Options: check.Options{Stack: o}, Whole: true})
		if err != nil || len(m.Left) > 0 {
			t.Fatalf("%s: left %+v, %v", name, m.Left, err)
		}
		if strings.Contains(string(m.Text), "s3:DeleteBucket") || strings.Contains(string(m.Text), "Statement: []") {
			t.Errorf("%s: it is still there:\n%s", name, m.Text)
		}
		if r := checktest.Checked(t, name, m.Text, o, setupfile.ReadOptions{ClusterName: "demo"}); len(r.Findings) > 0 {
			t.Errorf("%s: want nothing after the fix, got\n%s", name, checktest.Text(t, r))
		}
	}
}

// What fixes a set-up without an option that it was written with takes out all that the option gave.
func TestAFixTakesAllOfAFeatureOut(t *testing.T) {
	o := stack.Defaults(stack.Latest)
	o.ClusterName = "demo"
	o.LaunchTemplates, o.PassRoles = true, []string{"arn:aws:iam::222233334444:role/mine"}
	data := checktest.Template(t, o)
	m := fixed(t, "stack.yaml", data, stack.Defaults(stack.Latest), setupfile.ReadOptions{ClusterName: "demo"})
	after := string(merged(t, data, m.Text))
	for _, left := range []string{"AllowUserLaunchTemplates", "AllowUserLaunchTemplateParts", "AllowPassingUserRoles", "DescribeLaunchTemplateVersions"} {
		if !strings.Contains(string(data), left) || strings.Contains(after, left) {
			t.Errorf("%s: want it before and not after\n%s", left, m.Text)
		}
	}
	if r := checktest.Checked(t, "stack.yaml", []byte(after), stack.Defaults(stack.Latest), setupfile.ReadOptions{ClusterName: "demo"}); len(r.Findings) > 0 {
		t.Errorf("after the fix:\n%s", checktest.Text(t, r))
	}
}
