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
func (b *podBudget) count(pdb *policyv1.PodDisruptionBudget) {
	b.allowed = pdb.Status.DisruptionsAllowed
	if pdb.Status.ObservedGeneration < pdb.Generation {
		b.allowed = 0
	}
	b.wantsAll = pdb.Status.ObservedGeneration >= pdb.Generation && pdb.Status.ExpectedPods > 0 && pdb.Status.DesiredHealthy >= pdb.Status.ExpectedPods
	b.healthy = pdb.Status.DesiredHealthy > 0 && pdb.Status.CurrentHealthy >= pdb.Status.DesiredHealthy
}

// recount takes in the status of a newer version. How many pods may go changes with each that comes or goes; whether any may
// hardly ever does.
func (b *PodBudgets) recount(one *podBudget, pdb *policyv1.PodDisruptionBudget) {
	none, healthy := one.allowed <= 0, one.healthy
	if one.count(pdb); none != (one.allowed <= 0) || healthy != one.healthy {
		b.note(pdb.Namespace)
	}
}

func (b *PodBudgets) note(namespace string) {
	if b.changed == nil {
		b.changed = map[string]bool{}
	}
	b.changed[namespace] = true
}

// Changed are the namespaces of which Refuse may answer otherwise than at the last call about a pod that is as it was; nil: none.
func (b *PodBudgets) Changed() map[string]bool {
	out := b.changed
	b.changed = nil
	return out
}

// Refuse says why the eviction API would refuse the pod now; "" if it would not. Unlike Hold it counts budgets that are
// used up for the moment.
//
// Cost: as Hold.
func (b *PodBudgets) Refuse(pod *corev1.Pod) EvictionRefusal {
	switch one, several := b.guardian(pod); {
	case several:
		return SeveralBudgets
	case one != nil && one.allowed <= 0:
		return BudgetUsedUp
	}
	return ""
}

// Guardian names the budget that an eviction of the pod is counted against, in the pod's namespace; empty for none.
// several reports that more than one selects it.
//
// Cost: as Hold.
func (b *PodBudgets) Guardian(pod *corev1.Pod) (name string, several bool) {
	one, several := b.guardian(pod)
	if one != nil {
		name = one.name
	}
	return name, several
}

func (b *PodBudgets) guardian(pod *corev1.Pod) (one *podBudget, several bool) {
	ns := b.namespaces[pod.Namespace]
	if ns == nil || pod.DeletionTimestamp != nil {
		return nil, false
	}
	switch pod.Status.Phase {
	case corev1.PodPending, corev1.PodSucceeded, corev1.PodFailed:
		return nil, false
	}
	a := ns.guard(pod.Labels)
	switch {
	case a.guard&twice != 0:
		return nil, true
	case a.only != nil && !ready(pod) && (a.guard&freesUnready != 0 || a.only.healthy):
		return nil, false // an unready pod goes when the policy always lets it, or when enough others are ready
	}
	return a.only, false
}
