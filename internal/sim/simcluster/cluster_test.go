package simcluster_test

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// all is what make test-all sets: without it the dearest stories are left out.
var all = flag.Bool("all", false, "play also what takes long")

// long leaves a story out that takes long and of which a shorter one shows the most.
func long(t *testing.T) {
	t.Helper()
	if !*all {
		t.Skip("takes long; make test-all plays it: go test ./internal/sim/simcluster -args -all")
	}
}

// few are the types of most clusters here: a cluster is made faster the fewer it has to know.
func few(o *world.Options) {
	o.Types = []string{"c6i.large", "c6i.2xlarge", "c6i.8xlarge", "m6i.large", "m6i.2xlarge", "m6i.8xlarge", "r6i.large", "r6i.2xlarge"}
}

func TestPodsGetInstancesAndInstancesGoWithThem(t *testing.T) {
	simcluster.Run(t, simcluster.Options{World: few}, func(h *simcluster.Cluster) {
		began := time.Now()
		h.Apply(simcluster.Defaults)
		h.Deploy("web", 20, "1", "1Gi")
		h.Running(time.Minute, "web", 20)
		if n, m := len(h.Nodes()), len(h.Instances()); n == 0 || n != m {
			h.T.Errorf("%d nodes on %d instances", n, m)
		}
		h.Scale("web", 0)
		h.Eventually(5*time.Minute, "all gone", func() (bool, string) {
			claims, nodes, instances := len(h.Claims()), len(h.Nodes()), len(h.Instances())
			return claims+nodes+instances == 0, fmt.Sprintf("%d claims, %d nodes, %d instances", claims, nodes, instances)
		})
		h.Pass(time.Hour - time.Since(began))
		if n := len(h.Instances()); n != 0 {
			h.T.Errorf("%d instances were launched for nobody in a quiet hour", n)
		}
	})
}

func TestASpotInstanceIsEmptyBeforeItIsTakenBack(t *testing.T) {
	simcluster.Run(t, simcluster.Options{World: few}, func(h *simcluster.Cluster) {
		h.Apply(simcluster.Defaults)
		h.Deploy("web", 4, "1", "1Gi")
		h.Running(time.Minute, "web", 4)
		victim := h.Instances()[0]
		if err := h.AWS.Bus.Interrupt(victim.ID, 2*time.Minute); err != nil {
			h.T.Fatal(err)
		}
		h.Eventually(2*time.Minute, "the instance is given back", func() (bool, string) {
			i, ok := h.AWS.World.Instance(victim.ID)
			return !ok || i.State == world.StateTerminated || i.State == world.StateShuttingDown, string(i.State)
		})
		if i, ok := h.AWS.World.Instance(victim.ID); ok && i.StateReasonCode == "Server.SpotInstanceTermination" {
			h.T.Error("the instance was taken, not given back")
		}
		h.Running(2*time.Minute, "web", 4)
	})
}

func TestTheNextLeaderGoesOnWhereOneWasKilled(t *testing.T) {
	simcluster.Run(t, simcluster.Options{World: few}, func(h *simcluster.Cluster) {
		h.Apply(simcluster.Defaults)
		h.Deploy("web", 20, "1", "1Gi")
		h.Eventually(time.Minute, "an instance is launched", func() (bool, string) { return len(h.Instances()) > 0, "" })
		h.Controller().Kill()
		<-h.Controller().Done()
		writes := writes(h)
		h.StartController()
		h.Running(2*time.Minute, "web", 20)
		if n, m := len(h.Claims()), len(h.AWS.World.AllInstances()); n != m {
			h.T.Errorf("%d instances were launched for %d claims", m, n)
		}
		if writes == 0 {
			h.T.Error("the first life wrote nothing")
		}
	})
}

func TestWhatIsDeadWritesNothing(t *testing.T) {
	simcluster.Run(t, simcluster.Options{World: few}, func(h *simcluster.Cluster) {
		h.Apply(simcluster.Defaults)
		h.Pass(time.Minute)
		h.Controller().Kill()
		before, calls := writes(h), awsCalls(h)
		h.Deploy("web", 4, "1", "1Gi")
		h.Pass(10 * time.Minute)
		if n := len(h.Claims()); n != 0 {
			h.T.Errorf("a dead controller made %d nodeclaims", n)
		}
		if now := writes(h); now != before {
			h.T.Errorf("a dead controller wrote %d times", now-before)
		}
		if now := awsCalls(h); now != calls {
			h.T.Errorf("a dead controller called AWS %d times", now-calls)
		}
	})
}

func TestANodeWhoseClaimIsGoneGoes(t *testing.T) {
	simcluster.Run(t, simcluster.Options{World: few}, func(h *simcluster.Cluster) {
		h.Apply(simcluster.Defaults)
		h.Deploy("web", 1, "1", "1Gi")
		h.Running(time.Minute, "web", 1)
		claim := h.Claims()[0]
		stored := claim.DeepCopy()
		claim.Finalizers = nil
		if err := h.Client.Patch(h.T.Context(), &claim, client.MergeFrom(stored)); err != nil {
			h.T.Fatal(err)
		}
		if err := h.Client.Delete(h.T.Context(), &claim); err != nil {
			h.T.Fatal(err)
		}
		h.Eventually(5*time.Minute, "the node and its instance are gone", func() (bool, string) {
			for _, n := range h.Nodes() {
				if n.Name == claim.Status.NodeName {
					return false, fmt.Sprint(n.Finalizers, n.DeletionTimestamp)
				}
			}
			i, ok := h.AWS.World.Instance(claim.Status.ProviderID[len(claim.Status.ProviderID)-19:])
			return !ok || i.State == world.StateTerminated, string(i.State)
		})
		h.Running(5*time.Minute, "web", 1)
	})
}

// awsCalls counts all calls but the long polls, one of which was on its way when the process died.
func awsCalls(h *simcluster.Cluster) int {
	return len(h.AWS.World.Calls("")) - len(h.AWS.World.Calls("ReceiveMessage"))
}

// writes counts what only the controller writes.
func writes(h *simcluster.Cluster) int {
	n := 0
	for what, count := range h.API.Requests() {
		switch what {
		case "create nodeclaims", "update leases", "create leases", "patch nodeclaims", "patch nodeclaims/status", "patch nodepools/status", "patch ec2nodeclasses/status", "create events", "patch events":
			n += count
		}
	}
	return n
}
