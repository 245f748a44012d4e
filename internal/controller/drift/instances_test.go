package drift

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

type inventory []*cloud.Instance

func (i inventory) Get(context.Context, string) (*cloud.Instance, error) {
	return nil, errors.New("not asked for")
}
func (i inventory) List(context.Context, time.Duration) ([]*cloud.Instance, error) { return i, nil }

func TestAnInstanceThatChangedIsNotForgottenWhenItsClaimCanNotBeRead(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := karpv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	claim := func(name string) *karpv1.NodeClaim {
		return &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: karpv1.NodeClaimStatus{ProviderID: name}}
	}
	fails := 1
	c := &Controller{
		Instances: inventory{{ProviderID: "a", State: "running"}, {ProviderID: "b", State: "running"}},
		moved:     make(chan event.TypedGenericEvent[client.Object], 10),
		Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(claim("a"), claim("b")).
			WithIndex(&karpv1.NodeClaim{}, index.ClaimProviderID, func(o client.Object) []string { return []string{o.(*karpv1.NodeClaim).Status.ProviderID} }).
			WithInterceptorFuncs(interceptor.Funcs{List: func(ctx context.Context, w client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				if fails > 0 {
					fails--
					return errors.New("the cache is not there")
				}
				return w.List(ctx, list, opts...)
			}}).Build(),
	}
	if err := c.look(t.Context()); err == nil {
		t.Fatal("the failure is not told of")
	}
	for range 2 { // the third look finds nothing new
		if err := c.look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for len(c.moved) > 0 {
		e := <-c.moved
		got = append(got, e.Object.GetName())
	}
	if len(got) != 2 || got[0] != "a" || got[1] != "b" {
		t.Errorf("compared again: %v, want a and b once each", got)
	}
}
