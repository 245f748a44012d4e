package virtual

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// collectEvery is how often owners are looked for.
const collectEvery = 5 * time.Second

// collect deletes nodeclaims whose nodepool is gone until ctx ends, as the garbage collector of Kubernetes does.
func collect(ctx context.Context, c client.Client) {
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
		select {
		case <-ctx.Done():
		case <-time.After(collectEvery):
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
