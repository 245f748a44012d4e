package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// initialize marks the node as one that pods can use and disruption may look at, once it is ready. A node that its kubelet has made anew is
// marked again.
func (c *Controller) initialize(ctx context.Context, claim *karpv1.NodeClaim, node *corev1.Node) error {
	conditions := claim.StatusConditions().WithClock(c.Clock.Now)
	initialized := conditions.IsTrue(karpv1.ConditionTypeInitialized)
	if initialized && node.Labels[karpv1.NodeInitializedLabelKey] == "true" {
		return nil
	}
	if reason, message := c.uninitialized(claim, node); initialized && reason != "" {
		return nil
	} else if reason != "" {
		conditions.SetUnknownWithReason(karpv1.ConditionTypeInitialized, reason, message)
		return nil
	}
	if node.Labels[karpv1.NodeInitializedLabelKey] != "true" {
		stored := node.DeepCopy()
		node.Labels[karpv1.NodeInitializedLabelKey] = "true"
		if err := c.Client.Patch(ctx, node, client.MergeFrom(stored)); err != nil {
			return client.IgnoreNotFound(fmt.Errorf("marking node %q as initialized: %w", node.Name, err))
		}
	}
	conditions.SetTrue(karpv1.ConditionTypeInitialized)
	return nil
}

// uninitialized says why a node can't be used yet; an empty reason means that it can. The kubelet never reports a resource that a
// driver for Dynamic Resource Allocation serves: that a pod on the node has it is enough.
func (c *Controller) uninitialized(claim *karpv1.NodeClaim, node *corev1.Node) (reason, message string) {
	ready := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if ready < 0 || node.Status.Conditions[ready].Status != corev1.ConditionTrue {
		return karpv1.ReasonNodeNotReady, fmt.Sprintf("node %s is not Ready yet", node.Name)
	}
	for _, t := range claim.Spec.StartupTaints {
		if slices.ContainsFunc(node.Spec.Taints, func(o corev1.Taint) bool { return o.MatchTaint(&t) }) {
			return karpv1.ReasonStartupTaintsExist, fmt.Sprintf("start-up taint %s is still on node %s; whoever it waits for has to remove it", t.ToString(), node.Name)
		}
	}
	for _, t := range node.Spec.Taints {
		if ephemeral(t) {
			return karpv1.ReasonKnownEphemeralTaintsExist, fmt.Sprintf("taint %s is still on node %s", t.ToString(), node.Name)
		}
	}
	for name, want := range claim.Spec.Resources.Requests {
		if have := node.Status.Allocatable[name]; !want.IsZero() && have.IsZero() && (c.Waiting == nil || !c.Waiting.HasDevice(node.Name, name)) {
			return karpv1.ReasonResourceNotRegistered, fmt.Sprintf("resource %s was asked for, but node %s does not offer it yet", name, node.Name)
		}
	}
	return "", ""
}

// ephemeral reports whether a taint is one that Kubernetes itself takes away when a node has started.
func ephemeral(t corev1.Taint) bool {
	switch t.Key {
	case corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, "node.cloudprovider.kubernetes.io/uninitialized", karpv1.UnregisteredTaintKey:
		return true
	}
	return strings.HasPrefix(t.Key, "readiness.k8s.io/")
}
