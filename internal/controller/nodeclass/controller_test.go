package nodeclass

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/status"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// provider resolves to what it is told and counts releases.
type provider struct {
	cloud.Provider
	resolution cloud.Resolution
	refusal    error // of Release
	released   int
	meanwhile  func() // happens once, while a class is resolved
}

func (p *provider) Resolve(context.Context, *awsv1.EC2NodeClass) (*cloud.Resolution, error) {
	if f := p.meanwhile; f != nil {
		p.meanwhile = nil
		f()
	}
	return new(p.resolution), nil
}

func (p *provider) Release(context.Context, *awsv1.EC2NodeClass) error {
	p.released++
	return p.refusal
}

type testCluster struct {
	*testing.T
	*Controller
	cloud  *provider
	events *record.FakeRecorder
}

type indexer struct{ *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	i.WithIndex(obj, field, extract)
	return nil
}

func newTestCluster(t *testing.T, objects ...client.Object) *testCluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(karpv1.AddToScheme(scheme), awsv1.AddToScheme(scheme), corev1.AddToScheme(scheme), storagev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	b := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&awsv1.EC2NodeClass{}, &karpv1.NodeClaim{}).WithObjects(objects...)
	if err := index.Add(t.Context(), indexer{b}); err != nil {
		t.Fatal(err)
	}
	h := &testCluster{T: t, cloud: &provider{}, events: record.NewFakeRecorder(100)}
	h.Controller = &Controller{
		Client: b.Build(), Cloud: h.cloud, Recorder: h.events, Metrics: obs.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler),
		ReservedCapacity: true, Clock: clocktesting.NewFakeClock(time.Unix(1000, 0)),
		Hash: func(*awsv1.EC2NodeClass) string { return "new" }, HashVersion: awsv1.EC2NodeClassHashVersion,
	}
	return h
}

func (h *testCluster) look() (reconcile.Result, error) {
	return h.Reconcile(h.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "default"}})
}

func (h *testCluster) class() *awsv1.EC2NodeClass {
	h.Helper()
	class := &awsv1.EC2NodeClass{}
	if err := h.Client.Get(h.Context(), client.ObjectKey{Name: "default"}, class); err != nil {
		h.Fatal(err)
	}
	return class
}

func (h *testCluster) condition(t string) *status.Condition {
	return h.class().StatusConditions(true).Get(t)
}

func (h *testCluster) seen(words string) bool {
	for {
		select {
		case e := <-h.events.Events:
			if strings.Contains(e, words) {
				return true
			}
		default:
			return false
		}
	}
}

func newClass() *awsv1.EC2NodeClass {
	return &awsv1.EC2NodeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "uid", Generation: 1},
		Spec: awsv1.EC2NodeClassSpec{
			SubnetSelectorTerms:        []awsv1.SubnetSelectorTerm{{ID: "subnet-1"}},
			SecurityGroupSelectorTerms: []awsv1.SecurityGroupSelectorTerm{{ID: "sg-1"}},
			AMISelectorTerms:           []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}},
			Role:                       "nodes",
		},
	}
}

var all = []string{
	awsv1.ConditionTypeSubnetsReady, awsv1.ConditionTypeSecurityGroupsReady, awsv1.ConditionTypeAMIsReady,
	awsv1.ConditionTypeInstanceProfileReady, awsv1.ConditionTypePlacementGroupReady, awsv1.ConditionTypeValidationSucceeded,
	awsv1.ConditionTypeCapacityReservationsReady,
}

// good is a resolution in which everything is there, but for the findings given.
func good(others ...cloud.Finding) cloud.Resolution {
	r := cloud.Resolution{
		Subnets: []awsv1.Subnet{{ID: "subnet-1", Zone: "a"}}, SecurityGroups: []awsv1.SecurityGroup{{ID: "sg-1"}},
		AMIs: []awsv1.AMI{{ID: "ami-1"}}, InstanceProfile: "profile", Findings: others,
	}
	for _, c := range all {
		if !slices.ContainsFunc(others, func(f cloud.Finding) bool { return f.Condition == c }) {
			r.Findings = append(r.Findings, cloud.Finding{Condition: c, OK: true})
		}
	}
	return r
}

func TestWhatOthersSayWhileAClassIsResolvedStays(t *testing.T) {
	h := newTestCluster(t, newClass())
	h.cloud.resolution = good()
	h.cloud.meanwhile = func() {
		class := h.class()
		class.StatusConditions(true).SetFalse(awsv1.ConditionTypeInterruptionQueueReady, "QueueNotFound", "there is no queue")
		if err := h.Client.Status().Update(t.Context(), class); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		r, err := h.look()
		if err != nil {
			t.Fatal(err)
		}
		if c := h.condition(awsv1.ConditionTypeInterruptionQueueReady); c == nil || c.Reason != "QueueNotFound" {
			t.Fatalf("what was said meanwhile of the queue is now %+v", c)
		}
		if r.RequeueAfter == steady {
			break
		}
		if r.RequeueAfter != overtaken {
			t.Fatalf("a class that was written to meanwhile is resolved again after %v, want %v", r.RequeueAfter, overtaken)
		}
	}
	if !h.class().StatusConditions(true).IsTrue() {
		t.Error("the class is not ready in the end")
	}
}

func TestAReadyClassHasAllConditionsAndTheStatusOfWhatItSelects(t *testing.T) {
	h := newTestCluster(t, newClass())
	h.cloud.resolution = good()
	if r, err := h.look(); err != nil || r.RequeueAfter != steady {
		t.Fatalf("%v, %v", r, err)
	}
	class := h.class()
	if !class.StatusConditions(true).IsTrue() || len(class.Status.Subnets) != 1 || len(class.Status.SecurityGroups) != 1 || len(class.Status.AMIs) != 1 || class.Status.InstanceProfile != "profile" {
		t.Errorf("the status is %+v", class.Status)
	}
	if !slices.Contains(class.Finalizers, awsv1.TerminationFinalizer) || class.Annotations[awsv1.AnnotationEC2NodeClassHash] != "new" {
		t.Errorf("finalizers %v, annotations %v", class.Finalizers, class.Annotations)
	}
}

func TestAFindingBecomesItsConditionAndReadyFollows(t *testing.T) {
	for _, condition := range all {
		t.Run(condition, func(t *testing.T) {
			h := newTestCluster(t, newClass())
			h.cloud.resolution = good(cloud.Finding{Condition: condition, Reason: "Because", Message: "of this"})
			if r, err := h.look(); err != nil || r.RequeueAfter != unready {
				t.Fatalf("%v, %v", r, err)
			}
			if c := h.condition(condition); !c.IsFalse() || c.Reason != "Because" || c.Message != "of this" {
				t.Errorf("got %+v", c)
			}
			if c := h.condition(awsv1.ConditionTypeReady); !c.IsFalse() {
				t.Errorf("the class says of itself: %+v", c)
			}
		})
	}
}

func TestWhatCanNotBeLookedAt(t *testing.T) {
	unknown := good(
		cloud.Finding{Condition: awsv1.ConditionTypeAMIsReady, Unknown: true, Reason: "AMIResolutionFailed", Message: "SSM, RequestID: 1a-2b, is silent"},
		cloud.Finding{Condition: awsv1.ConditionTypeValidationSucceeded, Unknown: true, Reason: awsv1.ReasonDependenciesNotReady, Message: "waiting for AMIsReady"},
	)
	unknown.AMIs = nil

	t.Run("a class that was ready stays so and says since what", func(t *testing.T) {
		h := newTestCluster(t, newClass())
		h.cloud.resolution = good()
		if _, err := h.look(); err != nil {
			t.Fatal(err)
		}
		h.cloud.resolution = unknown
		for range 2 {
			if _, err := h.look(); err != nil {
				t.Fatal(err)
			}
		}
		c := h.condition(awsv1.ConditionTypeAMIsReady)
		if !c.IsTrue() || c.Reason != "AMIResolutionFailed" || !strings.Contains(c.Message, "as it was when last seen") || strings.Contains(c.Message, "1a-2b") {
			t.Errorf("got %+v", c)
		}
		if class := h.class(); !class.StatusConditions(true).IsTrue() || len(class.Status.AMIs) != 1 {
			t.Errorf("the status is %+v", class.Status)
		}
	})
	t.Run("a class that was edited since is unknown", func(t *testing.T) {
		h := newTestCluster(t, newClass())
		h.cloud.resolution = good()
		if _, err := h.look(); err != nil {
			t.Fatal(err)
		}
		edited := h.class()
		edited.Generation = 2
		if err := h.Client.Update(t.Context(), edited); err != nil {
			t.Fatal(err)
		}
		h.cloud.resolution = unknown
		if _, err := h.look(); err != nil {
			t.Fatal(err)
		}
		if c := h.condition(awsv1.ConditionTypeAMIsReady); !c.IsUnknown() {
			t.Errorf("got %+v", c)
		}
	})
	t.Run("a class that was never seen is unknown", func(t *testing.T) {
		h := newTestCluster(t, newClass())
		h.cloud.resolution = unknown
		if _, err := h.look(); err != nil {
			t.Fatal(err)
		}
		if c := h.condition(awsv1.ConditionTypeReady); !c.IsUnknown() {
			t.Errorf("got %+v", c)
		}
	})
}

func TestTermsThatMixAreToldOf(t *testing.T) {
	class := newClass()
	class.Spec.SubnetSelectorTerms[0].Tags = map[string]string{"team": "blue"}
	h := newTestCluster(t, class)
	h.cloud.resolution = good()
	h.cloud.resolution.Ignored = []string{"spec.userData: nothing runs it"}
	if _, err := h.look(); err != nil {
		t.Fatal(err)
	}
	if !h.seen("SpecIgnored spec.subnetSelectorTerms[0]: id counts") {
		t.Error("no event tells that the tags are ignored")
	}
	if !h.seen("SpecIgnored spec.userData: nothing runs it") {
		t.Error("no event tells what the cloud ignores")
	}
}

func newClaim(name, hash, version string) *karpv1.NodeClaim {
	return &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{
			awsv1.AnnotationEC2NodeClassHash: hash, awsv1.AnnotationEC2NodeClassHashVersion: version,
		}},
		Spec: karpv1.NodeClaimSpec{NodeClassRef: &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}},
	}
}

// A hand-over from another controller of the same API: its classes and claims carry hashes of its own.
func TestClaimsOfAnotherHashVersionAreStampedAndNotRolled(t *testing.T) {
	class := newClass()
	class.Annotations = map[string]string{awsv1.AnnotationEC2NodeClassHash: "old", awsv1.AnnotationEC2NodeClassHashVersion: "v5"}
	drifted := newClaim("drifted", "older", "v5")
	drifted.StatusConditions().SetTrue(karpv1.ConditionTypeDrifted)
	h := newTestCluster(t, class, newClaim("same", "old", "v5"), drifted, newClaim("ours", "mine", awsv1.EC2NodeClassHashVersion))
	h.cloud.resolution = good()
	if _, err := h.look(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"same": "new", "drifted": "older", "ours": "mine"} {
		claim := &karpv1.NodeClaim{}
		if err := h.Client.Get(t.Context(), client.ObjectKey{Name: name}, claim); err != nil {
			t.Fatal(err)
		}
		if a := claim.Annotations; a[awsv1.AnnotationEC2NodeClassHash] != want || a[awsv1.AnnotationEC2NodeClassHashVersion] != awsv1.EC2NodeClassHashVersion {
			t.Errorf("claim %s has hash %q of version %q, want %q", name, a[awsv1.AnnotationEC2NodeClassHash], a[awsv1.AnnotationEC2NodeClassHashVersion], want)
		}
	}
}

func TestAClassGoesAfterItsLastClaim(t *testing.T) {
	class := newClass()
	class.Finalizers = []string{awsv1.TerminationFinalizer}
	claim := newClaim("last", "x", awsv1.EC2NodeClassHashVersion)
	h := newTestCluster(t, class, claim)
	if err := h.Client.Delete(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	if _, err := h.look(); err != nil {
		t.Fatal(err)
	}
	if !h.seen("WaitingOnNodeClaimTermination 1 NodeClaims still use this class, among them last") {
		t.Error("no event says what it waits for")
	}
	if h.cloud.released != 0 || len(h.class().Finalizers) != 1 {
		t.Error("it was let go with a claim of its own")
	}
	if err := h.Client.Delete(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	h.cloud.refusal = errors.New("IAM is away")
	if _, err := h.look(); err == nil || !strings.Contains(err.Error(), "IAM is away") {
		t.Errorf("got %v", err)
	}
	if len(h.class().Finalizers) != 1 {
		t.Error("it was let go while something of it is left in AWS")
	}
	h.cloud.refusal = nil
	if _, err := h.look(); err != nil {
		t.Fatal(err)
	}
	if err := h.Client.Get(t.Context(), client.ObjectKey{Name: "default"}, &awsv1.EC2NodeClass{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("it is still there: %v", err)
	}
	if h.cloud.released != 2 {
		t.Errorf("it was released %d times", h.cloud.released)
	}
	for _, class := range []string{"default", "other"} {
		h.Metrics.AWS.UserDataBytes.WithLabelValues(class).Set(1)
	}
	if _, err := h.look(); err != nil {
		t.Errorf("a class that is gone: %v", err)
	}
	if n := testutil.CollectAndCount(h.Metrics.AWS.UserDataBytes); n != 1 {
		t.Errorf("%d classes have a size of user data, want 1", n)
	}
}

func TestARefusalThatStaysTheSameIsWrittenOnce(t *testing.T) {
	for name, f := range map[string]cloud.Finding{
		"refused":             {Reason: "Denied"},
		"not known":           {Unknown: true, Reason: "LookupFailed"},
		"well, with a remark": {OK: true, Reason: "LookupFailed"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newTestCluster(t, newClass())
			f.Condition = awsv1.ConditionTypeSubnetsReady
			version := ""
			for _, id := range []string{"1-a", "2-b", "3-c"} {
				f.Message = "https response error StatusCode: 403, RequestID: " + id + ", api error UnauthorizedOperation: no"
				h.cloud.resolution.Findings = []cloud.Finding{f}
				if _, err := h.look(); err != nil {
					t.Fatal(err)
				}
				if now := h.class().ResourceVersion; version != "" && now != version {
					t.Errorf("the status was written again for request %s: %+v", id, h.condition(f.Condition))
				}
				version = h.class().ResourceVersion
			}
			if m := h.condition(f.Condition).Message; m == "" {
				t.Error("the message is not told")
			}
		})
	}
}

// A list that is empty because nobody looks must not make instances that run out of reservations drift.
func TestWithTheGateShutNothingIsSaidOfReservationsFoundBefore(t *testing.T) {
	h := newTestCluster(t, newClass())
	h.cloud.resolution = good()
	h.cloud.resolution.CapacityReservations = []awsv1.CapacityReservation{{ID: "cr-1"}}
	if _, err := h.look(); err != nil || !h.condition(awsv1.ConditionTypeCapacityReservationsReady).IsTrue() {
		t.Fatalf("%v, %+v", err, h.condition(awsv1.ConditionTypeCapacityReservationsReady))
	}
	h.ReservedCapacity, h.cloud.resolution.CapacityReservations = false, nil
	h.cloud.resolution.Findings = slices.DeleteFunc(h.cloud.resolution.Findings, func(f cloud.Finding) bool { return f.Condition == awsv1.ConditionTypeCapacityReservationsReady })
	if _, err := h.look(); err != nil {
		t.Fatal(err)
	}
	if c := h.condition(awsv1.ConditionTypeCapacityReservationsReady); c.IsTrue() || len(h.class().Status.CapacityReservations) != 0 {
		t.Errorf("%+v of %v", c, h.class().Status.CapacityReservations)
	}
	if !h.class().StatusConditions(false).IsTrue() {
		t.Error("the class is not ready")
	}
}

// Everything else is well with the class, so that EC2's verdict and Kerf's are different ones.
func TestAClassThatKerfRefusesIsWrittenOnce(t *testing.T) {
	for name, spoil := range map[string]func(*awsv1.EC2NodeClassSpec){
		"an expression": func(s *awsv1.EC2NodeClassSpec) {
			s.Kubelet = &awsv1.KubeletConfiguration{KubeReserved: map[string]string{"memory": "100 * pods"}}
		},
		"a spec that the rules of the API refuse": func(s *awsv1.EC2NodeClassSpec) { s.Role, s.InstanceProfile = "", nil },
	} {
		t.Run(name, func(t *testing.T) {
			class := newClass()
			spoil(&class.Spec)
			h := newTestCluster(t, class)
			clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
			h.Clock, h.cloud.resolution = clock, good()
			if r, err := h.look(); err != nil || r.RequeueAfter != unready {
				t.Fatalf("%v, %v", r, err)
			}
			first := h.class()
			for _, of := range []string{awsv1.ConditionTypeValidationSucceeded, awsv1.ConditionTypeReady} {
				if !h.condition(of).IsFalse() {
					t.Fatalf("the class is not refused: %+v", h.condition(of))
				}
			}
			clock.Step(unready)
			if _, err := h.look(); err != nil {
				t.Fatal(err)
			}
			if now := h.class(); now.ResourceVersion != first.ResourceVersion {
				t.Errorf("the class was written again: version %s, then %s; conditions\n%+v, then\n%+v", first.ResourceVersion, now.ResourceVersion, first.Status.Conditions, now.Status.Conditions)
			}
		})
	}
}
