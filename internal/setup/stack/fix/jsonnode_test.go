package fix_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/setup/stack/check"
	"github.com/kerf-sh/kerf/internal/setup/stack/check/checktest"
	"github.com/kerf-sh/kerf/internal/setup/stack/fix"
	"github.com/kerf-sh/kerf/internal/setup/stack/setupfile"
)

func TestTemplatesInJSONStayJSON(t *testing.T) {
	const template = `{
	"Parameters": {"ClusterName": {"Type": "String"}},
	"Resources": {
		"KarpenterInterruptionQueue": {"Type": "AWS::SQS::Queue", "Properties": {
			"QueueName": {"Ref": "ClusterName"}, "MessageRetentionPeriod": "1209600", "Tags": [{"Key": "<a>", "Value": {"Fn::Sub": "${ClusterName}-x"}}]
		}}
	}
}`
	for name, whole := range map[string]bool{"what changes": false, "all of it": true} {
		setup, _, err := setupfile.Read([]byte(template), setupfile.ReadOptions{Source: name, ClusterName: "demo"})
		if err != nil {
			t.Fatal(err)
		}
		m, err := fix.Write(setup, setupfile.KindCloudFormation, []byte(template), fix.Options{Options: check.Options{Stack: stack.Defaults(stack.Latest)}, Whole: whole})
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Description string
			Parameters  map[string]any
			Resources   map[string]struct{ Properties map[string]any }
		}
		if err := json.Unmarshal(m.Text, &got); err != nil {
			t.Fatalf("%s: %v in\n%s", name, err, m.Text)
		}
		if strings.Contains(got.Description, "Do not deploy this alone") == whole {
			t.Errorf("%s: its description is %q", name, got.Description)
		}
		q := got.Resources["KarpenterInterruptionQueue"].Properties
		if q["MessageRetentionPeriod"] != float64(300) || !strings.Contains(string(m.Text), `"Key": "<a>"`) || !strings.Contains(string(m.Text), `"Fn::Sub": "${ClusterName}-x"`) {
			t.Errorf("%s: got\n%s", name, m.Text)
		}
		if _, ok := q["QueueName"].(map[string]any); !ok || got.Parameters["ClusterName"] == nil {
			t.Errorf("%s: references are lost:\n%s", name, m.Text)
		}
		setup, kind, err := setupfile.Read(m.Text, setupfile.ReadOptions{Source: name, ClusterName: "demo"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := check.Compare(setup, kind, check.Options{Stack: stack.Defaults(stack.Latest)}); err != nil {
			t.Error(err)
		}
	}
}

func TestWhatIsNoNumberOfSecondsIsSaid(t *testing.T) {
	const template = `Resources: {Q: {Type: "AWS::SQS::Queue", Properties: {QueueName: demo, MessageRetentionPeriod: abc}}}`
	r := checktest.Checked(t, "abc", []byte(template), stack.Defaults(stack.Latest), setupfile.ReadOptions{ClusterName: "demo"})
	if got := checktest.Text(t, r); !strings.Contains(got, `MessageRetentionPeriod of Q: "abc" is no number of seconds`) {
		t.Error(got)
	}
}

// TestAnAccountThatIsWrittenIsNotAssumed takes the account of examples, which stands for those that are not known.
func TestAnAccountThatIsWrittenIsNotAssumed(t *testing.T) {
	const template = `Resources: {Q: {Type: "AWS::SQS::Queue", Properties: {QueueName: demo, KmsMasterKeyId: !Sub "arn:aws:kms:us-east-1:111122223333:key/k"}}}`
	for name, c := range map[string]struct {
		template string
		assumed  bool
	}{"written": {template, false}, "not known": {strings.Replace(template, "111122223333", "${AWS::AccountId}", 1), true}} {
		r := checktest.Checked(t, name, []byte(c.template), stack.Defaults(stack.Latest), setupfile.ReadOptions{ClusterName: "demo"})
		if got := strings.Contains(checktest.Text(t, r), "the account is not known"); got != c.assumed {
			t.Errorf("%s: said to be not known: %v", name, got)
		}
	}
}
