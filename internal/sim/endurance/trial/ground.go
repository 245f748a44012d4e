package trial

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/endurance/gate"
)

// Ground is what trials are played on.
type Ground interface {
	// Client may do everything and does not pass the doors.
	Client() client.WithWatch
	World() *world.World
	// Cluster is the name of the cluster in AWS.
	Cluster() string
	// Interrupt announces that AWS takes an instance back after a notice.
	Interrupt(instance string, notice time.Duration) error
	// Doors are the controller's only ways to the APIs. No life has passed them when a trial begins.
	Doors() (kubernetes, aws *gate.Door)
	// Start starts a controller; it need not wait until it is ready. ended is closed when that one has ended, whoever ended
	// it. Kill ends it at once, Stop as a rollout does; nothing of it runs when they return. Both may be called when none runs.
	Start(ctx context.Context) (ended <-chan struct{}, err error)
	Kill()
	Stop()
	// Logf tells of the course of a trial.
	Logf(format string, args ...any)
}

// Pace says how fast a ground plays, and how patient the judge has to be on it.
type Pace struct {
	// Divide is by how much the schedule's times are shortened.
	Divide int
	// Quiet is how long nothing may move before the cluster counts as at rest, Limit how long that is waited for.
	Quiet, Limit time.Duration
	// Grace, Serve and Known are the judge's.
	Grace, Serve, Known time.Duration
	// ConsolidateAfter is what pools are given.
	ConsolidateAfter time.Duration
	// Notice is that of spot interruptions.
	Notice time.Duration
}

// Natural is the pace of a real cluster, for grounds whose time is virtual.
var Natural = Pace{
	Divide: 1, Quiet: 3 * time.Minute, Limit: 90 * time.Minute, Grace: 3 * time.Minute, Serve: 10 * time.Minute, Known: 5 * time.Second,
	ConsolidateAfter: 30 * time.Second, Notice: 2 * time.Minute,
}

// Hurried is for grounds where time is real: what takes minutes takes seconds.
var Hurried = Pace{
	Divide: 30, Quiet: 30 * time.Second, Limit: 5 * time.Minute, Grace: 100 * time.Second, Serve: 2 * time.Minute, Known: 3 * time.Second,
	ConsolidateAfter: time.Second, Notice: 10 * time.Second,
}

func (p Pace) of(d time.Duration) time.Duration { return d / time.Duration(max(1, p.Divide)) }
