package terminate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/events"
)

// unanswered is after what time the evictions of a round are given up that webhooks hold: other drains wait for the same worker.
const unanswered = 15 * time.Second

// evictedFirst is how long the evictions of pods whose instance ends may take together. It is time that the pods may need to end: of
// the two minutes after a spot interruption a 24th. The API answers most in some milliseconds.
const evictedFirst = 5 * time.Second

// evict asks for the eviction of a pod if its budget has one left.
func (r *round) evict(ctx context.Context, p *corev1.Pod) error {
	if ctx.Err() != nil {
		r.due(r.now)
		return nil //nolint:nilerr // its turn has not come, which is no failure
	}
	permit, no := r.permits.ask(p, r.node.Name, r.now)
	if no.why != "" {
		r.due(no.again)
		r.stalled(p, no.why)
		return nil
	}
	err := r.Client.SubResource("eviction").Create(ctx, p, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &p.UID}},
	})
	refused := refusedByBudget(err)
	r.call(r.permits.use(permit, p, r.node.Name, err == nil, refused, r.Clock.Now())...)
	r.Metrics.EvictionRequests.WithLabelValues(strconv.Itoa(code(err))).Inc()
	switch {
	case err == nil:
		r.rest(p, answers)
		r.Metrics.PodsDrained.WithLabelValues(reason(r.claim)).Inc()
		r.Recorder.Eventf(p, corev1.EventTypeNormal, events.Evicted, "evicted from node %s, which is going away: %s", r.node.Name, reason(r.claim))
		return nil
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		r.rest(p, repeat) // another pod of that name, or none: its event is on the way
		return nil
	case refused:
		r.due(r.now.Add(askAnyway))
		r.stalled(p, err.Error())
		return nil
	case apierrors.IsTooManyRequests(err):
		r.rest(p, repeat) // not the budget: the API server has too much to do
		return nil
	}
	r.rest(p, repeat)
	r.stalled(p, err.Error())
	return fmt.Errorf("evicting pod %s/%s from node %q: %w", p.Namespace, p.Name, r.node.Name, err)
}

// refusedByBudget reports whether an eviction was refused for a budget, or because the pod has several.
func refusedByBudget(err error) bool {
	return apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) ||
		apierrors.IsInternalError(err) && strings.Contains(err.Error(), "more than one PodDisruptionBudget")
}

// code is the HTTP status of an answer, 0 for none.
func code(err error) int {
	if err == nil {
		return http.StatusOK
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return int(status.Status().Code)
	}
	return 0
}

// reason is why the claim's pods have to leave, in the words that users of the API know from events and metrics.
func reason(claim *karpv1.NodeClaim) string { return cmp.Or(disrupted(claim), "Forceful Termination") }

// disrupted is why Kerf chose to remove the claim's node; empty where the claim was deleted by others, for its age, for its health, or
// because AWS takes the instance back.
func disrupted(claim *karpv1.NodeClaim) string {
	if claim != nil {
		if c := claim.StatusConditions().Get(karpv1.ConditionTypeDisruptionReason); c.IsTrue() {
			return c.Reason
		}
	}
	return ""
}

// longestGrace is how many seconds a time.Duration can hold: 292 years. Pods may have more.
const longestGrace = math.MaxInt64 / int64(time.Second)

// grace is how long a pod may take to end.
func grace(p *corev1.Pod) time.Duration {
	if s := p.Spec.TerminationGracePeriodSeconds; s != nil {
		return time.Duration(min(*s, longestGrace)) * time.Second
	}
	return corev1.DefaultTerminationGracePeriodSeconds * time.Second
}

// mustGo reports whether a pod has to be made to end now so that it has ended when the instance does: it would need all the time
// that is left, or was given more than that.
func (r *round) mustGo(p *corev1.Pod) bool {
	if r.by.IsZero() {
		return false
	}
	if last, ok := r.memory.deleted[p.UID]; ok && last.by.Equal(r.by.Time) && r.now.Before(last.again) {
		r.due(last.again)
		return false
	}
	if !p.DeletionTimestamp.IsZero() {
		s := p.DeletionGracePeriodSeconds
		late := p.DeletionTimestamp.After(r.by.Time) || s != nil && *s > longestGrace // then the API server's timestamp has overflown
		// A pod that was already given its last second is not asked again.
		return late && (s == nil || *s > 1)
	}
	threshold := r.by.Add(-grace(p))
	if r.now.After(threshold) {
		return true
	}
	r.due(threshold.Add(time.Millisecond))
	return false
}

// forceAll makes pods end with the instance. Their evictions take evictedFirst together, after which pods are deleted at once.
func (r *round) forceAll(ctx context.Context, pods []*corev1.Pod) error {
	evicting, cancel := context.WithTimeout(ctx, evictedFirst)
	defer cancel()
	return each(pods, nil, func(p *corev1.Pod) error { return r.force(ctx, evicting, p) })
}

// force makes a pod end with the instance's deadline, past any budget and annotation: the instance goes either way. Where the API
// evicts it, the pod gets the condition DisruptionTarget, by which Jobs tell such an end from a failure; where it does not, for a
// budget, a webhook, or no answer in time, the pod is deleted. Such a refusal counts for nothing: nobody waits for that budget.
func (r *round) force(ctx, evicting context.Context, p *corev1.Pod) error {
	ctx, cancel := context.WithTimeout(ctx, unanswered)
	defer cancel()
	var err error
	if !p.DeletionTimestamp.IsZero() || r.evictLast(evicting, p) != nil {
		last := r.lastSeconds(p)
		err = r.Client.Delete(ctx, p.DeepCopy(), &client.DeleteOptions{GracePeriodSeconds: last.GracePeriodSeconds, Preconditions: last.Preconditions})
	}
	pause := repeat
	if err == nil {
		pause = answers
	}
	r.mu.Lock()
	r.memory.deleted[p.UID] = deletion{again: r.now.Add(pause), by: r.by.Time}
	r.mu.Unlock()
	r.due(r.now.Add(pause))
	switch {
	case err == nil:
		if p.DeletionTimestamp.IsZero() {
			r.Metrics.PodsDrained.WithLabelValues(reason(r.claim)).Inc()
		}
		r.Recorder.Eventf(p, corev1.EventTypeWarning, events.Disrupted, "has to end because its node goes at %s", r.by.UTC().Format(time.RFC3339))
		return nil
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		return nil
	}
	return fmt.Errorf("ending pod %s/%s, whose node %q goes at %s: %w", p.Namespace, p.Name, r.node.Name, r.by.UTC().Format(time.RFC3339), err)
}

// evictLast asks for the eviction of a pod whose instance ends.
func (r *round) evictLast(ctx context.Context, p *corev1.Pod) error {
	err := r.Client.SubResource("eviction").Create(ctx, p, &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}, DeleteOptions: r.lastSeconds(p),
	})
	if err == nil {
		r.Metrics.EvictionRequests.WithLabelValues(strconv.Itoa(http.StatusOK)).Inc()
	}
	return err
}

// lastSeconds has the pod, and no other of its name, end with the instance; a second is the least.
func (r *round) lastSeconds(p *corev1.Pod) *metav1.DeleteOptions {
	return &metav1.DeleteOptions{
		GracePeriodSeconds: new(max(1, int64(r.by.Sub(r.Clock.Now()).Seconds()))),
		Preconditions:      &metav1.Preconditions{UID: &p.UID},
	}
}
