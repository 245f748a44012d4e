package e2e

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/local"
)

// Pods that are not alike have to go where they were planned, or some find no room. Nominating them takes seconds here, as it does with
// a busy API server or many more pods: nodes must not take any before.
//
// It is not parallel: beside other clusters one write can take so long (10 s) that the controller rightly gives nominations up for a
// minute, and a scheduler that is seconds behind makes what is seen here say little. Programs beside it do the same, so that it is played up to
// three times: 80 to 99 of 100 are as planned (docs/decisions/0006), 53 to 65 beside other tests on two cores, and 42 to 57 where nodes do
// not wait.
func TestABurstLandsAsPlannedThoughNominationsTakeLong(t *testing.T) {
	const tries, least, enough = 3, 60, 100 // of 100 that were planned, and of all 200
	for n := range tries {
		there, elsewhere := 0, 0
		t.Run(strconv.Itoa(n+1), func(t *testing.T) { there, elsewhere = burst(t) })
		if t.Failed() || there >= enough && 100*there >= least*(there+elsewhere) {
			return
		}
	}
	t.Errorf("less than %d pods, or than %d %% of those that were planned, are where the plan had them, %d times", enough, least, tries)
}

// burst starts pods of ten sizes at once, and counts those that are where the plan had them, and those that are elsewhere.
func burst(t *testing.T) (there, elsewhere int) {
	t.Helper()
	e := up(t, func(o *local.Options) {
		o.ControllerEnv = append(o.ControllerEnv, "KUBE_CLIENT_QPS=40", "KUBE_CLIENT_BURST=40")
	})
	e.apply(poolYAML)
	e.ready("default")
	const each = 20
	sizes := []struct{ cpu, memory string }{
		{"100m", "256Mi"}, {"250m", "512Mi"}, {"250m", "2Gi"}, {"500m", "1Gi"}, {"500m", "512Mi"}, {"500m", "4Gi"}, {"1", "2Gi"}, {"1", "1Gi"}, {"1500m", "4Gi"}, {"2", "8Gi"},
	}
	manifests := ""
	for i, s := range sizes {
		manifests += deployment(fmt.Sprintf("size-%d", i), each, s.cpu, s.memory, "")
	}
	e.apply(manifests)
	e.running(5*time.Minute, "default", each*len(sizes))
	placed := func(asPlanned bool) int {
		n, _ := strconv.Atoi(e.metrics()[fmt.Sprintf(`kerf_pods_placed_total{as_planned="%v",decision="provisioning"}`, asPlanned)]) // absent is none
		return n
	}
	there, elsewhere = placed(true), placed(false)
	t.Logf("%d of %d planned pods are where the plan had them, on %d nodes", there, there+elsewhere, len(e.nodes()))
	return there, elsewhere
}
