package witness

import (
	"context"
	"slices"
	"strings"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/endurance/invariant"
)

// often is how often the simulated account is looked at.
const often = 500 * time.Millisecond

// AWS tells of the cluster's instances until ctx ends.
func AWS(ctx context.Context, w *world.World, cluster string, see func(invariant.Event)) {
	known := map[string]invariant.Instance{}
	for {
		Instances(w, cluster, func(i invariant.Instance) {
			if known[i.ID] != i {
				known[i.ID] = i
				see(invariant.Event{At: time.Now(), Instance: &i})
			}
		})
		select {
		case <-ctx.Done():
			return
		case <-time.After(often):
		}
	}
}

// Instances are those that bear the cluster's name, ended ones too while EC2 still shows them.
func Instances(w *world.World, cluster string, each func(invariant.Instance)) {
	var all []invariant.Instance
	w.EachInstance(func(i world.Instance) {
		if i.Tags[awsv1.TagEKSCluster] == cluster {
			all = append(all, invariant.Instance{ID: i.ID, State: string(i.State), Claim: i.Tags[awsv1.TagNodeClaim], PriceMicroUSD: i.PriceMicroUSD})
		}
	})
	slices.SortFunc(all, func(a, b invariant.Instance) int { return strings.Compare(a.ID, b.ID) })
	for _, i := range all {
		each(i)
	}
}
