package repair_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
	"github.com/kerf-sh/kerf/internal/controller/repair"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

type indexer struct{ *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	i.WithIndex(obj, field, extract)
	return nil
}

// notes records events with the kind of their object.
type notes struct {
	record.EventRecorder
	kinds, texts []string
}

func (n *notes) Event(o runtime.Object, _, reason, text string) {
	n.kinds = append(n.kinds, strings.TrimPrefix(fmt.Sprintf("%T", o), "*v1."))
	n.texts = append(n.texts, reason+": "+text)
}

func newLoop(t *testing.T, objects ...client.Object) (*repair.Loop, *clocktesting.FakeClock) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(karpv1.AddToScheme(scheme), awsv1.AddToScheme(scheme), corev1.AddToScheme(scheme), storagev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...)
	if err := index.Add(t.Context(), indexer{b}); err != nil {
		t.Fatal(err)
	}
	clk := clocktesting.NewFakeClock(start)
	return &repair.Loop{
		Client: b.Build(), Recorder: &notes{}, Metrics: obs.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler), Clock: clk, Policies: repair.Policies(),
	}, clk
}

// instance is a claim and its initialized node, ready for an hour.
func instance(name, pool string) (*karpv1.NodeClaim, *corev1.Node) {
	id := "aws:///us-east-1a/" + name
	c := &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{}, Finalizers: []string{karpv1.TerminationFinalizer}},
		Spec:       karpv1.NodeClaimSpec{NodeClassRef: &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}},
	}
	c.Status.ProviderID = id
	if pool != "" {
		c.Labels[karpv1.NodePoolLabelKey] = pool
	}
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-" + name, UID: types.UID("node-" + name), Labels: map[string]string{
			karpv1.NodeInitializedLabelKey: "true", corev1.LabelTopologyZone: "us-east-1a",
		}},
		Spec: corev1.NodeSpec{ProviderID: id},
	}
	show(n, corev1.NodeReady, corev1.ConditionTrue, time.Hour)
	return c, n
}

func show(n *corev1.Node, kind corev1.NodeConditionType, status corev1.ConditionStatus, ago time.Duration) {
	n.Status.Conditions = slices.DeleteFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == kind })
	n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: kind, Status: status, LastTransitionTime: metav1.Time{Time: start.Add(-ago)}, Reason: "Because"})
}

func TestWhichNodesAreReplaced(t *testing.T) {
	for sentence, c := range map[string]struct {
		edit func(*karpv1.NodeClaim, *corev1.Node)
		want bool
	}{
		"a ready one stays": {func(*karpv1.NodeClaim, *corev1.Node) {}, false},
		"one that has not been ready for 29 minutes stays": {func(_ *karpv1.NodeClaim, n *corev1.Node) {
			show(n, corev1.NodeReady, corev1.ConditionFalse, 29*time.Minute)
		}, false},
		"one that has not been ready for 30 minutes goes": {func(_ *karpv1.NodeClaim, n *corev1.Node) {
			show(n, corev1.NodeReady, corev1.ConditionFalse, 30*time.Minute)
		}, true},
		"one that has not been heard of for 30 minutes goes": {func(_ *karpv1.NodeClaim, n *corev1.Node) {
			show(n, corev1.NodeReady, corev1.ConditionUnknown, 30*time.Minute)
		}, true},
		"ten minutes do for broken accelerators": {func(_ *karpv1.NodeClaim, n *corev1.Node) {
			show(n, "AcceleratedHardwareReady", corev1.ConditionFalse, 10*time.Minute)
		}, true},
		"what the agent does not know is no sign": {func(_ *karpv1.NodeClaim, n *corev1.Node) {
			show(n, "KernelReady", corev1.ConditionUnknown, 10*time.Hour)
		}, false},
		"other conditions are no sign": {func(_ *karpv1.NodeClaim, n *corev1.Node) {
			show(n, corev1.NodeMemoryPressure, corev1.ConditionTrue, 10*time.Hour)
		}, false},
		"one that never became ready goes too": {func(_ *karpv1.NodeClaim, n *corev1.Node) {
			delete(n.Labels, karpv1.NodeInitializedLabelKey)
			show(n, corev1.NodeReady, corev1.ConditionFalse, time.Hour)
		}, true},
		"do-not-disrupt keeps nothing": {func(c *karpv1.NodeClaim, n *corev1.Node) {
			c.Annotations, n.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"}, map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"}
			show(n, corev1.NodeReady, corev1.ConditionFalse, time.Hour)
		}, true},
		"a later end of the drain is brought forward": {func(c *karpv1.NodeClaim, n *corev1.Node) {
			c.Annotations = map[string]string{karpv1.NodeClaimTerminationTimestampAnnotationKey: start.Add(time.Hour).Format(time.RFC3339)}
			show(n, corev1.NodeReady, corev1.ConditionFalse, time.Hour)
		}, true},
		"what another controller looks after is left alone": {func(c *karpv1.NodeClaim, n *corev1.Node) {
			c.Spec.NodeClassRef.Kind = "GCENodeClass"
			show(n, corev1.NodeReady, corev1.ConditionFalse, time.Hour)
		}, false},
		"a claim without a pool is looked after as well": {func(c *karpv1.NodeClaim, n *corev1.Node) {
			delete(c.Labels, karpv1.NodePoolLabelKey)
			show(n, corev1.NodeReady, corev1.ConditionFalse, time.Hour)
		}, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			claim, node := instance("c", "p")
			c.edit(claim, node)
			l, _ := newLoop(t, claim, node)
			if err := errors.Join(l.Round(t.Context()), l.Round(t.Context())); err != nil {
				t.Fatal(err)
			}
			got := &karpv1.NodeClaim{}
			if err := l.Client.Get(t.Context(), client.ObjectKey{Name: "c"}, got); err != nil {
				t.Fatal(err)
			}
			if gone := !got.DeletionTimestamp.IsZero(); gone != c.want {
				t.Fatalf("replaced: %v, want %v", gone, c.want)
			}
			want := ""
			if c.want {
				want = start.Format(time.RFC3339)
			}
			if at := got.Annotations[karpv1.NodeClaimTerminationTimestampAnnotationKey]; at != want {
				t.Errorf("the drain ends at %q, want %q", at, want)
			}
			if told := len(l.Recorder.(*notes).kinds); c.want && told != 2 {
				t.Errorf("%d events, want one on the claim and one on the node", told)
			}
		})
	}
}

func TestANodeThatFailsWhileItIsDrainedNoLongerWaitsForItsPods(t *testing.T) {
	claim, node := instance("c", "p")
	claim.DeletionTimestamp = &metav1.Time{Time: start.Add(-time.Hour)}
	show(node, corev1.NodeReady, corev1.ConditionUnknown, 40*time.Minute)
	l, _ := newLoop(t, claim, node)
	if err := l.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := &karpv1.NodeClaim{}
	if err := l.Client.Get(t.Context(), client.ObjectKey{Name: "c"}, got); err != nil {
		t.Fatal(err)
	}
	if at := got.Annotations[karpv1.NodeClaimTerminationTimestampAnnotationKey]; at != start.Format(time.RFC3339) {
		t.Errorf("the drain ends at %q", at)
	}
}

// Whatever is cut short, a node that gets well keeps no end: its pods would be deleted past their budgets when it goes, for
// whatever reason, days later.
func TestARepairThatWasCutShort(t *testing.T) {
	cut := errors.New("the leader died")
	for sentence, c := range map[string]struct {
		cut           interceptor.Funcs
		going, marked bool // after the next round, in which the node is well if it stays
	}{
		"before the deletion leaves nothing behind": {interceptor.Funcs{Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return cut }}, false, false},
		"after the deletion is brought to its end": {interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return cut
		}}, true, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			claim, node := instance("c", "p")
			show(node, corev1.NodeReady, corev1.ConditionFalse, time.Hour)
			l, _ := newLoop(t, claim, node)
			api := l.Client.(client.WithWatch)
			l.Client = interceptor.NewClient(api, c.cut)
			if err := l.Round(t.Context()); !errors.Is(err, cut) {
				t.Fatalf("got %v", err)
			}
			l.Client = api
			got := &karpv1.NodeClaim{}
			if err := api.Get(t.Context(), client.ObjectKey{Name: "c"}, got); err != nil {
				t.Fatal(err)
			}
			if got.DeletionTimestamp.IsZero() {
				show(node, corev1.NodeReady, corev1.ConditionTrue, 0)
				if err := api.Status().Update(t.Context(), node); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(l.Round(t.Context()), api.Get(t.Context(), client.ObjectKey{Name: "c"}, got)); err != nil {
				t.Fatal(err)
			}
			if going, marked := !got.DeletionTimestamp.IsZero(), got.Annotations[karpv1.NodeClaimTerminationTimestampAnnotationKey] != ""; going != c.going || marked != c.marked {
				t.Errorf("going: %t, marked: %t", going, marked)
			}
		})
	}
}

func TestAZoneThatTrafficIsShiftedAwayFromIsLeftAlone(t *testing.T) {
	claim, node := instance("c", "p")
	show(node, corev1.NodeReady, corev1.ConditionFalse, time.Hour)
	l, _ := newLoop(t, claim, node)
	shifted := true
	l.LeftAlone = func(string) bool { return shifted }
	for _, want := range []bool{false, true} {
		if err := l.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := &karpv1.NodeClaim{}
		if err := l.Client.Get(t.Context(), client.ObjectKey{Name: "c"}, got); err != nil {
			t.Fatal(err)
		}
		if gone := !got.DeletionTimestamp.IsZero(); gone != want {
			t.Errorf("traffic shifted: %v, replaced: %v", shifted, gone)
		}
		shifted = false
	}
}

func TestABlockedRepairIsToldOnEachObjectItself(t *testing.T) {
	objects := []client.Object{&karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p"}}}
	for i := range 4 {
		claim, node := instance(fmt.Sprint("c", i), "p")
		if i < 2 {
			show(node, corev1.NodeReady, corev1.ConditionFalse, time.Hour)
		}
		objects = append(objects, claim, node)
	}
	l, clk := newLoop(t, objects...)
	rounds := func() (kinds []string) {
		t.Helper()
		for range 10 {
			if err := l.Round(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		told := l.Recorder.(*notes)
		for _, e := range told.texts {
			if !strings.Contains(e, "NodeRepairBlocked") || !strings.Contains(e, "2 of the 4 nodes of NodePool p are unhealthy") {
				t.Errorf("event %q", e)
			}
		}
		kinds, told.kinds, told.texts = told.kinds, nil, nil
		slices.Sort(kinds)
		return kinds
	}
	all := []string{"Node", "Node", "NodeClaim", "NodeClaim", "NodePool"}
	if d := cmp.Diff(all, rounds()); d != "" {
		t.Errorf("told on (-want +got):\n%s", d)
	}
	clk.Step(14 * time.Minute)
	if again := rounds(); len(again) != 0 {
		t.Errorf("told again after 14 minutes on %v", again)
	}
	clk.Step(time.Minute)
	if d := cmp.Diff(all, rounds()); d != "" {
		t.Errorf("told after 15 minutes on (-want +got):\n%s", d)
	}
}
