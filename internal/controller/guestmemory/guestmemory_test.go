package guestmemory_test

import (
	"context"
	"log/slog"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	book "github.com/kerf-sh/kerf/internal/aws/guestmemory"
	"github.com/kerf-sh/kerf/internal/controller/guestmemory"
	"github.com/kerf-sh/kerf/internal/controller/index"
)

func node(name, memory string) *corev1.Node {
	n := &corev1.Node{}
	n.Name, n.Labels = name, map[string]string{corev1.LabelInstanceTypeStable: "m5.large"}
	n.Spec.ProviderID = "aws:///us-east-1a/" + name
	n.Status.Capacity = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}
	return n
}

// posing is a node whose kubelet says that it is of another type.
func posing(name, memory string) *corev1.Node {
	n := node(name, memory)
	n.Labels[corev1.LabelInstanceTypeStable] = "c5.large"
	return n
}

func claim(of, image string) *karpv1.NodeClaim {
	c := &karpv1.NodeClaim{}
	c.Name, c.Labels = "claim-"+of, map[string]string{corev1.LabelInstanceTypeStable: "m5.large"}
	c.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
	c.Annotations = map[string]string{awsv1.AnnotationEC2NodeClassHash: "7"}
	c.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1900m"), corev1.ResourceMemory: resource.MustParse("7Gi")}
	c.Status.ProviderID, c.Status.ImageID = "aws:///us-east-1a/"+of, image
	return c
}

func TestNodesTeachAndRestartsForgetNothing(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, karpv1.AddToScheme, storagev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	writes := 0
	ready, waits := node("i-1", "7900Mi"), node("i-2", "7800Mi")
	ready.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	ready.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m"), corev1.ResourceMemory: resource.MustParse("3Gi")}
	ready.Status.Capacity["hugepages-2Mi"] = resource.MustParse("4Gi") // set aside by somebody, and not by the image
	waits.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	builder := fake.NewClientBuilder().WithScheme(scheme).
		WithObjects(ready, waits, node("i-3", "1Mi"), node("i-4", "7850Mi"), posing("i-5", "7950Mi"), claim("i-5", "ami-1"), claim("i-1", "ami-1"), claim("i-2", "ami-1"), claim("i-4", "ami-2")).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				writes++
				return c.Create(ctx, o, opts...)
			},
			Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
				writes++
				return c.Update(ctx, o, opts...)
			},
		})
	if err := index.Add(t.Context(), indexer{builder}); err != nil {
		t.Fatal(err)
	}
	c := builder.Build()
	log := slog.New(slog.DiscardHandler)

	first := book.NewBook(nil)
	learner := &guestmemory.Controller{Client: c, Book: first, Log: log}
	keeper := &guestmemory.Keeper{Client: c, Reader: c, Namespace: "kube-system", Book: first, Log: log}
	if err := keeper.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := keeper.Write(t.Context()); err != nil || writes != 0 {
		t.Errorf("nothing was learned, %d writes, %v", writes, err)
	}
	for _, name := range []string{"i-1", "i-2", "i-3", "i-4", "i-5", "gone"} {
		if _, err := learner.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if err := keeper.Write(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if writes != 1 {
		t.Errorf("%d writes for one burst", writes)
	}

	second := book.NewBook(nil)
	heir := &guestmemory.Keeper{Client: c, Reader: c, Namespace: "kube-system", Book: second, Log: log}
	if err := heir.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	for image, want := range map[string]int64{"ami-1": 7800 << 20, "ami-2": 7850 << 20, "ami-3": 0} {
		if got, _ := second.Snapshot().Bytes("m5.large", image); got != want {
			t.Errorf("after a restart m5.large with %s has %d bytes, want %d", image, got, want)
		}
	}
	if got, known := second.Snapshot().Bytes("c5.large", "ami-1"); known {
		t.Errorf("a node that calls itself c5.large and is none taught %d bytes", got)
	}
	if got := second.Snapshot().AllLeft("ami-1", book.Left{Resource: "cpu", Class: "7"}); got["m5.large"] != 1500 || len(got) != 1 {
		t.Errorf("left to pods are %v millicores, want the 1500 of the ready node i-1", got)
	}
	if got := second.Snapshot().AllLeft("ami-1", book.Left{Resource: "memory", Class: "7"}); len(got) > 0 {
		t.Errorf("left to pods are %v bytes of memory; with the huge pages it is as much as planned", got)
	}
	second.Learn("m5.large", "ami-1", "n", 7700<<20)
	if err := heir.Write(t.Context()); err != nil || writes != 2 {
		t.Errorf("%d writes, %v", writes, err)
	}

	deleted := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: guestmemory.ConfigMap}}
	if err := c.Delete(t.Context(), deleted); err != nil {
		t.Fatal(err)
	}
	second.Learn("m5.large", "ami-9", "n", 7000<<20)
	for range 2 {
		if err := heir.Write(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, fresh := second.Snapshot().Bytes("m5.large", "ami-9"); !fresh || second.Snapshot().Len() != 1 {
		t.Errorf("%d amounts are known after the ConfigMap was deleted, want the one that is new", second.Snapshot().Len())
	}

	broken := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: guestmemory.ConfigMap}, Data: map[string]string{"memory.json": "{"}}
	if err := c.Create(t.Context(), broken); err != nil {
		t.Fatal(err)
	}
	third := &guestmemory.Keeper{Client: c, Reader: c, Namespace: "other", Book: book.NewBook(nil), Log: log}
	if err := third.Read(t.Context()); err == nil {
		t.Error("a text that makes no sense was taken")
	}
}

type indexer struct{ b *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, o client.Object, field string, extract client.IndexerFunc) error {
	i.b.WithIndex(o, field, extract)
	return nil
}
