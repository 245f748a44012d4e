package lifecycle

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// toldPods is how many of a claim's pods are told why its launch failed: an event is a write, and the others wait for the same.
const toldPods = 5

// shortOfCapacity are the reasons of launches for which EC2 had no capacity.
var shortOfCapacity = []string{"InsufficientInstanceCapacity", "UnfulfillableCapacity"}

// tellPods tells pods why the node that they wait for could not be launched. The message names nothing that differs from try to
// try, for the recorder to drop what was said already.
func (c *Controller) tellPods(claim *karpv1.NodeClaim, err error) {
	if c.Waiting == nil {
		return
	}
	message := err.Error()
	if e, ok := asCloud(err); ok && e.Err != nil {
		message = e.Err.Error()
		if e.Class == cloud.Exhausted && slices.Contains(shortOfCapacity, e.Reason) {
			message = "EC2 has no capacity in any pool that it was offered; the next best is tried, and the events of NodeClaims name the pools"
		}
	}
	if i := strings.LastIndex(message, claim.Name); i >= 0 { // what was tried, for which claim: another one the next time
		if _, rest, ok := strings.Cut(message[i:], ": "); ok {
			message = rest
		}
	}
	pods := c.Waiting.ReservedFor(claim.Name)
	for _, pod := range pods[:min(toldPods, len(pods))] {
		c.Recorder.Eventf(pod, corev1.EventTypeWarning, events.LaunchFailed, "the node that NodePool %s is to have for it could not be launched: %s",
			claim.Labels[karpv1.NodePoolLabelKey], cut(cloud.Lasting(message), 900))
	}
}
