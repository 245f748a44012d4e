package simcluster_test

import (
	"fmt"
	"testing"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

func TestANodeClaimSaysThatItsInstanceBearsItsTags(t *testing.T) {
	simcluster.Run(t, simcluster.Options{World: few}, func(h *simcluster.Cluster) {
		h.Apply(onDemand)
		h.Deploy("web", 1, "1", "1Gi")
		h.Running(2*time.Minute, "web", 1)
		h.Eventually(time.Minute, "the claim says so", func() (bool, string) {
			a := h.Claims()[0].Annotations
			return a[awsv1.AnnotationInstanceTagged] == "true" && a[awsv1.AnnotationClusterNameTaggedCompatibility] == "true", fmt.Sprint(a)
		})
		tags := h.Instances()[0].Tags
		if tags[awsv1.TagEKSCluster] != simcluster.ClusterName || tags[awsv1.TagName] != h.Nodes()[0].Name || tags[awsv1.TagNodeClaim] != h.Claims()[0].Name {
			h.T.Errorf("the instance has the tags %v", tags)
		}
	})
}
