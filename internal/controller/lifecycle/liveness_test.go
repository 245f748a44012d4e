package lifecycle

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/obs"
)

// TestTheLaunchTimeoutOfAClaimThatAnotherProcessLeft counts from the first try of this one, unless another has tried in vain. What
// this one asks for first is waited for: an instance that is launched and given back at once costs a minute and serves nobody.
func TestTheLaunchTimeoutOfAClaimThatAnotherProcessLeft(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), storagev1.AddToScheme(scheme), karpv1.AddToScheme(scheme), awsv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	const timeout = 5 * time.Minute
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		age, answered time.Duration
		tried         bool // by another process, in vain
		fails         bool
		deleted       bool
	}{
		"a new claim":                                   {age: 0, answered: 10 * time.Second},
		"a claim that is older":                         {age: timeout + time.Minute, answered: 10 * time.Second},
		"a claim that is older and not served":          {age: timeout + time.Minute, answered: timeout, deleted: true},
		"a new claim that is not served":                {age: 0, answered: timeout, deleted: true},
		"an older claim that was never tried and fails": {age: timeout + time.Minute, answered: 10 * time.Second, fails: true},
		"an older claim that was tried":                 {age: timeout + time.Minute, answered: 10 * time.Second, tried: true},
		"an older claim that was tried and fails again": {age: timeout + time.Minute, answered: 10 * time.Second, tried: true, fails: true, deleted: true},
		"a new claim that was tried and fails again":    {age: time.Minute, answered: 10 * time.Second, tried: true, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "u", CreationTimestamp: metav1.NewTime(start.Add(-c.age)), Finalizers: []string{karpv1.TerminationFinalizer}}}
			claim.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
			if c.tried {
				claim.StatusConditions().SetUnknownWithReason(karpv1.ConditionTypeLaunched, karpv1.ReasonLaunchFailed, "throttled")
			}
			class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
			b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(claim, class).WithStatusSubresource(claim)
			if err := index.Add(t.Context(), indexer{b}); err != nil {
				t.Fatal(err)
			}
			answer, clock := make(chan struct{}), clocktesting.NewFakeClock(start)
			cloud := &dealer{meanwhile: func() { <-answer }}
			if c.fails {
				cloud.refuses = errors.New("throttled")
			}
			l := &Controller{
				Client: b.Build(), Cloud: cloud, Recorder: record.NewFakeRecorder(100), Metrics: obs.NewMetrics(prometheus.NewRegistry()),
				Log: slog.New(slog.DiscardHandler), Clock: clock, LaunchTimeout: timeout, RegistrationTimeout: time.Hour, answers: make(chan event.GenericEvent),
			}
			reconcile := func() {
				if _, err := l.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "c"}}); err != nil {
					t.Error(err)
				}
			}
			reconcile() // begins the launch
			clock.Step(c.answered)
			reconcile()
			close(answer)
			<-l.answers
			reconcile()
			if err := l.Client.Get(t.Context(), client.ObjectKey{Name: "c"}, claim); err != nil {
				t.Fatal(err)
			}
			if deleted := claim.DeletionTimestamp != nil; deleted != c.deleted {
				t.Errorf("given up: %v, want %v", deleted, c.deleted)
			}
			if launched := claim.StatusConditions().IsTrue(karpv1.ConditionTypeLaunched); launched == (c.deleted || c.fails) {
				t.Errorf("launched: %v, want %v", launched, !launched)
			}
		})
	}
}
