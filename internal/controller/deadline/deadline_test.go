package deadline_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/deadline"
)

func TestTheSoonestEndCounts(t *testing.T) {
	const annotation = karpv1.NodeClaimTerminationTimestampAnnotationKey
	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return now.Add(time.Duration(minutes) * time.Minute) }
	text := func(minutes int) string { return at(minutes).Format(time.RFC3339) }
	for name, c := range map[string]struct {
		was     string
		grace   time.Duration
		by      time.Time
		others  map[string]string
		want    map[string]string
		written time.Time
	}{
		"an end is written":                      {by: at(10), want: map[string]string{annotation: text(10)}, written: at(10)},
		"a later one gives way":                  {was: text(20), by: at(10), want: map[string]string{annotation: text(10)}, written: at(10)},
		"a sooner one stays":                     {was: text(5), by: at(10), want: map[string]string{annotation: text(5)}},
		"one that can't be read counts as none":  {was: "soon", by: at(10), want: map[string]string{annotation: text(10)}, written: at(10)},
		"a shorter grace period counts":          {grace: time.Minute, by: at(10), want: map[string]string{annotation: text(1)}, written: at(1)},
		"a longer one does not":                  {grace: time.Hour, by: at(10), want: map[string]string{annotation: text(10)}, written: at(10)},
		"without an end only the others are":     {others: map[string]string{"why": "a"}, want: map[string]string{"why": "a"}},
		"and with one they are written together": {by: at(10), others: map[string]string{"why": "a"}, want: map[string]string{annotation: text(10), "why": "a"}, written: at(10)},
		"nothing to write is not written":        {was: text(5), by: at(5), want: map[string]string{annotation: text(5)}},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := karpv1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "1"}}
			if c.was != "" {
				claim.Annotations = map[string]string{annotation: c.was}
			}
			if c.grace > 0 {
				claim.Spec.TerminationGracePeriod = &karpv1.Duration{Duration: c.grace}
			}
			cluster := fake.NewClientBuilder().WithScheme(scheme).WithObjects(claim).Build()
			read := reader(t, cluster)
			before := read()
			written, err := deadline.Mark(t.Context(), cluster, before, now, c.by, c.others)
			got := read()
			if diff := cmp.Diff(c.want, got.Annotations); diff != "" || err != nil || !written.Equal(c.written) {
				t.Errorf("wrote %s, %v (-want +got):\n%s", written, err, diff)
			}
			if same := cmp.Equal(before.Annotations, got.Annotations); same != (before.ResourceVersion == got.ResourceVersion) {
				t.Error("the claim was written without a change")
			}
		})
	}
}

func TestTheGracePeriodIsWrittenOnce(t *testing.T) {
	const annotation = karpv1.NodeClaimTerminationTimestampAnnotationKey
	deleted := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		was   string
		grace *karpv1.Duration
		alive bool
		want  string
	}{
		"so long after the deletion":              {grace: &karpv1.Duration{Duration: time.Hour}, want: "2026-01-02T04:00:00Z"},
		"at once where it is nothing":             {grace: &karpv1.Duration{}, want: "2026-01-02T03:00:00Z"},
		"not without one":                         {},
		"not before the deletion":                 {grace: &karpv1.Duration{Duration: time.Hour}, alive: true},
		"a sooner end stays":                      {was: "2026-01-02T03:30:00Z", grace: &karpv1.Duration{Duration: time.Hour}, want: "2026-01-02T03:30:00Z"},
		"a later one, that somebody wrote, stays": {was: "2026-01-05T00:00:00Z", grace: &karpv1.Duration{Duration: time.Hour}, want: "2026-01-05T00:00:00Z"},
		"one that can't be read does not":         {was: "soon", grace: &karpv1.Duration{Duration: time.Hour}, want: "2026-01-02T04:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := karpv1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "1", Finalizers: []string{karpv1.TerminationFinalizer}}}
			if !c.alive {
				claim.DeletionTimestamp = &metav1.Time{Time: deleted}
			}
			claim.Spec.TerminationGracePeriod = c.grace
			if c.was != "" {
				claim.Annotations = map[string]string{annotation: c.was}
			}
			cluster := fake.NewClientBuilder().WithScheme(scheme).WithObjects(claim).Build()
			for i := range 2 {
				got := &karpv1.NodeClaim{}
				if err := cluster.Get(t.Context(), client.ObjectKey{Name: "c"}, got); err != nil {
					t.Fatal(err)
				}
				written, err := deadline.Stamp(t.Context(), cluster, got)
				if err != nil || written.IsZero() == (i == 0 && c.want != c.was) {
					t.Errorf("time %d: wrote %s, %v", i+1, written, err)
				}
			}
			got := &karpv1.NodeClaim{}
			if err := cluster.Get(t.Context(), client.ObjectKey{Name: "c"}, got); err != nil || got.Annotations[annotation] != c.want {
				t.Errorf("%q, %v; want %q", got.Annotations[annotation], err, c.want)
			}
		})
	}
}

// What takes an instance back writes its end while the cache is behind.
func TestTheGracePeriodDoesNotPutOffASoonerEnd(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := karpv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	deleted := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "1", Finalizers: []string{karpv1.TerminationFinalizer}, DeletionTimestamp: &metav1.Time{Time: deleted}}}
	claim.Spec.TerminationGracePeriod = &karpv1.Duration{Duration: time.Hour}
	cluster := fake.NewClientBuilder().WithScheme(scheme).WithObjects(claim).Build()
	read := reader(t, cluster)
	behind := read()
	if _, err := deadline.Mark(t.Context(), cluster, read(), deleted, deleted.Add(2*time.Minute), nil); err != nil {
		t.Fatal(err)
	}
	if written, err := deadline.Stamp(t.Context(), cluster, behind); !apierrors.IsConflict(err) {
		t.Errorf("wrote %s, %v", written, err)
	}
	if by, _ := deadline.Of(read()); !by.Equal(deleted.Add(2 * time.Minute)) {
		t.Errorf("the end is %s", by)
	}
}

func TestOnlyTheClaimThatWasLookedAtIsDeleted(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := karpv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "1"}}
	// The API server checks the precondition; the one that stands in for it does not.
	asked := []client.DeleteOption{}
	cluster := fake.NewClientBuilder().WithScheme(scheme).WithObjects(claim).WithInterceptorFuncs(interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			asked = append(asked, opts...)
			return c.Delete(ctx, o, opts...)
		},
	}).Build()
	for _, want := range []bool{true, false} {
		if done, err := deadline.Delete(t.Context(), cluster, claim); done != want || err != nil {
			t.Errorf("deleted: %t, %v; want %t", done, err, want)
		}
	}
	for _, o := range asked {
		if p, ok := o.(client.Preconditions); !ok || p.UID == nil || *p.UID != "1" {
			t.Errorf("deleted with %+v", o)
		}
	}
	if len(asked) != 2 {
		t.Errorf("%d options of two calls, want one each", len(asked))
	}
}

// reader reads the claim as the apiserver has it now.
func reader(t *testing.T, cluster client.Client) func() *karpv1.NodeClaim {
	return func() *karpv1.NodeClaim {
		t.Helper()
		got := &karpv1.NodeClaim{}
		if err := cluster.Get(t.Context(), client.ObjectKey{Name: "c"}, got); err != nil {
			t.Fatal(err)
		}
		return got
	}
}
