package simcluster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/sim/simcluster"
	"github.com/kerf-sh/kerf/internal/sim/simcluster/actors"
)

// Twelve spot instances that are half empty could be two. With the feature gate they become few. Without it they stay, and
// what that costs is said.
func TestSpotFragmentsBecomeFewOrSayWhy(t *testing.T) {
	spot := strings.Replace(simcluster.Defaults, "[spot, on-demand]", "[spot]", 1)
	for gate, few := range map[string]int{"true": 4, "false": 12} {
		t.Run("SpotToSpotConsolidation="+gate, func(t *testing.T) {
			simcluster.Run(t, simcluster.Options{World: many, Env: map[string]string{"FEATURE_GATES": "SpotToSpotConsolidation=" + gate}}, func(h *simcluster.Cluster) {
				h.Apply(strings.Replace(spot, "consolidateAfter: 30s", "consolidateAfter: 1h", 1))
				for i := range 12 {
					app := fmt.Sprint("app-", i)
					h.Deploy(app, 1, "1", "1Gi")
					h.Running(2*time.Minute, app, 1)
				}
				before := price(h)
				if n := len(h.Instances()); n != 12 {
					h.T.Fatalf("%d instances; the story wants twelve", n)
				}
				h.Apply(spot)
				h.Pass(2 * time.Hour)
				h.Running(time.Minute, "", 12)
				if n := len(h.Instances()); n > few {
					h.T.Errorf("%d instances after two hours, want at most %d", n, few)
				}
				held := blocked(h, "SpotToSpotOff")
				if gate == "true" {
					if held != 0 || price(h) > before*3/4 {
						h.T.Errorf("%f is held back by the gate, and the bill went from %d to %d", held, before, price(h))
					}
					return
				}
				if held < float64(before)/4e6 {
					h.T.Errorf("%f is held back by the gate, of a bill of %f", held, float64(before)/1e6)
				}
				told := 0
				var events corev1.EventList
				if err := h.Client.List(h.T.Context(), &events); err != nil {
					h.T.Fatal(err)
				}
				for _, e := range events.Items {
					if e.Reason == "Unconsolidatable" && e.InvolvedObject.Kind == "Node" && strings.Contains(e.Message, " would save $") && strings.Contains(e.Message, "SpotToSpotConsolidation is off") {
						told++
					}
				}
				if told < 12 {
					h.T.Errorf("%d events name the gate and what it holds back, want one on each of 12 nodes", told)
				}
			})
		})
	}
}

// blocked is what would be saved per hour but for a reason, by the controller's metrics.
func blocked(h *simcluster.Cluster, reason string) float64 {
	h.T.Helper()
	families, err := h.Controller().Metrics.Gather()
	if err != nil {
		h.T.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "kerf_disruption_blocked_savings_dollars" {
			continue
		}
		for _, m := range f.GetMetric() {
			if m.GetLabel()[0].GetValue() == reason {
				return m.GetGauge().GetValue()
			}
		}
	}
	return 0
}

// The pods of a node that somebody deletes come back one after the other, and are decided on together all the same.
func TestADeletedNodeIsReplacedByOne(t *testing.T) {
	slow := actors.Options{Between: func() time.Duration { return 200 * time.Millisecond }}
	simcluster.Run(t, simcluster.Options{Actors: slow}, func(h *simcluster.Cluster) {
		h.Apply(strings.NewReplacer("[amd64]", "[amd64, arm64]", "consolidateAfter: 30s", "consolidateAfter: Never").Replace(simcluster.Defaults))
		h.Pass(time.Minute)
		h.Deploy("web", 3, "1", "1Gi")
		h.Running(2*time.Minute, "web", 3)
		h.Pass(time.Minute)
		before := price(h)
		claims := h.Claims()
		if len(claims) != 1 {
			h.T.Fatalf("three pods that came 0.2 s apart have %d nodes", len(claims))
		}
		if err := h.Client.Delete(h.T.Context(), &claims[0]); err != nil {
			h.T.Fatal(err)
		}
		h.Pass(5 * time.Minute)
		h.Running(time.Minute, "web", 3)
		if n := len(h.Instances()); n != 1 || price(h) > before {
			h.T.Errorf("%d instances at %d, and before 1 at %d", n, price(h), before)
		}
	})
}
