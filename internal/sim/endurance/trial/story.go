package trial

import (
	"fmt"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/endurance/gate"
)

// Story is the scenario whose every call the controller is killed at: instances are launched, given back because pods leave,
// replaced because the class changes, taken by AWS, ended and deleted by people, replaced at their age, and the class is
// deleted.
func Story() *Schedule {
	web := func(n int) *App { return &App{Name: "web", Pool: "general", Replicas: n, MilliCPU: 900, MiB: 512} }
	return &Schedule{
		Name: "the story",
		Pools: []Pool{
			{Name: "general", Budget: "100%", Spot: true},
			{Name: "brief", Budget: "100%", ExpireAfter: 30 * time.Minute},
		},
		Steps: []Step{
			{Do: Deploy, App: web(6)},
			{Do: Deploy, App: &App{Name: "job", Pool: "brief", Replicas: 2, MilliCPU: 900, MiB: 512}},
			{Wait: 2 * time.Minute, Do: Interrupt},
			{Wait: 4 * time.Minute, Do: Deploy, App: web(2)},
			{Wait: 4 * time.Minute, Do: Drift, Name: "general"},
			{Wait: 5 * time.Minute, Do: EndInstance},
			{Wait: 4 * time.Minute, Do: DeleteClaim},
			// The two instances of the second pool reach their age in between.
			{Wait: 16 * time.Minute, Do: Remove, Name: "job"},
			{Do: DeletePool, Name: "brief"},
			{Do: DeleteClass, Name: "brief"},
		},
	}
}

// At is a schedule whose controller is ended at its n-th call.
func (s *Schedule) At(n int, moment gate.Moment) *Schedule {
	out := *s
	out.Name, out.KillAt, out.Moment = fmt.Sprintf("%s, killed %s call %d", s.Name, moment, n), n, moment
	return &out
}
