package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/state/cache"
)

// A process that has seen what a restore of etcd took back ends, soon after it was elected; one whose cache only differs goes on.
func TestAProcessThatHasSeenALaterStateEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		cached string
		ends   bool
	}{
		"the same state":     {"20", false},
		"an earlier state":   {"10", false},
		"what is gone again": {"30", true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				scheme := runtime.NewScheme()
				if err := errors.Join(karpv1.AddToScheme(scheme), awsv1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
					t.Fatal(err)
				}
				node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", ResourceVersion: "20"}}
				c := cache.New(cache.Options{})
				held := node.DeepCopy()
				held.ResourceVersion = tc.cached
				c.SetNode(held)
				c.Snapshot()
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				check := &selfCheck{
					cache: c, reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(node).Build(),
					metrics: obs.NewMetrics(prometheus.NewRegistry()), log: slog.New(slog.DiscardHandler),
				}
				go func() { done <- check.Start(ctx) }()
				time.Sleep(selfCheckFirst + lookAgain)
				synctest.Wait()
				var err error
				ended := false
				select {
				case err = <-done:
					ended = true
				default:
					cancel()
					err = <-done
				}
				cancel()
				if ended != tc.ends || (err != nil) != tc.ends || err != nil && !strings.Contains(err.Error(), "earlier state") {
					t.Errorf("ended: %v, %v", ended, err)
				}
			})
		})
	}
}
