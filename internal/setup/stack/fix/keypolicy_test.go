package fix_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/setup/stack/check/checktest"
)

// Statements of a key's policy that are others' stay as they are.
func TestKeyPoliciesKeepWhatIsOthers(t *testing.T) {
	o := checktest.Everything(stack.Latest)
	logs := iampolicy.Statement{
		Sid: "AllowEventBridgeToUseTheKey", Effect: iampolicy.Allow, Principal: &iampolicy.Principals{Service: []string{"logs.eu-west-1.amazonaws.com"}},
		Actions: []string{"kms:Encrypt*", "kms:Decrypt*"}, Resources: []string{"*"},
		Conditions: []iampolicy.Condition{{Operator: "ArnLike", Key: "kms:EncryptionContext:aws:logs:arn", Values: []string{"arn:aws:logs:eu-west-1:123456789012:*"}}},
	}
	alarms := iampolicy.Statement{
		Sid: "AllowAlarms", Effect: iampolicy.Allow, Principal: &iampolicy.Principals{Service: []string{"cloudwatch.amazonaws.com"}}, Actions: []string{"kms:Decrypt", "kms:GenerateDataKey*"}, Resources: []string{"*"},
	}
	admin := iampolicy.Statement{
		Sid: "AllowAccountToManageTheKey", Effect: iampolicy.Allow, Principal: &iampolicy.Principals{AWS: []string{"arn:aws:iam::123456789012:role/Admin"}}, Actions: []string{"kms:*"}, Resources: []string{"*"},
	}
	controller := iampolicy.Statement{
		Sid: "Controller", Effect: iampolicy.Allow, Principal: &iampolicy.Principals{AWS: []string{"arn:aws:iam::123456789012:role/demo-karpenter"}}, Actions: []string{"kms:Decrypt"}, Resources: []string{"*"},
	}
	bus := iampolicy.Statement{
		Sid: "Bus", Effect: iampolicy.Allow, Principal: &iampolicy.Principals{Service: []string{awssetup.EventBridge}}, Actions: []string{"kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKey"}, Resources: []string{"*"},
		Conditions: []iampolicy.Condition{{Operator: "ArnEquals", Key: "aws:SourceArn", Values: []string{"arn:aws:events:eu-west-1:123456789012:event-bus/b"}}},
	}
	others := []iampolicy.Statement{admin, controller, logs, alarms, bus}
	keyOf := func(statements ...iampolicy.Statement) *awssetup.Setup {
		s := checktest.SetupOf(t, o)
		s.Keys[0].Policy = &iampolicy.Document{Version: "2012-10-17", Statements: statements}
		return s
	}
	events := checktest.SetupOf(t, o).Keys[0].Policy.Statements[1]
	events.Sid = "Events"
	if r := checktest.Compare(t, keyOf(append(slices.Clone(others), events)...), o); r.Wrong() {
		t.Errorf("want nothing wrong, got\n%s", checktest.Text(t, r))
	}
	text, left := script(t, keyOf(others...), o)
	if len(left) > 0 {
		t.Errorf("left %+v", left)
	}
	d := keyPolicyIn(t, text)
	for _, st := range others {
		if !slices.ContainsFunc(d.Statements, func(x iampolicy.Statement) bool { return x.Sid == st.Sid && slices.Equal(x.Actions, st.Actions) }) {
			t.Errorf("statement %s is gone", st.Sid)
		}
	}
	sids := map[string]bool{}
	for _, st := range d.Statements {
		if sids[st.Sid] {
			t.Errorf("Sid %s is there twice", st.Sid)
		}
		sids[st.Sid] = true
		if st.Principal != nil && slices.Contains(st.Principal.AWS, "arn:aws:iam::123456789012:root") {
			t.Error("the account's root is let in, and nobody asked for it")
		}
	}
	if len(d.Statements) != len(others)+1 {
		t.Errorf("want one statement more, got %+v", d.Statements)
	}
}

func keyPolicyIn(t *testing.T, script string) *iampolicy.Document {
	t.Helper()
	_, after, _ := strings.Cut(script, "aws kms put-key-policy ")
	_, after, _ = strings.Cut(after, "--policy '")
	text, _, _ := strings.Cut(after, "'")
	d, err := iampolicy.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, script)
	}
	return d
}
