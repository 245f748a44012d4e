package stack

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/aws/queue"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

const otherQueue = "arn:aws:sqs:eu-west-1:999988887777:interruption"

// ownersPolicy is what kerf stack iam tells the owner of the queue to allow.
func ownersPolicy(t *testing.T, o Options) string {
	t.Helper()
	o.AccountID, o.Region = testAccount, "eu-west-1"
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.IAM()
	if err != nil {
		t.Fatal(err)
	}
	var out struct{ QueuePolicies map[string]json.RawMessage }
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return string(out.QueuePolicies["interruption"])
}

// TestAQueueOfAnotherAccountTakesBothSides: the controller finds, reads and empties the queue by its ARN if its own policies
// and that of the queue allow it, and not by either alone.
func TestAQueueOfAnotherAccountTakesBothSides(t *testing.T) {
	with := func(o *Options) { o.QueueARN, o.Controller = otherQueue, PodIdentity }
	s := makeStack(t, Latest, with)
	for name, x := range map[string]struct {
		stack  *Stack
		policy string // of the queue
		reads  bool
	}{
		"both":                       {s, ownersPolicy(t, s.Options), true},
		"the controller's side only": {s, "", false},
		"the owner's side only":      {makeStack(t, Latest, func(o *Options) { o.Controller = PodIdentity }), ownersPolicy(t, s.Options), false},
		"another role at the owner's": {
			s, strings.ReplaceAll(ownersPolicy(t, s.Options), "demo-karpenter", "another"), false,
		},
		"the whole account at the owner's": {s, ownersPolicy(t, makeStack(t, Latest, func(o *Options) { o.QueueARN = otherQueue }).Options), true},
	} {
		t.Run(name, func(t *testing.T) {
			sim, err := awssim.New(awssim.Options{
				Logger: slog.New(slog.DiscardHandler), NoQueue: true, Enforce: true,
				World: world.Options{Region: "eu-west-1", ClusterName: "demo", Account: testAccount, Types: []string{"m5.large"}, NoIdentities: true},
			})
			if err != nil {
				t.Fatal(err)
			}
			sim.Start()
			t.Cleanup(func() { _ = sim.Close() })
			as := func(id, secret, token string) *session.Session {
				s, err := session.New(t.Context(), session.Options{Explicit: &session.Explicit{
					Region: "eu-west-1", Endpoint: sim.URL(), AccessKeyID: id, SecretAccessKey: secret, SessionToken: token,
				}})
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			deploy(t, as(world.DefaultAdminAccessKey, world.DefaultAdminSecretKey, ""), x.stack)
			name, err := sim.World.MakeQueueOf("999988887777", "interruption", map[string]string{"Policy": x.policy})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := sim.World.SendMessage(name, "events.amazonaws.com", `{"source":"aws.ec2"}`, nil, -1); err != nil {
				t.Fatal(err)
			}
			key, err := sim.World.RoleSession("demo-karpenter", "controller")
			if err != nil {
				t.Fatal(err)
			}
			ref, err := queue.ParseReference(otherQueue)
			if err != nil {
				t.Fatal(err)
			}
			q := queue.New(as(key.ID, key.Secret, key.SessionToken).SQS, ref)
			got, err := q.Receive(t.Context(), 0)
			if !x.reads {
				if queue.ReasonOf(err) != queue.ReasonDenied {
					t.Errorf("it is not refused: %v", err)
				}
				return
			}
			if err != nil || len(got) != 1 {
				t.Fatalf("received %d messages: %v", len(got), err)
			}
			if n, err := q.Delete(t.Context(), got); n != 1 || err != nil {
				t.Errorf("deleted %d messages: %v", n, err)
			}
		})
	}
}

// TestAQueueThatExistsIsNotMade, nor fed: in no form is there a queue, a rule or an alarm, and all that names the queue names
// the one that exists.
func TestAQueueThatExistsIsNotMade(t *testing.T) {
	s := makeStack(t, Latest, func(o *Options) { o.QueueARN, o.Controller, o.AccessEntry = otherQueue, PodIdentity, "EC2_LINUX" })
	text, err := s.CloudFormation()
	if err != nil {
		t.Fatal(err)
	}
	for _, not := range []string{"AWS::SQS::", "AWS::Events::", "AWS::CloudWatch::", "KarpenterInterruptionQueue"} {
		if strings.Contains(string(text), not) {
			t.Errorf("the template has %s", not)
		}
	}
	for _, want := range []string{"Value: " + otherQueue, "Value: https://sqs.eu-west-1.amazonaws.com/999988887777/interruption", "Value: interruption\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the template has no %q", want)
		}
	}
	deployed(t, s, "eu-west-1")

	m := parseModule(t, s)
	for address := range m.resources {
		if strings.HasPrefix(address, "aws_sqs") || strings.HasPrefix(address, "aws_cloudwatch") {
			t.Errorf("the module has %s", address)
		}
	}
	files, err := s.Terraform()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.Contains(string(f.Content), "aws_sqs_queue") || strings.Contains(string(f.Content), "var.queue_name") {
			t.Errorf("%s speaks of a queue that the module does not make", f.Name)
		}
	}
}
