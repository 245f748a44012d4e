package reserved_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
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
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/controller/reserved"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const providerID = "aws:///us-east-1a/i-1"

type region struct {
	cloud.Provider
	instances []*cloud.Instance
	asked     int

	unselected []awsv1.CapacityReservation
	refusal    error
	questions  []string
}

func (r *region) Reservations(_ context.Context, ids []string) ([]awsv1.CapacityReservation, error) {
	r.questions = append(r.questions, strings.Join(ids, " "))
	return r.unselected, r.refusal
}

func (r *region) List(context.Context, time.Duration) ([]*cloud.Instance, error) {
	r.asked++
	return r.instances, nil
}

type indexer struct{ *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	i.WithIndex(obj, field, extract)
	return nil
}

func TestWhatBecomesOfReservedInstances(t *testing.T) {
	reservedLabels := map[string]string{
		karpv1.CapacityTypeLabelKey: "reserved", awsv1.LabelCapacityReservationID: "cr-1", awsv1.LabelCapacityReservationType: "default",
		awsv1.LabelCapacityReservationInterruptible: "false", "team": "blue",
	}
	block := func(left time.Duration) []awsv1.CapacityReservation {
		return []awsv1.CapacityReservation{{ID: "cr-1", ReservationType: "capacity-block", EndTime: &metav1.Time{Time: start.Add(left)}}}
	}
	instance := func(capacityType, state string, age time.Duration) *cloud.Instance {
		return &cloud.Instance{ProviderID: providerID, CapacityType: capacityType, State: state, LaunchedAt: start.Add(-age)}
	}
	for name, c := range map[string]struct {
		instance     *cloud.Instance
		reservations []awsv1.CapacityReservation
		grace        time.Duration
		demoted      bool
		deadline     time.Time // of the claim's drain, if it was given up
	}{
		"one whose reservation goes on stays as it is":  {instance: instance("reserved", "running", time.Hour)},
		"one whose reservation has ended is on demand":  {instance: instance("on-demand", "running", time.Hour), demoted: true},
		"one that has only just begun is not judged":    {instance: instance("on-demand", "running", time.Second)},
		"nor one that had when the list was made":       {instance: instance("on-demand", "running", time.Minute)},
		"one that ends is not relabelled":               {instance: instance("on-demand", "shutting-down", time.Hour)},
		"one that is not in the list is not known":      {},
		"a block that ends in 41 minutes is left alone": {instance: instance("reserved", "running", time.Hour), reservations: block(41 * time.Minute)},
		"a block that ends in 40 minutes is given up":   {instance: instance("reserved", "running", time.Hour), reservations: block(40 * time.Minute), deadline: start.Add(10 * time.Minute)},
		"a shorter grace period counts":                 {instance: instance("reserved", "running", time.Hour), reservations: block(40 * time.Minute), grace: time.Minute, deadline: start.Add(time.Minute)},
		"a plain reservation that is about to end is not given up": {
			instance:     instance("reserved", "running", time.Hour),
			reservations: []awsv1.CapacityReservation{{ID: "cr-1", ReservationType: "default", EndTime: &metav1.Time{Time: start.Add(time.Minute)}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := errors.Join(karpv1.AddToScheme(scheme), awsv1.AddToScheme(scheme), corev1.AddToScheme(scheme), storagev1.AddToScheme(scheme)); err != nil {
				t.Fatal(err)
			}
			claim := &karpv1.NodeClaim{
				ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "1", Labels: reservedLabels, Finalizers: []string{karpv1.TerminationFinalizer}},
				Spec:       karpv1.NodeClaimSpec{NodeClassRef: &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}},
				Status:     karpv1.NodeClaimStatus{ProviderID: providerID, NodeName: "n"},
			}
			if c.grace != 0 {
				claim.Spec.TerminationGracePeriod = &karpv1.Duration{Duration: c.grace}
			}
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: reservedLabels}, Spec: corev1.NodeSpec{ProviderID: providerID}}
			class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Status: awsv1.EC2NodeClassStatus{CapacityReservations: c.reservations}}
			b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(claim, node, class)
			if err := index.Add(t.Context(), indexer{b}); err != nil {
				t.Fatal(err)
			}
			cluster, events := b.Build(), record.NewFakeRecorder(10)
			r := &region{}
			if c.instance != nil {
				r.instances = []*cloud.Instance{c.instance}
			}
			l := &reserved.Loop{
				Client: cluster, Cloud: r, Reservations: r, Recorder: events, Metrics: obs.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler),
				Clock: clocktesting.NewFakeClock(start),
			}
			for range 2 { // the second round finds nothing more to do
				if err := l.Round(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(cluster.Get(t.Context(), client.ObjectKeyFromObject(claim), claim), cluster.Get(t.Context(), client.ObjectKeyFromObject(node), node)); err != nil {
				t.Fatal(err)
			}
			for kind, labels := range map[string]map[string]string{"claim": claim.Labels, "node": node.Labels} {
				want := len(reservedLabels)
				if c.demoted {
					want = 2
				}
				if len(labels) != want || labels["team"] != "blue" || (labels[karpv1.CapacityTypeLabelKey] == "on-demand") != c.demoted {
					t.Errorf("the %s has the labels %v", kind, labels)
				}
			}
			given := ""
			if !c.deadline.IsZero() {
				given = c.deadline.Format(time.RFC3339)
			}
			if got := claim.Annotations[karpv1.NodeClaimTerminationTimestampAnnotationKey]; got != given || claim.DeletionTimestamp.IsZero() != (given == "") {
				t.Errorf("deleted at %v, gone by %q, want %q", claim.DeletionTimestamp, got, given)
			}
			if why := claim.Annotations[index.InterruptedAnnotation]; (why != "") != (given != "") {
				t.Errorf("interrupted by %q: the drain waits for the instances that take the pods over only where it says why", why)
			}
			told := 0
			for len(events.Events) > 0 {
				if e := <-events.Events; strings.Contains(e, "cr-1") {
					told++
				}
			}
			if want := map[bool]int{true: 2}[c.demoted || given != ""]; told != want {
				t.Errorf("%d events, want %d", told, want)
			}
		})
	}
}

// A drain that takes as long as its pods need would go on until EC2 takes the instance with them.
func TestADrainThatIsUnderWayEndsBeforeItsBlockDoes(t *testing.T) {
	cut := errors.New("the leader died")
	for name, c := range map[string]struct {
		deleted bool
		was     time.Duration // the end that it has, after the start
		refuse  int           // patches
		want    time.Duration
		told    int
	}{
		"one without an end gets one":                           {deleted: true, want: 10 * time.Minute, told: 1},
		"a later end gives way":                                 {deleted: true, was: time.Hour, want: 10 * time.Minute, told: 1},
		"a sooner one stays":                                    {deleted: true, was: time.Minute, want: time.Minute},
		"what was cut short after the deletion is brought home": {refuse: 1, want: 10 * time.Minute, told: 1},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := errors.Join(karpv1.AddToScheme(scheme), awsv1.AddToScheme(scheme), corev1.AddToScheme(scheme), storagev1.AddToScheme(scheme)); err != nil {
				t.Fatal(err)
			}
			claim := &karpv1.NodeClaim{
				ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "1", Finalizers: []string{karpv1.TerminationFinalizer}, Annotations: map[string]string{}, Labels: map[string]string{
					karpv1.CapacityTypeLabelKey: "reserved", awsv1.LabelCapacityReservationID: "cr-1", awsv1.LabelCapacityReservationType: "capacity-block",
				}},
				Spec:   karpv1.NodeClaimSpec{NodeClassRef: &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}},
				Status: karpv1.NodeClaimStatus{ProviderID: providerID},
			}
			if c.deleted {
				claim.DeletionTimestamp = &metav1.Time{Time: start.Add(-time.Hour)}
			}
			if c.was != 0 {
				claim.Annotations[karpv1.NodeClaimTerminationTimestampAnnotationKey] = start.Add(c.was).Format(time.RFC3339)
			}
			class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
			class.Status.CapacityReservations = []awsv1.CapacityReservation{{ID: "cr-1", ReservationType: "capacity-block", EndTime: &metav1.Time{Time: start.Add(40 * time.Minute)}}}
			b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(claim, class).WithInterceptorFuncs(interceptor.Funcs{
				Patch: func(ctx context.Context, api client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
					if c.refuse > 0 {
						c.refuse--
						return cut
					}
					return api.Patch(ctx, o, p, opts...)
				},
			})
			if err := index.Add(t.Context(), indexer{b}); err != nil {
				t.Fatal(err)
			}
			r, events := &region{}, record.NewFakeRecorder(10)
			l := &reserved.Loop{
				Client: b.Build(), Cloud: r, Reservations: r, Recorder: events, Metrics: obs.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler),
				Clock: clocktesting.NewFakeClock(start),
			}
			for range 3 {
				if err := l.Round(t.Context()); err != nil && !errors.Is(err, cut) {
					t.Fatal(err)
				}
			}
			if err := l.Client.Get(t.Context(), client.ObjectKey{Name: "c"}, claim); err != nil {
				t.Fatal(err)
			}
			if got := claim.Annotations[karpv1.NodeClaimTerminationTimestampAnnotationKey]; got != start.Add(c.want).Format(time.RFC3339) || claim.DeletionTimestamp.IsZero() {
				t.Errorf("deleted at %v, gone by %q", claim.DeletionTimestamp, got)
			}
			if len(events.Events) != c.told {
				t.Errorf("%d events, want %d", len(events.Events), c.told)
			}
		})
	}
}

func TestNobodyIsAskedWithoutReservedInstances(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(karpv1.AddToScheme(scheme), awsv1.AddToScheme(scheme), corev1.AddToScheme(scheme), storagev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	r := &region{}
	l := &reserved.Loop{Client: fake.NewClientBuilder().WithScheme(scheme).Build(), Cloud: r, Clock: clocktesting.NewFakeClock(start)}
	if err := l.Round(t.Context()); err != nil || r.asked != 0 {
		t.Errorf("%v, asked %d times", err, r.asked)
	}
}

// A class that was edited, or is gone, or whose list is empty because the gate is shut, takes no time away from the pods.
func TestABlockThatNoClassSelectsIsGivenUpAheadOfItsEndToo(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(karpv1.AddToScheme(scheme), awsv1.AddToScheme(scheme), corev1.AddToScheme(scheme), storagev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	claim := func(name, reservation, kind string) *karpv1.NodeClaim {
		return &karpv1.NodeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Finalizers: []string{karpv1.TerminationFinalizer}, Labels: map[string]string{
				karpv1.CapacityTypeLabelKey: "reserved", awsv1.LabelCapacityReservationID: reservation, awsv1.LabelCapacityReservationType: kind,
			}},
			Spec:   karpv1.NodeClaimSpec{NodeClassRef: &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}},
			Status: karpv1.NodeClaimStatus{ProviderID: "aws:///us-east-1a/i-" + name},
		}
	}
	block := func(id string, left time.Duration) awsv1.CapacityReservation {
		return awsv1.CapacityReservation{ID: id, ReservationType: "capacity-block", EndTime: &metav1.Time{Time: start.Add(left)}}
	}
	class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Status: awsv1.EC2NodeClassStatus{CapacityReservations: []awsv1.CapacityReservation{block("cr-here", 10*time.Hour)}}}
	b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(class, claim("a", "cr-gone", "capacity-block"), claim("b", "cr-here", "capacity-block"), claim("c", "cr-plain", "default"))
	if err := index.Add(t.Context(), indexer{b}); err != nil {
		t.Fatal(err)
	}
	r, clock := &region{unselected: []awsv1.CapacityReservation{block("cr-gone", 42*time.Minute)}}, clocktesting.NewFakeClock(start)
	l := &reserved.Loop{
		Client: b.Build(), Cloud: r, Reservations: r, Recorder: record.NewFakeRecorder(10), Metrics: obs.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler), Clock: clock,
	}
	given := func() string {
		t.Helper()
		var list karpv1.NodeClaimList
		if err := l.Client.List(t.Context(), &list); err != nil {
			t.Fatal(err)
		}
		var out []string
		for i := range list.Items {
			if !list.Items[i].DeletionTimestamp.IsZero() {
				out = append(out, list.Items[i].Name)
			}
		}
		return strings.Join(out, " ")
	}
	for range 3 { // within a minute the cloud is asked once
		if err := l.Round(t.Context()); err != nil || given() != "" {
			t.Fatalf("%v, given up %q", err, given())
		}
	}
	if strings.Join(r.questions, ", ") != "cr-gone" {
		t.Errorf("asked for %q, want cr-gone once", r.questions)
	}
	// Its end comes near while the cloud does not answer: what it said before still holds.
	clock.Step(2 * time.Minute)
	r.refusal, r.unselected = errors.New("EC2 is away"), nil
	if err := l.Round(t.Context()); err == nil || !strings.Contains(err.Error(), "EC2 is away") {
		t.Errorf("the failure is kept back: %v", err)
	}
	if given() != "a" {
		t.Errorf("given up: %q, want a", given())
	}
}
