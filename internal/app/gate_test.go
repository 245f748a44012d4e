package app

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// A new leader must not launch in a zone that traffic is shifted away from only because it has not looked yet.
func TestLaunchesWaitForTheFirstLookAtZonalShiftsButNotForever(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := karpv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		enabled bool
		looks   time.Duration // when it is looked, never if 0
		opens   time.Duration
	}{
		"where nobody looks nothing is waited for":     {false, 0, 0},
		"the first look opens":                         {true, 3 * time.Second, 3 * time.Second},
		"a service that does not answer keeps no pods": {true, 0, firstLook},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				g := newGate(nil, fake.NewClientBuilder().WithScheme(scheme).Build(), slog.New(slog.DiscardHandler), c.enabled)
				g.begin = func(context.Context, []string) {}
				start, ended := time.Now(), make(chan error)
				go func() { ended <- g.Start(ctx) }()
				if c.looks > 0 {
					time.AfterFunc(c.looks, func() { g.looked(); g.looked() })
				}
				<-g.begun
				if after := time.Since(start); after != c.opens {
					t.Errorf("launches begin after %s, want %s", after, c.opens)
				}
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
