package actors

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// evictionTime is how long an eviction that was allowed is counted though the pod is still there.
const evictionTime = 2 * time.Minute

// keepBudgets counts what disruption budgets allow.
func (c *Actors) keepBudgets(ctx context.Context) (time.Duration, error) {
	budgets, err := inOrder(c.budgets.List(labels.Everything()))
	if err != nil {
		return 0, err
	}
	var next soonest
	var errs []error
	for _, b := range budgets {
		status, wait, err := c.budgetStatus(b)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if wait > 0 {
			next.in(wait)
		}
		if equality.Semantic.DeepEqual(status, b.Status) {
			continue
		}
		b = b.DeepCopy()
		b.Status = status
		if _, err = c.o.Client.PolicyV1().PodDisruptionBudgets(b.Namespace).UpdateStatus(ctx, b, metav1.UpdateOptions{}); passed(err) != nil {
			errs = append(errs, err)
		} else if err != nil {
			next.in(c.o.Pause) // an eviction came between
		}
	}
	return time.Duration(next), errors.Join(errs...)
}

func (c *Actors) budgetStatus(b *policyv1.PodDisruptionBudget) (policyv1.PodDisruptionBudgetStatus, time.Duration, error) {
	var next soonest
	status := policyv1.PodDisruptionBudgetStatus{ObservedGeneration: b.Generation, Conditions: b.Status.Conditions}
	sel, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		return status, 0, err
	}
	pods, err := c.pods.Pods(b.Namespace).List(sel)
	if err != nil {
		return status, 0, err
	}
	byName := map[string]*corev1.Pod{}
	for _, p := range pods {
		byName[p.Name] = p
	}
	for name, at := range b.Status.DisruptedPods {
		p := byName[name]
		if p == nil || p.DeletionTimestamp != nil {
			continue
		}
		if wait := time.Until(at.Add(evictionTime)); wait > 0 {
			next.in(wait)
			if status.DisruptedPods == nil {
				status.DisruptedPods = map[string]metav1.Time{}
			}
			status.DisruptedPods[name] = at
		}
	}
	for _, p := range pods {
		if _, going := status.DisruptedPods[p.Name]; !going && p.DeletionTimestamp == nil && isReady(p) {
			status.CurrentHealthy++
		}
	}
	status.ExpectedPods, status.DesiredHealthy, err = c.desired(b, pods)
	if err != nil {
		return status, 0, err
	}
	status.DisruptionsAllowed = max(0, status.CurrentHealthy-status.DesiredHealthy)
	if status.ExpectedPods <= 0 {
		status.DisruptionsAllowed = 0
	}
	return status, time.Duration(next), nil
}

// desired is how many pods there should be, and how many of them must stay healthy.
func (c *Actors) desired(b *policyv1.PodDisruptionBudget, pods []*corev1.Pod) (expected, desired int32, err error) {
	if m := b.Spec.MaxUnavailable; m != nil {
		expected = c.scale(pods)
		n, err := intstr.GetScaledValueFromIntOrPercent(m, int(expected), true)
		return expected, max(0, expected-int32(n)), err
	}
	m := b.Spec.MinAvailable
	if m == nil {
		return c.scale(pods), c.scale(pods), nil
	}
	if m.Type == intstr.Int {
		return int32(len(pods)), m.IntVal, nil
	}
	expected = c.scale(pods)
	n, err := intstr.GetScaledValueFromIntOrPercent(m, int(expected), true)
	return expected, int32(n), err
}

// scale is how many pods their owners want.
func (c *Actors) scale(pods []*corev1.Pod) int32 {
	seen := map[types.UID]bool{}
	n := int32(0)
	for _, p := range pods {
		o := metav1.GetControllerOf(p)
		if o == nil {
			n++
			continue
		}
		if seen[o.UID] {
			continue
		}
		seen[o.UID] = true
		if rs, err := c.replicaSets.ReplicaSets(p.Namespace).Get(o.Name); err == nil && rs.UID == o.UID {
			n += *rs.Spec.Replicas
		}
	}
	return n
}
