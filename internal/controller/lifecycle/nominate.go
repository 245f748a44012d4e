package lifecycle

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
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
	Unseen(claim, node string) bool
	NotNominated(pod *corev1.Pod)
}

// podNews tells of claims whose pods have lost their nomination, and of those whose pods have devices that no kubelet reports.
func (c *Controller) podNews() <-chan event.GenericEvent {
	out := make(chan event.GenericEvent, 1024)
	c.Waiting.Listen(func(change cache.Change) {
		if change.Kind != cache.NominationLost && change.Kind != cache.DevicesBound {
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
	// nominateAtOnce is how many nominations are written at a time, for all nodes.
	nominateAtOnce = 64
	// nominateWithin is how long the API server has for one nomination: as long as it waits for an admission webhook by default.
	// After one that took longer nobody is nominated for unansweredFor. So a server that is stuck holds up all nodes together so
	// long and no longer, while one that is merely busy takes the time that it needs.
	nominateWithin, unansweredFor = 10 * time.Second, time.Minute
	// forbiddenFor is how long nobody is nominated after the API has refused it.
	forbiddenFor = 10 * time.Minute
)

// nominated reports whether a node may take pods as far as nominations go: those that it was launched for have been nominated
// to it. If not it begins that, and the claim is reconciled again when it is done. Before Register, where nobody would wake it,
// that is waited for.
//
// A nomination asks the scheduler to try a node first. The scheduler knows of no plan, and would spread pods over all nodes that
// have room as these come up: the last ones then find no room, and an instance more has to be launched. A nominated pod is also
// held to be on its node when others look for room there. (status.nominatedNodeName, which programs other than the scheduler may
// set, too, since Kubernetes 1.35 by its documentation; the scheduler has tried that node first since 1.22.)
//
// It is a hint: where it fails, the node takes pods all the same, and they go where the scheduler likes.
func (c *Controller) nominated(ctx context.Context, claim *karpv1.NodeClaim, node string) bool {
	m := c.remember(claim)
	for {
		if n := m.nominating; n != nil {
			select {
			case <-n.done:
			default:
				return false
			}
			m.nominating = nil
			if n.failed.Load() {
				return true
			}
		}
		// Those, too, that have lost their nomination while others were written: the scheduler takes it away when it looks at a pod
		// before the node takes any.
		pods := c.nominees(claim.Name, node)
		if len(pods) == 0 {
			return true
		}
		n := &nominating{done: make(chan struct{}), said: append(story.Of(claim), "nodeclaim", claim.Name), level: slog.LevelInfo}
		if claim.StatusConditions().IsTrue(karpv1.ConditionTypeRegistered) {
			n.level = slog.LevelDebug // again: the scheduler had tried another node for them
		}
		m.nominating = n
		if c.answers == nil {
			c.nominate(ctx, n, pods, node)
			continue
		}
		guard.Go("lifecycle.nominate", func() {
			c.nominate(ctx, n, pods, node)
			c.answered(ctx, claim.Name)
		})
		return false
	}
}

// unseen reports whether no watch has told yet of nominations that were written. The scheduler watches pods and nodes apart, and a
// busy API server is seconds behind with the pods of a burst: it would see the node open before it knows for whom. How far behind
// Kerf's own watch is says it best. That is waited for as long as for a write.
func (c *Controller) unseen(claim *karpv1.NodeClaim, node string) bool {
	m := c.remember(claim)
	if c.Nominees == nil || !c.Nominees.Unseen(claim.Name, node) {
		m.unseenSince = time.Time{}
		return false
	}
	if m.unseenSince.IsZero() {
		m.unseenSince = c.Clock.Now()
	}
	return c.Clock.Since(m.unseenSince) < nominateWithin
}

// nominating is one round of nominations to a node.
type nominating struct {
	done   chan struct{} // closed when all have been written, or will not be
	failed atomic.Bool   // some could not be written for no reason of their pod
	// said and level are of the line that tells of it; the claim is not read beside those who work on it.
	said  []any
	level slog.Level
}

func (c *Controller) nominees(claim, node string) []*corev1.Pod {
	if c.Nominees == nil || c.nominationsPause() {
		return nil
	}
	return c.Nominees.Nominees(claim, node)
}

// nominationsPause reports whether nobody is nominated now.
func (c *Controller) nominationsPause() bool { return c.Clock.Now().UnixNano() < c.nominateFrom.Load() }

func (c *Controller) nominate(ctx context.Context, n *nominating, pods []*corev1.Pod, node string) {
	defer close(n.done)
	slots := c.nominations()
	written := make([]bool, len(pods))
	g := &guard.Group{}
	for i, p := range pods {
		slots <- struct{}{} // in the order of nodes: the first one takes pods while others are written to
		g.Go("lifecycle.nominate", func() error {
			defer func() { <-slots }()
			if c.nominationsPause() {
				c.Nominees.NotNominated(p)
				return nil
			}
			if !c.nominateOne(ctx, p, node) {
				c.Nominees.NotNominated(p)
				n.failed.Store(true)
			} else {
				written[i] = true
			}
			return nil
		})
	}
	if g.Wait() != nil {
		n.failed.Store(true) // a panic
	}
	c.sayNominated(ctx, n, node, pods, written)
}

// nominations are the places of those that write at a time.
func (c *Controller) nominations() chan struct{} {
	c.nominatingOnce.Do(func() { c.slots = make(chan struct{}, nominateAtOnce) })
	return c.slots
}

// sayNominated tells which pods now wait for a node.
func (c *Controller) sayNominated(ctx context.Context, n *nominating, node string, pods []*corev1.Pod, written []bool) {
	var names []string
	for i, p := range pods {
		if written[i] {
			names = append(names, p.Namespace+"/"+p.Name)
		}
	}
	if len(names) > 0 {
		c.Log.Log(ctx, n.level, "nominated pods", append(n.said, "node", node, "pods", len(names), "pod-names", story.List(len(names), story.PodsSaid, func(i int) string { return names[i] }))...)
	}
}

// nominateOne nominates a pod that is still the one that is meant, waits, and is nominated to no node. It is false if that could
// not be written; that there is no such pod any more is no failure.
func (c *Controller) nominateOne(ctx context.Context, pod *corev1.Pod, node string) (ok bool) {
	late, cancel := context.WithTimeout(ctx, nominateWithin)
	defer cancel()
	// Tests in place of a version: the scheduler writes to the status of each pod that it refuses, which is no reason not to.
	patch := client.RawPatch(types.JSONPatchType, fmt.Appendf(nil, `[{"op":"test","path":"/metadata/uid","value":%q},{"op":"test","path":"/spec/nodeName","value":null},`+
		`{"op":"test","path":"/status/nominatedNodeName","value":null},{"op":"add","path":"/status/nominatedNodeName","value":%q}]`, pod.UID, node))
	err := c.Pods.Status().Patch(late, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}, patch)
	switch {
	case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.IsInvalid(err):
		return true
	case ctx.Err() != nil:
	case apierrors.IsForbidden(err):
		c.pauseNominations(forbiddenFor, "the API refuses it; allow the controller to patch pods/status", err)
	case late.Err() != nil:
		c.pauseNominations(unansweredFor, "the API server did not answer within "+nominateWithin.String(), err)
	default:
		c.Log.Debug("a pod could not be nominated to its node", "pod", client.ObjectKeyFromObject(pod), "node", node, "error", err)
	}
	return false
}

// pauseNominations says so once, however many fail.
func (c *Controller) pauseNominations(d time.Duration, why string, err error) {
	now := c.Clock.Now()
	until := now.Add(d)
	if before := c.nominateFrom.Swap(until.UnixNano()); before < now.UnixNano() {
		c.Log.Warn("pods are not nominated to the nodes that are launched for them: "+why, "until", until, "error", err)
	}
}
