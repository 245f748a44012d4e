package doctor

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/account"
	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/setup/stack"
)

const (
	testAccount = "111122223333"
	testRegion  = "eu-west-1"
	testCluster = "demo"
	volumeKey   = "arn:aws:kms:eu-west-1:111122223333:key/vol"
)

// healthy is a set-up as kerf stack writes it, with a cluster to match; every check is ok or skipped.
func healthy(t *testing.T, change func(*stack.Options)) *Input {
	t.Helper()
	o := stack.Defaults(stack.Latest)
	o.ClusterName, o.Region, o.AccountID = testCluster, testRegion, testAccount
	o.Controller, o.AccessEntry = stack.PodIdentity, "EC2_LINUX"
	if change != nil {
		change(&o)
	}
	s, err := stack.New(o)
	if err != nil {
		t.Fatal(err)
	}
	a := &account.Account{Setup: *s.Setup(testAccount, o.Region), Caller: "arn:aws:iam::111122223333:user/night", AuthenticationMode: "API_AND_CONFIG_MAP"}
	a.ControllerRole, a.ControllerRoleFrom, a.NodeRole = testCluster+"-karpenter", "its name", "KarpenterNodeRole-"+testCluster
	a.QueueName, a.QueueARN, a.QueueURL = a.Queues[0].Name, a.Queues[0].ARN, a.Queues[0].URL
	a.Roles = append(a.Roles, awssetup.Role{Name: account.SpotRole, ARN: "arn:aws:iam::111122223333:role/aws-service-role/spot.amazonaws.com/" + account.SpotRole})
	in := &Input{
		ClusterName: testCluster, Queue: testCluster, QueueFrom: "--queue", AWS: a, Refused: map[string]string{}, Now: time.Unix(1_800_000_000, 0),
		Metrics:        &account.Metrics{Window: 24 * time.Hour, Rules: map[string]account.RuleMetrics{}, Queues: map[string]account.QueueMetrics{testCluster: {Sent: 40, Received: 40, Deleted: 40}}},
		Subnets:        []account.Subnet{{ID: "subnet-1", Zone: "eu-west-1a", Free: 4000}, {ID: "subnet-2", Zone: "eu-west-1b", Free: 4000}},
		SecurityGroups: []account.SecurityGroup{{ID: "sg-1", Name: "nodes", Egress: []account.Egress{{Protocol: "-1"}}}},
		Kube: &Objects{
			Controllers: []Controller{{Namespace: "kube-system", Name: "karpenter", Image: "ghcr.io/kerf-sh/kerf:1", ServiceAccount: "karpenter", ClusterName: testCluster, Queue: testCluster, Ready: 2, Wanted: 2}},
			Classes:     []awsv1.EC2NodeClass{class("default")},
			Pools:       []karpv1.NodePool{pool("default", "spot", "on-demand")},
			CNI:         &CNI{}, Nodes: 4, MaxPods: 58,
		},
	}
	for _, r := range a.Rules {
		in.Metrics.Rules[r.Name] = account.RuleMetrics{Matched: 10, Invocations: 10}
	}
	in.Recent = &account.Metrics{Window: 15 * time.Minute}
	return in
}

func class(name string) awsv1.EC2NodeClass {
	return awsv1.EC2NodeClass{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       awsv1.EC2NodeClassSpec{Role: "KarpenterNodeRole-" + testCluster},
		Status:     awsv1.EC2NodeClassStatus{Subnets: []awsv1.Subnet{{ID: "subnet-1", Zone: "eu-west-1a"}, {ID: "subnet-2", Zone: "eu-west-1b"}}, SecurityGroups: []awsv1.SecurityGroup{{ID: "sg-1"}}},
	}
}

func pool(name string, capacityTypes ...string) karpv1.NodePool {
	p := karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if len(capacityTypes) > 0 {
		p.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{{Key: karpv1.CapacityTypeLabelKey, Operator: corev1.NodeSelectorOpIn, Values: capacityTypes}}
	}
	return p
}

func (r *Report) find(t *testing.T, id string) Result {
	t.Helper()
	for _, res := range r.Results {
		if res.ID == id {
			return res
		}
	}
	t.Fatalf("there is no check %q", id)
	return Result{}
}

func TestWhatKerfSetsUpIsHealthy(t *testing.T) {
	for name, change := range map[string]func(*stack.Options){
		"as by default":              nil,
		"with a key of its own":      func(o *stack.Options) { o.KMS = true },
		"with the rules' names free": func(o *stack.Options) { o.RuleSources = false },
		"with another queue name":    func(o *stack.Options) { o.QueueName = "interruptions" },
		"without a dead-letter queue": func(o *stack.Options) {
			o.DeadLetter = false
		},
		"in China":                     func(o *stack.Options) { o.Region, o.KMS = "cn-north-1", true },
		"under a path, with odd names": func(o *stack.Options) { o.Path, o.NodeRoleName, o.PolicySuffix = "/team/", "nodes", "x" },
	} {
		t.Run(name, func(t *testing.T) {
			in := healthy(t, change)
			if role := in.AWS.Roles[0].Name; role != in.AWS.NodeRole {
				in.Kube.Classes[0].Spec.Role, in.AWS.NodeRole = role, role
			}
			in.Kube.Controllers[0].Queue = in.AWS.QueueName
			in.Metrics.Queues[in.AWS.QueueName] = in.Metrics.Queues[testCluster]
			for _, r := range Examine(in).Results {
				if r.Status != OK && r.Status != Skipped {
					t.Errorf("%d %s is %s: %s\n%s", r.Number, r.ID, r.Status, r.Finding, strings.Join(r.Evidence, "\n"))
				}
			}
		})
	}
}

func TestEveryCheckIsNumberedAndNamed(t *testing.T) {
	r := Examine(healthy(t, nil))
	if len(r.Results) != 24 {
		t.Errorf("there are %d checks, want 24", len(r.Results))
	}
	seen := map[string]bool{}
	for i, res := range r.Results {
		if res.Number != i+1 || seen[res.ID] || res.Title == "" || res.Looked == "" || res.Finding == "" {
			t.Errorf("check %d lacks something or is there twice: %+v", i+1, res)
		}
		seen[res.ID] = true
	}
}

func TestTheProofsRulesAreThoseThatTheStacksPolicyLetsIn(t *testing.T) {
	if account.ProbeRulePrefix != stack.ProofRulePrefix {
		t.Errorf("rules of a proof begin with %q, and the stack's queue policy lets %q in", account.ProbeRulePrefix, stack.ProofRulePrefix)
	}
}
