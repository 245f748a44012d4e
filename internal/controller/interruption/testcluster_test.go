package interruption_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/instancestatus"
	"github.com/kerf-sh/kerf/internal/aws/queue"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/interruption"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// start is the time at which every story begins.
var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// ours is the instance of the stories, another one of somebody else.
const ours, another = "i-0b662ef9931388ba0", "i-0fffffffffffffff0"

// region is the cloud: instances by provider ID, and which offerings were closed.
type region struct {
	cloud.Provider
	mu     sync.Mutex
	states map[string]string
	closed []string
	err    error
}

func (r *region) Get(_ context.Context, providerID string) (*cloud.Instance, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return nil, r.err
	}
	state, ok := r.states[providerID]
	if !ok {
		return nil, &cloud.Error{Op: "reading", Class: cloud.NotFound, Err: errors.New("gone")}
	}
	return &cloud.Instance{ProviderID: providerID, State: state}, nil
}

func (r *region) MarkUnavailable(capacityType, instanceType, zone, _ string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = append(r.closed, capacityType+" "+instanceType+" "+zone)
}

func (r *region) EmptyReservation(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = append(r.closed, "reservation "+id)
}

// line is the queue: what it hands out next, and what was deleted.
type line struct {
	mu        sync.Mutex
	next      []queue.Delivery
	err, lock error // of Receive and Delete
	deleted   []string
	waits     []time.Duration
}

func (l *line) Name() string { return "kerf" }

func (l *line) Receive(_ context.Context, wait time.Duration) ([]queue.Delivery, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waits = append(l.waits, wait)
	if l.err != nil {
		return nil, l.err
	}
	n := min(10, len(l.next))
	out := l.next[:n]
	l.next = l.next[n:]
	return out, nil
}

func (l *line) Delete(_ context.Context, d []queue.Delivery) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lock != nil {
		return 0, l.lock
	}
	for _, m := range d {
		l.deleted = append(l.deleted, m.ID)
	}
	return len(d), nil
}

// clinic is EC2's instance status.
type clinic struct {
	statuses []instancestatus.Status
	err      error
	asked    [][]string
}

func (c *clinic) Read(_ context.Context, ids []string) ([]instancestatus.Status, error) {
	c.asked = append(c.asked, ids)
	return c.statuses, c.err
}

type testCluster struct {
	*interruption.Controller
	t           testing.TB
	region      *region
	line        *line
	clinic      *clinic
	events      *record.FakeRecorder
	clock       *clocktesting.FakeClock
	reg         *prometheus.Registry
	log         *strings.Builder
	refusal     error // of every patch, if set, from so many deletions on
	refusesFrom int
	// meanwhile is called once, before the next patch.
	meanwhile func()
	// refuseDeletion has every deletion fail.
	refuseDeletion bool
	// going are the annotations of claims as they were when they were deleted.
	going   []map[string]string
	goingMu sync.Mutex
}

type indexer struct{ *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	i.WithIndex(obj, field, extract)
	return nil
}

func newTestCluster(t testing.TB, o interruption.Options, objects ...client.Object) *testCluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(karpv1.AddToScheme(scheme), awsv1.AddToScheme(scheme), corev1.AddToScheme(scheme), storagev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	h := &testCluster{
		t: t, region: &region{states: map[string]string{"aws:///us-east-1a/" + ours: "running"}}, line: &line{}, clinic: &clinic{},
		events: record.NewFakeRecorder(1000), clock: clocktesting.NewFakeClock(start), reg: prometheus.NewRegistry(), log: &strings.Builder{},
	}
	b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&awsv1.EC2NodeClass{}, &karpv1.NodeClaim{}).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if h.refusal != nil && len(h.going) >= h.refusesFrom {
				return h.refusal
			}
			if f := h.meanwhile; f != nil {
				h.meanwhile = nil
				f()
			}
			return c.Patch(ctx, o, p, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if h.refuseDeletion {
				return errors.New("not now")
			}
			h.goingMu.Lock()
			h.going = append(h.going, h.claim(o.GetName()).Annotations)
			h.goingMu.Unlock()
			return c.Delete(ctx, o, opts...)
		},
	})
	if err := index.Add(t.Context(), indexer{b}); err != nil {
		t.Fatal(err)
	}
	h.Controller = h.controller(o, b.Build())
	t.Cleanup(func() {
		if strings.Contains(h.log.String(), "0001-01-01") {
			t.Error("the log tells a time that there is not")
		}
	})
	return h
}

// controller makes one over the cluster's objects; made again, it is the next leader.
func (h *testCluster) controller(o interruption.Options, c client.Client) *interruption.Controller {
	h.reg = prometheus.NewRegistry()
	out := &interruption.Controller{
		Options: o, Client: c, APIReader: c, Cloud: h.region, Queue: h.line, Statuses: h.clinic, Instances: &interruption.Instances{}, Recorder: h.events,
		Metrics: obs.NewMetrics(h.reg), Log: slog.New(slog.NewTextHandler(h.log, nil)), Clock: h.clock,
	}
	var list karpv1.NodeClaimList
	if err := c.List(h.t.Context(), &list); err != nil {
		h.t.Fatal(err)
	}
	for i := range list.Items {
		out.Instances.Set(nil, &list.Items[i], h.clock.Now())
	}
	return out
}

// nodeClaim is the claim of an instance; an empty id is one that is not launched.
func nodeClaim(name, id string, edit ...func(*karpv1.NodeClaim)) *karpv1.NodeClaim {
	c := &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Finalizers: []string{karpv1.TerminationFinalizer}, Labels: map[string]string{
			karpv1.NodePoolLabelKey: "default", karpv1.CapacityTypeLabelKey: "spot", corev1.LabelInstanceTypeStable: "m5.large", corev1.LabelTopologyZone: "us-east-1a",
		}},
		Spec: karpv1.NodeClaimSpec{NodeClassRef: &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}},
	}
	if id != "" {
		c.Status.ProviderID, c.Status.NodeName = "aws:///us-east-1a/"+id, "node-"+name
	}
	for _, e := range edit {
		e(c)
	}
	return c
}

func nodeOf(c *karpv1.NodeClaim) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: c.Status.NodeName}, Spec: corev1.NodeSpec{ProviderID: c.Status.ProviderID}}
}

func (h *testCluster) claim(name string) *karpv1.NodeClaim {
	h.t.Helper()
	c := &karpv1.NodeClaim{}
	if err := h.Client.Get(h.t.Context(), client.ObjectKey{Name: name}, c); err != nil {
		h.t.Fatal(err)
	}
	return c
}

func (h *testCluster) deleting(name string) bool { return !h.claim(name).DeletionTimestamp.IsZero() }

func (h *testCluster) deadline(name string) string {
	return h.claim(name).Annotations[karpv1.NodeClaimTerminationTimestampAnnotationKey]
}

// deliver hands messages out and handles them.
func (h *testCluster) deliver(bodies ...string) {
	h.t.Helper()
	for i, b := range bodies {
		h.line.next = append(h.line.next, queue.Delivery{ID: "m" + string(rune('0'+i)), SentAt: h.clock.Now(), Receives: 1, Body: b})
	}
	h.round()
}

func (h *testCluster) round() {
	h.t.Helper()
	if err := h.Round(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
}

func (h *testCluster) reasons() []string {
	var out []string
	for {
		select {
		case e := <-h.events.Events:
			out = append(out, strings.Fields(e)[1])
		default:
			slices.Sort(out)
			return out
		}
	}
}

// metric is the sum of a metric's samples whose labels have all the given values.
func (h *testCluster) metric(name string, labels ...string) float64 {
	h.t.Helper()
	families, err := h.reg.Gather()
	if err != nil {
		h.t.Fatal(err)
	}
	sum := 0.0
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			var values []string
			for _, l := range m.GetLabel() {
				values = append(values, l.GetValue())
			}
			if !slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(values, l) }) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// message is a message of EC2 about one instance, made at a time.
func message(detailType, id, more string, at time.Time) string {
	return `{"version":"0","id":"e","detail-type":"` + detailType + `","source":"aws.ec2","account":"123456789012","time":"` + at.UTC().Format(time.RFC3339) +
		`","region":"us-east-1","resources":[],"detail":{"instance-id":"` + id + `"` + more + `}}`
}

func spot(id string, at time.Time) string {
	return message("EC2 Spot Instance Interruption Warning", id, `,"instance-action":"terminate"`, at)
}

func rebalance(id string, at time.Time) string {
	return message("EC2 Instance Rebalance Recommendation", id, "", at)
}

func reservation(id string, at time.Time) string {
	return message("EC2 Capacity Reservation Instance Interruption Warning", id, "", at)
}

func state(id, is string, at time.Time) string {
	return message("EC2 Instance State-change Notification", id, `,"state":"`+is+`"`, at)
}

func health(id, code, status string, from time.Time) string {
	return `{"version":"0","id":"h","detail-type":"AWS Health Event","source":"aws.health","account":"123456789012","time":"2026-01-02T03:04:05Z","region":"us-east-1","resources":["` + id + `"],` +
		`"detail":{"eventArn":"arn:aws:health:us-east-1::event/EC2/` + code + `/1","service":"EC2","eventTypeCode":"` + code + `","eventTypeCategory":"scheduledChange","statusCode":"` + status + `",` +
		`"startTime":"` + from.UTC().Format(time.RFC1123) + `","eventDescription":[{"language":"en_US","latestDescription":"x"}],"affectedEntities":[{"entityValue":"` + id + `"}]}}`
}
