package cli

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/kerf-sh/kerf/internal/aws/account"
	"github.com/kerf-sh/kerf/internal/aws/awscli"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/aws/stackdeploy"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// liveAccount is a simulated account with permissions enforced, which the commands see as theirs.
type liveAccount struct {
	sim     *awssim.Server
	ca      []byte
	session *session.Session // of its administrator
}

func newLiveAccount(t *testing.T) *liveAccount {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	sim, err := awssim.New(awssim.Options{
		World: world.Options{ClusterName: "demo", NoIdentities: true}, NoQueue: true, Enforce: true, CAFile: file, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	sim.Start()
	t.Cleanup(func() { _ = sim.Close() })
	ca, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	a := &liveAccount{sim: sim, ca: ca}
	admin := world.AccessKey{ID: world.DefaultAdminAccessKey, Secret: world.DefaultAdminSecretKey}
	for _, v := range append(sim.EnvFor(admin), "AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null", "AWS_PROFILE=") {
		key, value, _ := strings.Cut(v, "=")
		t.Setenv(key, value)
	}
	a.session = a.as(t, admin)
	return a
}

func (a *liveAccount) as(t *testing.T, key world.AccessKey) *session.Session {
	t.Helper()
	s, err := session.New(t.Context(), session.Options{Explicit: &session.Explicit{
		Region: a.sim.World.Region(), Endpoint: a.sim.SecureURL(), CA: a.ca, AccessKeyID: key.ID, SecretAccessKey: key.Secret, SessionToken: key.SessionToken,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (a *liveAccount) deploy(t *testing.T, template string) {
	t.Helper()
	if _, err := stackdeploy.Deploy(t.Context(), a.session, "Karpenter-demo", template, nil, nil); err != nil {
		t.Fatal(err)
	}
}

// delivers tells whether an event gets through EventBridge to the queue.
func (a *liveAccount) delivers(t *testing.T) bool {
	t.Helper()
	w := a.sim.World
	p, err := account.Prove(t.Context(), a.session, account.ProveOptions{
		ClusterName: "demo", QueueARN: w.QueueARN("demo"), QueueURL: w.QueueURL("demo"), Timeout: 20 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p.Delivered
}

// receives tries what the controller does with the queue.
func (a *liveAccount) receives(t *testing.T) error {
	t.Helper()
	w := a.sim.World
	if _, err := w.SendMessage("demo", "events.amazonaws.com", `{"source":"aws.ec2"}`, nil, -1); err != nil {
		return err
	}
	key, err := w.RoleSession("demo-karpenter", "controller")
	if err != nil {
		t.Fatal(err)
	}
	url := w.QueueURL("demo")
	_, err = a.as(t, key).SQS.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url})
	return err
}

// apply runs the commands that fix the account, twice: what is done already may be done again.
func (a *liveAccount) apply(t *testing.T, script string) {
	t.Helper()
	for _, again := range []bool{false, true} {
		done, err := awscli.Run(t.Context(), a.session, script, again)
		if err != nil {
			t.Fatalf("%v in\n%s", err, script)
		}
		if len(done) == 0 && !again {
			t.Fatalf("the fix changes nothing:\n%s", script)
		}
	}
}

// wrongEncryptions are the ways in which a queue's encryption keeps events from the controller.
var wrongEncryptions = map[string]struct {
	flags    []string
	old, new string // what is wrong in the template
	says     string // the check
	delivers bool
	denied   string // what the controller is told when it receives
}{
	"the key that AWS manages": {
		nil, "SqsManagedSseEnabled: true", "KmsMasterKeyId: alias/aws/sqs",
		"encrypted with alias/aws/sqs, whose policy does not let EventBridge use it", false, "",
	},
	"a key without the statement for EventBridge": {
		[]string{"--kms"}, "Service: events.amazonaws.com", "Service: sns.amazonaws.com",
		"does not let events.amazonaws.com call kms:GenerateDataKey", false, "",
	},
	"a controller that may not decrypt": {
		[]string{"--kms"}, "kms:Decrypt", "kms:Encrypt",
		"kms:Decrypt", true, "kms:Decrypt",
	},
}

// TestWrongEncryptionIsFoundAndMendedLive deploys each, sees it fail as in the field, and fixes it in both ways: with what
// --fix makes of the template, deployed, and with the commands that it makes of the account.
func TestWrongEncryptionIsFoundAndMendedLive(t *testing.T) {
	for name, c := range wrongEncryptions {
		t.Run(name, func(t *testing.T) {
			a := newLiveAccount(t)
			flags := append([]string{"--cluster-name", "demo", "--controller", "pod-identity", "--access-entry", "EC2_LINUX"}, c.flags...)
			run := func(code int, args ...string) string {
				t.Helper()
				got, out, errs := runStack(append(args, flags...)...)
				if got != code {
					t.Errorf("kerf stack %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, out, errs)
				}
				return out
			}
			right := run(0, "cloudformation")
			wrong := strings.Replace(right, c.old, c.new, 1)
			file := filepath.Join(t.TempDir(), "wrong.yaml")
			if err := os.WriteFile(file, []byte(wrong), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, way := range []string{"the template", "the commands"} {
				a.deploy(t, wrong)
				if out := unwrapped(run(foundWrong, "check", "--live")); !strings.Contains(out, c.says) {
					t.Errorf("want %q in\n%s", c.says, out)
				}
				if got := a.delivers(t); got != c.delivers {
					t.Errorf("before it is fixed, delivery is %v", got)
				}
				if err := a.receives(t); c.denied != "" && (err == nil || !strings.Contains(err.Error(), c.denied)) {
					t.Errorf("before it is fixed, receiving gives %v", err)
				}
				if way == "the template" {
					a.deploy(t, run(0, "check", file, "--fix", "--whole"))
				} else {
					a.apply(t, run(0, "check", "--live", "--fix"))
				}
				if out := run(0, "check", "--live"); !strings.Contains(out, "nothing is wrong") {
					t.Errorf("%s: want nothing wrong, got\n%s", way, out)
				}
				if !a.delivers(t) {
					t.Errorf("%s: it is fixed and does not deliver", way)
				}
				if err := a.receives(t); err != nil {
					t.Errorf("%s: it is fixed and the controller gets %v", way, err)
				}
				a.deploy(t, right)
			}
		})
	}
}

// unwrapped joins the lines of a report.
func unwrapped(s string) string { return strings.Join(strings.Fields(s), " ") }

// TestTheStackOfTheGuideIsMendedInPlace has the controller's role outside the stack, as eksctl makes it: the policy that is
// attached to it must stay the one that it is.
func TestTheStackOfTheGuideIsMendedInPlace(t *testing.T) {
	a := newLiveAccount(t)
	file := "../sim/awssim/cloudformation/testdata/getting-started-v1.yaml"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	deploy := func(template string) {
		t.Helper()
		if _, err := stackdeploy.Deploy(t.Context(), a.session, "Karpenter-demo", template, map[string]string{"ClusterName": "demo"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	deploy(string(data))
	w := a.sim.World
	trust := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"pods.eks.amazonaws.com"},"Action":["sts:AssumeRole","sts:TagSession"]}]}`
	if _, err := w.CreateRole("demo-karpenter", "", trust, nil); err != nil {
		t.Fatal(err)
	}
	policy := "arn:aws:iam::" + w.Account() + ":policy/KarpenterControllerPolicy-demo"
	if err := w.AttachRolePolicy("demo-karpenter", policy); err != nil {
		t.Fatal(err)
	}
	live := []string{"check", "--live", "--cluster-name", "demo", "--controller-role", "demo-karpenter"}
	if code, out, errs := runStack(live...); code != foundWrong {
		t.Errorf("before: exit code %d\n%s%s", code, out, errs)
	}
	code, fixed, errs := runStack("check", file, "--cluster-name", "demo", "--fix", "--whole")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	deploy(fixed)
	if code, out, errs := runStack(live...); code != 0 || !strings.Contains(out, "nothing is wrong") {
		t.Errorf("after: exit code %d\n%s%s", code, out, errs)
	}
	if !a.delivers(t) {
		t.Error("it does not deliver")
	}
	if err := a.receives(t); err != nil {
		t.Error(err)
	}
}

// brokenThings are what happens to a stack after it was deployed, and what the check says of it.
var brokenThings = map[string]struct {
	breakIt func(*testing.T, *liveAccount)
	says    string
}{
	"a rule is deleted": {func(t *testing.T, a *liveAccount) {
		r := a.rule(t, "SpotInterruptionRule")
		a.must(t, a.sim.World.RemoveTargets(r.Name, []string{r.Targets[0].ID}))
		a.must(t, a.sim.World.DeleteRule(r.Name))
	}, "spot interruption warning: no rule brings it to the queue"},
	"the queue is deleted": {func(t *testing.T, a *liveAccount) {
		a.must(t, a.sim.World.DeleteQueue("demo"))
	}, "none of the queues (demo-dlq) has the name or tag of the cluster"},
	"both queues are deleted": {func(t *testing.T, a *liveAccount) {
		a.must(t, a.sim.World.DeleteQueue("demo"))
		a.must(t, a.sim.World.DeleteQueue("demo-dlq"))
	}, "there is no interruption queue"},
	"the queue's policy is gone": {func(t *testing.T, a *liveAccount) {
		a.must(t, a.sim.World.SetQueueAttributes("demo", map[string]string{"Policy": ""}))
	}, "it has no policy"},
	"a target gets a part of the event": {func(t *testing.T, a *liveAccount) {
		r := a.rule(t, "SpotInterruptionRule")
		r.Targets[0].InputPath = "$.detail"
		a.must(t, a.sim.World.PutTargets(r.Name, r.Targets[:1]))
	}, "sends what its target's InputPath makes of it"},
	"the node role lacks a policy": {func(t *testing.T, a *liveAccount) {
		a.must(t, a.sim.World.DetachRolePolicy("KarpenterNodeRole-demo", "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"))
	}, "it does not have AmazonEKSWorkerNodePolicy"},
	"the controller's role has a policy of which nothing is needed": {func(t *testing.T, a *liveAccount) {
		a.must(t, a.sim.World.PutRolePolicy("demo-karpenter", "more", `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:DeleteBucket","Resource":"*"}]}`))
	}, "it allows s3:DeleteBucket"},
}

func (a *liveAccount) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// rule is the rule of the stack with a logical ID.
func (a *liveAccount) rule(t *testing.T, id string) world.Rule {
	t.Helper()
	for _, r := range a.sim.World.Rules("") {
		if strings.Contains(r.Name, id) {
			return r
		}
	}
	t.Fatalf("no rule is called like %s", id)
	return world.Rule{}
}

// TestWhatIsBrokenInAnAccountIsMendedInPlace breaks a deployed stack, and runs what --fix prints. Afterwards nothing is
// wrong, events arrive, and the stack that was deployed can still be updated.
func TestWhatIsBrokenInAnAccountIsMendedInPlace(t *testing.T) {
	for name, c := range brokenThings {
		t.Run(name, func(t *testing.T) {
			a := newLiveAccount(t)
			flags := []string{"--cluster-name", "demo", "--controller", "pod-identity", "--access-entry", "EC2_LINUX"}
			run := func(code int, args ...string) string {
				t.Helper()
				got, out, errs := runStack(append(args, flags...)...)
				if got != code {
					t.Errorf("kerf stack %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, out, errs)
				}
				return out
			}
			template := run(0, "cloudformation")
			a.deploy(t, template)
			c.breakIt(t, a)
			if out := unwrapped(run(foundWrong, "check", "--live")); !strings.Contains(out, c.says) {
				t.Errorf("want %q in\n%s", c.says, out)
			}
			script := run(0, "check", "--live", "--fix")
			t.Log(script)
			a.apply(t, script)
			if out := run(0, "check", "--live"); !strings.HasSuffix(out, "\nnothing is wrong\n") {
				t.Errorf("want nothing wrong, got\n%s", out)
			}
			if !a.delivers(t) {
				t.Error("it is fixed and does not deliver")
			}
			if err := a.receives(t); err != nil {
				t.Errorf("it is fixed and the controller gets %v", err)
			}
			a.deploy(t, strings.Replace(template, "MessageRetentionPeriod: 300", "MessageRetentionPeriod: 240", 1))
		})
	}
}

// TestTheScriptForAnAccountTakesNothingOutUnasked deploys a stack with an option that the check is not given.
func TestTheScriptForAnAccountTakesNothingOutUnasked(t *testing.T) {
	a := newLiveAccount(t)
	flags := []string{"--cluster-name", "demo", "--controller", "pod-identity", "--access-entry", "EC2_LINUX"}
	code, template, errs := runStack(append([]string{"cloudformation", "--launch-templates"}, flags...)...)
	if code != 0 {
		t.Fatal(errs)
	}
	a.deploy(t, template)
	for name, c := range map[string]struct {
		args  []string
		code  int
		drops bool
		says  string
	}{
		"left out":            {nil, 2, false, "seems to be made with --launch-templates: give these options, too"},
		"given":               {[]string{"--launch-templates"}, 0, false, "nothing has to be fixed"},
		"left out on purpose": {[]string{"--take-out"}, 0, true, "made with --launch-templates"},
	} {
		t.Run(name, func(t *testing.T) {
			code, script, errs := runStack(append(append([]string{"check", "--live", "--fix"}, c.args...), flags...)...)
			if code != c.code || (script != "") != c.drops || !strings.Contains(unwrapped(errs), c.says) {
				t.Errorf("exit code %d, want %d\n%s%s", code, c.code, script, errs)
			}
		})
	}
}
