package rehearsal

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// underway is what one controller had begun when the other took over: the claims that may be removed, and how many may be
// launched for them.
type underway struct {
	// drifted are claims with the condition, leaving those that are drained already.
	drifted, leaving map[string]bool
	// replacements are claims that were launched for one of the others and that are not initialized yet.
	replacements map[string]bool
	mark         int
}

// lookUnderway finds what is under way now.
func (r *rehearsal) lookUnderway(ctx context.Context) (*underway, error) {
	u := &underway{drifted: map[string]bool{}, leaving: map[string]bool{}, replacements: map[string]bool{}, mark: r.ledger.mark()}
	var claims karpv1.NodeClaimList
	var nodes corev1.NodeList
	if err := r.client.List(ctx, &claims); err != nil {
		return nil, fmt.Errorf("look what is under way: %w", err)
	}
	if err := r.client.List(ctx, &nodes); err != nil {
		return nil, fmt.Errorf("look what is under way: %w", err)
	}
	tainted := map[string]bool{}
	for _, n := range nodes.Items {
		if slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == karpv1.DisruptedTaintKey }) {
			tainted[n.Name] = true
		}
	}
	for i := range claims.Items {
		c := &claims.Items[i]
		conditions := c.StatusConditions()
		switch {
		case c.DeletionTimestamp != nil || tainted[c.Status.NodeName]:
			u.leaving[c.Name] = true
		case conditions.IsTrue(karpv1.ConditionTypeDrifted):
			u.drifted[c.Name] = true
		case !conditions.IsTrue(karpv1.ConditionTypeInitialized):
			u.replacements[c.Name] = true
		}
	}
	return u, nil
}

func (u *underway) String() string {
	return fmt.Sprintf("%d nodes drifted, %d being removed, %d replacements on their way", len(u.drifted), len(u.leaving), len(u.replacements))
}

// may reports whether a claim may be removed.
func (u *underway) may(claim string) bool { return u.drifted[claim] || u.leaving[claim] }

// left are the claims of what was under way that are still there. A removal that was cut short may be taken back; the node of one
// that has drifted is still to be replaced.
func (u *underway) left(ctx context.Context, c client.Client) ([]string, error) {
	var claims karpv1.NodeClaimList
	if err := c.List(ctx, &claims); err != nil {
		return nil, err
	}
	var out []string
	for _, claim := range claims.Items {
		if u.drifted[claim.Name] || claim.DeletionTimestamp != nil || u.leaving[claim.Name] && claim.StatusConditions().IsTrue(karpv1.ConditionTypeDrifted) {
			out = append(out, claim.Name)
		}
	}
	slices.Sort(out)
	return out, nil
}
