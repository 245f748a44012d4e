package virtual

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// collectEvery is how often owners are looked for once a nodepool has gone.
const collectEvery = 15 * time.Second

// collect deletes nodeclaims whose nodepool is gone until ctx ends, as the garbage collector of Kubernetes does.
func collect(ctx context.Context, c client.WithWatch) {
	for !poolGone(ctx, c) {
		if ctx.Err() != nil {
			return
		}
	}
	// From now on a claim without a pool may also be one that was made late.
	for ctx.Err() == nil {
		var pools karpv1.NodePoolList
		var claims karpv1.NodeClaimList
		// The claims are read first: a claim that is made in between has its pool.
		if c.List(ctx, &claims) == nil && c.List(ctx, &pools) == nil {
			there := map[types.UID]bool{}
			for _, p := range pools.Items {
				there[p.UID] = true
			}
			for i := range claims.Items {
				if claim := &claims.Items[i]; orphaned(claim.OwnerReferences, there) && claim.DeletionTimestamp.IsZero() {
					_ = c.Delete(ctx, claim, client.Preconditions{UID: &claim.UID}) // the next round tries again
				}
			}
		}
		pause(ctx)
	}
}

func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(collectEvery):
	}
}

// poolGone waits until a nodepool goes, and says whether it has seen one go before the watch ended.
func poolGone(ctx context.Context, c client.WithWatch) bool {
	w, err := c.Watch(ctx, &karpv1.NodePoolList{})
	if err != nil {
		pause(ctx)
		return false
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case e, ok := <-w.ResultChan():
			switch {
			case !ok:
				return true // one may have gone that this one was not told of
			case e.Type == watch.Deleted:
				return true
			}
		}
	}
}

func orphaned(owners []metav1.OwnerReference, there map[types.UID]bool) bool {
	for _, o := range owners {
		if o.Kind == "NodePool" && there[o.UID] {
			return false
		}
	}
	return len(owners) > 0
}
