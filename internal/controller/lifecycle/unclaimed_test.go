package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// dealer sells one instance, and something happens meanwhile.
type dealer struct {
	cloud.Provider
	meanwhile  func()
	refuses    error // what launches end with
	deaf       int   // terminations that fail first
	terminated []string
}

func (d *dealer) Launch(context.Context, *karpv1.NodeClaim, *awsv1.EC2NodeClass) (*cloud.Instance, error) {
	d.meanwhile()
	if d.refuses != nil {
		return nil, d.refuses
	}
	return &cloud.Instance{ProviderID: "aws:///z/i-1", Labels: map[string]string{"a": "b"}}, nil
}

func (d *dealer) Get(_ context.Context, id string) (*cloud.Instance, error) {
	return &cloud.Instance{ProviderID: id, State: "running"}, nil
}

func (d *dealer) Terminate(_ context.Context, id string) error {
	if d.deaf > 0 {
		d.deaf--
		return errors.New("throttled")
	}
	d.terminated = append(d.terminated, id)
	return nil
}

func TestAnInstanceOfAClaimThatWasDeletedDuringTheLaunchIsGivenBack(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), storagev1.AddToScheme(scheme), karpv1.AddToScheme(scheme), awsv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		deleted bool // while the instance is launched
		deaf    int
		want    []string
	}{
		"a claim that stays keeps its instance":    {false, 0, nil},
		"one that goes does not leave it behind":   {true, 0, []string{"aws:///z/i-1"}},
		"not even when the cloud is deaf at first": {true, 2, []string{"aws:///z/i-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "u", Finalizers: []string{karpv1.TerminationFinalizer}}}
			claim.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
			class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
			b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(claim, class).WithStatusSubresource(claim)
			if err := index.Add(t.Context(), indexer{b}); err != nil {
				t.Fatal(err)
			}
			d := &dealer{deaf: c.deaf}
			l := &Controller{
				Client: b.Build(), Cloud: d, Recorder: record.NewFakeRecorder(100), Metrics: obs.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler),
				Clock: clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), LaunchTimeout: time.Hour, RegistrationTimeout: time.Hour,
			}
			d.meanwhile = func() {
				if !c.deleted {
					return
				}
				// Somebody deletes it, and its finalizer is taken because it has no instance.
				now := &karpv1.NodeClaim{}
				err := l.Client.Get(t.Context(), client.ObjectKey{Name: "c"}, now)
				now.Finalizers = nil
				if err := errors.Join(err, l.Client.Update(t.Context(), now), l.Client.Delete(t.Context(), now)); err != nil {
					t.Fatal(err)
				}
			}
			for range 4 {
				if _, err := l.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "c"}}); err != nil && c.deaf == 0 {
					t.Error(err)
				}
			}
			slices.Sort(d.terminated)
			if diff := cmp.Diff(c.want, d.terminated); diff != "" {
				t.Errorf("terminated (-want +got):\n%s", diff)
			}
		})
	}
}
