package simcluster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// One seed is one course of events, to the name of every pod and the place of each, when requests are answered in turn.
func TestOneSeedIsOneCourseOfEvents(t *testing.T) {
	course := func() string {
		var b strings.Builder
		o := simcluster.Options{World: many, Seed: 7, InTurn: true, Env: map[string]string{"DISABLE_LEADER_ELECTION": "true"}}
		simcluster.Run(t, o, func(h *simcluster.Cluster) {
			h.Apply(simcluster.Defaults)
			c := newChurn(h, load{seed: 7, hours: 1, size: 4, swing: 30})
			for n := range 30 {
				c.minute(n)
				h.Pass(time.Minute)
				for _, p := range h.Pods() {
					fmt.Fprintln(&b, n, p.Name, p.Spec.NodeName, p.Status.Phase)
				}
				for _, c := range h.Claims() {
					fmt.Fprintln(&b, n, c.Name, c.Status.NodeName, c.Labels["node.kubernetes.io/instance-type"])
				}
				for _, i := range h.Instances() {
					fmt.Fprintln(&b, n, i.ID, i.Type, i.Zone, i.PriceMicroUSD)
				}
			}
		})
		return b.String()
	}
	first := course()
	if strings.Count(first, " i-") < 60 {
		t.Fatal("hardly a node was launched: this shows nothing")
	}
	if d := cmp.Diff(strings.Split(first, "\n"), strings.Split(course(), "\n")); d != "" {
		t.Errorf("the same seed took another course:\n%.2000s", d)
	}
}
