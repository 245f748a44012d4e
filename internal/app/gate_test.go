package app

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

func claimScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := karpv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme
}

// A new leader must not launch in a zone that traffic is shifted away from only because it has not looked yet.
func TestLaunchesWaitForTheFirstLookAtZonalShiftsButNotForever(t *testing.T) {
	scheme := claimScheme(t)
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

// What a new leader deletes in its first second stays deleted: it must not touch an instance before it has looked.
func TestInstancesAreLeftAloneUntilTheFirstLookAtZonalShifts(t *testing.T) {
	const id = "aws:///us-east-1a/none" // names no instance: the provider answers without AWS
	provider, err := aws.New(&session.Session{Region: "us-east-1"}, aws.Options{ClusterName: "kerf"})
	if err != nil {
		t.Fatal(err)
	}
	scheme := claimScheme(t)
	for name, c := range map[string]struct {
		enabled bool
		looks   time.Duration // when it is looked, never if 0
		open    time.Duration
	}{
		"where nobody looks nothing is left alone":          {false, 0, 0},
		"the first look ends it":                            {true, 3 * time.Second, 3 * time.Second},
		"a service that does not answer holds nothing back": {true, 0, firstLook},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				g := newGate(provider, fake.NewClientBuilder().WithScheme(scheme).Build(), slog.New(slog.DiscardHandler), c.enabled)
				g.begin = func(ctx context.Context, _ []string) { <-ctx.Done() } // AWS hangs
				ended := make(chan error)
				if before := g.LeftAlone(id); before != c.enabled {
					t.Errorf("before the start: left alone %t, want %t", before, c.enabled)
				}
				start := time.Now()
				go func() { ended <- g.Start(ctx) }()
				if c.looks > 0 {
					time.AfterFunc(c.looks, g.looked)
				}
				if err := g.Terminate(ctx, id); !cloud.IsNotFound(err) {
					t.Error(err)
				}
				if after := time.Since(start); after != c.open {
					t.Errorf("an instance is terminated after %s, want %s", after, c.open)
				}
				if g.LeftAlone(id) {
					t.Errorf("left alone after %s", time.Since(start))
				}
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
	t.Run("a termination that waits ends with the process", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		g := newGate(provider, nil, slog.New(slog.DiscardHandler), true)
		if err := g.Terminate(ctx, id); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// TestLaunchesBeginAfterAPanic of what begins them: the loop is started again, and finds the gate half open.
func TestLaunchesBeginAfterAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		g := newGate(nil, fake.NewClientBuilder().WithScheme(claimScheme(t)).Build(), slog.New(slog.DiscardHandler), false)
		tries := 0
		g.begin = func(context.Context, []string) {
			if tries++; tries == 1 {
				panic("once")
			}
		}
		ended := make(chan error)
		go func() { ended <- (&restarted{loop: g, where: "test", after: time.After}).Start(ctx) }()
		<-g.begun
		cancel()
		if err := <-ended; err != nil || tries != 2 {
			t.Errorf("%d tries, then %v", tries, err)
		}
	})
}
