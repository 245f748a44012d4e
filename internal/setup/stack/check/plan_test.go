package check_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/setup/stack/check"
	"github.com/kerf-sh/kerf/internal/setup/stack/check/checktest"
	"github.com/kerf-sh/kerf/internal/setup/stack/setupfile"
)

func planReport(t *testing.T, name string) *check.Report {
	t.Helper()
	return checktest.Checked(t, name, checktest.ReadFile(t, name), stack.Defaults(stack.Latest), setupfile.ReadOptions{})
}

// The article that the plan follows sets up the queue and two rules only, keeps messages for 14 days, and grants more than
// is called.
func TestPlanOfTheSpotInterruptionArticle(t *testing.T) {
	for _, name := range []string{"seed-003-plan.json", "seed-003-new-plan.json"} {
		t.Run(name, func(t *testing.T) {
			r := planReport(t, name)
			if r.Cluster != "prod" || r.Region != "eu-west-1" || r.Account != "123456789012" {
				t.Errorf("want cluster prod in eu-west-1 of 123456789012, got %s in %s of %s", r.Cluster, r.Region, r.Account)
			}
			for _, want := range [][]string{
				{"missing", "instance state change"},
				{"missing", "scheduled change (health event)"},
				{"missing", "capacity reservation interruption"},
				{"different", "14 days", "prod-sqs-karpenter-spot-events"},
				{"too wide", "sqs:SendMessage", "prod-KarpenterSQSAccess"},
				{"sqs:ListQueues", "never calls"},
				{"sqs:GetQueueAttributes", "not needed as things are"},
				{"missing", "ec2:CreateFleet"},
				{"advice", "hidden for 5m"},
				{"advice", "dead-letter queue"},
			} {
				if !checktest.Names(r, want) {
					t.Errorf("no finding has %q", want)
				}
			}
			for _, no := range [][]string{{"missing", "spot interruption warning"}, {"missing", "sqs:ReceiveMessage"}, {"does not let EventBridge send"}} {
				if checktest.Names(r, no) {
					t.Errorf("a finding has %q, which is in order", no)
				}
			}
			if t.Failed() {
				t.Log("\n" + checktest.Text(t, r))
			}
		})
	}
}

func TestWhatAPlanCannotTellIsNotJudged(t *testing.T) {
	r := planReport(t, "seed-003-new-plan.json")
	if len(r.Unread) != 1 || !strings.Contains(r.Unread[0].What, "queue policy") || !strings.Contains(r.Unread[0].Why, "aws_sqs_queue_policy.karpenter_interruption_policy") {
		t.Errorf("want the queue policy alone to be unread, got %+v", r.Unread)
	}
	if r := planReport(t, "seed-003-plan.json"); len(r.Unread) > 0 {
		t.Errorf("of a plan with nothing unknown all is read, got %+v", r.Unread)
	}
}

// The key of the article on encryption has no policy, so that EventBridge cannot use it.
func TestPlanOfTheEncryptionArticle(t *testing.T) {
	r := planReport(t, "seed-002-plan.json")
	for _, action := range []string{"kms:GenerateDataKey", "kms:Decrypt"} {
		i := slices.IndexFunc(r.Findings, func(f check.Finding) bool { return f.Area == check.AreaEncryption && f.Action == action })
		if i < 0 {
			t.Fatalf("nothing says that EventBridge lacks %s:\n%s", action, checktest.Text(t, r))
		}
		if f := r.Findings[i]; f.Severity != check.Missing || f.Thing != "aws_kms_key.karpenter_sqs" || !strings.Contains(f.What, "events.amazonaws.com") {
			t.Errorf("want the key to be named, got %+v", f)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"seed-002-plan.json", "seed-003-new-plan.json", "getting-started-v0.32.yaml"} {
		f.Add(checktest.ReadFile(f, name))
	}
	f.Add([]byte(`{"Statement":[{"Effect":"Allow","Action":"sqs:*","Resource":"*"}]}`))
	f.Add([]byte(`{"Policies":{"a":{"Version":"2012-10-17","Statement":[]}},"Roles":{"r":{}}}`))
	f.Add([]byte(`{"planned_values":{"root_module":{"resources":[{"type":"aws_sqs_queue","mode":"managed","values":{"name":1}}]}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		setup, kind, err := setupfile.Read(data, setupfile.ReadOptions{Source: "fuzz"})
		if err != nil {
			return
		}
		if _, err := check.Compare(setup, kind, check.Options{Stack: stack.Defaults(stack.Latest)}); err != nil && setup.ClusterName == "" {
			t.Logf("%v", err)
		}
	})
}
