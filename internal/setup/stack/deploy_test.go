package stack

import (
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/aws/account"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/aws/stackdeploy"
	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// simulated is an account with nothing in it but a cluster.
func simulated(t *testing.T, region string) *session.Session {
	t.Helper()
	return simulatedFor(t, region, "demo")
}

func simulatedFor(t *testing.T, region, cluster string) *session.Session {
	t.Helper()
	sim, err := awssim.New(awssim.Options{
		Logger: slog.New(slog.DiscardHandler), NoQueue: true,
		World: world.Options{Region: region, ClusterName: cluster, Account: testAccount, Types: []string{"m5.large"}, NoIdentities: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	sim.Start()
	t.Cleanup(func() { _ = sim.Close() })
	s, err := session.New(t.Context(), session.Options{Explicit: &session.Explicit{
		Region: region, Endpoint: sim.URL(), AccessKeyID: world.DefaultAdminAccessKey, SecretAccessKey: world.DefaultAdminSecretKey,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func deploy(t *testing.T, to *session.Session, s *Stack) map[string]string {
	t.Helper()
	text, err := s.CloudFormation()
	if err != nil {
		t.Fatal(err)
	}
	out, err := stackdeploy.Deploy(t.Context(), to, "Karpenter-"+s.Options.ClusterName, string(text), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func live(t *testing.T, from *session.Session) *awssetup.Setup {
	t.Helper()
	return liveOf(t, from, account.Options{ClusterName: "demo"})
}

func liveOf(t *testing.T, from *session.Session, o account.Options) *awssetup.Setup {
	t.Helper()
	s, err := account.Read(t.Context(), from, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range s.Gaps {
		t.Errorf("not read: %s: %s", g.What, g.Why)
	}
	return s
}

// madeUp puts the model's names in the place of those that were made up on deployment: of rules, found by their patterns,
// and of the key.
func madeUp(model, found *awssetup.Setup) *strings.Replacer {
	var pairs []string
	for _, want := range model.Rules {
		for _, r := range found.Rules {
			if sameJSON(want.Pattern, r.Pattern) {
				pairs = append(pairs, r.Name, want.Name)
			}
		}
	}
	for i, k := range found.Keys {
		pairs = append(pairs, k.ID, model.Keys[i].ID)
	}
	return strings.NewReplacer(pairs...)
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && cmp.Equal(x, y)
}

// essence is what of a setup has to be the same when it is deployed, one line for each thing.
func essence(s *awssetup.Setup, names *strings.Replacer) []string {
	var out []string
	line := func(parts ...any) {
		var b strings.Builder
		for _, p := range parts {
			if d, ok := p.(*iampolicy.Document); ok {
				p = string(d.JSON())
			}
			text, _ := json.Marshal(p)
			b.WriteString(names.Replace(string(text)) + " ")
		}
		out = append(out, b.String())
	}
	for _, r := range s.Roles {
		line("role", r.Name, r.ARN, r.Trust, slices.Sorted(slices.Values(r.ManagedPolicyARNs)), r.Boundary, r.Tags["karpenter.sh/discovery"])
	}
	for _, p := range s.Policies {
		line("policy", p.Name, p.ARN, p.Document, p.Characters)
	}
	for _, q := range s.Queues {
		line("queue", q.Name, q.ARN, q.Retention, q.Visibility, q.ManagedSSE, q.KMSKey, q.Policy, q.DeadLetter, q.MaxReceives, q.Tags["karpenter.sh/discovery"])
	}
	for _, k := range s.Keys {
		line("key", k.ARN, k.Aliases, k.Enabled, k.Rotation, k.Policy)
	}
	for _, r := range s.Rules {
		var pattern any
		_ = json.Unmarshal(r.Pattern, &pattern)
		line("rule", r.Name, pattern, r.Enabled, r.Targets)
	}
	for _, a := range s.Alarms {
		line("alarm", a.Name, a.Metric, a.Dimensions, a.Statistic, a.Comparison, a.Threshold, a.Period, len(a.Actions))
	}
	for _, e := range s.AccessEntries {
		line("entry", e.PrincipalARN, e.Type)
	}
	for _, p := range s.PodIdentities {
		line("identity", p.Namespace, p.ServiceAccount, p.RoleARN)
	}
	slices.Sort(out)
	return out
}

// TestDeployedStacksAreTheModel deploys an edition over the one before, as users do, and reads the account.
func TestDeployedStacksAreTheModel(t *testing.T) {
	const region = "eu-west-1"
	aws := simulated(t, region)
	var queueURL string
	for _, step := range []struct {
		c      Compat
		change func(*Options)
	}{
		{V032, func(o *Options) { o.Controller = PodIdentity }}, {V10, func(o *Options) { o.Controller = PodIdentity }},
		{Latest, func(o *Options) { o.Controller = PodIdentity }}, {Latest, everything}, {V032, func(o *Options) { o.Controller = PodIdentity }},
	} {
		s := makeStack(t, step.c, step.change)
		deploy(t, aws, s)
		got, want := live(t, aws), s.Setup(testAccount, region)
		if diff := cmp.Diff(essence(want, strings.NewReplacer()), essence(got, madeUp(want, got))); diff != "" {
			t.Errorf("%s (-model +account):\n%s", step.c, diff)
		}
		if queueURL != "" && got.Queues[0].URL != queueURL {
			t.Errorf("%s: the queue was made anew", step.c)
		}
		queueURL = got.Queues[0].URL
	}
}

func TestDeployedStacksSayWhatToSet(t *testing.T) {
	out := deploy(t, simulated(t, "eu-west-1"), makeStack(t, Latest, func(o *Options) { o.Controller, o.AccessEntry = PodIdentity, "EC2_LINUX" }))
	want := map[string]string{
		"NodeRoleName": "KarpenterNodeRole-demo", "NodeRoleArn": "arn:aws:iam::111122223333:role/KarpenterNodeRole-demo",
		"InterruptionQueueName": "demo", "InterruptionQueueArn": "arn:aws:sqs:eu-west-1:111122223333:demo",
		"InterruptionQueueUrl": "https://sqs.eu-west-1.amazonaws.com/111122223333/demo", "ControllerRoleArn": "arn:aws:iam::111122223333:role/demo-karpenter",
		"ControllerRoleName": "demo-karpenter", "ControllerNamespace": "kube-system", "ControllerServiceAccount": "karpenter",
		"DeadLetterQueueArn": "arn:aws:sqs:eu-west-1:111122223333:demo-dlq",
	}
	for name, value := range map[string]string{"NodeRoleId": "AROA", "ControllerRoleId": "AROA", "SpotInterruptionRuleArn": "arn:aws:events:eu-west-1:111122223333:rule/Karpenter-demo-SpotInterruptionRule-",
		"NodeAccessEntryArn": "arn:aws:eks:eu-west-1:111122223333:access-entry/demo/role/111122223333/KarpenterNodeRole-demo/"} {
		if !strings.HasPrefix(out[name], value) { // AWS makes up the rest
			t.Errorf("%s is %s", name, out[name])
		}
		delete(out, name)
	}
	maps.DeleteFunc(out, func(name, _ string) bool { return strings.HasSuffix(name, "RuleArn") })
	for _, p := range []string{"NodeLifecycle", "IAMIntegration", "EKSIntegration", "Interruption", "ZonalShift", "ResourceDiscovery"} {
		want["KarpenterController"+p+"PolicyArn"] = "arn:aws:iam::111122223333:policy/KarpenterController" + p + "Policy-demo"
	}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
}
