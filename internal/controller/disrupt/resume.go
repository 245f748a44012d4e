package disrupt

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// stale is the age at which a former leader's decision on where pods fit is not believed any more. One that waited for replacements is
// as long as it would have waited; after that others have filled them, and budgets may forbid what they allowed then.
const stale = time.Minute

// resume takes over what a former leader had begun. A command whose replacements are all there goes on; one that died
// before is taken back, and so is one that another controller has taken back in between. Marks that belong to no command are
// left for the sweep.
func (q *Queue) resume(ctx context.Context) error {
	var nodes corev1.NodeList
	if err := q.APIReader.List(ctx, &nodes); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	var claims karpv1.NodeClaimList
	if err := q.APIReader.List(ctx, &claims); err != nil {
		return fmt.Errorf("listing nodeclaims: %w", err)
	}
	byID := managed(&claims)
	replacements := map[string][]string{}
	for i := range claims.Items {
		c := &claims.Items[i]
		if id := c.Annotations[index.CommandAnnotation]; id != "" && index.Managed(c) {
			replacements[id] = append(replacements[id], c.Name)
		}
	}
	found := map[string]*execution{}
	for i := range nodes.Items {
		node := &nodes.Items[i]
		if intake.Leaving(node) {
			q.adopt(found, node, byID[node.Spec.ProviderID])
		}
	}
	q.takeOver(ctx, found, replacements)
	return nil
}

// adopt adds a marked node to the command that it is part of. A mark that does not say how to go on is left for the sweep.
func (q *Queue) adopt(found map[string]*execution, node *corev1.Node, claim *karpv1.NodeClaim) {
	o, ok := readOrder(node)
	id := node.Annotations[index.CommandAnnotation]
	if !ok || id == "" || claim == nil {
		return
	}
	f := found[id]
	if f == nil {
		o.ForeignTaint = false // it is read from each node again
		f = &execution{order: o, moves: map[string]int{}, Command: Command{
			ID: id, Cause: karpv1.DisruptionReason(node.Annotations[intake.DisruptingAnnotation]), Policy: o.Policy,
			Why: "taken over from a former leader",
		}}
		found[id] = f
	}
	if c := claim.StatusConditions().Get(karpv1.ConditionTypeDisruptionReason); c.IsTrue() && c.Message != "" {
		f.Why = c.Message
	}
	g := Going{
		Node: node.Name, Claim: claim.Name, Pool: node.Labels[karpv1.NodePoolLabelKey], InstanceType: node.Labels[corev1.LabelInstanceTypeStable],
		CapacityType: node.Labels[karpv1.CapacityTypeLabelKey],
	}
	if f.failed == "" && !hasTaint(node) {
		// The mark and the taint are written as one. Karpenter takes the taint off when it starts, and leaves the mark: since
		// then the node has been anybody's.
		f.failed = "another controller took the taint off " + node.Name
	}
	f.going = f.going || !claim.DeletionTimestamp.IsZero()
	f.Nodes, f.all = append(f.Nodes, g), append(f.all, g)
}

// takeOver lets commands be started, and goes on with those that were found. None goes on before all can: what fails on the way,
// and be it by a panic, is tried again as a whole.
func (q *Queue) takeOver(ctx context.Context, found map[string]*execution, replacements map[string][]string) {
	executions, awaited := map[string]*execution{}, map[string]bool{}
	ids := slices.Sorted(maps.Keys(found))
	for _, id := range ids {
		f := found[id]
		f.claims = slices.Sorted(slices.Values(replacements[id]))
		for _, g := range f.Nodes {
			executions[g.Claim] = f
		}
		for _, name := range f.claims {
			awaited[name] = true
		}
		switch {
		case f.failed != "":
		case len(f.claims) != f.order.Replacements:
			f.failed = fmt.Sprintf("the former leader ended when %d of %d replacements were there", len(f.claims), f.order.Replacements)
		case len(f.claims) == 0 && f.Cause != karpv1.DisruptionReasonEmpty && q.Clock.Since(f.order.Begun) > stale,
			!f.going && q.Clock.Since(f.order.Begun) > patience:
			f.failed = "it was decided too long ago"
		}
		f.takenOver, f.said = true, true
		// Where that fails, step does it before any pods leave.
		_ = q.Metrics.Recover(q.Log, "disruption.queue", func() error { q.reserve(f); return nil })
		q.Log.Info("took over a disruption", "command-id", f.ID, "reason", f.Cause, "what", f.Command.String(), "replacements", f.claims, "taken_back", f.failed)
	}
	q.mu.Lock()
	q.ctx, q.executions, q.awaited = ctx, executions, awaited
	q.mu.Unlock()
	for _, id := range ids {
		q.execute(found[id])
	}
}
