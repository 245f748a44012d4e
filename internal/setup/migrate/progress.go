package migrate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// progress is what is under way. It stops nobody: Kerf reads it off the objects and goes on with it.
func (e *examination) progress() {
	var deleting, launching, joining, disrupted, left []string
	going := map[string]bool{} // by node of ours, whether its claim says that it is to go
	for _, c := range e.claims() {
		going[c.Status.NodeName] = going[c.Status.NodeName] || !c.DeletionTimestamp.IsZero() || c.StatusConditions().IsTrue(karpv1.ConditionTypeDisruptionReason)
		switch {
		case !c.DeletionTimestamp.IsZero():
			deleting = append(deleting, c.Name)
		case c.Status.ProviderID == "":
			launching = append(launching, c.Name)
		case !c.StatusConditions().Get(karpv1.ConditionTypeInitialized).IsTrue():
			joining = append(joining, c.Name)
		}
	}
	for i := range e.Nodes {
		n := &e.Nodes[i]
		if n.DeletionTimestamp.IsZero() && slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == karpv1.DisruptedTaintKey }) {
			switch goes, ours := going[n.Name]; {
			case goes || intake.Leaving(n):
				disrupted = append(disrupted, n.Name)
			case ours:
				left = append(left, n.Name)
			}
		}
	}
	before := len(e.findings)
	for _, list := range []struct {
		names      []string
		kind, text string
	}{
		{deleting, "NodeClaims ", "they are being deleted; Kerf goes on with the drain"},
		{launching, "NodeClaims ", "they have no instance yet; Kerf launches it, and ends one that Karpenter launched and did not record"},
		{joining, "NodeClaims ", "their nodes are not initialized yet; Kerf waits for them under the same timeouts"},
		{disrupted, "Nodes ", "they carry the taint " + karpv1.DisruptedTaintKey + "; Kerf goes on with their disruption, or takes the taint away where its reason is gone"},
	} {
		if len(list.names) > 0 {
			e.fine(list.kind+few(list.names), "%s", list.text)
		}
	}
	if len(left) > 0 {
		f := e.differs("Nodes "+few(left), "they carry the taint %s, and their NodeClaims do not say why", karpv1.DisruptedTaintKey).
			why("Kerf takes it for somebody else's and leaves it; no pods come to the nodes")
		for _, name := range left {
			f.Fix = append(f.Fix, "kubectl taint nodes "+name+" "+karpv1.DisruptedTaintKey+"-   # after the swap")
		}
	}
	if len(e.findings) == before {
		e.fine("the cluster", "nothing is under way: no node is launched, drained or replaced")
	}
}
