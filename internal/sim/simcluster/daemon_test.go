package simcluster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// A DaemonSet that is added to full nodes waits there, and its pods say why and what will become of them.
func TestADaemonSetThatFindsItsNodeFullIsTold(t *testing.T) {
	simcluster.Run(t, simcluster.Options{World: few}, func(h *simcluster.Cluster) {
		h.Apply(strings.Replace(onDemand, "consolidateAfter: 30s", "consolidateAfter: Never", 1))
		h.Deploy("web", 7, "1", "1Gi")
		h.Running(2*time.Minute, "web", 7)
		h.Apply(`
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: log, namespace: default}
spec:
  selector: {matchLabels: {app: log}}
  template:
    metadata: {labels: {app: log}}
    spec:
      containers:
      - {name: main, image: none, resources: {requests: {cpu: "1500m", memory: 64Mi}}}
`)
		told := func() (out []string) {
			for _, e := range events(h, "Pod", "FailedScheduling") {
				if strings.Contains(e, "DaemonSet log can run on node") && strings.Contains(e, "it asks for 1.5 of cpu") {
					out = append(out, e)
				}
			}
			return out
		}
		h.Eventually(time.Minute, "it is told", func() (bool, string) { return len(told()) > 0, fmt.Sprint(events(h, "Pod", "FailedScheduling")) })
		h.Pass(4 * time.Minute)
		if n := len(h.Nodes()); n != 1 {
			h.T.Errorf("%d nodes: something was launched for a pod that can't run there", n)
		}
		if all := told(); len(all) != 1 {
			h.T.Errorf("told %d times in four minutes: %q", len(all), all)
		}
		// It starts once pods leave.
		h.Scale("web", 5)
		h.Running(2*time.Minute, "log", 1)
	})
}
