package app

import (
	"context"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	corev1 "k8s.io/api/core/v1"
)

func TestAProcessEndsWhileTheAPIDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		config := &rest.Config{Host: "http://nobody.example", Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			return nil, net.ErrClosed
		}}}
		mgr, err := ctrl.NewManager(config, manager.Options{
			NewCache: newEndable(ctx), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
			MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
				m := meta.NewDefaultRESTMapper(nil)
				m.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
				return m, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := mgr.GetCache().GetInformer(ctx, &corev1.Pod{}, crcache.BlockUntilSynced(false)); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- mgr.Start(ctx) }()
		time.Sleep(time.Minute)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
