package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
)

// A launch that can't be written down leaves an instance that nobody else would end; one that can't be for the moment does not.
func TestALaunchThatTheAPIRefusesIsGivenUp(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), storagev1.AddToScheme(scheme), karpv1.AddToScheme(scheme), awsv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	claims := schema.GroupResource{Group: karpv1.Group, Resource: "nodeclaims"}
	forbidden := apierrors.NewForbidden(claims, "c", errors.New("denied by a policy"))
	for name, tc := range map[string]struct {
		fails  error
		node   bool // it takes pods
		over   time.Duration
		ends   bool
		breaks bool // the API server is away between the first refusals and the last
		joins  int  // before which look its node joins
	}{
		"forbidden":                        {forbidden, false, 0, true, false, 1},
		"not valid":                        {apierrors.NewInvalid(schema.GroupKind{Kind: "NodeClaim"}, "c", nil), false, 0, true, false, 1},
		"forbidden, and then not":          {forbidden, false, 10 * time.Minute, false, false, 1},
		"forbidden, and its node serves":   {forbidden, true, 0, false, false, 1},
		"the API server is in trouble":     {apierrors.NewInternalError(errors.New("etcd has no leader")), false, 0, false, false, 1},
		"the API server is not there":      {errors.New("connection refused"), false, 0, false, false, 1},
		"the API server has too much":      {apierrors.NewTooManyRequests("busy", 1), false, 0, false, false, 1},
		"the token is not accepted":        {apierrors.NewUnauthorized("expired"), false, 0, false, false, 1},
		"forbidden, away, and forbidden":   {forbidden, false, 0, false, true, 1},
		"forbidden, away, and then joined": {forbidden, false, 0, true, true, 5},
		"others write at the same moment":  {apierrors.NewConflict(claims, "c", errors.New("changed")), false, 0, false, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "u", Finalizers: []string{karpv1.TerminationFinalizer}}}
			claim.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
			clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
			begun := clock.Now()
			b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(claim, &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}).WithStatusSubresource(claim).
				WithInterceptorFuncs(interceptor.Funcs{
					Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
						if _, ok := o.(*karpv1.NodeClaim); ok && (tc.over == 0 || clock.Since(begun) < tc.over) {
							if at := clock.Since(begun); tc.breaks && at > time.Minute && at < 15*time.Minute {
								return errors.New("connection refused")
							}
							return tc.fails
						}
						return c.Patch(ctx, o, p, opts...)
					},
				})
			if tc.node {
				b = b.WithObjects(readyNode(func(n *corev1.Node) {
					n.Spec.ProviderID, n.Labels[karpv1.NodeRegisteredLabelKey] = "aws:///z/i-1", "true"
				}))
			}
			if err := index.Add(t.Context(), indexer{b}); err != nil {
				t.Fatal(err)
			}
			d := &dealer{meanwhile: func() {}}
			l := &Controller{
				Client: b.Build(), Cloud: d, Recorder: record.NewFakeRecorder(100), Metrics: obs.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler),
				Clock: clock, Pools: &hospital{}, LaunchTimeout: 5 * time.Minute, RegistrationTimeout: 15 * time.Minute,
			}
			look := func() {
				_, _ = l.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "c"}})
				clock.Step(time.Minute)
			}
			for i := range 14 {
				look()
				if i == tc.joins-1 && tc.ends { // its node joins, and must take no pods
					if err := l.Client.Create(t.Context(), readyNode(func(n *corev1.Node) {
						n.Spec.ProviderID = "aws:///z/i-1"
						n.Spec.Taints = []corev1.Taint{{Key: karpv1.UnregisteredTaintKey, Effect: corev1.TaintEffectNoExecute}}
					})); err != nil {
						t.Fatal(err)
					}
				}
			}
			if len(d.terminated) > 0 {
				t.Errorf("%v is ended before its time", d.terminated)
			}
			looks := 4
			if tc.breaks && tc.ends { // the time counts from when the API answers again
				looks += 14
			}
			for range looks {
				look()
			}
			if tc.over != 0 {
				return // its launch is written: it waits for its node from then on
			}
			if ended := len(d.terminated) > 0; ended != tc.ends {
				t.Errorf("after %s these are ended: %v", clock.Since(begun), d.terminated)
			}
		})
	}
}
