package shadow_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/controller/shadow"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/state/readonly"
)

type seen struct{ snapshot *cluster.Snapshot }

func (s seen) Snapshot() *cluster.Snapshot { return s.snapshot }

func TestAMoveCountsOnceItHasStoodForAsLongAsItHasTo(t *testing.T) {
	for name, tt := range map[string]struct {
		move     disrupt.Move
		from, to time.Duration // in which it is first counted
	}{
		"an empty node after a moment": {disrupt.Move{Cause: disrupt.Empty, Nodes: []string{"a"}}, 5 * time.Second, 25 * time.Second},
		"much after a moment":          {disrupt.Move{Cause: disrupt.Underutilized, Nodes: []string{"a"}}, 5 * time.Second, 25 * time.Second},
		"little when it has paid back": {disrupt.Move{Cause: disrupt.Underutilized, Nodes: []string{"a"}, Wait: 10 * time.Minute}, 10 * time.Minute, 10*time.Minute + 25*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				problem := &pack.Problem{Nodes: []*cluster.Node{node("a", "web", 200_000)}}
				began := time.Now()
				l := &shadow.Loop{
					Book: shadow.NewBook(began), State: seen{&cluster.Snapshot{}}, Guard: &readonly.Guard{}, Metrics: obs.NewMetrics(prometheus.NewRegistry()),
					Problem: func(context.Context, *cluster.Snapshot) *pack.Problem { return problem },
					Disrupt: func(context.Context, *cluster.Snapshot) *disrupt.Decision {
						return &disrupt.Decision{Moves: []disrupt.Move{tt.move}}
					},
					Log: slog.New(slog.DiscardHandler), Now: time.Now,
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() { _ = l.Start(ctx) }()
				var after time.Duration
				for after == 0 && time.Since(began) < 2*time.Hour {
					time.Sleep(time.Second)
					if s := l.Summary(); len(s.Counts) > 0 {
						after = time.Since(began)
					} else if s.Total.Kerf != s.Total.Running {
						t.Fatalf("%s: the bill is lower already: %+v", time.Since(began), s.Total)
					}
				}
				if after < tt.from || after > tt.to {
					t.Errorf("counted after %s, want between %s and %s", after, tt.from, tt.to)
				}
			})
		})
	}
}
