package garbagecollection

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// lister is a cloud of which only the list is asked.
type lister struct {
	cloud.Provider
	list func() error
}

func (l lister) List(context.Context, time.Duration) ([]*cloud.Instance, error) { return nil, l.list() }

// An instance without a claim costs money until a round finds it: a round that failed is made up for soon, and an outage is not
// told of every ten seconds.
func TestARoundThatFailedIsMadeUpForSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scheme := runtime.NewScheme()
		if err := karpv1.AddToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		api := fake.NewClientBuilder().WithScheme(scheme).Build()
		rounds, last := 0, time.Now()
		var pauses []time.Duration
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := &Collector{
			Client: api, APIReader: api, Metrics: obs.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler), Clock: clock.RealClock{},
			Cloud: lister{list: func() error {
				now := time.Now()
				if rounds++; rounds > eagerRounds+1 {
					pauses = append(pauses, now.Sub(last))
				}
				last = now
				if rounds > eagerRounds && rounds <= eagerRounds+6 {
					return errors.New("request limit exceeded")
				}
				return nil
			}},
		}
		go func() { _ = c.Start(ctx) }()
		time.Sleep(time.Hour)
		cancel()
		synctest.Wait()
		want := []time.Duration{eager, 2 * eager, 4 * eager, 8 * eager, lazy, lazy, lazy, lazy}
		if len(pauses) < len(want) || !slices.Equal(pauses[:len(want)], want) {
			t.Errorf("pauses after the first failure: %v, want %v", pauses, want)
		}
	})
}
