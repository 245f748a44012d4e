package garbagecollection

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/obs"
)

// A claim that somebody has forced away leaves its instance behind, and nothing else tells of that.
func TestAClaimThatIsForcedAwayIsNoticed(t *testing.T) {
	const id = "aws:///us-east-1a/i-1"
	const ahead = 30 * time.Second // of the deletion, nothing happens
	claim := func(group, providerID string, ended bool) *karpv1.NodeClaim {
		c := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "web-1"}}
		c.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: group, Kind: "EC2NodeClass", Name: "web"}
		c.Status.ProviderID = providerID
		if ended {
			c.StatusConditions().SetTrue(karpv1.ConditionTypeInstanceTerminating)
		}
		return c
	}
	ours := claim("karpenter.k8s.aws", id, false)
	for sentence, tt := range map[string]struct {
		gone  any
		round time.Duration // the next one, after the one before
	}{
		"forced away":                            {ours, ahead + eager},
		"forced away while the watch was broken": {toolscache.DeletedFinalStateUnknown{Key: "web-1", Obj: ours}, ahead + eager},
		"its instance was ended":                 {claim("karpenter.k8s.aws", id, true), lazy},
		"it has had no instance":                 {claim("karpenter.k8s.aws", "", false), lazy},
		"another provider's":                     {claim("example.com", id, false), lazy},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				scheme := runtime.NewScheme()
				if err := karpv1.AddToScheme(scheme); err != nil {
					t.Fatal(err)
				}
				api := fake.NewClientBuilder().WithScheme(scheme).Build()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var last atomic.Int64 // nanoseconds
				c := &Collector{
					Client: api, APIReader: api, Metrics: obs.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler), Clock: clock.RealClock{},
					Cloud: lister{list: func() error { last.Store(time.Now().UnixNano()); return nil }},
				}
				informers := &informertest.FakeInformers{Scheme: scheme}
				if err := c.Watch(ctx, informers); err != nil {
					t.Fatal(err)
				}
				go func() { _ = c.Start(ctx) }()
				time.Sleep((eagerRounds-1)*eager + lazy) // the first lazy round
				synctest.Wait()
				before := last.Load()
				time.Sleep(ahead)
				informer, err := informers.FakeInformerFor(ctx, &karpv1.NodeClaim{})
				if err != nil {
					t.Fatal(err)
				}
				if gone, ok := tt.gone.(*karpv1.NodeClaim); ok {
					informer.Delete(gone)
				} else {
					c.deleted(tt.gone)
				}
				for range int(2 * lazy / time.Second) {
					if last.Load() != before {
						break
					}
					time.Sleep(time.Second)
					synctest.Wait()
				}
				if got := time.Duration(last.Load() - before); got != tt.round {
					t.Errorf("the next round comes %s after the one before, want %s", got, tt.round)
				}
				cancel()
			})
		})
	}
}
