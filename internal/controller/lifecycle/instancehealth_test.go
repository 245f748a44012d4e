package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// hospital is a cloud with one instance, and a controller with the claim that it was launched for.
type hospital struct {
	cloud.Provider
	state   string // of the instance; empty: not visible
	ended   *cloud.Ended
	failing error
	stuck   int    // deletions that fail first
	group   string // the instance's placement group

	partition int32
	meanwhile func() // happens while the cloud is asked, once
	asked     int
	deaths    []string
	health    []bool

	*Controller
	clock  *clocktesting.FakeClock
	events *record.FakeRecorder
	last   *karpv1.NodeClaim // as it was last written
}

func (h *hospital) Get(context.Context, string) (*cloud.Instance, error) {
	h.asked++
	if f := h.meanwhile; f != nil {
		h.meanwhile = nil
		f()
	}
	switch {
	case h.failing != nil:
		return nil, h.failing
	case h.state == "":
		return nil, &cloud.Error{Class: cloud.NotFound, Err: errors.New("it does not exist")}
	case h.state == "terminated":
		return nil, &cloud.Error{Class: cloud.NotFound, Err: h.ended}
	}
	return &cloud.Instance{State: h.state, Ended: h.ended, PlacementGroup: h.group, Partition: h.partition}, nil
}

func (h *hospital) InstanceFailed(_ *karpv1.NodeClaim, class *awsv1.EC2NodeClass, why *cloud.Ended) {
	h.deaths = append(h.deaths, class.Name+" "+why.Code)
}
func (h *hospital) InstanceJoined(*awsv1.EC2NodeClass) {}
func (h *hospital) Examine(context.Context, string) (string, error) {
	return "EC2 says that it fails its status checks", nil
}
func (h *hospital) Registered(_ *karpv1.NodeClaim, ok bool) { h.health = append(h.health, ok) }

type indexer struct{ *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	i.WithIndex(obj, field, extract)
	return nil
}

func admit(t *testing.T) *hospital {
	t.Helper()
	start := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	h := &hospital{state: "running", clock: clocktesting.NewFakeClock(start), events: record.NewFakeRecorder(100)}
	scheme := runtime.NewScheme()
	if err := errors.Join(karpv1.AddToScheme(scheme), awsv1.AddToScheme(scheme), corev1.AddToScheme(scheme), storagev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "c", UID: "u", CreationTimestamp: metav1.NewTime(start), Finalizers: []string{karpv1.TerminationFinalizer},
		Labels: map[string]string{karpv1.NodePoolLabelKey: "pool"},
	}}
	claim.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
	claim.Status.ProviderID = "aws:///us-east-1a/i-1"
	claim.StatusConditions().WithClock(h.clock.Now).SetTrue(karpv1.ConditionTypeLaunched)
	b := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&karpv1.NodeClaim{}).
		WithObjects(claim, &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}).
		WithInterceptorFuncs(interceptor.Funcs{
			// As the API server does for an object with a finalizer; but here the claim's last word is to be read.
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				if h.stuck > 0 {
					h.stuck--
					return errors.New("etcd has no leader")
				}
				h.last = &karpv1.NodeClaim{}
				if err := c.Get(ctx, client.ObjectKeyFromObject(o), h.last); err != nil {
					return err
				}
				return c.Delete(ctx, o, opts...)
			},
		})
	if err := index.Add(t.Context(), indexer{b}); err != nil {
		t.Fatal(err)
	}
	h.Controller = &Controller{
		Client: b.Build(), Cloud: h, Recorder: h.events, Metrics: obs.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler),
		Clock: h.clock, Pools: h, Instances: h, LaunchTimeout: 5 * time.Minute, RegistrationTimeout: 15 * time.Minute,
	}
	return h
}

// live lets so much time pass, reconciling whenever the controller asked for it, and reports whether the claim was deleted.
func (h *hospital) live(t *testing.T, d time.Duration) bool {
	t.Helper()
	for end := h.clock.Now().Add(d); ; {
		res, err := h.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "c"}})
		if err != nil {
			t.Fatal(err)
		}
		claim := &karpv1.NodeClaim{}
		if err := h.Client.Get(t.Context(), client.ObjectKey{Name: "c"}, claim); apierrors.IsNotFound(err) || !claim.DeletionTimestamp.IsZero() {
			return true
		}
		if res.RequeueAfter == 0 {
			t.Fatal("nobody will ever look at the claim again")
		}
		if h.clock.Now().Add(res.RequeueAfter).After(end) {
			return false
		}
		h.clock.Step(res.RequeueAfter)
	}
}

func (h *hospital) told() []string {
	var out []string
	for len(h.events.Events) > 0 {
		out = append(out, <-h.events.Events)
	}
	return out
}

var keyless = &cloud.Ended{Code: "Client.InternalError", Reason: "VolumeKeyUnusable", Message: "Client.InternalError: it had no key", Blame: cloud.BlameClass}

func TestAnInstanceThatEndsBeforeItIsANodeIsReported(t *testing.T) {
	for name, state := range map[string]string{"it is on its way out": "shutting-down", "it is gone": "terminated"} {
		t.Run(name, func(t *testing.T) {
			h := admit(t)
			h.state, h.ended = state, keyless
			if !h.live(t, 20*time.Second) {
				t.Fatal("the claim is still there after 20 s")
			}
			c := h.last.StatusConditions().Get(karpv1.ConditionTypeRegistered)
			if !c.IsFalse() || c.Reason != "VolumeKeyUnusable" || !strings.Contains(c.Message, "it had no key") {
				t.Errorf("the claim's last word is %+v", c)
			}
			events := h.told()
			for _, want := range []string{"InstanceGone instance aws:///us-east-1a/i-1", "VolumeKeyUnusable an instance of this class"} {
				if !slices.ContainsFunc(events, func(e string) bool { return strings.Contains(e, want) && strings.Contains(e, "it had no key") }) {
					t.Errorf("events %q lack %q", events, want)
				}
			}
			if !slices.Equal(h.deaths, []string{"default Client.InternalError"}) || !slices.Equal(h.health, []bool{false}) {
				t.Errorf("deaths %v, health %v", h.deaths, h.health)
			}
		})
	}
}

func TestAnInstanceIsNotBuriedAlive(t *testing.T) {
	for name, edit := range map[string]func(*hospital){
		"it runs":                    func(*hospital) {},
		"it is not visible yet":      func(h *hospital) { h.state = "" },
		"EC2 does not answer":        func(h *hospital) { h.failing = &cloud.Error{Class: cloud.Unavailable, Err: errors.New("no answer")} },
		"it stopped, and may go on":  func(h *hospital) { h.state, h.ended = "stopped", keyless },
		"reading it is not allowed":  func(h *hospital) { h.failing = &cloud.Error{Class: cloud.Denied, Err: errors.New("no")} },
		"EC2 is asked too often":     func(h *hospital) { h.failing = &cloud.Error{Class: cloud.Throttled, Err: errors.New("slow down")} },
		"it is pending a whole time": func(h *hospital) { h.state = "pending" },
	} {
		t.Run(name, func(t *testing.T) {
			h := admit(t)
			edit(h)
			if h.live(t, 10*time.Minute) || len(h.deaths) > 0 || len(h.health) > 0 {
				t.Errorf("the claim was deleted; deaths %v, health %v, events %q", h.deaths, h.health, h.told())
			}
			if h.asked < 9 || h.asked > 13 {
				t.Errorf("the instance was looked at %d times in 10 minutes, want about 12", h.asked)
			}
		})
	}
}

func TestARegistrationTimeoutSaysHowTheInstanceIs(t *testing.T) {
	h := admit(t)
	if !h.live(t, 16*time.Minute) {
		t.Fatal("the claim is still there")
	}
	if events := h.told(); !slices.ContainsFunc(events, func(e string) bool {
		return strings.Contains(e, "RegistrationTimeout") && strings.Contains(e, "within 15m0s. EC2 says that it fails its status checks. Check")
	}) {
		t.Errorf("events %q", events)
	}
}

func TestAClaimThatCanNotBeDeletedAtOnceCountsOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		state string
		after time.Duration
		event string
	}{
		"its instance has ended":  {"terminated", 5 * time.Minute, "InstanceGone"},
		"its node has never come": {"running", 20 * time.Minute, "RegistrationTimeout"},
	} {
		t.Run(name, func(t *testing.T) {
			h := admit(t)
			h.state, h.stuck = tc.state, 2
			if tc.state == "terminated" {
				h.ended = keyless
			}
			if !h.live(t, tc.after) {
				t.Fatal("the claim is still there")
			}
			if !slices.Equal(h.health, []bool{false}) {
				t.Errorf("its pool hears of %v, want one failure", h.health)
			}
			told := 0
			for _, e := range h.told() {
				if strings.Contains(e, tc.event) {
					told++
				}
			}
			if told != 1 {
				t.Errorf("%s is told %d times", tc.event, told)
			}
		})
	}
}

// A patch of the conditions replaces all of them: what another loop wrote while the cloud was asked has to stay.
func TestADeathTakesBackNoConditionOfAnotherLoop(t *testing.T) {
	h := admit(t)
	h.state, h.ended = "terminated", &cloud.Ended{Code: "Client.InternalError", Reason: "InstanceEnded", Message: "it ended"}
	h.meanwhile = func() {
		claim := &karpv1.NodeClaim{}
		if err := h.Client.Get(t.Context(), client.ObjectKey{Name: "c"}, claim); err != nil {
			t.Fatal(err)
		}
		claim.StatusConditions().SetTrueWithReason(karpv1.ConditionTypeDrifted, "AMIDrift", "")
		if err := h.Client.Status().Update(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
	}
	if !h.live(t, 20*time.Second) {
		t.Fatal("the claim is not given up at once")
	}
	if c := h.last.StatusConditions(); !c.IsTrue(karpv1.ConditionTypeDrifted) || !c.Get(karpv1.ConditionTypeRegistered).IsFalse() {
		t.Errorf("conditions %+v: want Drifted to stay and Registered to be False", h.last.Status.Conditions)
	}
}
