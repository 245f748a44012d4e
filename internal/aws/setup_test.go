package aws_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/status"
	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/aws/session/sessiontest"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// settle is how long the provider under test thinks EC2 takes to show an instance; faults that hide them stay below it.
const settle = 300 * time.Millisecond

// fewTypes keep the simulated region small, so that a test does not wait for a thousand descriptions.
var fewTypes = []string{
	"m5.large", "m5.xlarge", "m5.2xlarge", "m6i.large", "m6i.xlarge", "m6g.large", "m7g.xlarge", "c5.large", "c5.xlarge",
	"c6i.large", "r5.large", "g4dn.xlarge", "p3.2xlarge", "m5.metal", "t3.medium", "a1.large",
}

// startSim makes a simulator and points the SDK at it.
func startSim(t *testing.T, o awssim.Options) *awssim.Server {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	if o.World.Types == nil {
		o.World.Types = fewTypes
	}
	if o.World.PendingTime == 0 {
		o.World.PendingTime = -1
	}
	if o.World.ShutdownTime == 0 {
		o.World.ShutdownTime = -1
	}
	s, err := awssim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
	for _, kv := range s.Env() {
		k, v, _ := strings.Cut(kv, "=")
		t.Setenv(k, v)
	}
	return s
}

// newProvider makes a provider as a process would that has just started.
func newProvider(t *testing.T, s *awssim.Server, edit func(*aws.Options)) *aws.Provider {
	t.Helper()
	p, _ := newCountedProvider(t, s, edit)
	return p
}

// newCountedProvider is a provider with a count of its calls.
func newCountedProvider(t *testing.T, s *awssim.Server, edit func(*aws.Options)) (*aws.Provider, *sessiontest.Calls) {
	t.Helper()
	calls := &sessiontest.Calls{}
	sess, err := session.New(t.Context(), session.Options{Version: "test", Middleware: calls.Middleware()})
	if err != nil {
		t.Fatal(err)
	}
	o := aws.Options{
		ClusterName: s.World.ClusterName(), ClusterDNSIP: func(context.Context) (string, error) { return "10.100.0.10", nil }, ClusterCABundle: func() string { return "Q0E=" },
		InterruptionQueue: s.World.ClusterName(), ReservedCapacity: true, Settle: settle,
		SubnetRefreshInterval: time.Nanosecond, AMIRefreshInterval: time.Nanosecond,
		KubernetesVersion: nil,
	}
	if edit != nil {
		edit(&o)
	}
	p, err := aws.New(sess, o)
	if err != nil {
		t.Fatal(err)
	}
	return p, calls
}

// ready starts a provider as the only one, with nothing to recover.
func ready(t *testing.T, p *aws.Provider) {
	t.Helper()
	if err := p.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.Begin(t.Context(), nil)
}

func newClass(s *awssim.Server) *awsv1.EC2NodeClass {
	discovery := map[string]string{"karpenter.sh/discovery": s.World.ClusterName()}
	return &awsv1.EC2NodeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "class-uid", Generation: 1, Annotations: map[string]string{
			awsv1.AnnotationEC2NodeClassHash: "123", awsv1.AnnotationEC2NodeClassHashVersion: "kerf-1",
		}},
		Spec: awsv1.EC2NodeClassSpec{
			SubnetSelectorTerms:        []awsv1.SubnetSelectorTerm{{Tags: discovery}},
			SecurityGroupSelectorTerms: []awsv1.SecurityGroupSelectorTerm{{Tags: discovery}},
			AMISelectorTerms:           []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}},
			Role:                       "KarpenterNodeRole-" + s.World.ClusterName(),
			Tags:                       map[string]string{"team": "blue"},
		},
	}
}

// resolve does what the nodeclass controller does: it writes the resolution into the status.
func resolve(t *testing.T, p *aws.Provider, class *awsv1.EC2NodeClass) {
	t.Helper()
	r, err := p.Resolve(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	class.Status.Subnets, class.Status.SecurityGroups, class.Status.AMIs = r.Subnets, r.SecurityGroups, r.AMIs
	class.Status.InstanceProfile = r.InstanceProfile
	state := metav1.ConditionTrue
	for _, f := range r.Findings {
		if !f.OK {
			t.Logf("%s: %s: %s (unknown=%v)", f.Condition, f.Reason, f.Message, f.Unknown)
			state = metav1.ConditionFalse
		}
	}
	class.Status.Conditions = []status.Condition{{Type: awsv1.ConditionTypeReady, Status: state, ObservedGeneration: class.Generation}}
	if state != metav1.ConditionTrue {
		t.Fatal("the class is not ready")
	}
}

// newClaim is a claim for an instance of some m type, on demand unless requirements say otherwise.
func newClaim(n int, requirements ...karpv1.NodeSelectorRequirementWithMinValues) *karpv1.NodeClaim {
	base := []karpv1.NodeSelectorRequirementWithMinValues{
		need(awsv1.LabelInstanceCategory, corev1.NodeSelectorOpIn, "m"),
		need(corev1.LabelArchStable, corev1.NodeSelectorOpIn, "amd64"),
		need(karpv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, karpv1.CapacityTypeOnDemand),
	}
	if len(requirements) > 0 {
		base = requirements
	}
	return &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("pool-%03d", n), UID: types.UID(fmt.Sprintf("uid-%03d", n)), CreationTimestamp: metav1.Now(),
			Labels: map[string]string{karpv1.NodePoolLabelKey: "pool", "team": "blue"},
		},
		Spec: karpv1.NodeClaimSpec{
			Requirements: base,
			Resources: karpv1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("1500m"), corev1.ResourceMemory: resource.MustParse("2Gi"), corev1.ResourcePods: resource.MustParse("5"),
			}},
			NodeClassRef: &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"},
		},
	}
}

func need(key string, op corev1.NodeSelectorOperator, values ...string) karpv1.NodeSelectorRequirementWithMinValues {
	return karpv1.NodeSelectorRequirementWithMinValues{Key: key, Operator: op, Values: values}
}

func uids(claims []*karpv1.NodeClaim) []string {
	out := make([]string, len(claims))
	for i, c := range claims {
		out[i] = string(c.UID)
	}
	return out
}

// alive are the simulator's instances that have not ended.
func alive(s *awssim.Server) []world.Instance {
	var out []world.Instance
	for _, i := range s.World.AllInstances() {
		if i.State == "pending" || i.State == "running" {
			out = append(out, i)
		}
	}
	return out
}
