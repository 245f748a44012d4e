package lifecycle

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/state/cache"
)

// Nominees knows which pods the scheduler should try first on the node of a claim.
type Nominees interface {
	Nominees(claim, node string) []*corev1.Pod
	NotNominated(pod *corev1.Pod)
	Listen(func(cache.Change))
}

// lost tells of claims whose pods have lost their nomination.
func (c *Controller) lost() <-chan event.GenericEvent {
	out := make(chan event.GenericEvent, 1024)
	c.Nominees.Listen(func(change cache.Change) {
		if change.Kind != cache.NominationLost {
			return
		}
		select {
		case out <- event.GenericEvent{Object: &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: change.Name}}}:
		default: // the claim comes up again with its node's next event
		}
	})
	return out
}

const (
	// nominateWithin is how long a node may wait for the nomination of its pods, and nominateAtOnce how many are written at a
	// time, for all nodes.
	nominateWithin, nominateAtOnce = time.Second, 64
	// forbiddenFor is how long nobody is nominated after the API has refused it.
	forbiddenFor = 10 * time.Minute
)

// nominate asks the scheduler to try a node that is about to take pods first for those that it was launched for, and reports
// whether there were any. The scheduler knows of no plan, and would spread them over all nodes that have room as these come
// up: the last ones then find no room, and an instance more has to be launched. A nominated pod is also held to be on its node
// when others look for room there. (status.nominatedNodeName, which programs other than the scheduler may set, too, since
// Kubernetes 1.35 by its documentation; the scheduler has tried that node first since 1.22.)
//
// It is a hint: where it fails, pods go where the scheduler likes.
func (c *Controller) nominate(ctx context.Context, claim *karpv1.NodeClaim, node string) bool {
	if c.Nominees == nil || c.Clock.Now().UnixNano() < c.nominateFrom.Load() {
		return false
	}
	pods := c.Nominees.Nominees(claim.Name, node)
	if len(pods) == 0 {
		return false
	}
	// Its end stops the waiting and what has not begun. A write that is on its way goes on: it is still of use while the pod
	// waits, and one that is cut off is an error in the log of the Kubernetes client, one for each pod.
	late, cancel := context.WithTimeout(ctx, nominateWithin)
	defer cancel()
	slots := c.nominations()
	written := make([]bool, len(pods))
	g := &guard.Group{}
	for i, p := range pods {
		g.Go("lifecycle.nominate", func() error {
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
			case <-late.Done():
				c.Nominees.NotNominated(p)
				return nil
			}
			if err := guard.Run("lifecycle.nominate", func() error { return c.nominateOne(ctx, p, node) }); err != nil {
				c.Nominees.NotNominated(p)
			} else {
				written[i] = true
			}
			return nil
		})
	}
	done, said, level := make(chan struct{}), append(story.Of(claim), "nodeclaim", claim.Name), slog.LevelInfo
	if claim.StatusConditions().IsTrue(karpv1.ConditionTypeRegistered) {
		level = slog.LevelDebug // again: the scheduler had tried another node for them
	}
	guard.Go("lifecycle.nominate", func() {
		defer close(done)
		_ = g.Wait() // it is a hint
		c.sayNominated(ctx, level, said, node, pods, written)
	})
	select {
	case <-done:
	case <-late.Done():
	}
	return true
}

// nominations are the places of those that write at a time.
func (c *Controller) nominations() chan struct{} {
	c.nominating.Do(func() { c.slots = make(chan struct{}, nominateAtOnce) })
	return c.slots
}

// sayNominated tells which pods now wait for a node.
func (c *Controller) sayNominated(ctx context.Context, level slog.Level, said []any, node string, pods []*corev1.Pod, written []bool) {
	var names []string
	for i, p := range pods {
		if written[i] {
			names = append(names, p.Namespace+"/"+p.Name)
		}
	}
	if len(names) > 0 {
		c.Log.Log(ctx, level, "nominated pods", append(said, "node", node, "pods", len(names), "pod-names", story.List(len(names), story.PodsSaid, func(i int) string { return names[i] }))...)
	}
}

func (c *Controller) nominateOne(ctx context.Context, pod *corev1.Pod, node string) error {
	// The version makes it a conflict to meet another pod of that name, or one that the scheduler has nominated meanwhile.
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"uid":%q,"resourceVersion":%q},"status":{"nominatedNodeName":%q}}`, pod.UID, pod.ResourceVersion, node))
	err := c.Pods.Status().Patch(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}, patch)
	switch {
	case err == nil, ctx.Err() != nil, apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.IsInvalid(err):
	case apierrors.IsForbidden(err):
		until := c.Clock.Now().Add(forbiddenFor)
		if before := c.nominateFrom.Swap(until.UnixNano()); before < c.Clock.Now().UnixNano() {
			c.Log.Warn("pods are not nominated to the nodes that are launched for them: the API refuses it; allow the controller to patch pods/status", "until", until, "error", err)
		}
	default:
		c.Log.Debug("a pod could not be nominated to its node", "pod", client.ObjectKeyFromObject(pod), "node", node, "error", err)
	}
	return err
}
