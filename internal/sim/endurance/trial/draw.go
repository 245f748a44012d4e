package trial

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/endurance/gate"
)

// Draw makes the schedule of a seed.
func Draw(seed uint64) *Schedule {
	d := &drawing{Rand: rand.New(rand.NewPCG(seed, 0x6b657266)), s: &Schedule{Name: fmt.Sprintf("seed %d", seed), Seed: seed}}
	d.pools()
	d.s.Skew = pick(d, 0, 0, 0, 20*time.Second, -20*time.Second, 3*time.Minute)
	for range 2 + d.IntN(3) {
		d.step(Step{Do: Deploy, App: d.app()})
	}
	for range 4 + d.IntN(8) {
		d.happen()
	}
	d.s.NoLease = d.IntN(4) > 0
	d.kills()
	return d.s
}

// kills draws at which calls the controller is ended. Few of all calls lie between the mark of a node and its end, so some
// schedules aim at them.
func (d *drawing) kills() {
	switch d.IntN(5) {
	case 0:
		d.s.KillAt, d.s.Kills = 1+d.IntN(120), 1+d.IntN(3)
	case 1:
		d.s.KillAt, d.s.EveryCall = 1+d.IntN(400), true
	case 2:
		d.s.KillAt, d.s.Kills, d.s.NodeCalls = 1+d.IntN(10), 1+d.IntN(6), true
	}
	if d.s.KillAt > 0 {
		d.s.Moment = pick(d, gate.Before, gate.After)
	}
}

type drawing struct {
	*rand.Rand
	s    *Schedule
	apps []*App
}

func pick[T any](d *drawing, from ...T) T { return from[d.IntN(len(from))] }

func (d *drawing) pools() {
	d.s.Pools = []Pool{
		{Name: "general", Budget: pick(d, "10%", "50%", "1", "100%"), Spot: d.IntN(2) == 0, Grace: pick(d, 0, 3*time.Minute)},
		{Name: "brief", Budget: pick(d, "34%", "1", "0"), Spot: d.IntN(3) == 0, ExpireAfter: pick(d, 0, 20*time.Minute, 40*time.Minute), Grace: pick(d, 0, 2*time.Minute)},
	}
}

func (d *drawing) pool() string { return d.s.Pools[d.IntN(len(d.s.Pools))].Name }

// app makes a new one. Its pods fit the pools' instances.
func (d *drawing) app() *App {
	a := &App{
		Name: fmt.Sprintf("app%d", len(d.apps)), Pool: d.pool(), Replicas: 1 + d.IntN(12),
		MilliCPU: pick(d, 100, 250, 500, 900, 1500, 3000), MiB: pick(d, 128, 512, 1024, 3000, 6000), Apart: d.IntN(8) == 0,
	}
	switch d.IntN(6) {
	case 0:
		a.Guard = new(d.IntN(3))
	case 1:
		a.Held = true
	}
	d.apps = append(d.apps, a)
	return a
}

// longestWait is the time between two steps at most, in seconds.
const longestWait = 150

func (d *drawing) step(s Step) {
	s.Wait = time.Duration(d.IntN(longestWait)) * time.Second
	d.s.Steps = append(d.s.Steps, s)
}

// happen adds one thing, or two that go together.
func (d *drawing) happen() {
	one := func(do Action) Step { return Step{Do: do, Pick: d.IntN(100)} }
	switch d.IntN(20) {
	case 0, 1:
		d.step(Step{Do: Deploy, App: d.app()})
	case 2, 3, 4:
		changed := *d.apps[d.IntN(len(d.apps))]
		changed.Replicas = d.IntN(14)
		d.step(Step{Do: Deploy, App: &changed})
	case 5:
		d.step(Step{Do: Remove, Name: d.apps[d.IntN(len(d.apps))].Name})
	case 6, 7:
		d.step(one(Interrupt))
	case 8:
		d.step(one(pick(d, EndInstance, DeleteNode, DeleteClaim)))
	case 9:
		d.step(Step{Do: Price, Percent: pick(d, 40, 70, 150, 300), Pick: d.IntN(100)})
	case 10:
		d.step(Step{Do: Kill, For: time.Duration(1+d.IntN(120)) * time.Second})
	case 11:
		d.step(Step{Do: Restart})
	case 12:
		d.step(Step{Do: Drift, Name: d.pool()})
	case 13:
		d.step(one(Taint))
	case 14:
		d.step(one(ForceClaim))
	case 15:
		d.step(Step{Do: Protect, Pick: d.IntN(100), For: time.Duration(30+d.IntN(300)) * time.Second})
	case 16, 17:
		d.step(Step{Do: Balk, Pick: d.IntN(100), For: time.Duration(10+d.IntN(120)) * time.Second})
	case 18:
		d.step(Step{Do: Disturb, For: time.Duration(5+d.IntN(120)) * time.Second, AWS: d.awsFault()})
	default:
		d.step(Step{Do: Disturb, For: time.Duration(5+d.IntN(90)) * time.Second, Fault: d.fault()})
	}
}

func (d *drawing) awsFault() *world.Fault {
	service := pick(d, "ec2", "ec2", "ssm", "sqs", "iam", "")
	f := pick(d,
		world.Fault{Kind: world.FaultThrottle, Service: service},
		world.Fault{Kind: world.FaultThrottle, Service: "ec2", Rate: 1, Burst: 3},
		world.Fault{Kind: world.FaultError, Service: service, Code: "InternalError", Status: 500},
		world.Fault{Kind: world.FaultSlow, Service: service, Delay: pick(d, 3*time.Second, 20*time.Second, 5*time.Minute)},
		world.Fault{Kind: world.FaultLostReply, Service: "ec2", Operation: "CreateFleet"},
		world.Fault{Kind: world.FaultLostReply, Service: "ec2", Operation: "TerminateInstances"},
		world.Fault{Kind: world.FaultNoCapacity, CapacityType: world.Spot},
		world.Fault{Kind: world.FaultNoCapacity, InstanceType: pick(d, "m5.*", "c5.*", "*.large")},
		world.Fault{Kind: world.FaultPartialFleet, Limit: 1},
		world.Fault{Kind: world.FaultLateInstances, Delay: pick(d, 5*time.Second, 40*time.Second)},
		world.Fault{Kind: world.FaultLateTags, Delay: pick(d, 5*time.Second, 40*time.Second)},
		world.Fault{Kind: world.FaultFailedLaunch, InstanceType: "c5.*", Code: "Server.InternalError", Message: "Server.InternalError: Internal error on launch"},
	)
	return &f
}

func (d *drawing) fault() *gate.Fault {
	f := pick(d,
		gate.Fault{Kind: gate.Throttled, API: "kubernetes", Every: pick(d, 1, 2, 3)},
		gate.Fault{Kind: gate.Failing, API: "kubernetes", Every: pick(d, 1, 2, 5)},
		gate.Fault{Kind: gate.Conflict, API: "kubernetes", Every: pick(d, 1, 2, 3)},
		gate.Fault{Kind: gate.LostReply, API: "kubernetes", Verb: pick(d, "create", "patch", "delete", "update"), Every: pick(d, 1, 2, 3)},
		gate.Fault{Kind: gate.Cut, API: "kubernetes"}, // an API server that restarts
		gate.Fault{Kind: gate.Cut, API: "aws", Every: 2},
		gate.Fault{Kind: gate.Slow, API: "kubernetes", Delay: pick(d, time.Second, 10*time.Second)},
		gate.Fault{Kind: gate.WatchesEnd, API: "kubernetes"},
	)
	return &f
}
