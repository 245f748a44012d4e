package intake

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
)

// EvictionRefusal is why an eviction would be refused as things stand.
type EvictionRefusal string

// Why the eviction API would refuse a pod.
const (
	// SeveralBudgets select the pod, which the API does not support.
	SeveralBudgets EvictionRefusal = "more than one PodDisruptionBudget selects it"
	// BudgetUsedUp: its budget allows no pod to be missing now.
	BudgetUsedUp EvictionRefusal = "its PodDisruptionBudget allows no disruption now"
)

// count takes in what a budget's status says. A status that was written for an older spec allows nothing, as for the API.
func (b *budget) count(pdb *policyv1.PodDisruptionBudget) {
	b.allowed = pdb.Status.DisruptionsAllowed
	if pdb.Status.ObservedGeneration < pdb.Generation {
		b.allowed = 0
	}
	b.healthy = pdb.Status.DesiredHealthy > 0 && pdb.Status.CurrentHealthy >= pdb.Status.DesiredHealthy
}

// Refuse says why the eviction API would refuse the pod now; "" if it would not. Unlike Hold it counts budgets that are
// used up for the moment.
//
// Cost: as Hold.
func (b *Budgets) Refuse(pod *corev1.Pod) EvictionRefusal {
	ns := b.namespaces[pod.Namespace]
	if ns == nil || pod.DeletionTimestamp != nil {
		return ""
	}
	switch pod.Status.Phase {
	case corev1.PodPending, corev1.PodSucceeded, corev1.PodFailed:
		return ""
	}
	a := ns.guard(pod.Labels)
	switch {
	case a.guard&twice != 0:
		return SeveralBudgets
	case a.only == nil || a.only.allowed > 0:
		return ""
	case !ready(pod) && (a.guard&freesUnready != 0 || a.only.healthy):
		return "" // an unready pod goes when the policy always lets it, or when enough others are ready
	}
	return BudgetUsedUp
}
