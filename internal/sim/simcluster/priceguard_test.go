package simcluster_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

var priceGuards = flag.String("price-guards", "5", "settings of KERF_PRICE_GUARD to play, with commas; 5 ships")

// While EC2 is short, pods wait for the usual price as long as the guard says, and are told; what costs less than that is launched
// at once, and none waits for ever.
func TestAShortageIsNotPaidForAtAnyPrice(t *testing.T) {
	for _, guard := range strings.Split(*priceGuards, ",") {
		for _, story := range []struct {
			name   string
			faults []world.Fault
			waits  bool // with the guard that ships
		}{
			{"large", []world.Fault{{Kind: world.FaultNoCapacity, InstanceType: "*large"}}, true},
			{"xlarge", []world.Fault{{Kind: world.FaultNoCapacity, InstanceType: "*.large"}, {Kind: world.FaultNoCapacity, InstanceType: "*.xlarge"}}, false},
			{"spot", []world.Fault{{Kind: world.FaultNoCapacity, CapacityType: world.Spot}}, false},
		} {
			t.Run(guard+" "+story.name, func(t *testing.T) {
				simcluster.Run(t, simcluster.Options{World: withMetal, Env: map[string]string{"KERF_PRICE_GUARD": guard}}, func(h *simcluster.Cluster) {
					h.Apply(strings.Replace(simcluster.Defaults, "consolidateAfter: 30s", "consolidateAfter: Never", 1))
					h.Pass(time.Minute)
					for _, f := range story.faults {
						h.AWS.World.AddFault(f)
					}
					h.Deploy("web", 2, "3", "4Gi")
					began := time.Now()
					h.Pass(9 * time.Minute)
					early := price(h)
					told := waitingSaid(h, "times the usual")
					h.Running(10*time.Hour, "web", 2)
					h.T.Logf("guard %s: %s running after %s for $%.4f/h; after 9 minutes $%.4f/h; said %q", guard, story.name, time.Since(began), float64(price(h))/1e6, float64(early)/1e6, told)
					if guard != "5" {
						return
					}
					if waits := early == 0; waits != story.waits || waits != (told != "") {
						h.T.Errorf("after 9 minutes it costs %d, and the pods were told %q; they are to wait: %v", early, told, story.waits)
					}
				})
			})
		}
	}
}

// withMetal are types in all sizes, the largest of bare metal.
func withMetal(o *world.Options) {
	many(o)
	o.Types = append(o.Types, "c6i.metal", "m6i.metal", "r6i.metal")
}

// waitingSaid is what a pod was told that has some words in it.
func waitingSaid(h *simcluster.Cluster, words string) string {
	h.T.Helper()
	var events corev1.EventList
	if err := h.Client.List(h.T.Context(), &events); err != nil {
		h.T.Fatal(err)
	}
	for _, e := range events.Items {
		if e.InvolvedObject.Kind == "Pod" && strings.Contains(e.Message, words) {
			return fmt.Sprint(e.Reason, ": ", e.Message)
		}
	}
	return ""
}
