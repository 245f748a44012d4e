package actors

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// runPods is what kubelets do: pods that are bound to a node begin to run, those that are to go end, those that end by
// themselves do so. A node that is not ready does nothing.
//
// Cost: that of the pods to which something happens next.
func (c *Actors) runPods(ctx context.Context) (time.Duration, error) {
	pods, err := c.podsBy(unsettled, some)
	if err != nil {
		return 0, err
	}
	var next soonest
	var now []*corev1.Pod
	for _, p := range pods {
		n, err := c.nodes.Get(p.Spec.NodeName)
		if err != nil || nodeReady(n) != corev1.ConditionTrue {
			continue
		}
		due, _ := c.due(p)
		if wait := time.Until(due); wait > 0 {
			next.in(wait)
			continue
		}
		now = append(now, p)
	}
	now, _ = inOrder(now, nil)
	var errs []error
	for _, p := range now {
		_, act := c.due(p)
		errs = append(errs, passed(act(ctx, p)))
	}
	return time.Duration(next), errors.Join(errs...)
}

// due is what happens to a pod next on its node, and when.
func (c *Actors) due(p *corev1.Pod) (time.Time, func(context.Context, *corev1.Pod) error) {
	switch {
	case p.DeletionTimestamp != nil:
		grace := time.Duration(0)
		if s := p.DeletionGracePeriodSeconds; s != nil {
			grace = time.Duration(*s) * time.Second
		}
		return p.DeletionTimestamp.Add(-grace).Add(min(grace, lasts(p, StopsIn, c.o.PodStop))), c.stopped
	case ended(p):
	case p.Status.Phase != corev1.PodRunning:
		at := p.CreationTimestamp.Time
		if bound := condition(p, corev1.PodScheduled); bound != nil {
			at = bound.LastTransitionTime.Time
		}
		return at.Add(lasts(p, StartsIn, c.o.PodStart)), c.started
	case p.Annotations[RunsFor] != "" && p.Status.StartTime != nil:
		return p.Status.StartTime.Add(lasts(p, RunsFor, time.Minute)), c.succeeded
	}
	return time.Time{}, nil
}

func (c *Actors) started(ctx context.Context, p *corev1.Pod) error {
	p = p.DeepCopy()
	now := metav1.Now()
	p.Status.Phase, p.Status.StartTime = corev1.PodRunning, &now
	for _, kind := range []corev1.PodConditionType{corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		set(p, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	p.Status.ContainerStatuses = nil
	for _, k := range p.Spec.Containers {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: k.Name, Image: k.Image, Ready: true, Started: new(true), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	_, err := c.o.Client.CoreV1().Pods(p.Namespace).UpdateStatus(ctx, p, metav1.UpdateOptions{})
	return err
}

func (c *Actors) succeeded(ctx context.Context, p *corev1.Pod) error {
	p = p.DeepCopy()
	p.Status.Phase = corev1.PodSucceeded
	for _, kind := range []corev1.PodConditionType{corev1.ContainersReady, corev1.PodReady} {
		set(p, corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse, Reason: "PodCompleted", LastTransitionTime: metav1.Now()})
	}
	_, err := c.o.Client.CoreV1().Pods(p.Namespace).UpdateStatus(ctx, p, metav1.UpdateOptions{})
	return err
}

func (c *Actors) stopped(ctx context.Context, p *corev1.Pod) error { return c.erase(ctx, p) }

// erase removes a pod without asking anybody to end it.
func (c *Actors) erase(ctx context.Context, p *corev1.Pod) error {
	return c.o.Client.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &p.UID}})
}

func set(p *corev1.Pod, c corev1.PodCondition) {
	if old := condition(p, c.Type); old != nil {
		*old = c
		return
	}
	p.Status.Conditions = append(p.Status.Conditions, c)
}
