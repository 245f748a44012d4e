package kubesim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// bind gives a pod its node.
//
// Errors: 409 if it has one already or is being deleted.
func (s *Server) bind(t target, c content, dryRun bool) error {
	var b corev1.Binding
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(c, &b); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := t.resource.find(t.namespace, t.name)
	if err != nil {
		return err
	}
	refused := func(why string) error {
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods/binding"}, t.name, errors.New(why))
	}
	pod := old.at()
	node, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName")
	switch {
	case b.UID != "" && b.UID != pod.GetUID():
		return refused(fmt.Sprintf("Precondition failed: UID in precondition: %v, UID in object meta: %v", b.UID, pod.GetUID()))
	case pod.GetDeletionTimestamp() != nil:
		return refused(fmt.Sprintf("pod %s is being deleted, cannot be assigned to a host", pod.GetName()))
	case node != "":
		return refused(fmt.Sprintf("pod %s is already assigned to node %q", pod.GetName(), node))
	case dryRun:
		return nil
	}
	bound := shallow(old.content)
	spec, status := fieldsIn(bound, "spec"), fieldsIn(bound, "status")
	spec["nodeName"] = b.Target.Name
	condition, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(s.o.Now())})
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	conditions, _ := status["conditions"].([]any)
	status["conditions"] = withCondition(conditions, condition)
	bound["spec"], bound["status"] = spec, status
	s.putLocked(t.resource, bound)
	return nil
}

// fieldsIn is a copy of the fields of a part of an object.
func fieldsIn(c content, part string) map[string]any {
	out := map[string]any{}
	fields, _ := c[part].(map[string]any)
	maps.Copy(out, fields)
	return out
}

// withCondition puts a condition in the place of that of its type, or at the end.
func withCondition(all []any, c map[string]any) []any {
	all = slices.Clone(all)
	for i := range all {
		if m, ok := all[i].(map[string]any); ok && m["type"] == c["type"] {
			all[i] = c
			return all
		}
	}
	return append(all, c)
}

// evict deletes a pod if its disruption budget allows it.
//
// Errors: 429 if the budget does not, 500 if the pod has two.
func (s *Server) evict(t target, c content, dryRun bool) error {
	var e policyv1.Eviction
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(c, &e); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	options := metav1.DeleteOptions{}
	if e.DeleteOptions != nil {
		options = *e.DeleteOptions
	}
	dryRun = dryRun || len(options.DryRun) > 0
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := t.resource.find(t.namespace, t.name)
	if err != nil {
		return err
	}
	var pod corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(old.content, &pod); err != nil {
		return apierrors.NewInternalError(err)
	}
	if !unbudgeted(&pod) {
		if err := s.spendLocked(&pod, dryRun); err != nil {
			return err
		}
	}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	_, _, err = s.removeLocked(t.resource, t.namespace, t.name, options)
	return err
}

// unbudgeted tells of pods that no budget counts: those that have ended, have not begun, or are going already.
func unbudgeted(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodPending || p.DeletionTimestamp != nil
}

// spendLocked takes one eviction from the budget of a pod, if it has one.
func (s *Server) spendLocked(p *corev1.Pod, dryRun bool) error {
	budgets := s.byPath["policy/v1/poddisruptionbudgets"]
	var mine []policyv1.PodDisruptionBudget
	for _, o := range budgets.listLocked(p.Namespace, selection{}) {
		var b policyv1.PodDisruptionBudget
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.content, &b); err != nil {
			return apierrors.NewInternalError(err)
		}
		sel, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err == nil && sel.Matches(labels.Set(p.Labels)) {
			mine = append(mine, b)
		}
	}
	switch len(mine) {
	case 0:
		return nil
	case 1:
	default:
		return failure("This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.")
	}
	b := &mine[0]
	if !ready(p) && sickMayGo(b) {
		return nil
	}
	if err := exhausted(b); err != nil || dryRun {
		return err
	}
	b.Status.DisruptionsAllowed--
	if b.Status.DisruptedPods == nil {
		b.Status.DisruptedPods = map[string]metav1.Time{}
	}
	b.Status.DisruptedPods[p.Name] = metav1.NewTime(s.o.Now())
	c, err := runtime.DefaultUnstructuredConverter.ToUnstructured(b)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	c["apiVersion"], c["kind"] = budgets.apiVersion(), budgets.kind
	s.putLocked(budgets, c)
	return nil
}

func ready(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// sickMayGo tells whether a pod that is not ready may be evicted whatever is left of the budget.
func sickMayGo(b *policyv1.PodDisruptionBudget) bool {
	if p := b.Spec.UnhealthyPodEvictionPolicy; p != nil && *p == policyv1.AlwaysAllow {
		return true
	}
	return b.Status.CurrentHealthy >= b.Status.DesiredHealthy && b.Status.DesiredHealthy > 0
}

// exhausted is why a budget allows no eviction; nil if it allows one.
func exhausted(b *policyv1.PodDisruptionBudget) error {
	if b.Status.ObservedGeneration < b.Generation {
		// What the budget counts is not known yet.
		err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", int(10*time.Second/time.Second))
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: fmt.Sprintf("The disruption budget %s is still being processed by the server.", b.Name)})
		return err
	}
	if b.Status.DisruptionsAllowed > 0 {
		return nil
	}
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type:    policyv1.DisruptionBudgetCause,
		Message: fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", b.Name, b.Status.DesiredHealthy, b.Status.CurrentHealthy),
	})
	return err
}
