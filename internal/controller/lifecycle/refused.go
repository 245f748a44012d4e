package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/story"
)

// refused gives a claim up whose launch the API has refused to have written for as long as an instance has to register, and reports
// whether it did. A claim that does not name its instance is not launched for all who read it: nothing else would give it up, and its
// instance would be held to be its own. The instance is ended once the claim is being deleted (endUnclaimed).
//
// An API server that does not answer, or can't, has refused nothing. An instance whose node takes pods is left alone; meanwhile no node is
// registered (see register).
func (c *Controller) refused(ctx context.Context, stored, claim *karpv1.NodeClaim, err error) bool {
	known := c.remember(claim)
	if known.instance == nil || stored.StatusConditions().IsTrue(karpv1.ConditionTypeLaunched) {
		return false
	}
	if !isRefusal(err) {
		if !apierrors.IsConflict(err) {
			known.refusedSince = time.Time{}
		}
		return false
	}
	now := c.Clock.Now()
	if known.refusedSince.IsZero() {
		known.refusedSince = now
	}
	if now.Sub(known.refusedSince) < c.RegistrationTimeout {
		return false
	}
	nodes, listErr := index.NodesOfClaim(ctx, c.Client, claim)
	if listErr != nil || slices.ContainsFunc(nodes, func(n *corev1.Node) bool { return n.Labels[karpv1.NodeRegisteredLabelKey] == "true" }) {
		return false
	}
	message := fmt.Sprintf("instance %s was launched, but the API server has refused for %s to have that written on the NodeClaim: %s", known.instance.ProviderID, c.RegistrationTimeout, cut(err.Error(), messageLimit))
	if err := c.giveUp(ctx, claim, "launch_refused", message); err != nil {
		c.Log.Error("giving up a nodeclaim failed; it is tried again", append(story.Of(claim), "nodeclaim", claim.Name, "reason", "launch_refused", "error", err)...)
		return false
	}
	c.Recorder.Event(claim, corev1.EventTypeWarning, events.LaunchTimeout, message)
	return true
}

// isRefusal reports whether the API server has judged what was to be written, and will have none of it: the right to write it is missing, it
// is not valid, or an admission webhook or policy denies it. Everything else may pass by the next try.
func isRefusal(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	switch status.Status().Code {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}
