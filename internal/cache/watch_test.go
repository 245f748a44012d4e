package cache

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/intake"
)

func TestHandlersTakeInWhatInformersTell(t *testing.T) {
	r := newRig()
	for _, w := range r.watches() {
		if _, ok := w.kind.(*corev1.Pod); !ok {
			continue
		}
		p := unschedulable("p", "u")
		w.handler.OnAdd(p, true)
		if r.pending() != 1 {
			t.Fatal("an added pod is not pending")
		}
		q := p.DeepCopy()
		q.Spec.NodeName, q.ResourceVersion = "n", "2"
		w.handler.OnUpdate(p, q)
		if r.pending() != 0 {
			t.Fatal("a bound pod is still pending")
		}
		w.handler.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "ns/p", Obj: q})
		if r.Pod(intake.PodRef(q)) != nil {
			t.Fatal("a pod whose deletion was missed is still there")
		}
		return
	}
	t.Fatal("nobody watches pods")
}

func TestCompareFindsWhatDiffers(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, karpv1.AddToScheme, awsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	node, claim := newNode("n0", "un", "id-1"), newClaim("c0", "uc")
	claim.Status.ProviderID = "id-1"
	pod := unschedulable("p0", "up")
	pod.Spec.NodeName = "n0"
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(node, claim, pod).Build()
	r := newRig()
	if err := r.fill(t.Context(), api); err != nil {
		t.Fatal(err)
	}
	check := func(want ...string) {
		t.Helper()
		got, err := r.Compare(t.Context(), api)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
	check()
	// A machine in flight is not in the API yet; that is meant, not a difference.
	r.Assume(newClaim("c1", "uc1"), intake.Expected{}, nil, r.clock.Add(time.Minute))
	check()
	other := unschedulable("p1", "up1")
	other.Spec.NodeName = "n0"
	if err := api.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	check("pod ns/p1 is in the API but not in the cache")
	// A defect of ours: the inputs agree, the value does not.
	r.SetPod(other)
	r.Snapshot()
	broken := *r.units["n/n0"]
	broken.Pods = broken.Pods[:1]
	r.units["n/n0"] = &broken
	got, err := r.Compare(t.Context(), api)
	if err != nil || len(got) != 1 {
		t.Errorf("got %q, %v; want the node", got, err)
	}
}
