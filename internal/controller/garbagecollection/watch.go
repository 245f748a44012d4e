package garbagecollection

import (
	"context"
	"fmt"

	toolscache "k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/index"
)

// Watch follows NodeClaims, so that an instance whose claim somebody has forced away (by taking its finalizer off) is looked
// for ten seconds later, not when the next lazy round comes. A claim that is forced away before its instance was written to
// it looks like one whose launch failed, and is left to that round. To be called before Start.
func (c *Collector) Watch(ctx context.Context, informers crcache.Cache) error {
	informer, err := informers.GetInformer(ctx, &karpv1.NodeClaim{}, crcache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watching nodeclaims that are forced away: %w", err)
	}
	c.forced = make(chan struct{}, 1)
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{DeleteFunc: c.deleted})
	return err
}

// deleted wakes the loop when a claim is gone whose instance Kerf is not known to have ended.
func (c *Collector) deleted(o any) {
	if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	claim, ok := o.(*karpv1.NodeClaim)
	if !ok || !index.Managed(claim) || claim.Status.ProviderID == "" || claim.StatusConditions().IsTrue(karpv1.ConditionTypeInstanceTerminating) {
		return
	}
	select {
	case c.forced <- struct{}{}:
	default: // it is awake
	}
}
