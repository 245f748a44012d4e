package disrupt

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/cache"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// BenchmarkRound is a look of the loop at a cluster that is at rest: first when something has changed that changes no
// decision, then when nothing has.
func BenchmarkRound(b *testing.B) {
	for _, nodes := range []int{1000, 2000} {
		for _, change := range []bool{true, false} {
			b.Run(fmt.Sprintf("nodes=%d/pods=%d/change=%v", nodes, 15*nodes, change), func(b *testing.B) { round(b, nodes, change) })
		}
	}
}

func round(b *testing.B, nodes int, change bool) {
	c := cache.New(cache.Options{})
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "pool", ResourceVersion: "1"}}
	pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
	pool.Spec.Disruption.ConsolidationPolicy = karpv1.ConsolidationPolicyWhenEmptyOrUnderutilized
	pool.Spec.Disruption.ConsolidateAfter.Duration = new(time.Duration)
	pool.StatusConditions().SetTrue(karpv1.ConditionTypeValidationSucceeded)
	pool.StatusConditions().SetTrue(karpv1.ConditionTypeNodeClassReady)
	c.SetPool(pool)
	long := metav1.NewTime(time.Now().Add(-time.Hour))
	var first *corev1.Pod
	for i := range nodes {
		name := fmt.Sprintf("n%04d", i)
		labels := map[string]string{
			karpv1.NodePoolLabelKey: "default", corev1.LabelInstanceTypeStable: "small", karpv1.CapacityTypeLabelKey: "on-demand", corev1.LabelTopologyZone: "a",
			karpv1.NodeRegisteredLabelKey: "true", karpv1.NodeInitializedLabelKey: "true", awsv1.LabelNodeClass: "default", corev1.LabelHostname: name,
		}
		claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: labels, ResourceVersion: "1", CreationTimestamp: long}}
		claim.Spec.NodeClassRef = pool.Spec.Template.Spec.NodeClassRef
		claim.Status.ProviderID = "aws:///a/" + name
		conditions := claim.StatusConditions().WithClock(func() time.Time { return long.Time })
		for _, t := range []string{karpv1.ConditionTypeLaunched, karpv1.ConditionTypeRegistered, karpv1.ConditionTypeInitialized} {
			conditions.SetTrue(t)
		}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node-" + name), Labels: labels, ResourceVersion: "1"}, Spec: corev1.NodeSpec{ProviderID: claim.Status.ProviderID}}
		node.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("4"), "pods": resource.MustParse("29")}
		node.Status.Capacity = node.Status.Allocatable
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		c.SetClaim(claim)
		c.SetNode(node)
		for j := range 15 {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("%s-%02d", name, j), UID: types.UID(fmt.Sprintf("%s-%02d", name, j)), ResourceVersion: "1", CreationTimestamp: long}}
			p.Spec.NodeName = name
			p.Spec.Containers = []corev1.Container{{Name: "a", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("260m")}}}}
			p.Status.Phase = corev1.PodRunning
			c.SetPod(p)
			first = p
		}
	}
	offers := intake.Pool(pool, &awsv1.EC2NodeClass{}, []*catalog.Type{{Name: "small", Capacity: res.List{"cpu": 4000, "pods": 29}, Offerings: []catalog.Offering{{Zone: "a", CapacityType: catalog.OnDemand, Price: 100_000, Available: true}}}})
	var prices cluster.Pricer
	metrics := obs.NewMetrics(prometheus.NewRegistry())
	events := record.NewFakeRecorder(0)
	events.Events = nil
	l := &Loop{
		Queue: &Queue{Client: fake.NewClientBuilder().Build(), State: c, Recorder: events, Metrics: metrics, Clock: clock.RealClock{}}, State: c, Metrics: metrics, Log: slog.New(slog.DiscardHandler), Clock: clock.RealClock{},
		Problem: func(_ context.Context, s *cluster.Snapshot, _ int) *pack.Problem {
			pools := []*cluster.Pool{offers}
			return &pack.Problem{Now: time.Now(), Generation: s.Generation, Nodes: prices.Apply(s.Nodes, pools), Pending: s.Pending, Pools: pools, Options: pack.Options{WellKnown: apply.WellKnownLabels()}}
		},
	}
	l.reporter = newReporter(l.Queue)
	look := func() {
		l.due, l.rest = time.Time{}, time.Time{}
		if err := l.round(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	look()
	b.ReportAllocs()
	version := 1
	for b.Loop() {
		if change {
			version++
			p := first.DeepCopy()
			p.ResourceVersion = fmt.Sprint(version)
			p.Labels = map[string]string{"version": fmt.Sprint(version % 2)}
			c.SetPod(p)
		}
		look()
	}
	if d := l.Found(); len(d.Moves) > 0 {
		b.Errorf("%d moves: the cluster is not at rest", len(d.Moves))
	}
}
