package permissions_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/status"
	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/lifecycle"
	"github.com/kerf-sh/kerf/internal/controller/nodeclass"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	nametags "github.com/kerf-sh/kerf/internal/controller/tagging"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// cluster is the Kubernetes side: the controllers of the product over a client that keeps objects in memory, and what
// they log and write.
type cluster struct {
	*account
	kube     client.Client
	recorder *record.FakeRecorder
	metrics  *obs.Metrics
	log      *slog.Logger
	out      *output
}

// output collects what is amiss while a path runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

// observed is all that a user sees amiss since the last call: the log, events, conditions, and what is not as it should be.
func (c *cluster) observed() string {
	for {
		select {
		case e := <-c.recorder.Events:
			if strings.HasPrefix(e, corev1.EventTypeWarning) {
				c.amiss("event %s", e)
			}
			continue
		default:
		}
		return c.out.take()
	}
}

// take empties the output.
func (o *output) take() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.text.Reset()
	return strings.ReplaceAll(o.text.String(), `\"`, `"`)
}

// amiss notes what a user sees that is not in the log.
func (c *cluster) amiss(format string, args ...any) { fmt.Fprintf(c.out, format+"\n", args...) }

type indexer struct{ *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	i.WithIndex(obj, field, extract)
	return nil
}

func newCluster(a *account) *cluster {
	a.t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(karpv1.AddToScheme(scheme), awsv1.AddToScheme(scheme), corev1.AddToScheme(scheme), storagev1.AddToScheme(scheme)); err != nil {
		a.t.Fatal(err)
	}
	b := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&awsv1.EC2NodeClass{}, &karpv1.NodeClaim{})
	if err := index.Add(a.t.Context(), indexer{b}); err != nil {
		a.t.Fatal(err)
	}
	c := &cluster{account: a, kube: b.Build(), recorder: record.NewFakeRecorder(10_000), metrics: obs.NewMetrics(prometheus.NewRegistry()), out: &output{}}
	c.log = slog.New(slog.NewTextHandler(c.out, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return c
}

// wall is a clock that can be put forward.
type wall struct{ ahead atomic.Int64 }

func (w *wall) now() time.Time           { return time.Now().Add(time.Duration(w.ahead.Load())) }
func (w *wall) forward(by time.Duration) { w.ahead.Add(int64(by)) }

// process is the provider of a process that has just started; nothing is remembered from others.
func (c *cluster) process(edit ...func(*aws.Options)) *aws.Provider {
	c.t.Helper()
	o := aws.Options{
		ClusterName: clusterName, ClusterDNSIP: func(context.Context) (string, error) { return "10.100.0.10", nil }, ClusterCABundle: func() string { return "Q0E=" }, InterruptionQueue: clusterName, Logger: c.log,
		BatchIdle: time.Millisecond, Settle: 10 * time.Millisecond,
		KubernetesVersion: func(context.Context) (string, error) { return "1.36", nil },
	}
	for _, f := range edit {
		f(&o)
	}
	p, err := aws.New(c.clients, o)
	if err != nil {
		c.t.Fatal(err)
	}
	return p
}

// checked is a process that got through its first check, leader one that has all it needs to launch instances.
func (c *cluster) checked(edit ...func(*aws.Options)) *aws.Provider {
	c.t.Helper()
	p := c.process(edit...)
	if err := p.Check(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	return p
}

func (c *cluster) leader(edit ...func(*aws.Options)) *aws.Provider {
	c.t.Helper()
	p := c.checked(edit...)
	if err := p.Warm(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	p.Begin(c.t.Context(), nil)
	return p
}

func (c *cluster) create(o client.Object) {
	c.t.Helper()
	if err := c.kube.Create(c.t.Context(), o); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) get(o client.Object, name string) {
	c.t.Helper()
	if err := c.kube.Get(c.t.Context(), client.ObjectKey{Name: name}, o); err != nil {
		c.t.Fatal(err)
	}
}

func newClass(name string, edit ...func(*awsv1.EC2NodeClass)) *awsv1.EC2NodeClass {
	discovery := map[string]string{"karpenter.sh/discovery": clusterName}
	class := &awsv1.EC2NodeClass{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Generation: 1},
		Spec: awsv1.EC2NodeClassSpec{
			SubnetSelectorTerms:        []awsv1.SubnetSelectorTerm{{Tags: discovery}},
			SecurityGroupSelectorTerms: []awsv1.SecurityGroupSelectorTerm{{Tags: discovery}},
			AMISelectorTerms:           []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}},
			Role:                       "KarpenterNodeRole-" + clusterName,
			Tags:                       map[string]string{"team": "blue"},
		},
	}
	for _, f := range edit {
		f(class)
	}
	return class
}

// resolve lets the controller of node classes look at one and notes which of its conditions are not true.
func (c *cluster) resolve(p *aws.Provider, class string) {
	c.t.Helper()
	var spec awsv1.EC2NodeClass
	c.get(&spec, class)
	r := &nodeclass.Controller{
		Client: c.kube, Cloud: p, Recorder: c.recorder, Metrics: c.metrics, Log: c.log, Clock: clock.RealClock{},
		ReservedCapacity: len(spec.Spec.CapacityReservationSelectorTerms) > 0, // as the providers have it that look at such classes
		Hash:             func(*awsv1.EC2NodeClass) string { return "123" }, HashVersion: awsv1.EC2NodeClassHashVersion,
	}
	if _, err := r.Reconcile(c.t.Context(), request(class)); err != nil {
		c.amiss("EC2NodeClass %s: %v", class, err)
		return
	}
	found := &awsv1.EC2NodeClass{}
	if err := c.kube.Get(c.t.Context(), client.ObjectKey{Name: class}, found); client.IgnoreNotFound(err) != nil {
		c.t.Fatal(err)
	}
	c.conditions("EC2NodeClass "+class, found.Status.Conditions)
}

// conditions notes those that are not met, and those that are met with a note, as what can't be looked at now is.
func (c *cluster) conditions(of string, list []status.Condition) {
	for i := range list {
		if !list[i].IsTrue() || list[i].Reason != list[i].Type {
			c.amiss("condition %s of %s is %s, reason %s: %s", list[i].Type, of, list[i].Status, list[i].Reason, list[i].Message)
		}
	}
}

// ready makes a class that can be launched from.
func (c *cluster) ready(p *aws.Provider, name string, edit ...func(*awsv1.EC2NodeClass)) *awsv1.EC2NodeClass {
	c.t.Helper()
	c.create(newClass(name, edit...))
	c.resolve(p, name)
	c.clean("EC2NodeClass " + name)
	class := &awsv1.EC2NodeClass{}
	c.get(class, name)
	return class
}

// clean fails the test if anything is amiss already, but for what the edition does not allow.
func (c *cluster) clean(what string) {
	c.t.Helper()
	lacking := c.lacking()
	for line := range strings.Lines(c.observed()) {
		if !slices.ContainsFunc(lacking, func(g grant) bool { return says(line, g.action) }) {
			c.t.Errorf("preparing %s: %s", what, line)
		}
	}
	if c.t.Failed() {
		c.t.FailNow()
	}
}

func newClaim(name, class, capacityType string) *karpv1.NodeClaim {
	need := func(key string, values ...string) karpv1.NodeSelectorRequirementWithMinValues {
		return karpv1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
	}
	return &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.Now(), Finalizers: []string{karpv1.TerminationFinalizer},
			Labels: map[string]string{karpv1.NodePoolLabelKey: "pool-of-" + name},
		},
		Spec: karpv1.NodeClaimSpec{
			Requirements: []karpv1.NodeSelectorRequirementWithMinValues{
				need(awsv1.LabelInstanceCategory, "m"), need(corev1.LabelArchStable, "amd64"), need(karpv1.CapacityTypeLabelKey, capacityType),
			},
			Resources:    karpv1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m")}},
			NodeClassRef: &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: class},
		},
	}
}

// launch lets the controller of NodeClaims look at one, and notes whether it is launched. Claims must exist.
func (c *cluster) launch(p cloud.Provider, claim string) *karpv1.NodeClaim {
	c.t.Helper()
	c.step(p, claim)
	found := &karpv1.NodeClaim{}
	c.get(found, claim)
	if l := found.StatusConditions().Get(karpv1.ConditionTypeLaunched); !l.IsTrue() {
		c.conditions("NodeClaim "+claim, []status.Condition{*l})
	}
	return found
}

func (c *cluster) step(p cloud.Provider, claim string) {
	c.t.Helper()
	l := &lifecycle.Controller{
		Client: c.kube, Cloud: p, Recorder: c.recorder, Metrics: c.metrics, Log: c.log, Clock: clock.RealClock{},
		LaunchTimeout: time.Hour, RegistrationTimeout: time.Hour,
	}
	tags := nametags.New(c.kube, p, clusterName, c.metrics, c.log, clock.RealClock{})
	for _, r := range []reconcile.Reconciler{l, tags} {
		if _, err := r.Reconcile(c.t.Context(), request(claim)); err != nil {
			c.amiss("NodeClaim %s: %v", claim, err)
		}
	}
}

// launched is a claim that has its instance.
func (c *cluster) launched(p *aws.Provider, name, class string) *karpv1.NodeClaim {
	c.t.Helper()
	c.create(newClaim(name, class, karpv1.CapacityTypeOnDemand))
	claim := c.launch(p, name)
	c.clean("NodeClaim " + name)
	return claim
}

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// instance is the instance of a provider ID.
func instance(providerID string) string { return providerID[strings.LastIndexByte(providerID, '/')+1:] }

// await waits until something holds.
func await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
