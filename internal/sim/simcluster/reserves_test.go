package simcluster_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// An image, or user data, may reserve more than the node class says. The first node for a pod that fits to the last is too small, which
// nobody could know. Another one of that type, or of one like it, would be, too, and the pod would wait while nodes come and go.
func TestNodesThatReserveMoreThanTheirClassSaysAreLaunchedOnce(t *testing.T) {
	for name, tt := range map[string]struct{ reserved, cpu, memory string }{
		"memory": {"{memory: 3Gi}", "100m", "12Gi"},
		"cpu":    {`{cpu: "1"}`, "3500m", "1Gi"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			simcluster.Run(t, simcluster.Options{}, func(h *simcluster.Cluster) {
				h.Apply(strings.Replace(simcluster.Defaults, "  role:", `  userData: |
    apiVersion: node.eks.aws/v1alpha1
    kind: NodeConfig
    spec: {kubelet: {config: {systemReserved: `+tt.reserved+`}}}
  role:`, 1))
				h.Deploy("web", 1, tt.cpu, tt.memory)
				h.Running(5*time.Minute, "web", 1)
				var types []string
				for _, i := range h.AWS.World.Instances() {
					types = append(types, i.Type)
				}
				if len(types) > 2 {
					h.T.Errorf("launched were %s; the second should have held the pod", strings.Join(types, ", "))
				}
			})
		})
	}
}
