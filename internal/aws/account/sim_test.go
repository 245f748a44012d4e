package account_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/aws/account"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

const cluster = "kerf"

// start makes a simulated account with an interruption queue and its rules, and a session as its administrator.
func start(t *testing.T, change func(*awssim.Options)) (*awssim.Server, *session.Session) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	o := awssim.Options{Logger: slog.New(slog.DiscardHandler), CAFile: file, Enforce: true}
	if change != nil {
		change(&o)
	}
	sim, err := awssim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	sim.Start()
	t.Cleanup(func() {
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
	ca, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.New(t.Context(), session.Options{Explicit: &session.Explicit{
		Region: sim.World.Region(), Endpoint: sim.SecureURL(), CA: ca, AccessKeyID: world.DefaultAdminAccessKey, SecretAccessKey: world.DefaultAdminSecretKey,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return sim, s
}

func TestAnAccountIsReadAsItIs(t *testing.T) {
	sim, s := start(t, nil)
	w := sim.World
	key, err := s.KMS().CreateKey(t.Context(), &kms.CreateKeyInput{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.KMS().CreateAlias(t.Context(), &kms.CreateAliasInput{AliasName: new("alias/queue"), TargetKeyId: key.KeyMetadata.KeyId}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.CreateTaggedQueue("dead", map[string]string{"MessageRetentionPeriod": "1209600"}, nil); err != nil {
		t.Fatal(err)
	}
	for _, step := range []error{
		w.SetQueueAttributes(cluster, map[string]string{
			"KmsMasterKeyId": "alias/queue", "VisibilityTimeout": "45",
			"RedrivePolicy": `{"deadLetterTargetArn":"` + w.QueueARN("dead") + `","maxReceiveCount":"4"}`,
		}),
		w.TagQueue(cluster, map[string]string{"karpenter.sh/discovery": cluster}, nil),
		w.TagRole("KarpenterNodeRole-kerf", map[string]string{"team": "a"}),
		w.PutRolePolicy("KarpenterNodeRole-kerf", "own", `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"s3:GetObject","Resource":"arn:aws:s3:::a b+c/*"}}`),
	} {
		if step != nil {
			t.Fatal(step)
		}
	}
	rule := w.Rules("")[0].Name
	targets, err := s.EventBridge().ListTargetsByRule(t.Context(), &eventbridge.ListTargetsByRuleInput{Rule: &rule})
	if err != nil {
		t.Fatal(err)
	}
	targets.Targets[0].RoleArn, targets.Targets[0].RetryPolicy = new("arn:aws:iam::"+w.Account()+":role/events"), &types.RetryPolicy{MaximumRetryAttempts: new(int32(3))}
	if _, err := s.EventBridge().PutTargets(t.Context(), &eventbridge.PutTargetsInput{Rule: &rule, Targets: targets.Targets}); err != nil {
		t.Fatal(err)
	}
	a, err := account.Look(t.Context(), s, account.Options{ClusterName: cluster})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Gaps) > 0 {
		t.Errorf("gaps: %v", a.Gaps)
	}
	if i := slices.IndexFunc(a.Rules, func(r awssetup.Rule) bool { return r.Name == rule }); i < 0 || a.Rules[i].Targets[0].RoleARN != *targets.Targets[0].RoleArn ||
		a.Rules[i].Targets[0].Retry == nil || *a.Rules[i].Targets[0].Retry.MaximumRetryAttempts != 3 {
		t.Errorf("rules are %+v, want a role and 3 attempts for the target of %s", a.Rules, rule)
	}
	if a.AccountID != w.Account() || a.Partition != "aws" || a.Region != w.Region() || a.AuthenticationMode == "" {
		t.Errorf("account %s, partition %s, region %s, mode %s", a.AccountID, a.Partition, a.Region, a.AuthenticationMode)
	}
	q := a.Queues[0]
	if q.ARN != w.QueueARN(cluster) || q.ARN != a.QueueARN || q.Retention != 300*time.Second || q.Visibility != 45*time.Second || q.KMSKey != "alias/queue" ||
		q.ManagedSSE || q.Policy == nil || q.DeadLetter != w.QueueARN("dead") || q.MaxReceives != 4 || q.Tags["karpenter.sh/discovery"] != cluster {
		t.Errorf("the queue is %+v", q)
	}
	if len(a.Queues) != 2 || a.Queues[1].Name != "dead" || a.Queues[1].Retention != 14*24*time.Hour {
		t.Errorf("queues are %+v", a.Queues)
	}
	k := account.KeyOf(&a.Setup, q.KMSKey)
	if k == nil || k.Manager != "CUSTOMER" || !k.Enabled || k.Policy == nil || !slices.Contains(k.Aliases, "alias/queue") || account.KeyOf(&a.Setup, k.ARN) != k {
		t.Errorf("the key is %+v", k)
	}
	if rules := w.Rules(""); len(a.Rules) != len(rules) || len(rules) == 0 || !a.Rules[0].Enabled || len(a.Rules[0].Targets) != 1 || a.Rules[0].Targets[0].ARN != q.ARN || len(a.Rules[0].Pattern) == 0 {
		t.Errorf("rules are %+v", a.Rules)
	}
	node := account.RoleOf(&a.Setup, "KarpenterNodeRole-kerf")
	if node == nil || node.Trust == nil || len(node.ManagedPolicyARNs) == 0 || node.Tags["team"] != "a" || len(node.Inline) != 1 ||
		node.Inline[0].Document.Statements[0].Resources[0] != "arn:aws:s3:::a b+c/*" {
		t.Errorf("the node role is %+v", node)
	}
}

func TestWhatIsNotThereIsNoGap(t *testing.T) {
	_, s := start(t, func(o *awssim.Options) { o.NoQueue = true; o.World.NoIdentities = true })
	a, err := account.Look(t.Context(), s, account.Options{ClusterName: cluster, Queue: "other"})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Gaps) > 0 || len(a.Queues) > 0 || a.QueueARN != "" || a.QueueName != "other" || a.NodeRole != "" || a.ControllerRole != "" {
		t.Errorf("got %+v", a)
	}
}

func TestAWrongClusterAndWrongCredentialsAreErrors(t *testing.T) {
	sim, s := start(t, nil)
	if _, err := account.Read(t.Context(), s, account.Options{ClusterName: "nowhere"}); !cloud.IsNotFound(err) || !strings.Contains(err.Error(), "--cluster-name") {
		t.Errorf("another cluster: %v", err)
	}
	bad, err := session.New(t.Context(), session.Options{Explicit: &session.Explicit{Region: sim.World.Region(), Endpoint: sim.URL(), AccessKeyID: "AKIAUNKNOWN", SecretAccessKey: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := account.Read(t.Context(), bad, account.Options{ClusterName: cluster}); cloud.ClassOf(err) != cloud.Denied {
		t.Errorf("other credentials: %v", err)
	}
}

const podsTrust = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"pods.eks.amazonaws.com"},"Action":["sts:AssumeRole","sts:TagSession"]}]}`

func TestTheControllersRoleIsFound(t *testing.T) {
	type setup struct {
		roles      []string
		identity   string // service account that the first role is given to
		options    account.Options
		want, from string
		gap        string
	}
	for name, test := range map[string]setup{
		"as given":                           {roles: []string{"mine", "kerf-karpenter"}, options: account.Options{ControllerRole: "arn:aws:iam::123456789012:role/mine"}, want: "mine", from: "given"},
		"by pod identity":                    {roles: []string{"odd", "kerf-karpenter"}, identity: "karpenter", want: "odd", from: "pod identity of kube-system/karpenter"},
		"by pod identity of kerf's own name": {roles: []string{"odd"}, identity: "kerf", want: "odd", from: "pod identity of kube-system/kerf"},
		"not by another's pod identity":      {roles: []string{"odd"}, identity: "app"},
		"by annotation": {
			roles: []string{"odd", "kerf-karpenter"}, options: account.Options{Namespace: "kube-system", ServiceAccount: "kerf", ServiceAccountRole: "arn:aws:iam::123456789012:role/odd"},
			want: "odd", from: "annotation of service account kube-system/kerf",
		},
		"by pod identity rather than by annotation": {
			roles: []string{"odd", "old"}, identity: "kerf", options: account.Options{Namespace: "kube-system", ServiceAccount: "kerf", ServiceAccountRole: "arn:aws:iam::123456789012:role/old"},
			want: "odd", from: "pod identity of kube-system/kerf",
		},
		"not another when an annotation names one that is gone": {
			roles: []string{"kerf-karpenter"}, options: account.Options{Namespace: "kube-system", ServiceAccount: "kerf", ServiceAccountRole: "arn:aws:iam::123456789012:role/gone"},
			gap: "annotation of service account kube-system/kerf names gone",
		},
		"by the name that eksctl gives":       {roles: []string{"kerf-karpenter"}, want: "kerf-karpenter", from: "its name"},
		"by the name that modules begin with": {roles: []string{"KarpenterController-20261121"}, want: "KarpenterController-20261121", from: "its name"},
		"by the cluster among several":        {roles: []string{"KarpenterController-kerf-1", "KarpenterController-other-1"}, want: "KarpenterController-kerf-1", from: "its name"},
		"not when several may be it":          {roles: []string{"KarpenterController-1", "KarpenterController-2"}, gap: "KarpenterController-1, KarpenterController-2"},
		"not when there is none":              {roles: []string{"web"}},
	} {
		t.Run(name, func(t *testing.T) {
			sim, s := start(t, func(o *awssim.Options) { o.World.NoIdentities = true })
			for _, r := range test.roles {
				if _, err := sim.World.CreateRole(r, "", podsTrust, nil); err != nil {
					t.Fatal(err)
				}
			}
			if test.identity != "" {
				role, err := sim.World.Role(test.roles[0])
				if err != nil {
					t.Fatal(err)
				}
				if _, err := sim.World.CreatePodIdentity(world.PodIdentity{Cluster: cluster, Namespace: "kube-system", ServiceAccount: test.identity, RoleARN: role.ARN}); err != nil {
					t.Fatal(err)
				}
			}
			test.options.ClusterName = cluster
			a, err := account.Look(t.Context(), s, test.options)
			if err != nil {
				t.Fatal(err)
			}
			if a.ControllerRole != test.want || a.ControllerRoleFrom != test.from {
				t.Errorf("found %q (%s), want %q (%s)", a.ControllerRole, a.ControllerRoleFrom, test.want, test.from)
			}
			hasGap := slices.ContainsFunc(a.Gaps, func(g awssetup.Gap) bool { return test.gap != "" && strings.Contains(g.Why, test.gap) })
			if hasGap != (test.gap != "") {
				t.Errorf("gaps are %v", a.Gaps)
			}
		})
	}
}

func TestPoliciesOfARoleAreWhole(t *testing.T) {
	sim, s := start(t, func(o *awssim.Options) { o.World.NoIdentities = true })
	w := sim.World
	if _, err := w.CreateRole("kerf-karpenter", "/team/", podsTrust, nil); err != nil {
		t.Fatal(err)
	}
	made, err := s.IAM.CreatePolicy(t.Context(), &iam.CreatePolicyInput{PolicyName: new("p"), PolicyDocument: new(`{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"a:Old","Resource":"*"}}`)})
	if err != nil {
		t.Fatal(err)
	}
	arn := *made.Policy.Arn
	if _, err := s.IAM.CreatePolicyVersion(t.Context(), &iam.CreatePolicyVersionInput{PolicyArn: &arn, PolicyDocument: new(`{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"a:New","Resource":"*"}}`), SetAsDefault: true}); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{w.AttachRolePolicy("kerf-karpenter", arn), w.SetRoleBoundary("kerf-karpenter", arn)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	a, err := account.Look(t.Context(), s, account.Options{ClusterName: cluster})
	if err != nil {
		t.Fatal(err)
	}
	role := account.RoleOf(&a.Setup, a.ControllerRole)
	if role == nil {
		t.Fatal("the role was not found")
	}
	p, whole := account.PoliciesOf(&a.Setup, role)
	if !whole || len(p.Identity) != 1 || p.Identity[0].Document.Statements[0].Actions[0] != "a:New" || p.Boundary == nil {
		t.Errorf("policies are %+v, whole %v", p, whole)
	}
	if got := a.Policies[0]; !cmp.Equal(got.AttachedTo, []string{"kerf-karpenter"}) || got.Characters == 0 || got.Attachments != 1 || got.OfOthers() {
		t.Errorf("the policy is %+v", got)
	}
	a.Policies[0].Document = nil
	if _, whole := account.PoliciesOf(&a.Setup, role); whole {
		t.Error("policies of which one is not known are called whole")
	}
}

func TestFiguresAreThoseOfRulesAndQueue(t *testing.T) {
	sim, s := start(t, nil)
	e := sim.World.NewEvent("aws.ec2", "EC2 Instance Rebalance Recommendation", nil, map[string]string{"instance-id": "i-0123456789abcdef0"})
	if _, err := sim.World.Emit(e); err != nil {
		t.Fatal(err)
	}
	a, err := account.Look(t.Context(), s, account.Options{ClusterName: cluster})
	if err != nil {
		t.Fatal(err)
	}
	m, err := a.Metrics(t.Context(), s.CloudWatch(), time.Hour, time.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	var sum account.RuleMetrics
	for _, r := range m.Rules {
		sum.Matched, sum.Invocations, sum.Failed = sum.Matched+r.Matched, sum.Invocations+r.Invocations, sum.Failed+r.Failed
	}
	if sum.Invocations != 1 || sum.Failed != 0 || m.Queues[cluster].Sent != 1 {
		t.Errorf("rules %+v, queues %+v", m.Rules, m.Queues)
	}
}

// A controller takes the probe before the doctor sees it; then the figures of EventBridge, or the controller's own, prove it.
func TestAProbeThatTheControllerTakesIsStillSeen(t *testing.T) {
	for name, counts := range map[string]bool{"by the controller's count": true, "by EventBridge's figures": false} {
		t.Run(name, func(t *testing.T) {
			sim, s := start(t, nil)
			url := sim.World.QueueURL(cluster)
			ctx, stop := context.WithCancel(t.Context())
			taken := make(chan int, 100)
			done := make(chan struct{})
			go func() { // takes all that comes, at once
				defer close(done)
				for ctx.Err() == nil {
					out, err := s.SQS.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: 20, MaxNumberOfMessages: 10})
					if err != nil {
						continue
					}
					for _, m := range out.Messages {
						_, _ = s.SQS.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle})
						taken <- 1
					}
				}
			}()
			defer func() { stop(); <-done }()
			o := account.ProveOptions{ClusterName: cluster, QueueARN: sim.World.QueueARN(cluster), QueueURL: url, Timeout: 30 * time.Second, Tell: func(l string) { t.Log(l) }}
			total := 0
			if counts {
				o.Seen = func(context.Context) (int, error) {
					for {
						select {
						case n := <-taken:
							total += n
							continue
						default:
						}
						return total, nil
					}
				}
			}
			p, err := account.Prove(t.Context(), s, o)
			if err != nil || !p.Delivered || len(p.Left) > 0 {
				t.Fatalf("got %+v, %v", p, err)
			}
			if rules := sim.World.Rules(account.ProbeRulePrefix); len(rules) > 0 {
				t.Errorf("left %v", rules)
			}
		})
	}
}

func TestAProofThatCanNotCleanUpSaysHow(t *testing.T) {
	sim, s := start(t, nil)
	sim.World.AddFault(world.Fault{Kind: world.FaultError, Service: "events", Operation: "DeleteRule", Code: "ConcurrentModificationException", Message: "not today", Status: 400})
	p, err := account.Prove(t.Context(), s, account.ProveOptions{ClusterName: cluster, QueueARN: sim.World.QueueARN(cluster), QueueURL: sim.World.QueueURL(cluster), Timeout: 20 * time.Second})
	if err != nil || !p.Delivered {
		t.Fatalf("got %+v, %v", p, err)
	}
	if len(p.Left) != 1 || !strings.Contains(p.Left[0], "aws events delete-rule --name "+p.Rule) {
		t.Errorf("left is %q", p.Left)
	}
}

func TestWhatIAMItselfRefuses(t *testing.T) {
	sim, s := start(t, func(o *awssim.Options) { o.World.NoIdentities = true })
	role, err := sim.World.CreateRole("r", "", podsTrust, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := sim.World.PutRolePolicy("r", "p", `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sqs:*","Resource":"*"},{"Effect":"Deny","Action":"sqs:DeleteMessage","Resource":"*"}]}`); err != nil {
		t.Fatal(err)
	}
	got, err := account.Refusals(t.Context(), s.IAM, role.ARN, sim.World.QueueARN(cluster), []string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "kms:Decrypt"})
	want := map[string]string{"sqs:DeleteMessage": "a statement denies it"}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestSubnets(t *testing.T) {
	sim, s := start(t, nil)
	all := sim.World.Subnets()
	got, err := account.Subnets(t.Context(), s.EC2, []string{all[0].ID, "subnet-00000000"})
	if err != nil || len(got) != 1 || got[0].ID != all[0].ID || got[0].Free <= 0 || got[0].Zone == "" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestSecurityGroups(t *testing.T) {
	sim, s := start(t, nil)
	all := sim.World.SecurityGroups()
	got, err := account.SecurityGroups(t.Context(), s.EC2, []string{all[0].ID, "sg-00000000"})
	if err != nil || len(got) != 1 || got[0].ID != all[0].ID || len(got[0].Egress) != 1 || !got[0].Egress[0].Lets("tcp", 443) || !got[0].Egress[0].Lets("udp", 53) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// A person may work with a role whose name speaks of the controller, such as one to administer it.
func TestTheCallersOwnRoleIsTheControllersOnlyInAPod(t *testing.T) {
	for name, test := range map[string]struct {
		host, identity string
		want, from     string
	}{
		"at a desk":                         {want: "kerf-karpenter", from: "its name"},
		"in a pod":                          {host: "10.0.0.1", want: "karpenter-admin", from: "the caller's own role, in a pod"},
		"in a pod, beside the controller's": {host: "10.0.0.1", identity: "odd", want: "odd", from: "pod identity of kube-system/karpenter"},
		"at a desk, with the role of the service": {identity: "odd", want: "odd", from: "pod identity of kube-system/karpenter"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBERNETES_SERVICE_HOST", test.host)
			sim, s := start(t, func(o *awssim.Options) { o.World.NoIdentities = true })
			for _, r := range []string{"karpenter-admin", "kerf-karpenter", "odd"} {
				if _, err := sim.World.CreateRole(r, "", podsTrust, nil); err != nil {
					t.Fatal(err)
				}
			}
			if test.identity != "" {
				arn := "arn:aws:iam::" + sim.World.Account() + ":role/" + test.identity
				if _, err := sim.World.CreatePodIdentity(world.PodIdentity{Cluster: cluster, Namespace: "kube-system", ServiceAccount: "karpenter", RoleARN: arn}); err != nil {
					t.Fatal(err)
				}
			}
			if err := sim.World.PutRolePolicy("karpenter-admin", "all", `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"*","Resource":"*"}}`); err != nil {
				t.Fatal(err)
			}
			key, err := sim.World.RoleSession("karpenter-admin", "somebody")
			if err != nil {
				t.Fatal(err)
			}
			admin, err := session.New(t.Context(), session.Options{Explicit: &session.Explicit{
				Region: s.Region, Endpoint: sim.URL(), AccessKeyID: key.ID, SecretAccessKey: key.Secret, SessionToken: key.SessionToken,
			}})
			if err != nil {
				t.Fatal(err)
			}
			a, err := account.Look(t.Context(), admin, account.Options{ClusterName: cluster})
			if err != nil {
				t.Fatal(err)
			}
			if a.ControllerRole != test.want || a.ControllerRoleFrom != test.from {
				t.Errorf("for %s found %q (%s), want %q (%s)", a.Caller, a.ControllerRole, a.ControllerRoleFrom, test.want, test.from)
			}
		})
	}
}

func TestSeveralServiceAccountsWithDifferentRoles(t *testing.T) {
	sim, s := start(t, func(o *awssim.Options) { o.World.NoIdentities = true })
	for account, role := range map[string]string{"karpenter": "one", "kerf": "two"} {
		made, err := sim.World.CreateRole(role, "", podsTrust, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sim.World.CreatePodIdentity(world.PodIdentity{Cluster: cluster, Namespace: "kube-system", ServiceAccount: account, RoleARN: made.ARN}); err != nil {
			t.Fatal(err)
		}
	}
	a, err := account.Look(t.Context(), s, account.Options{ClusterName: cluster})
	if err != nil {
		t.Fatal(err)
	}
	if a.ControllerRole != "" || !slices.ContainsFunc(a.Gaps, func(g awssetup.Gap) bool { return strings.Contains(g.Why, "kube-system/kerf with two") }) {
		t.Errorf("found %q; gaps are %v", a.ControllerRole, a.Gaps)
	}
	if a, err = account.Look(t.Context(), s, account.Options{ClusterName: cluster, ServiceAccount: "kerf"}); err != nil || a.ControllerRole != "two" {
		t.Errorf("with its name found %q, %v", a.ControllerRole, err)
	}
}
