package disrupt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// sweepEvery is how often marks and replacements are looked for that no command stands behind.
const sweepEvery = time.Minute

// sweep takes off marks that no command stands behind: one that does not say how to go on, the reason on a claim whose node bears
// no mark, with the taint that came with it, or a write of the former leader that came after this one had looked. They must have
// been there at the sweep before, by their nodes' names: a command that has just ended leaves its marks to nodes whose deletion
// may not show yet. Replacements that no command waits for are given
// back in the same way, as far as nothing can have reached them: one came to exist after its creation had seemed to fail, or
// after the leader that asked for it had ended. It returns what to look at next time.
func (q *Queue) sweep(ctx context.Context, before map[string]bool) (map[string]bool, error) {
	var nodes corev1.NodeList
	var claims karpv1.NodeClaimList
	// They are only read here: what is written is read anew.
	if err := errors.Join(q.Client.List(ctx, &nodes, client.UnsafeDisableDeepCopy), q.Client.List(ctx, &claims, client.UnsafeDisableDeepCopy)); err != nil {
		return before, fmt.Errorf("listing nodes and nodeclaims: %w", err)
	}
	byID := managed(&claims)
	found := map[string]bool{}
	var errs []error
	for i := range nodes.Items {
		node := &nodes.Items[i]
		claim := byID[node.Spec.ProviderID]
		if claim != nil && (!claim.DeletionTimestamp.IsZero() || q.Busy(claim.Name)) || !intake.Leaving(node) && !(node.DeletionTimestamp.IsZero() && bearsReason(claim)) {
			continue
		}
		if found[node.Name] = true; before[node.Name] {
			errs = append(errs, q.clear(ctx, node, claim))
		}
	}
	for i := range claims.Items {
		c := &claims.Items[i]
		id := c.Annotations[index.CommandAnnotation]
		if id == "" || !index.Managed(c) || !c.DeletionTimestamp.IsZero() || c.StatusConditions().IsTrue(karpv1.ConditionTypeRegistered) || q.Awaited(c.Name) || q.underWay(id) {
			continue
		}
		key := stray + c.Name
		if found[key] = true; before[key] {
			errs = append(errs, q.giveBack(ctx, c.Name))
		}
	}
	return found, errors.Join(errs...)
}

// stray comes before the name of a replacement among the names of nodes; no name of an object has a slash.
const stray = "replacement/"

// underWay reports whether the command of an ID is.
func (q *Queue) underWay(id string) bool {
	return slices.ContainsFunc(q.UnderWay(), func(c Command) bool { return c.ID == id })
}

// clear takes off what a node and its claim bear. Where the node says nothing of it, another controller, or an earlier release, had
// begun and forgot.
func (q *Queue) clear(ctx context.Context, node *corev1.Node, claim *karpv1.NodeClaim) error {
	q.Log.Info("taking off a mark that no disruption stands behind", "node", node.Name, "command-id", node.Annotations[index.CommandAnnotation])
	g := Going{Node: node.Name}
	if claim != nil {
		g.Claim = claim.Name
	}
	return q.unmark(ctx, index.CommandOf(node), g)
}

// managed are the claims that are Kerf's, by provider ID.
func managed(claims *karpv1.NodeClaimList) map[string]*karpv1.NodeClaim {
	out := map[string]*karpv1.NodeClaim{}
	for i := range claims.Items {
		if c := &claims.Items[i]; index.Managed(c) && c.Status.ProviderID != "" {
			out[c.Status.ProviderID] = c
		}
	}
	return out
}

// bearsReason reports whether a claim bears the reason of a disruption.
func bearsReason(claim *karpv1.NodeClaim) bool {
	return claim != nil && claim.StatusConditions().IsTrue(karpv1.ConditionTypeDisruptionReason)
}
