package lifecycle

import (
	"context"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// firstLookup and longestLookup bound the pause between two questions for the partition of an instance.
const firstLookup, longestLookup = time.Second, 30 * time.Second

// placed makes sure, before a node is given its claim's labels, that the claim says in which partition of its placement group
// the instance really stands: pods are spread by that label, and it never changes. It is false while that is not known. Only
// instances that are to stand in a partition are looked at.
func (c *Controller) placed(ctx context.Context, claim *karpv1.NodeClaim) bool {
	if claim.Labels[awsv1.LabelPlacementGroupPartition] == "" || claim.Labels[awsv1.LabelPlacementGroupID] == "" {
		return true
	}
	m := c.remember(claim)
	if c.Clock.Now().Before(m.lookupAt) {
		return false
	}
	instance, err := c.lookUp(ctx, claim)
	switch {
	case err != nil:
		c.Log.Warn("the partition of an instance could not be looked up; its node waits, and it is looked up again", append(story.Of(claim), "nodeclaim", claim.Name, "error", err)...)
	case instance.PlacementGroup == "": // it stands in none; the labels are the NodePool's own
		return true
	case instance.Partition != 0:
		claim.Labels[awsv1.LabelPlacementGroupPartition] = catalog.PartitionLabel(instance.Partition)
		return true
	}
	m.lookupAt = c.Clock.Now().Add(min(longestLookup, firstLookup<<min(m.lookups, 5)))
	m.lookups++
	return false
}

// lookupDue is how long it is until the partition of a claim's instance is asked for again; false when it is not awaited.
func (c *Controller) lookupDue(claim *karpv1.NodeClaim) (time.Duration, bool) {
	m := c.remember(claim)
	if m.lookups == 0 || claim.StatusConditions().IsTrue(karpv1.ConditionTypeRegistered) {
		return 0, false
	}
	return max(m.lookupAt.Sub(c.Clock.Now()), time.Millisecond), true
}
