package app

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/controller/overview"
	"github.com/kerf-sh/kerf/internal/engine/bound"
	"github.com/kerf-sh/kerf/internal/engine/floor"
)

const (
	// floorRest is how many times as long as the search took it rests at least: a twentieth of one core hinders no decision.
	floorRest = 20
	// floorSoon is when it is tried again while the state of the cluster is not complete.
	floorSoon = 10 * time.Second
)

// floorMetric shows the least that the pods can cost, on the leader.
func (d *deps) floorMetric() manager.Runnable {
	problems := d.problems("metrics.floor")
	budget := bound.Budget{Work: overview.FloorWork, Memory: &bound.Memory{}}
	return manager.RunnableFunc(func(ctx context.Context) error {
		rounds := obs.Rounds{Metrics: d.metrics, Log: d.logger("metrics.floor"), Clock: d.clock(), Name: "floor", Doing: "finding the floor", Every: d.FloorEvery}
		return rounds.RunPaced(ctx, func(ctx context.Context) (time.Duration, error) {
			if !d.synced() {
				return floorSoon, nil
			}
			p, begun := problems.Problem(ctx, d.cache.Snapshot()), time.Now()
			found := floor.Least(p, budget)
			d.metrics.CostFloor.WithLabelValues().Set(float64(found.Bound) / 1e6)
			return max(d.FloorEvery, floorRest*time.Since(begun)), nil
		})
	})
}
