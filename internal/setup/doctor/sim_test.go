package doctor

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	ebtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/kerf-sh/kerf/internal/aws/account"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/aws/stackdeploy"
	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	simevent "github.com/kerf-sh/kerf/internal/sim/awssim/event"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// deployed is a simulated account, with its permissions enforced, in which a stack was deployed, and a session as its
// administrator.
type deployed struct {
	sim     *awssim.Server
	session *session.Session
	ca      []byte
	cluster string
}

func deploy(t *testing.T, change func(*stack.Options)) *deployed {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	sim, err := awssim.New(awssim.Options{
		World: world.Options{ClusterName: testCluster, NoIdentities: true}, NoQueue: true, Enforce: true, CAFile: ca, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	sim.Start()
	t.Cleanup(func() {
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
	d := &deployed{sim: sim, cluster: testCluster}
	if d.ca, err = os.ReadFile(ca); err != nil {
		t.Fatal(err)
	}
	d.session = d.as(t, world.DefaultAdminAccessKey, world.DefaultAdminSecretKey, "")
	o := stack.Defaults(stack.Latest)
	o.ClusterName, o.Controller, o.AccessEntry = testCluster, stack.PodIdentity, "EC2_LINUX"
	if change != nil {
		change(&o)
	}
	s, err := stack.New(o)
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.CloudFormation()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stackdeploy.Deploy(t.Context(), d.session, "Karpenter-"+testCluster, string(text), map[string]string{"ClusterName": testCluster}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := d.session.IAM.CreateServiceLinkedRole(t.Context(), &iam.CreateServiceLinkedRoleInput{AWSServiceName: new("spot.amazonaws.com")}); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *deployed) as(t *testing.T, id, secret, token string) *session.Session {
	t.Helper()
	s, err := session.New(t.Context(), session.Options{Explicit: &session.Explicit{
		Region: d.sim.World.Region(), Endpoint: d.sim.SecureURL(), CA: d.ca, AccessKeyID: id, SecretAccessKey: secret, SessionToken: token,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (d *deployed) look(t *testing.T, change func(*Options)) (*Input, *Report) {
	t.Helper()
	o := Options{ClusterName: testCluster, AWS: d.session, ProveTimeout: 20 * time.Second, Tell: func(s string) { t.Log(s) }}
	if change != nil {
		change(&o)
	}
	in, err := Look(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return in, Examine(in)
}

func prove(o *Options) { o.Prove = true }

func (r *Report) expect(t *testing.T, id string, want Status, says string) {
	t.Helper()
	got := r.find(t, id)
	if text := got.Finding + "\n" + strings.Join(got.Evidence, "\n"); got.Status != want || !strings.Contains(text, says) {
		t.Errorf("%s is %s, want %s with %q:\n%s", id, got.Status, want, says, text)
	}
}

func TestADeployedStackIsHealthyAndDelivers(t *testing.T) {
	for name, change := range map[string]func(*stack.Options){
		"encrypted by SQS":             nil,
		"encrypted with a key":         func(o *stack.Options) { o.KMS = true },
		"with rules that nobody names": func(o *stack.Options) { o.RuleSources = false },
	} {
		t.Run(name, func(t *testing.T) {
			d := deploy(t, change)
			in, r := d.look(t, prove)
			for _, g := range in.AWS.Gaps {
				t.Errorf("an administrator could not read %s: %s", g.What, g.Why)
			}
			for _, res := range r.Results {
				if res.Status != OK && res.Status != Skipped {
					t.Errorf("%d %s is %s: %s\n%s", res.Number, res.ID, res.Status, res.Finding, strings.Join(res.Evidence, "\n"))
				}
			}
			r.expect(t, "delivery", OK, "proven")
			d.expectClean(t)
		})
	}
}

// expectClean looks whether a proof left a rule or a message behind.
func (d *deployed) expectClean(t *testing.T) {
	t.Helper()
	if rules := d.sim.World.Rules(account.ProbeRulePrefix); len(rules) > 0 {
		t.Errorf("the proof left rules: %+v", rules)
	}
	messages, err := d.sim.World.Messages(testCluster)
	if err != nil || len(messages) > 0 {
		t.Errorf("the proof left %d messages, %v", len(messages), err)
	}
}

func (d *deployed) setQueue(t *testing.T, attributes map[string]string) {
	t.Helper()
	if err := d.sim.World.SetQueueAttributes(testCluster, attributes); err != nil {
		t.Fatal(err)
	}
}

func TestWrongEncryptionIsNamedAndDisproven(t *testing.T) {
	t.Run("the key that AWS manages", func(t *testing.T) {
		d := deploy(t, nil)
		d.setQueue(t, map[string]string{"KmsMasterKeyId": "alias/aws/sqs"})
		_, r := d.look(t, prove)
		r.expect(t, "queue-managed-key", Failed, "alias/aws/sqs")
		r.expect(t, "delivery", Failed, "could not write it to the queue")
		d.expectClean(t)
		_, again := d.look(t, nil)
		if got := again.find(t, "failed-deliveries"); got.Status != Failed && got.Status != OK {
			t.Errorf("afterwards failed deliveries are %+v", got)
		}
	})
	t.Run("a key without the statement, fixed", func(t *testing.T) {
		d := deploy(t, nil)
		key, err := d.session.KMS().CreateKey(t.Context(), &kms.CreateKeyInput{})
		if err != nil {
			t.Fatal(err)
		}
		d.setQueue(t, map[string]string{"KmsMasterKeyId": *key.KeyMetadata.Arn})
		if _, got, err := d.sim.Bus.Emit(simevent.Request{Kind: simevent.SpotInterruption, Instance: "i-0123456789abcdef0"}); err != nil || len(got.Failed) == 0 {
			t.Fatalf("%+v, %v: a warning arrives although EventBridge may not use the key", got, err)
		}
		_, r := d.look(t, prove)
		r.expect(t, "queue-managed-key", OK, "customer-managed")
		r.expect(t, "queue-key-policy", Failed, "kms:GenerateDataKey")
		r.expect(t, "controller-decrypt", Failed, "lacks kms:Decrypt")
		r.expect(t, "delivery", Failed, "could not write it to the queue")
		d.setQueue(t, map[string]string{"KmsMasterKeyId": "", "SqsManagedSseEnabled": "true"})
		_, r = d.look(t, prove)
		r.expect(t, "delivery", OK, "proven")
		// What failed before it was fixed is no fault any more.
		r.expect(t, "failed-deliveries", Warning, "the probe did just now")
	})
}

func TestAQueuePolicyOfOtherNamesIsToldOfBeforeAProof(t *testing.T) {
	d := deploy(t, nil)
	rules := d.sim.World.Rules("")
	arn := rules[0].ARN
	d.setQueue(t, map[string]string{"Policy": `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"*","Condition":{"ArnEquals":{"aws:SourceArn":"` + arn + `"}}}]}`})
	_, r := d.look(t, prove)
	r.expect(t, "delivery", Unknown, "--prove-delivery-through "+rules[0].Name)
	d.expectClean(t)

	_, r = d.look(t, func(o *Options) { o.Prove, o.Through = true, rules[0].Name })
	r.expect(t, "delivery", OK, "proven")
	d.expectClean(t)
	after, err := d.sim.World.Rule(rules[0].Name)
	if err != nil || after.Pattern != rules[0].Pattern || after.Description != rules[0].Description || !after.Enabled || len(after.Targets) != len(rules[0].Targets) {
		t.Errorf("the rule is not what it was: %+v, %v", after, err)
	}
}

func TestAProofThatIsBrokenOffCleansUp(t *testing.T) {
	d := deploy(t, nil)
	d.setQueue(t, map[string]string{"KmsMasterKeyId": "alias/aws/sqs"}) // so that it would take long
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in, err := Look(t.Context(), Options{ClusterName: testCluster, AWS: d.session})
	if err != nil {
		t.Fatal(err)
	}
	in.prove(ctx, Options{AWS: d.session, Prove: true, Tell: func(s string) {
		if strings.HasPrefix(s, "sent") {
			cancel()
		}
	}})
	if in.ProofError == "" {
		t.Error("a proof that was broken off says nothing of it")
	}
	d.expectClean(t)
}

func TestOtherMessagesSurviveAProof(t *testing.T) {
	d := deploy(t, nil)
	url := d.sim.World.QueueURL(testCluster)
	for range 3 {
		if _, err := d.sim.World.SendMessage(testCluster, "events.amazonaws.com", `{"source":"aws.ec2"}`, nil, -1); err != nil {
			t.Fatal(err)
		}
	}
	_, r := d.look(t, prove)
	r.expect(t, "delivery", OK, "proven")
	out, err := d.session.SQS.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10})
	if err != nil || len(out.Messages) != 3 {
		t.Errorf("after the proof %d messages can be received, want the 3 that were there; %v", len(out.Messages), err)
	}
}

func TestSomebodyWhoMayReadNothingGetsNoFalseComfort(t *testing.T) {
	d := deploy(t, nil)
	w := d.sim.World
	if _, err := w.CreateRole("night", "", `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"pods.eks.amazonaws.com"},"Action":["sts:AssumeRole","sts:TagSession"]}]}`, nil); err != nil {
		t.Fatal(err)
	}
	key, err := w.RoleSession("night", "shift")
	if err != nil {
		t.Fatal(err)
	}
	in, r := d.look(t, func(o *Options) { o.AWS, o.Prove = d.as(t, key.ID, key.Secret, key.SessionToken), true })
	for _, res := range r.Results {
		switch {
		case res.ID == "role-names", res.ID == "policy-size":
		case res.Status != Unknown && res.Status != Skipped:
			t.Errorf("%s is %s: %s", res.ID, res.Status, res.Finding)
		}
	}
	var all strings.Builder
	for _, g := range in.AWS.Gaps {
		all.WriteString(g.What + ": " + g.Why + "\n")
	}
	for _, action := range []string{"sqs:GetQueueUrl", "events:ListRules", "iam:GetRole", "eks:DescribeCluster", "eks:ListAccessEntries", "cloudwatch:DescribeAlarms"} {
		if !strings.Contains(all.String(), "lacks "+action) {
			t.Errorf("no gap names %s:\n%s", action, all.String())
		}
	}
}

func TestAProofWithoutPermissionNamesTheAction(t *testing.T) {
	d := deploy(t, nil)
	w := d.sim.World
	if _, err := w.CreateRole("reader", "", `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"pods.eks.amazonaws.com"},"Action":["sts:AssumeRole","sts:TagSession"]}]}`, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.PutRolePolicy("reader", "read", `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["sqs:Get*","sqs:List*","events:List*","events:Describe*","iam:Get*","iam:List*","eks:*","cloudwatch:*","kms:*"],"Resource":"*"}]}`); err != nil {
		t.Fatal(err)
	}
	key, err := w.RoleSession("reader", "shift")
	if err != nil {
		t.Fatal(err)
	}
	_, r := d.look(t, func(o *Options) { o.AWS, o.Prove = d.as(t, key.ID, key.Secret, key.SessionToken), true })
	r.expect(t, "delivery", Unknown, "events:PutRule")
	r.expect(t, "rules", OK, "each of 5")
}

func TestRulesTakenAwayAreMissed(t *testing.T) {
	d := deploy(t, nil)
	for _, r := range d.sim.World.Rules("") {
		if strings.Contains(r.Pattern, "Spot Instance") {
			if _, err := d.session.EventBridge().PutRule(t.Context(), &eventbridge.PutRuleInput{Name: &r.Name, EventPattern: &r.Pattern, State: ebtypes.RuleStateDisabled}); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, r := d.look(t, nil)
	r.expect(t, "rules", Failed, "is disabled")
}

func TestALackOfPermissionsAndDeadLettersAreSeen(t *testing.T) {
	d := deploy(t, nil)
	in, r := d.look(t, nil)
	r.expect(t, "controller-permissions", OK, "may make")
	if in.Recent == nil || in.Recent.Window != recently {
		t.Errorf("figures of the last minutes are %+v", in.Recent)
	}
	if err := d.sim.World.PutRolePolicy(in.AWS.ControllerRole, "no", `{"Version":"2012-10-17","Statement":{"Sid":"No","Effect":"Deny","Action":["iam:PassRole","ec2:TerminateInstances"],"Resource":"*"}}`); err != nil {
		t.Fatal(err)
	}
	if _, err := d.sim.World.SendMessage(testCluster+"-dlq", "events.amazonaws.com", `{"source":"aws.ec2"}`, nil, -1); err != nil {
		t.Fatal(err)
	}
	_, r = d.look(t, nil)
	r.expect(t, "controller-permissions", Failed, "iam:PassRole on node role KarpenterNodeRole-demo: denied by no (statement No)")
	r.expect(t, "controller-permissions", Failed, "ec2:TerminateInstances on instance: denied by no")
	r.expect(t, "dead-letters", Warning, "demo-dlq has 1 message")
}
