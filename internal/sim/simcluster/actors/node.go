package actors

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// keepNodes writes the taints that follow from a node's state, and takes pods away from nodes that do not let them stay.
//
// Cost: that of the nodes that have changed or chase pods away.
func (c *Actors) keepNodes(ctx context.Context) (time.Duration, error) {
	nodes, err := c.nodes.List(labels.Everything())
	if err != nil {
		return 0, err
	}
	if len(c.settled) > 2*len(nodes)+100 {
		clear(c.settled) // most of them are gone
	}
	nodes, _ = inOrder(slices.DeleteFunc(nodes, func(n *corev1.Node) bool { return c.settled[n.UID] == n }), nil)
	var errs []error
	banned := map[string][]corev1.Taint{}
	for _, n := range nodes {
		taints := stateTaints(n)
		if !slices.EqualFunc(taints, n.Spec.Taints, func(a, b corev1.Taint) bool { return a.MatchTaint(&b) && a.Value == b.Value }) {
			n = n.DeepCopy()
			n.Spec.Taints = taints
			_, err := c.o.Client.CoreV1().Nodes().Update(ctx, n, metav1.UpdateOptions{})
			errs = append(errs, passed(err))
		}
		for _, t := range taints {
			if t.Effect == corev1.TaintEffectNoExecute {
				banned[n.Name] = append(banned[n.Name], t)
			}
		}
		if len(banned[n.Name]) == 0 {
			c.settled[n.UID] = n // the copy of one that was written is none of the lister's
		}
	}
	if len(banned) == 0 {
		return 0, errors.Join(errs...)
	}
	next, err := c.banish(ctx, banned)
	return next, errors.Join(append(errs, err)...)
}

// stateTaints are the taints of a node as its state wants them.
func stateTaints(n *corev1.Node) []corev1.Taint {
	ready := nodeReady(n)
	want := map[corev1.Taint]bool{
		{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}:      ready == corev1.ConditionFalse,
		{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute}:       ready == corev1.ConditionFalse,
		{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule}:   ready == corev1.ConditionUnknown,
		{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute}:    ready == corev1.ConditionUnknown,
		{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}: n.Spec.Unschedulable,
	}
	out := slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(t corev1.Taint) bool {
		wanted, ours := want[corev1.Taint{Key: t.Key, Effect: t.Effect}]
		return ours && !wanted
	})
	now := metav1.Now()
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeUnschedulable} {
		for _, effect := range []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute} {
			t := corev1.Taint{Key: key, Effect: effect}
			if want[t] && !slices.ContainsFunc(out, func(have corev1.Taint) bool { return have.MatchTaint(&t) }) {
				t.TimeAdded = &now
				out = append(out, t)
			}
		}
	}
	return out
}

// banish deletes the pods of tainted nodes once they have tolerated it for as long as they do.
func (c *Actors) banish(ctx context.Context, taints map[string][]corev1.Taint) (time.Duration, error) {
	pods, err := c.allPods()
	if err != nil {
		return 0, err
	}
	var next soonest
	var errs []error
	for _, p := range pods {
		if p.DeletionTimestamp != nil || ended(p) {
			continue
		}
		for i := range taints[p.Spec.NodeName] {
			t := &taints[p.Spec.NodeName][i]
			until, forever := toleratedUntil(p, t)
			if forever {
				continue
			}
			if wait := time.Until(until); wait > 0 {
				next.in(wait)
				continue
			}
			errs = append(errs, passed(c.o.Client.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &p.UID}})))
			break
		}
	}
	return time.Duration(next), errors.Join(errs...)
}

func toleratedUntil(p *corev1.Pod, t *corev1.Taint) (until time.Time, forever bool) {
	since := p.CreationTimestamp.Time
	if t.TimeAdded != nil {
		since = t.TimeAdded.Time
	}
	until = since
	for i := range p.Spec.Tolerations {
		tol := &p.Spec.Tolerations[i]
		if !tolerates(tol, t) {
			continue
		}
		if tol.TolerationSeconds == nil {
			return until, true
		}
		until = since.Add(time.Duration(*tol.TolerationSeconds) * time.Second)
	}
	return until, false
}

func tolerates(tol *corev1.Toleration, t *corev1.Taint) bool {
	if tol.Effect != "" && tol.Effect != t.Effect || tol.Key != "" && tol.Key != t.Key {
		return false
	}
	switch tol.Operator {
	case "", corev1.TolerationOpEqual:
		return tol.Value == t.Value
	case corev1.TolerationOpExists:
		return true
	}
	return false
}
