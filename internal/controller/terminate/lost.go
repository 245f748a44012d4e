package terminate

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/deadline"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// lookUp reads the instance of a node that is not ready. lost is that it is gone: then there is nothing left to drain. The instance is nil
// where it is not asked for, and where the cloud does not say.
func (n *Nodes) lookUp(ctx context.Context, node *corev1.Node) (instance *cloud.Instance, lost bool) {
	if index.Ready(node) || node.Spec.ProviderID == "" {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, prompt)
	defer cancel()
	instance, err := n.Cloud.Get(ctx, node.Spec.ProviderID)
	switch {
	case err == nil:
		return instance, false
	case cloud.IsNotFound(err):
		return nil, true
	}
	// Pods can leave while the cloud can't be asked; the end of the instance asks it again.
	n.Log.Warn("the instance of a node that is not ready could not be read; the node is drained, and the instance is asked for again when it is ended", append(story.OfNode(node), "node", node.Name, "provider_id", node.Spec.ProviderID, "error", err)...)
	return nil, false
}

// halted ends the drain of a node whose instance was stopped or is shutting down by other hands: no pod runs there, and budgets and
// annotations of its pods protect nothing. It reports whether it has written so on the claim.
func (n *Nodes) halted(ctx context.Context, claim *karpv1.NodeClaim, instance *cloud.Instance) (written bool, err error) {
	if claim == nil || instance == nil || claim.StatusConditions().IsTrue(karpv1.ConditionTypeDrained) || claim.StatusConditions().IsTrue(karpv1.ConditionTypeInstanceTerminating) {
		return false, nil
	}
	var event, says string
	switch instance.State {
	case "stopped":
		event, says = events.InstanceStopping, "is stopped"
	case "shutting-down":
		event, says = events.InstanceTerminating, "is being terminated"
	default:
		return false, nil
	}
	now := n.Clock.Now()
	by, err := deadline.Mark(ctx, n.Client, claim, now, now, nil)
	if err != nil || by.IsZero() {
		return false, err
	}
	index.Tell(ctx, n.Client, n.Recorder, claim, corev1.EventTypeWarning, event, fmt.Sprintf("the instance %s, and it was not Kerf that did it: no pod of its node is waited for", says))
	n.Log.InfoContext(ctx, "the instance of a node that drains no longer runs; its pods are not waited for", append(story.Of(claim), "nodeclaim", claim.Name, "provider_id", instance.ProviderID, "state", instance.State)...)
	return true, nil
}

// reportLost says so when an instance is gone that nobody here has ended.
func (n *Nodes) reportLost(node *corev1.Node, claim *karpv1.NodeClaim) {
	if claim == nil || claim.StatusConditions().IsTrue(karpv1.ConditionTypeInstanceTerminating) {
		return
	}
	n.Recorder.Eventf(claim, corev1.EventTypeWarning, events.InstanceGone, "instance %s no longer exists; it was not Kerf that ended it", node.Spec.ProviderID)
	n.Log.Warn("instance is gone, and Kerf has not ended it; its node is removed, and its pods get room elsewhere", append(story.Of(claim), "nodeclaim", claim.Name, "node", node.Name, "provider_id", node.Spec.ProviderID)...)
}
