package lifecycle

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// register finds the node of a launched claim and, the first time, gives it the claim's labels, annotations and taints.
// It returns the node, or nil while there is none to go on with. As long as the launch is not written on the claim, pods on the node
// would be those of no claim: it may yet be given up (see refused).
func (c *Controller) register(ctx context.Context, claim *karpv1.NodeClaim, written bool) (*corev1.Node, error) {
	conditions := claim.StatusConditions().WithClock(c.Clock.Now)
	if !conditions.IsTrue(karpv1.ConditionTypeLaunched) {
		return nil, nil
	}
	nodes, err := index.NodesOfClaim(ctx, c.Client, claim)
	if err != nil {
		return nil, err
	}
	if len(nodes) != 1 {
		c.remember(claim).unseenSince = time.Time{} // what was nominated to a node that is gone is not waited for
	}
	switch {
	case len(nodes) == 0:
		if !conditions.IsTrue(karpv1.ConditionTypeRegistered) {
			conditions.SetUnknownWithReason(karpv1.ConditionTypeRegistered, karpv1.ReasonNodeNotFound, "no node with the instance's provider ID has joined yet")
			conditions.SetUnknownWithReason(karpv1.ConditionTypeInitialized, karpv1.ReasonNodeNotFound, "no node with the instance's provider ID has joined yet")
		}
		return nil, nil
	case len(nodes) > 1:
		names := make([]string, len(nodes))
		for i, n := range nodes {
			names[i] = n.Name
		}
		slices.Sort(names)
		c.Recorder.Eventf(claim, corev1.EventTypeWarning, events.MultipleNodesFound, "nodes %v all claim provider ID %s; delete those that are not the instance's", names, claim.Status.ProviderID)
		if conditions.IsTrue(karpv1.ConditionTypeRegistered) {
			// The instance has its node; that another object claims it too is no reason to give it up.
			return nil, nil
		}
		conditions.SetFalse(karpv1.ConditionTypeRegistered, karpv1.ReasonMultipleNodesFound, fmt.Sprintf("nodes %v all claim provider ID %s; delete those that are not the instance's", names, claim.Status.ProviderID))
		return nil, nil
	}
	node := nodes[0].DeepCopy()
	if conditions.IsTrue(karpv1.ConditionTypeRegistered) {
		return node, c.adoptAgain(ctx, claim, nodes[0], node)
	}
	if !written {
		const message = "the launch is not written on the NodeClaim yet: pods on the node would be those of no NodeClaim"
		conditions.SetUnknownWithReason(karpv1.ConditionTypeRegistered, karpv1.ReasonRegistrationHookPending, message)
		return nil, nil
	}
	if !c.placed(ctx, claim) {
		const message = "EC2 has not told yet in which partition of its placement group the instance stands"
		conditions.SetUnknownWithReason(karpv1.ConditionTypeRegistered, karpv1.ReasonRegistrationHookPending, message)
		return nil, nil
	}
	stored := nodes[0]
	if node.Labels[karpv1.NodeRegisteredLabelKey] != "true" {
		if !c.nominated(ctx, claim, node.Name) || c.unseen(claim, node.Name) { // before it takes pods
			const message = "the pods that the node was launched for are being nominated to it"
			conditions.SetUnknownWithReason(karpv1.ConditionTypeRegistered, karpv1.ReasonRegistrationHookPending, message)
			return nil, nil
		}
		if !slices.ContainsFunc(node.Spec.Taints, isUnregistered) {
			c.Recorder.Eventf(node, corev1.EventTypeWarning, events.UnregisteredTaintMissing,
				"the node joined without the taint %s:NoExecute, so pods may have landed on it before its labels were right; add it to the kubelet's --register-with-taints", karpv1.UnregisteredTaintKey)
		}
		adopt(node, claim)
		// Start-up writes at once what initialization would write a moment later.
		if reason, _ := c.uninitialized(claim, node); reason == "" {
			node.Labels[karpv1.NodeInitializedLabelKey] = "true"
		}
		if !equality.Semantic.DeepEqual(stored, node) {
			if err := c.Client.Patch(ctx, node, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})); err != nil {
				return nil, client.IgnoreNotFound(fmt.Errorf("registering node %q for nodeclaim %q: %w", node.Name, claim.Name, err))
			}
		}
		c.Metrics.NodesCreated.WithLabelValues(claim.Labels[karpv1.NodePoolLabelKey], node.Labels[corev1.LabelTopologyZone]).Inc()
		c.Log.InfoContext(ctx, "registered nodeclaim", append(story.Of(claim), "nodeclaim", claim.Name, "node", node.Name, "after", c.Clock.Since(claim.CreationTimestamp.Time))...)
		c.past(ctx, claim, "nodeclaim.register", karpv1.ConditionTypeLaunched)
	}
	claim.Status.NodeName = node.Name
	conditions.SetTrue(karpv1.ConditionTypeRegistered)
	c.joined(ctx, claim)
	return node, nil
}

func isUnregistered(t corev1.Taint) bool { return t.Key == karpv1.UnregisteredTaintKey }

// adoptAgain adopts the node of a registered claim that a kubelet has made anew, after somebody deleted it. One that lost Kerf's
// finalizer otherwise gets back what its drain hangs on, and no taints: pods run on it.
func (c *Controller) adoptAgain(ctx context.Context, claim *karpv1.NodeClaim, stored, node *corev1.Node) error {
	anew := slices.ContainsFunc(node.Spec.Taints, isUnregistered)
	if !node.DeletionTimestamp.IsZero() || !anew && controllerutil.ContainsFinalizer(node, karpv1.TerminationFinalizer) {
		return nil
	}
	said, why := "registered the node of a nodeclaim that its kubelet has made anew", "which was made anew"
	if anew {
		adopt(node, claim)
	} else {
		own(node, claim)
		said, why = "gave a node its finalizer back, without which its instance would end under its pods", "which lost its finalizer"
	}
	if err := c.Client.Patch(ctx, node, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("registering node %q, %s, for nodeclaim %q: %w", node.Name, why, claim.Name, err))
	}
	c.Log.InfoContext(ctx, said, append(story.Of(claim), "nodeclaim", claim.Name, "node", node.Name)...)
	return nil
}

// own makes a node the claim's: by the finalizer, the owner and the labels.
func own(node *corev1.Node, claim *karpv1.NodeClaim) {
	controllerutil.AddFinalizer(node, karpv1.TerminationFinalizer)
	owner := metav1.NewControllerRef(claim, schema.GroupVersionKind{Group: karpv1.Group, Version: "v1", Kind: "NodeClaim"})
	owner.Controller = nil
	if !slices.ContainsFunc(node.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == claim.UID }) {
		node.OwnerReferences = append(node.OwnerReferences, *owner)
	}
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	maps.Copy(node.Labels, claim.Labels)
	node.Labels[karpv1.NodeRegisteredLabelKey] = "true"
}

// adopt gives a node what its claim says and takes the unregistered taint away.
func adopt(node *corev1.Node, claim *karpv1.NodeClaim) {
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	if node.Labels[karpv1.DoNotSyncTaintsLabelKey] != "true" {
		for _, t := range slices.Concat(claim.Spec.Taints, claim.Spec.StartupTaints) {
			if !slices.ContainsFunc(node.Spec.Taints, func(o corev1.Taint) bool { return o.Key == t.Key && o.Effect == t.Effect }) {
				node.Spec.Taints = append(node.Spec.Taints, t)
			}
		}
	}
	own(node, claim)
	maps.Copy(node.Annotations, claim.Annotations)
	delete(node.Annotations, apply.HoldUntilAnnotation) // the claim's may be taken off, and nobody would look here
	delete(node.Annotations, apply.HoldReasonAnnotation)
	if turn, ok := claim.Annotations[intake.TurnKey]; ok {
		delete(node.Annotations, intake.TurnKey)
		node.Spec.Taints = append(slices.DeleteFunc(node.Spec.Taints, intake.IsTurnTaint), intake.TurnTaint(turn))
	}
	delete(node.Annotations, story.TraceparentAnnotation)
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, isUnregistered)
}
