package simcluster_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// An organization may allow only some instance types. Where NodePools ask for these, classes are ready from the start and pods run.
func TestNodesAreLaunchedWhereAPolicyAllowsOnlyWhatNodePoolsAskFor(t *testing.T) {
	allow := func(o *world.Options) { o.Types = []string{"m5.large", "m6g.large", "m6i.large", "m6i.xlarge"} }
	simcluster.Run(t, simcluster.Options{World: allow}, func(h *simcluster.Cluster) {
		for _, operation := range []string{"CreateFleet", "RunInstances"} {
			for _, forbidden := range []string{"m5.large", "m6g.large"} {
				h.AWS.World.AddFault(world.Fault{Kind: world.FaultError, Service: "ec2", Operation: operation, Resource: forbidden, Code: "UnauthorizedOperation", Status: 403,
					Message: "You are not authorized to perform this operation: explicit deny in a service control policy."})
			}
		}
		h.Apply(strings.Replace(onDemand, "requirements:\n", "requirements:\n      - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m6i]}\n", 1))
		h.Deploy("web", 2, "1", "1Gi")
		h.Running(5*time.Minute, "web", 2)
	})
}
