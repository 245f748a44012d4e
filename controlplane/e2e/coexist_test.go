package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/local"
)

// TestTwoClustersOfOneName lets two clusters that share a name launch instances in one account. Neither may take the other's
// instances for garbage, and both say that there is something wrong.
func TestTwoClustersOfOneName(t *testing.T) {
	t.Parallel()
	e := up(t)
	other := up(t, func(o *local.Options) { o.NoController = true })
	r := other.replicate(other.environment(append(e.cluster.Simulator.EnvFor(e.cluster.ControllerKey()), "CLUSTER_ENDPOINT="+other.cluster.Kube.Server)...))
	for _, cluster := range []*env{e, other} {
		cluster.apply(poolYAML)
		cluster.apply(deployment("web", 2, "1", "1Gi", "      "+apart("web")+"\n"))
	}
	e.running(60*time.Second, "default", 2)
	// The simulated instances can only join the first cluster; those of the second one are waited for until the end.
	var theirs []karpv1.NodeClaim
	other.eventually(60*time.Second, "the second cluster has two instances", func() (bool, string) {
		theirs = other.claims()
		n := 0
		for _, c := range theirs {
			if c.Status.ProviderID != "" {
				n++
			}
		}
		return n == 2, fmt.Sprintf("%d launched; %s", n, r.text())
	})
	uids := map[string]int{}
	for _, i := range e.instances() {
		uids[i.Tags[awsv1.TagClusterUID]]++
	}
	if a, b := e.clusterUID(), other.clusterUID(); uids[a] != 2 || uids[b] != 2 || a == b {
		t.Fatalf("instances by cluster: %v, want two each of %s and %s", uids, a, b)
	}
	// Each cluster gets an orphan that is certainly its own. When it is gone, instances without a claim have been looked at
	// for longer than the grace period, those of the other cluster included.
	orphans := map[string]string{}
	for name, cluster := range map[string]*env{"first": e, "second": other} {
		orphans[name] = e.launch(map[string]string{
			awsv1.TagNodePool: "default", awsv1.TagNodeClass: "default", awsv1.TagEKSCluster: e.cluster.Name, awsv1.TagClusterUID: cluster.clusterUID(),
			awsv1.TagClusterPrefix + e.cluster.Name: awsv1.TagClusterOwned,
		})
	}
	e.eventually(85*time.Second, "each cluster ends its own orphan", func() (bool, string) {
		alive := 0
		for _, id := range orphans {
			if i, ok := e.cluster.Simulator.World.Instance(id); ok && (i.State == "pending" || i.State == "running") {
				alive++
			}
		}
		return alive == 0, fmt.Sprintf("%d live", alive)
	})
	alive := map[string]bool{}
	for _, i := range e.instances() {
		alive["aws:///"+i.Zone+"/"+i.ID] = i.State == "running"
	}
	for _, c := range append(e.claims(), theirs...) {
		if !alive[c.Status.ProviderID] {
			t.Errorf("instance %s of nodeclaim %s does not run any more", c.Status.ProviderID, c.Name)
		}
	}
	if n := e.metric("kerf_foreign_instances"); n < 2 {
		t.Errorf("the first cluster counts %v foreign instances, want 2", n)
	}
	e.logged(time.Second, "CLUSTER_NAME", other.clusterUID())
	if !strings.Contains(r.text(), e.clusterUID()) {
		t.Errorf("the second controller does not name the first cluster:\n%s", r.text())
	}
}
