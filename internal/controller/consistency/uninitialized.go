package consistency

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/deadline"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/story"
)

// uninitialized reports whether a claim's node joined long ago and still can't take pods, and why.
func (l *Loop) uninitialized(claim *karpv1.NodeClaim, now time.Time) (reason string, long bool) {
	conditions := claim.StatusConditions()
	registered, initialized := conditions.Get(karpv1.ConditionTypeRegistered), conditions.Get(karpv1.ConditionTypeInitialized)
	if !registered.IsTrue() || initialized.IsTrue() || now.Sub(registered.LastTransitionTime.Time) < slow {
		return "", false
	}
	if initialized != nil {
		reason = initialized.Reason
	}
	return reason, true
}

// slow tells of such a node, and ends it when its time is over. Nothing else would: it is no candidate for disruption,
// no pod is planned onto it, and it is paid for until it comes of age.
func (l *Loop) slow(ctx context.Context, claim *karpv1.NodeClaim, now time.Time) error {
	conditions := claim.StatusConditions()
	since := conditions.Get(karpv1.ConditionTypeRegistered).LastTransitionTime.Time
	why := "its condition Initialized is not there"
	if c := conditions.Get(karpv1.ConditionTypeInitialized); c != nil {
		why = c.Reason + ": " + c.Message
	}
	text := fmt.Sprintf("the node joined at %s and still can't take pods: %s", since.UTC().Format(time.RFC3339), why)
	over := l.Timeout > 0 && now.Sub(since) >= l.Timeout
	if over && l.LeftAlone != nil && l.LeftAlone(claim.Status.ProviderID) {
		over = false
		text += "; its time is over, and it stays: traffic is shifted away from its zone, and instances there are left alone until it is not"
	}
	if !over {
		if l.speak(claim.UID) {
			index.Tell(ctx, l.Client, l.Recorder, claim.DeepCopy(), corev1.EventTypeWarning, events.NodeNotInitialized, text)
			l.Log.Warn("a node joined long ago and can't take pods; it is ended only where --kerf-initialization-timeout says when", append(story.Of(claim), "nodeclaim", claim.Name, "node", claim.Status.NodeName, "since", since, "why", why)...)
		}
		return nil
	}
	if begun, err := deadline.Delete(ctx, l.Client, claim); err != nil || !begun {
		return err
	}
	l.ended[claim.UID] = true
	index.Tell(ctx, l.Client, l.Recorder, claim.DeepCopy(), corev1.EventTypeWarning, events.InitializationTimeout, fmt.Sprintf("%s; it is given up after %s", text, l.Timeout))
	index.Disrupted(ctx, l.Client, l.Metrics, claim, "initialization_timeout", index.TerminationMode(claim))
	l.Log.Warn("gave up a node that can't take pods; it is drained, and its pods get room elsewhere", append(story.Of(claim), "nodeclaim", claim.Name, "node", claim.Status.NodeName, "since", since, "why", why)...)
	return nil
}
