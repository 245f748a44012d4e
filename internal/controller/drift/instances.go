package drift

import (
	"context"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// sweep is how often instances are looked through for changes that were made outside of Kerf. The list is the one that
// others ask for anyway, so that looking costs no call.
const sweep = 30 * time.Second

// stale is how old the list may be.
const stale = 3 * time.Minute

// Instances lists instances, from an inventory that is shared, and reads single ones past it.
type Instances interface {
	Get(ctx context.Context, providerID string) (*cloud.Instance, error)
	List(ctx context.Context, maxAge time.Duration) ([]*cloud.Instance, error)
}

// instances remembers what instances last looked like, by provider ID.
type instances struct {
	mu   sync.Mutex
	seen map[string]*cloud.Instance
}

func (m *instances) of(claim *karpv1.NodeClaim) *cloud.Instance {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen[claim.Status.ProviderID]
}

// update takes a new list and returns those that are new or that were moved to other groups since the one before.
func (m *instances) update(list []*cloud.Instance) (changed []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := make(map[string]*cloud.Instance, len(list))
	for _, now := range list {
		was := m.seen[now.ProviderID]
		if was == nil || was.SubnetID != now.SubnetID || !slices.Equal(was.SecurityGroups, now.SecurityGroups) || lives(was) != lives(now) {
			changed = append(changed, now.ProviderID)
		}
		seen[now.ProviderID] = now
	}
	m.seen = seen
	return changed
}

// NeedLeaderElection makes the manager look through instances on the leader only.
func (c *Controller) NeedLeaderElection() bool { return true }

// Start looks through the instances until ctx ends.
func (c *Controller) Start(ctx context.Context) error {
	for {
		if err := c.Metrics.Recover(c.Log, "nodeclaim.drift", func() error { return c.look(ctx) }); err != nil && ctx.Err() == nil {
			c.Log.Error("looking through instances for drift failed; it is tried again", "error", err, "retry_in", sweep)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.Clock.After(sweep):
		}
	}
}

// look has the claims compared again whose instances changed. What it does not come to is due the next time.
func (c *Controller) look(ctx context.Context) error {
	list, err := c.Instances.List(ctx, stale)
	if err != nil {
		return err
	}
	c.due = append(c.due, c.instances.update(list)...)
	for ; len(c.due) > 0; c.due = c.due[1:] {
		id := c.due[0]
		var claims karpv1.NodeClaimList
		if err := c.Client.List(ctx, &claims, client.MatchingFields{index.ClaimProviderID: id}); err != nil {
			return err
		}
		for i := range claims.Items {
			if !c.again(ctx, &claims.Items[i]) {
				return nil
			}
		}
	}
	return c.lookAtOffers(ctx)
}

// again has a claim compared again; false if ctx has ended.
func (c *Controller) again(ctx context.Context, claim *karpv1.NodeClaim) bool {
	select {
	case c.moved <- event.TypedGenericEvent[client.Object]{Object: claim}:
		return true
	case <-ctx.Done():
		return false
	}
}
