package consistency

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/deadline"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/story"
)

// withoutNode is how long a NodeClaim that had a Node is kept without one. A kubelet that starts again makes its Node anew, within a
// minute or two of a reboot; a kubelet that runs does not.
const withoutNode = 5 * time.Minute

// awaitNodes notes since when claims that are registered have no Node, and forgets those that have one.
func (l *Loop) awaitNodes(claims []karpv1.NodeClaim, nodes map[string][]*corev1.Node, now time.Time) {
	alone := map[types.UID]time.Time{}
	for i := range claims {
		claim := &claims[i]
		if !claim.StatusConditions().IsTrue(karpv1.ConditionTypeRegistered) || len(nodes[claim.Status.ProviderID]) > 0 {
			continue
		}
		alone[claim.UID] = now
		if since, ok := l.alone[claim.UID]; ok {
			alone[claim.UID] = since
		}
	}
	l.alone = alone
}

// nodeGone ends a claim whose Node has been gone for withoutNode, and reports whether it did. Nothing else would: the instance runs
// and is paid for, and no pod can run on it.
func (l *Loop) nodeGone(ctx context.Context, claim *karpv1.NodeClaim, now time.Time) (bool, error) {
	since, ok := l.alone[claim.UID]
	if !ok || now.Sub(since) < withoutNode || l.LeftAlone != nil && l.LeftAlone(claim.Status.ProviderID) {
		return false, nil
	}
	if begun, err := deadline.Delete(ctx, l.Client, claim); err != nil || !begun {
		return false, err
	}
	l.ended[claim.UID] = true
	l.Recorder.Event(claim.DeepCopy(), corev1.EventTypeWarning, events.NodeGone,
		fmt.Sprintf("Node %q was deleted and its instance runs: no pod can run there; the instance is terminated after %s without a Node", claim.Status.NodeName, withoutNode))
	index.Disrupted(ctx, l.Client, l.Metrics, claim, "node_gone", index.TerminationMode(claim))
	l.Log.Warn("gave up a nodeclaim whose node was deleted while its instance runs; the instance is terminated", append(story.Of(claim), "nodeclaim", claim.Name, "node", claim.Status.NodeName, "since", since)...)
	return true, nil
}
