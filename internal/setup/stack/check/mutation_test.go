package check_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/setup/stack/check"
	"github.com/kerf-sh/kerf/internal/setup/stack/check/checktest"
	"github.com/kerf-sh/kerf/internal/setup/stack/fix"
	"github.com/kerf-sh/kerf/internal/setup/stack/setupfile"
)

func TestStacksOfEveryEditionAreInOrder(t *testing.T) {
	for _, c := range stack.Editions() {
		for name, o := range map[string]stack.Options{"everything": checktest.Everything(c), "defaults": func() stack.Options {
			o := stack.Defaults(c)
			o.ClusterName = "demo"
			return o
		}()} {
			t.Run(string(c)+" "+name, func(t *testing.T) {
				if r := checktest.Compare(t, checktest.SetupOf(t, o), o); len(r.Findings) > 0 || len(r.Unread) > 0 {
					t.Errorf("want nothing, got\n%s", checktest.Text(t, r))
				}
			})
		}
	}
}

// mutation changes one thing. What is found must name all of the words in one finding.
type mutation struct {
	name   string
	change func(s *awssetup.Setup)
	words  []string
}

// TestEverySingleDefectIsFoundAndNamed makes each defect that a set-up can have by itself, one at a time.
func TestEverySingleDefectIsFoundAndNamed(t *testing.T) {
	for _, c := range stack.Editions() {
		t.Run(string(c), func(t *testing.T) {
			t.Parallel()
			o := checktest.Everything(c)
			st, err := stack.New(o)
			if err != nil {
				t.Fatal(err)
			}
			base := st.Setup(checktest.Account, checktest.Region)
			all := slices.Concat(policyMutations(base), queueMutations(base), ruleMutations(base), roleMutations(base), alarmMutations(base))
			t.Logf("%d defects", len(all))
			for _, m := range all {
				s := st.Setup(checktest.Account, checktest.Region)
				m.change(s)
				if r := checktest.Compare(t, s, o); !checktest.Names(r, m.words) {
					t.Errorf("%s: want a finding with %q, got\n%s", m.name, m.words, checktest.Text(t, r))
				}
				if c != stack.Latest {
					continue
				}
				fix, err := fix.Write(s, setupfile.KindLive, nil, fix.Options{Options: check.Options{Stack: o}})
				if err != nil {
					t.Fatalf("%s: %v", m.name, err)
				}
				sh := exec.CommandContext(t.Context(), "sh", "-n")
				sh.Stdin = bytes.NewReader(fix.Text)
				if out, err := sh.CombinedOutput(); err != nil {
					t.Errorf("%s: the shell does not read the fix: %v\n%s", m.name, err, out)
				}
				if len(fix.Left) > 0 && !slices.Contains(byHand, m.name) {
					t.Errorf("%s: the fix leaves %+v", m.name, fix.Left)
				}
			}
		})
	}
}

// byHand are defects that only people can fix: what cannot be changed in place, and what may be meant. The policy over
// the limit has its size from elsewhere here; one whose own text is too long is cut.
var byHand = []string{
	"FIFO", "of another cluster", "a denial", "a boundary that allows too little", "a role with a long name", "a role with many policies", "a policy over the limit", "key of AWS",
	"node role that may pass roles", "key of AWS",
}

func policyMutations(base *awssetup.Setup) []mutation {
	var out []mutation
	for p := range base.Policies {
		for i, s := range base.Policies[p].Document.Statements {
			at := func(set *awssetup.Setup) *iampolicy.Statement {
				d := *set.Policies[p].Document
				d.Statements = slices.Clone(d.Statements)
				set.Policies[p].Document = &d
				return &d.Statements[i]
			}
			add := func(name string, change func(s *iampolicy.Statement), words ...string) {
				out = append(out, mutation{s.Sid + ": " + name, func(set *awssetup.Setup) { change(at(set)) }, words})
			}
			out = append(out, mutation{s.Sid + " dropped", func(set *awssetup.Setup) {
				d := *set.Policies[p].Document
				d.Statements = slices.Delete(slices.Clone(d.Statements), i, i+1)
				set.Policies[p].Document = &d
			}, []string{s.Sid}})
			if len(s.Actions) > 1 {
				for k, a := range s.Actions {
					add("without "+a, func(s *iampolicy.Statement) { s.Actions = slices.Delete(slices.Clone(s.Actions), k, k+1) }, a)
				}
			}
			if len(s.Resources) > 1 {
				for k, r := range s.Resources {
					words := []string{s.Actions[0], lastPart(r)}
					if s.Sid == "AllowScopedEC2InstanceActionsWithTags" && strings.HasSuffix(r, "spot-instances-request/*") {
						words = words[1:] // what users' launch templates need allows it as well
					}
					add("without "+r, func(s *iampolicy.Statement) { s.Resources = slices.Delete(slices.Clone(s.Resources), k, k+1) }, words...)
				}
			}
			for k, r := range s.Resources {
				if r != "*" && !(len(s.Conditions) > 0 && s.Sid == "AllowScopedInstanceProfileTagActions") {
					add("on everything for "+r, func(s *iampolicy.Statement) { s.Resources = slices.Clone(s.Resources); s.Resources[k] = "*" }, s.Sid)
				}
			}
			for k, c := range s.Conditions {
				add("without "+c.Key, func(s *iampolicy.Statement) { s.Conditions = slices.Delete(slices.Clone(s.Conditions), k, k+1) }, c.Key)
				add("with another "+c.Key, func(s *iampolicy.Statement) {
					s.Conditions = slices.Clone(s.Conditions)
					s.Conditions[k].Values = []string{"wrong"}
				}, c.Key)
			}
			for _, extra := range []string{"iam:CreateUser", "ec2:*", "sqs:PurgeQueue", "s3:GetObject"} {
				add("with "+extra, func(s *iampolicy.Statement) { s.Actions = append(slices.Clone(s.Actions), extra) }, s.Sid, extra)
			}
		}
	}
	out = append(out,
		mutation{"no policies", func(s *awssetup.Setup) { s.Policies, s.Roles = nil, s.Roles[:1] }, []string{"policies of the controller"}},
		mutation{"administrator", func(s *awssetup.Setup) {
			s.Roles[1].ManagedPolicyARNs = append(s.Roles[1].ManagedPolicyARNs, "arn:aws:iam::aws:policy/AdministratorAccess")
		}, []string{"AdministratorAccess"}},
		mutation{"all actions in words of one's own", func(s *awssetup.Setup) {
			s.Policies[0].Document = &iampolicy.Document{Version: "2012-10-17", Statements: []iampolicy.Statement{
				{Sid: "All", Effect: iampolicy.Allow, Actions: []string{"*"}, Resources: []string{"*"}},
			}}
		}, []string{"All", "everything"}},
		mutation{"a denial", func(s *awssetup.Setup) {
			d := *s.Policies[0].Document
			d.Statements = append(slices.Clone(d.Statements), iampolicy.Statement{
				Sid: "NoTermination", Effect: iampolicy.Deny, Actions: []string{"ec2:TerminateInstances"}, Resources: []string{"*"},
			})
			s.Policies[0].Document = &d
		}, []string{"ec2:TerminateInstances", "denied", "NoTermination"}},
		mutation{"a boundary that allows too little", func(s *awssetup.Setup) {
			s.Policies = append(s.Policies, awssetup.Policy{Name: "boundary", ARN: "arn:aws:iam::123456789012:policy/boundary", Document: &iampolicy.Document{
				Version: "2012-10-17", Statements: []iampolicy.Statement{{Effect: iampolicy.Allow, Actions: []string{"ec2:*", "iam:*", "ssm:*", "pricing:*", "eks:*", "kms:*"}, Resources: []string{"*"}}},
			}})
			s.Roles[1].Boundary = "arn:aws:iam::123456789012:policy/boundary"
		}, []string{"sqs:ReceiveMessage"}},
		mutation{"a policy over the limit", func(s *awssetup.Setup) { s.Policies[0].Characters = 6145 }, []string{"6145", "6144"}},
	)
	return out
}

// lastPart is the part of an ARN that a finding names.
func lastPart(arn string) string {
	part := arn[strings.LastIndex(arn, ":")+1:]
	kind, _, _ := strings.Cut(part, "/")
	return kind
}

func queueMutations(base *awssetup.Setup) []mutation {
	queue := func(change func(q *awssetup.Queue)) func(*awssetup.Setup) {
		return func(s *awssetup.Setup) { change(&s.Queues[0]) }
	}
	policy := func(change func(d *iampolicy.Document)) func(*awssetup.Setup) {
		return queue(func(q *awssetup.Queue) {
			d := *q.Policy
			d.Statements = slices.Clone(d.Statements)
			change(&d)
			q.Policy = &d
		})
	}
	key := func(change func(k *awssetup.Key, d *iampolicy.Document)) func(*awssetup.Setup) {
		return func(s *awssetup.Setup) {
			d := *s.Keys[0].Policy
			d.Statements = slices.Clone(d.Statements)
			s.Keys[0].Policy = &d
			change(&s.Keys[0], &d)
		}
	}
	var tags []mutation
	if len(base.Queues[0].Tags) > 0 {
		tags = []mutation{{"without tag", queue(func(q *awssetup.Queue) { q.Tags = nil }), []string{"karpenter.sh/discovery=demo"}}}
	}
	return append(tags, []mutation{
		{"kept for 14 days", queue(func(q *awssetup.Queue) { q.Retention = 14 * 24 * time.Hour }), []string{"different", "14 days", "5m"}},
		{"kept for half an hour", queue(func(q *awssetup.Queue) { q.Retention = 30 * time.Minute }), []string{"advice", "30m"}},
		{"hidden for 5 minutes", queue(func(q *awssetup.Queue) { q.Visibility = 5 * time.Minute }), []string{"advice", "hidden", "5m"}},
		{"FIFO", queue(func(q *awssetup.Queue) { q.FIFO = true }), []string{"different", "FIFO"}},
		{"no dead-letter queue", queue(func(q *awssetup.Queue) { q.DeadLetter = "" }), []string{"advice", "dead-letter"}},
		{"own dead-letter queue", queue(func(q *awssetup.Queue) { q.DeadLetter = q.ARN }), []string{"its own dead-letter"}},
		{"tried once", queue(func(q *awssetup.Queue) { q.MaxReceives = 1 }), []string{"1 times"}},
		{"of another cluster", queue(func(q *awssetup.Queue) { q.Tags = map[string]string{"karpenter.sh/discovery": "other"} }), []string{"different", "other"}},
		{"gone", func(s *awssetup.Setup) { s.Queues = nil }, []string{"no interruption queue"}},
		{"without policy", queue(func(q *awssetup.Queue) { q.Policy = nil }), []string{"it has no policy", "sqs:SendMessage"}},
		{"policy for another service", policy(func(d *iampolicy.Document) {
			d.Statements[0].Principal = &iampolicy.Principals{Service: []string{"s3.amazonaws.com"}}
		}), []string{"does not let EventBridge send", "ScheduledChangeRule"}},
		{"policy for another action", policy(func(d *iampolicy.Document) { d.Statements[0].Actions = []string{"sqs:GetQueueUrl"} }), []string{"does not let EventBridge send"}},
		{"policy for another queue", policy(func(d *iampolicy.Document) {
			d.Statements[0].Resources = []string{"arn:aws:sqs:eu-west-1:123456789012:x"}
		}), []string{"does not let EventBridge send"}},
		{"policy for one rule only", policy(func(d *iampolicy.Document) {
			d.Statements[0].Conditions = []iampolicy.Condition{{Operator: "ArnEquals", Key: "aws:SourceArn", Values: []string{"arn:aws:events:eu-west-1:123456789012:rule/SpotInterruptionRule"}}}
		}), []string{"RebalanceRule", "aws:SourceArn"}},
		{"policy for all rules", policy(func(d *iampolicy.Document) { d.Statements[0].Conditions = nil }), []string{"too wide", "aws:SourceArn"}},
		{"policy for everybody", policy(func(d *iampolicy.Document) {
			d.Statements[0].Conditions, d.Statements[0].Principal = nil, &iampolicy.Principals{Any: true}
		}), []string{"too wide", "lets any account send"}},
		{"policy for another account", policy(func(d *iampolicy.Document) {
			d.Statements = append(d.Statements, iampolicy.Statement{Sid: "Friends", Effect: iampolicy.Allow, Principal: &iampolicy.Principals{AWS: []string{"arn:aws:iam::444455556666:root"}},
				Actions: []string{"sqs:SendMessage", "sqs:ReceiveMessage"}, Resources: []string{base.Queues[0].ARN}})
		}), []string{"too wide", "Friends", "account 444455556666"}},
		{"policy for topics", policy(func(d *iampolicy.Document) {
			d.Statements = append(d.Statements, iampolicy.Statement{Effect: iampolicy.Allow, Principal: &iampolicy.Principals{Service: []string{"sns.amazonaws.com"}},
				Actions: []string{"sqs:SendMessage"}, Resources: []string{base.Queues[0].ARN}})
		}), []string{"too wide", "sns.amazonaws.com"}},
		{"policy that lets everybody purge", policy(func(d *iampolicy.Document) {
			d.Statements = append(d.Statements, iampolicy.Statement{Effect: iampolicy.Allow, Principal: &iampolicy.Principals{Any: true},
				Actions: []string{"sqs:PurgeQueue"}, Resources: []string{base.Queues[0].ARN}})
		}), []string{"too wide", "everybody", "sqs:PurgeQueue"}},
		{"dead-letter queue for everybody", func(s *awssetup.Setup) {
			d := *s.Queues[1].Policy
			d.Statements = append(slices.Clone(d.Statements), iampolicy.Statement{Sid: "Open", Effect: iampolicy.Allow, Principal: &iampolicy.Principals{Any: true},
				Actions: []string{"sqs:*"}, Resources: []string{s.Queues[1].ARN}})
			s.Queues[1].Policy = &d
		}, []string{"too wide", "demo-dlq"}},
		{"key for another account", key(func(_ *awssetup.Key, d *iampolicy.Document) {
			d.Statements = append(d.Statements, iampolicy.Statement{Sid: "Friends", Effect: iampolicy.Allow, Principal: &iampolicy.Principals{Any: true}, Actions: []string{"kms:*"}, Resources: []string{"*"},
				Conditions: []iampolicy.Condition{{Operator: "StringEquals", Key: "kms:CallerAccount", Values: []string{"444455556666"}}}})
		}), []string{"too wide", "Friends"}},
		{"policy that denies", policy(func(d *iampolicy.Document) {
			d.Statements = append(d.Statements, iampolicy.Statement{Sid: "No", Effect: iampolicy.Deny, Principal: &iampolicy.Principals{Any: true}, Actions: []string{"sqs:*"}, Resources: []string{"*"},
				Conditions: []iampolicy.Condition{{Operator: "Bool", Key: "aws:SecureTransport", Values: []string{"true"}}}})
		}), []string{"denies EventBridge", "No"}},
		{"encrypted with alias/aws/sqs", queue(func(q *awssetup.Queue) { q.KMSKey = "alias/aws/sqs" }), []string{"missing", "alias/aws/sqs"}},
		{"not encrypted", queue(func(q *awssetup.Queue) { q.KMSKey, q.ManagedSSE = "", false }), []string{"advice", "not encrypted"}},
		{"encrypted twice", queue(func(q *awssetup.Queue) { q.ManagedSSE = true }), []string{"different", "both SSE-SQS"}},
		{"key without policy", func(s *awssetup.Setup) { s.Keys[0].Policy = nil }, []string{"kms:GenerateDataKey", "no policy of its own"}},
		{"key disabled", func(s *awssetup.Setup) { s.Keys[0].Enabled = false }, []string{"disabled"}},
		{"key of AWS", func(s *awssetup.Setup) { s.Keys[0].Manager = "AWS" }, []string{"alias/aws/sqs"}},
		{"key without EventBridge", key(func(_ *awssetup.Key, d *iampolicy.Document) { d.Statements = d.Statements[:1] }), []string{"kms:Decrypt", "events.amazonaws.com"}},
		{"key without GenerateDataKey", key(func(_ *awssetup.Key, d *iampolicy.Document) { d.Statements[1].Actions = []string{"kms:Decrypt"} }), []string{"kms:GenerateDataKey"}},
		{"key without Decrypt for EventBridge", key(func(_ *awssetup.Key, d *iampolicy.Document) {
			d.Statements[1].Actions = []string{"kms:GenerateDataKey*"}
		}), []string{"kms:Decrypt", "key policy"}},
		{"key for the wrong service", key(func(_ *awssetup.Key, d *iampolicy.Document) {
			d.Statements[1].Principal = &iampolicy.Principals{Service: []string{"sns.amazonaws.com"}}
		}), []string{"kms:GenerateDataKey", "events.amazonaws.com"}},
		{"key that leaves the controller out", key(func(_ *awssetup.Key, d *iampolicy.Document) { d.Statements = d.Statements[1:] }), []string{"kms:Decrypt", "controller"}},
		{"key for everybody", key(func(_ *awssetup.Key, d *iampolicy.Document) {
			d.Statements = append(d.Statements, iampolicy.Statement{Sid: "Open", Effect: iampolicy.Allow, Principal: &iampolicy.Principals{Any: true}, Actions: []string{"kms:*"}, Resources: []string{"*"}})
		}), []string{"too wide", "Open"}},
		{"dead-letter queue without policy", func(s *awssetup.Setup) { s.Queues[1].Policy = nil }, []string{"demo-dlq", "sqs:SendMessage"}},
		{"dead-letter queue encrypted with alias/aws/sqs", func(s *awssetup.Setup) { s.Queues[1].KMSKey = "alias/aws/sqs" }, []string{"demo-dlq", "alias/aws/sqs"}},
		{"dead-letter queue that forgets", func(s *awssetup.Setup) { s.Queues[1].Retention = time.Minute }, []string{"dead-letter queue keeps"}},
	}...)
}

func ruleMutations(base *awssetup.Setup) []mutation {
	var out []mutation
	for i, r := range base.Rules {
		out = append(out,
			mutation{r.LogicalID + " dropped", func(s *awssetup.Setup) { s.Rules = slices.Delete(s.Rules, i, i+1) }, []string{"missing", r.LogicalID}},
			mutation{r.LogicalID + " disabled", func(s *awssetup.Setup) { s.Rules[i].Enabled = false }, []string{"missing", r.LogicalID, "disabled"}},
			mutation{r.LogicalID + " without target", func(s *awssetup.Setup) { s.Rules[i].Targets = nil }, []string{"missing", r.LogicalID}},
			mutation{r.LogicalID + " to another queue", func(s *awssetup.Setup) {
				s.Rules[i].Targets = []awssetup.Target{{ARN: "arn:aws:sqs:eu-west-1:123456789012:x"}}
			}, []string{"missing", r.LogicalID}},
			mutation{r.LogicalID + " for another source", func(s *awssetup.Setup) {
				s.Rules[i].Pattern = json.RawMessage(strings.Replace(string(r.Pattern), `"aws.`, `"own.`, 1))
			}, []string{"missing", r.LogicalID}},
			mutation{r.LogicalID + " misspelt", func(s *awssetup.Setup) {
				s.Rules[i].Pattern = json.RawMessage(strings.Replace(string(r.Pattern), `detail-type`, `detail_type`, 1))
			}, []string{r.LogicalID}},
			mutation{r.LogicalID + " for all of a source", func(s *awssetup.Setup) {
				s.Rules[i].Pattern = json.RawMessage(`{"source":["aws.ec2"]}`)
			}, []string{r.LogicalID}},
			mutation{r.LogicalID + " without dead-letter queue", func(s *awssetup.Setup) {
				s.Rules[i].Targets = slices.Clone(s.Rules[i].Targets)
				s.Rules[i].Targets[0].DeadLetter = ""
			}, []string{"advice", r.LogicalID}},
			mutation{r.LogicalID + " with a broken pattern", func(s *awssetup.Setup) {
				s.Rules[i].Pattern = json.RawMessage(`{"source":"aws.ec2"}`)
			}, []string{"missing", r.LogicalID}},
		)
	}
	state := slices.IndexFunc(base.Rules, func(r awssetup.Rule) bool { return r.LogicalID == "InstanceStateChangeRule" })
	return append(out, mutation{"only one state", func(s *awssetup.Setup) {
		s.Rules[state].Pattern = json.RawMessage(`{"source":["aws.ec2"],"detail-type":["EC2 Instance State-change Notification"],"detail":{"state":["terminated"]}}`)
	}, []string{"missing", "stopping", "shutting-down", "InstanceStateChangeRule"}})
}

func roleMutations(base *awssetup.Setup) []mutation {
	var out []mutation
	for k, arn := range base.Roles[0].ManagedPolicyARNs {
		name := arn[strings.LastIndex(arn, "/")+1:]
		want := strings.Replace(name, "ReadOnly", "PullOnly", 1)
		out = append(out, mutation{"node role without " + name, func(s *awssetup.Setup) {
			s.Roles[0].ManagedPolicyARNs = slices.Delete(slices.Clone(s.Roles[0].ManagedPolicyARNs), k, k+1)
		}, []string{want}})
	}
	trust := func(role int, st iampolicy.Statement) func(*awssetup.Setup) {
		return func(s *awssetup.Setup) {
			s.Roles[role].Trust = &iampolicy.Document{Version: "2012-10-17", Statements: []iampolicy.Statement{st}}
		}
	}
	any := iampolicy.Statement{Effect: iampolicy.Allow, Principal: &iampolicy.Principals{Any: true}, Actions: []string{"sts:AssumeRole"}}
	return append(out,
		mutation{"node role for lambda", trust(0, iampolicy.Statement{
			Effect: iampolicy.Allow, Principal: &iampolicy.Principals{Service: []string{"lambda.amazonaws.com"}}, Actions: []string{"sts:AssumeRole"},
		}), []string{"trust policy", "ec2.amazonaws.com"}},
		mutation{"node role for everybody", trust(0, any), []string{"trust policy", "other accounts"}},
		mutation{"node role that may pass roles", func(s *awssetup.Setup) {
			s.Roles[0].Inline = []iampolicy.Named{{Name: "more", Document: &iampolicy.Document{Version: "2012-10-17", Statements: []iampolicy.Statement{
				{Effect: iampolicy.Allow, Actions: []string{"iam:PassRole"}, Resources: []string{"*"}},
			}}}}
		}, []string{"too wide", "more", "iam:PassRole"}},
		mutation{"node role with all of IAM", func(s *awssetup.Setup) {
			s.Roles[0].ManagedPolicyARNs = append(slices.Clone(s.Roles[0].ManagedPolicyARNs), "arn:aws:iam::aws:policy/IAMFullAccess")
		}, []string{"IAMFullAccess", "KarpenterNodeRole-demo"}},
		mutation{"controller role for everybody, too", func(s *awssetup.Setup) {
			d := *s.Roles[1].Trust
			d.Statements = append(slices.Clone(d.Statements), any)
			s.Roles[1].Trust = &d
		}, []string{"too wide", "everybody", "controller"}},
		mutation{"pod identity of another service account", func(s *awssetup.Setup) {
			s.PodIdentities = slices.Clone(s.PodIdentities)
			s.PodIdentities[0].ServiceAccount = "other"
		}, []string{"pod identity association"}},
		mutation{"node role with administration", func(s *awssetup.Setup) {
			s.Roles[0].ManagedPolicyARNs = append(s.Roles[0].ManagedPolicyARNs, "arn:aws:iam::aws:policy/AdministratorAccess")
		}, []string{"AdministratorAccess", "KarpenterNodeRole-demo"}},
		mutation{"controller role without TagSession", trust(1, iampolicy.Statement{
			Effect: iampolicy.Allow, Principal: &iampolicy.Principals{Service: []string{"pods.eks.amazonaws.com"}}, Actions: []string{"sts:AssumeRole"},
		}), []string{"sts:TagSession"}},
		mutation{"no access entry", func(s *awssetup.Setup) { s.AccessEntries = nil }, []string{"access entry"}},
		mutation{"access entry of people", func(s *awssetup.Setup) { s.AccessEntries[0].Type = "STANDARD" }, []string{"STANDARD"}},
		mutation{"no pod identity", func(s *awssetup.Setup) { s.PodIdentities = nil }, []string{"pod identity association"}},
		mutation{"a role with a long name", func(s *awssetup.Setup) { s.Roles[1].Name = strings.Repeat("r", 65) }, []string{"65", "64"}},
		mutation{"a role with many policies", func(s *awssetup.Setup) {
			for i := range 11 {
				s.Roles[0].ManagedPolicyARNs = append(s.Roles[0].ManagedPolicyARNs, fmt.Sprintf("arn:aws:iam::123456789012:policy/p%d", i))
			}
		}, []string{"managed policies are attached"}},
	)
}

func alarmMutations(base *awssetup.Setup) []mutation {
	var out []mutation
	for i, a := range base.Alarms {
		out = append(out, mutation{a.LogicalID + " dropped", func(s *awssetup.Setup) { s.Alarms = slices.Delete(s.Alarms, i, i+1) }, []string{"advice", a.Metric}},
			mutation{a.LogicalID + " for something else", func(s *awssetup.Setup) { s.Alarms[i].Dimensions = map[string]string{"QueueName": "x"} }, []string{"advice", a.Metric}})
	}
	return out
}
