package app

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestTheDNSServiceIsReadEachTime(t *testing.T) {
	var failure error
	api := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if failure != nil {
				return failure
			}
			return c.Get(ctx, key, o, opts...)
		},
	}).Build()
	ask := dnsIP(api)
	if ip, err := ask(t.Context()); ip != "" || err != nil {
		t.Errorf("without the service: %q, %v", ip, err)
	}
	failure = errors.New("the API server does not answer")
	if _, err := ask(t.Context()); !errors.Is(err, failure) {
		t.Errorf("without an answer: %v", err)
	}
	failure = nil
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-dns"}, Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.10"}}
	if err := api.Create(t.Context(), svc); err != nil {
		t.Fatal(err)
	}
	if ip, err := ask(t.Context()); ip != "10.0.0.10" || err != nil {
		t.Errorf("with the service: %q, %v", ip, err)
	}
}
