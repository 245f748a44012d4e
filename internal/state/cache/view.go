package cache

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	autoscalingv1beta1 "github.com/kerf-sh/kerf/api/autoscaling/v1beta1"
	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// viewPage is how many pods are listed while the lock is held: some tenths of a millisecond.
const viewPage = 2000

// View is the objects behind a snapshot, for whoever shows the state and decides nothing. It is immutable: whoever holds it may
// read it without a lock, and nobody may write to anything reachable from it. Its slices are in no order.
type View struct {
	Snapshot *cluster.Snapshot
	Pods     []ViewedPod
	Nodes    []*corev1.Node
	Claims   []*karpv1.NodeClaim
	Pools    []*karpv1.NodePool
	Classes  []*awsv1.EC2NodeClass
	Buffers  []*autoscalingv1beta1.CapacityBuffer
	// Starting are the pods that are not running yet and that Kerf knew before they were bound.
	Starting []StartingPod
}

// ViewedPod is a pod that is not over.
type ViewedPod struct {
	Object *corev1.Pod
	Pod    *cluster.Pod
}

// StartingPod is what happened to a pod on its way to running. A zero time is for what has not happened.
type StartingPod struct {
	Object  *corev1.Pod
	Seen    time.Time // when Kerf first found that it waits for a node
	Decided time.Time // when a decision was first made on it
	Placed  time.Time // when a decision first had a place for it
}

// View is the state as of now.
//
// Cost: one pointer for each object, and what Snapshot costs. The lock is given back after each page, so that nobody waits for a
// hundred thousand pods to be listed, and an object may be newer than the snapshot.
func (c *Cache) View() *View {
	v := &View{Snapshot: c.Snapshot()}
	c.viewPods(v)
	c.viewNodes(v)
	return v
}

func (c *Cache) viewPods(v *View) {
	c.mu.Lock()
	defer c.unlock()
	v.Pods = make([]ViewedPod, 0, len(c.entries))
	dropped := c.dropped
	// Whoever changes the map holds the lock, and so does each step over it. A pod that comes meanwhile may be missed.
	for _, e := range c.entries {
		v.Pods = append(v.Pods, ViewedPod{e.obj, e.pod})
		if len(v.Pods)%viewPage == 0 {
			c.letOthersIn()
		}
	}
	if c.dropped != dropped {
		v.Pods = newest(v.Pods) // one that came in the place of another may have been listed after it
	}
	v.Starting = make([]StartingPod, 0, len(c.starting))
	for key, s := range c.starting {
		if e := c.entries[key]; e != nil {
			v.Starting = append(v.Starting, StartingPod{Object: e.obj, Seen: e.seen, Decided: s.decided, Placed: s.placed})
		}
	}
}

// newest leaves one pod of each name, the one listed last.
func newest(pods []ViewedPod) []ViewedPod {
	at := make(map[podKey]int, len(pods))
	out := pods[:0]
	for _, p := range pods {
		key := podKey{Namespace: p.Object.Namespace, Name: p.Object.Name}
		if i, ok := at[key]; ok {
			out[i] = p
			continue
		}
		at[key] = len(out)
		out = append(out, p)
	}
	return out
}

func (c *Cache) viewNodes(v *View) {
	c.mu.Lock()
	defer c.unlock()
	v.Nodes, v.Claims = values(c.nodes), values(c.claims)
	v.Pools, v.Classes, v.Buffers = values(c.pools), values(c.classes), values(c.buffers.objects)
}
