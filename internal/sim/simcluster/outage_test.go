package simcluster_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// A controller that starts while EC2 is away drains the nodes that go, and launches once EC2 is back.
func TestAControllerStartsDuringAnOutage(t *testing.T) {
	const outage = 5 * time.Minute
	for name, fault := range map[string]world.Fault{
		"EC2 answers with errors": {Kind: world.FaultError, Service: "ec2", Code: "InternalError", Message: "an internal error has occurred", Status: 500},
		"EC2 is silent":           {Kind: world.FaultSlow, Service: "ec2", Delay: time.Hour},
		"all are silent":          {Kind: world.FaultSlow, Service: "*", Delay: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			log := listen()
			simcluster.Run(t, simcluster.Options{World: few, Log: log}, func(h *simcluster.Cluster) {
				h.Apply(onDemand)
				deployApart(h, "web", 2)
				h.Running(2*time.Minute, "web", 2)
				h.Pass(time.Minute)
				h.StopController()

				away := h.AWS.World.AddFault(fault)
				began := time.Now()
				process := h.StartController()
				nodes, claims := h.Nodes(), h.Claims()
				first := nodes[0]
				remove(h, &first)
				for i := range claims {
					if claims[i].Status.NodeName != first.Name {
						remove(h, &claims[i])
					}
				}
				h.Eventually(time.Minute, "both nodes are drained", func() (bool, string) {
					left := len(on(h, nodes[0].Name)) + len(on(h, nodes[1].Name))
					return left == 0, fmt.Sprintf("%d pods are left", left)
				})
				h.Pass(outage - time.Since(began))
				if n := len(h.Claims()); n < 2 {
					h.T.Errorf("%d NodeClaims: those of instances that could not be ended are gone", n)
				}
				h.AWS.World.RemoveFault(away)
				h.Running(2*time.Minute, "web", 2)
				h.Eventually(5*time.Minute, "what was to go is gone", func() (bool, string) {
					left := 0
					for _, c := range h.Claims() {
						for _, old := range claims {
							if c.UID == old.UID {
								left++
							}
						}
					}
					return left == 0 && len(h.Instances()) == 2, fmt.Sprintf("%d old NodeClaims, %d instances", left, len(h.Instances()))
				})
				select {
				case <-process.Done():
					h.T.Errorf("the controller has ended: %v", process.Err())
				default:
				}
				if len(log.with("AWS does not tell what launches need")) == 0 || len(log.with("launches begin")) == 0 {
					h.T.Error("the log does not say what is waited for")
				}
			})
		})
	}
}
