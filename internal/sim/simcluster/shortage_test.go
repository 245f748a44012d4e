package simcluster_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// asked is what EC2 was asked for in a shortage.
type asked struct {
	fleets, claims int
	// most is how often one pool of capacity was asked for, the one that was asked most.
	most int
	pool string
	// pools is how many pools of capacity were asked for.
	pools int
}

// counter is the sum of a counter of the controller.
func counter(h *simcluster.Cluster, name string) int {
	h.T.Helper()
	families, err := h.Controller().Metrics.Gather()
	if err != nil {
		h.T.Fatal(err)
	}
	sum := 0.0
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.GetMetric() {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return int(sum)
}

// since counts what was asked of EC2 from a moment on; times a pool was asked count of types like short only, which EC2 lacks.
func since(h *simcluster.Cluster, from time.Time, short string) asked {
	zones := map[string]string{}
	for _, s := range h.AWS.World.Subnets() {
		zones[s.ID] = s.Zone
	}
	out, times := asked{claims: counter(h, "karpenter_nodeclaims_created_total")}, map[string]int{}
	for _, f := range h.AWS.World.Fleets() {
		if f.Created.Before(from) {
			continue
		}
		out.fleets++
		for _, c := range f.Request.Configs {
			for _, o := range c.Overrides {
				if !world.Match(short, o.InstanceType) {
					continue
				}
				times[f.Request.Target.DefaultType+" "+o.InstanceType+" "+zones[o.SubnetID]]++
			}
		}
	}
	for pool, n := range times {
		if n > out.most {
			out.most, out.pool = n, pool
		}
	}
	out.pools = len(times)
	return out
}

// TestAPoolIsAskedOnceAClosure: what one launch was told that EC2 lacks is known to all others, those on their way included.
func TestAPoolIsAskedOnceAClosure(t *testing.T) {
	for name, tt := range map[string]struct {
		fault          world.Fault
		fleets, claims int
	}{
		"large":      {world.Fault{Kind: world.FaultNoCapacity, InstanceType: "*.large"}, 8, 12},
		"everything": {world.Fault{Kind: world.FaultNoCapacity}, 60, 90},
	} {
		t.Run(name, func(t *testing.T) {
			simcluster.Run(t, simcluster.Options{World: many}, func(h *simcluster.Cluster) {
				h.Apply(strings.Replace(simcluster.Defaults, "consolidateAfter: 30s", "consolidateAfter: Never", 1))
				h.Pass(time.Minute)
				h.AWS.World.AddFault(tt.fault)
				from := time.Now()
				for i := range 12 {
					h.Deploy(fmt.Sprint("app-", i), 1+i%3, fmt.Sprint(500+300*(i%4), "m"), fmt.Sprint(1+i%5, "Gi"))
					h.Pass(300 * time.Millisecond)
				}
				h.Pass(15 * time.Second) // before anything is asked for again
				got := since(h, from, cmp.Or(tt.fault.InstanceType, "*"))
				h.T.Logf("%+v", got)
				if got.most > 1 || got.fleets > tt.fleets || got.claims > tt.claims {
					h.T.Errorf("%+v: want each pool once, at most %d fleets and %d claims", got, tt.fleets, tt.claims)
				}
			})
		})
	}
}

// TestAFleetThatBringsNothingAndDoesNotSayWhyIsNotAskedForWithoutEnd: pods wait as in any other shortage.
func TestAFleetThatBringsNothingAndDoesNotSayWhyIsNotAskedForWithoutEnd(t *testing.T) {
	simcluster.Run(t, simcluster.Options{World: many}, func(h *simcluster.Cluster) {
		h.Apply(strings.NewReplacer("[spot, on-demand]", "[spot]", "[c, m, r]", "[m]").Replace(simcluster.Defaults))
		h.Pass(time.Minute)
		fault := h.AWS.World.AddFault(world.Fault{Kind: world.FaultSilentFleet})
		from := time.Now()
		deployApart(h, "web", 3)
		h.Pass(time.Minute)
		got := since(h, from, "*")
		h.T.Logf("%+v", got)
		if got.fleets == 0 || got.fleets > 15 || got.claims > 40 || got.most > 4 { // each 20 seconds something is tried again
			h.T.Errorf("%+v: want at most 15 fleets and 40 claims, and no pool more than four times", got)
		}
		h.AWS.World.RemoveFault(fault)
		h.Running(3*time.Minute, "web", 3)
	})
}

// TestCapacityThatIsBackIsUsedWithinHalfAMinute: while pods wait, EC2 is asked again with one small launch at a time.
func TestCapacityThatIsBackIsUsedWithinHalfAMinute(t *testing.T) {
	for _, lasts := range []time.Duration{time.Minute, 10*time.Minute + 7*time.Second, time.Hour + 11*time.Second} {
		t.Run(lasts.String(), func(t *testing.T) {
			if lasts > time.Hour {
				long(t)
			}
			simcluster.Run(t, simcluster.Options{World: many}, func(h *simcluster.Cluster) {
				h.Apply(strings.NewReplacer("consolidateAfter: 30s", "consolidateAfter: Never", "[spot, on-demand]", "[spot]", "[c, m, r]", "[m]").Replace(simcluster.Defaults))
				h.Pass(time.Minute)
				h.AWS.World.AddFault(world.Fault{Kind: world.FaultNoCapacity})
				deployApart(h, "web", 6)
				h.Pass(30 * time.Second)
				from := time.Now()
				claims := since(h, from, "*").claims
				h.Pass(lasts)
				got := since(h, from, "*")
				if most := 2*int(lasts/(20*time.Second)) + 24; got.fleets > most || got.claims-claims > most {
					h.T.Errorf("%+v in %s, and %d claims before: want at most %d of each", got, lasts, claims, most)
				}
				h.T.Logf("%+v, %d claims before", got, claims)
				h.AWS.World.ClearFaults()
				back := time.Now()
				h.Eventually(30*time.Second, "something is launched", func() (bool, string) { return len(h.Instances()) > 0, fmt.Sprintf("%+v", since(h, from, "*")) })
				h.T.Logf("launched after %s", time.Since(back))
				h.Running(3*time.Minute, "web", 6)
			})
		})
	}
}
