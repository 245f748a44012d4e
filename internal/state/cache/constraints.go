package cache

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// DisruptionConstraints are what pods say about the disruption of their nodes, beyond what a scheduler can see.
type DisruptionConstraints struct {
	// Nodes by name; one of which nothing is to be said is left out.
	Nodes map[string]NodeConstraints
	// DeletionCosts are the pods' annotations of that name, by namespace/name; 0 is left out.
	DeletionCosts map[string]int32
	// Invalid are pods whose annotation do-not-disrupt can't be read, sorted by namespace and name.
	Invalid []*corev1.Pod
	// Timed are pods whose annotation do-not-disrupt holds them until a time that is known, sorted in the same way.
	Timed []*corev1.Pod
	// Next is when a hold ends by itself, zero when none does.
	Next time.Time
}

// NodeConstraints are what the pods of a node say. Of several pods the first by name is given.
type NodeConstraints struct {
	// Held is a pod that asks not to be disrupted, daemons and static pods included.
	Held string
	// Refused is a pod that the eviction API would refuse now, for Refusal. Pods that no drain would evict do not count.
	Refused string
	Refusal intake.EvictionRefusal
	// Guardian is the PodDisruptionBudget that refuses it, as namespace/name; empty where several select the pod.
	Guardian string
	// LastPodEvent is when a pod that is not a daemon's was last seen to come, end or begin to go; zero when not known.
	LastPodEvent time.Time
}

// readConstraints are what was last found out about a node, until something changes of what it was made of: a pod on the node, a
// budget of the namespace of one that a drain would evict, or the time.
type readConstraints struct {
	NodeConstraints // without LastPodEvent
	costs           map[string]int32
	invalid, timed  []*corev1.Pod
	next            time.Time
	namespaces      []string // of pods about which budgets are asked
}

// constraints is what the answers about disruption are made of.
type constraints struct {
	podEvents map[string]time.Time        // by node; see notePodEvent
	byNode    map[string]*readConstraints // what was last found out
	podsAsked int                         // tests count them
}

// DisruptionConstraints are what the pods on nodes say now.
//
// Cost: a few look-ups for each node, and for each pod of the nodes on which something has changed since the last call.
func (c *Cache) DisruptionConstraints() *DisruptionConstraints {
	c.mu.Lock()
	defer c.unlock()
	now := c.now()
	if changed := c.blocks.read.Changed(); len(changed) > 0 {
		maps.DeleteFunc(c.constraints.byNode, func(_ string, n *readConstraints) bool {
			return slices.ContainsFunc(n.namespaces, func(ns string) bool { return changed[ns] })
		})
	}
	out := &DisruptionConstraints{Nodes: make(map[string]NodeConstraints, len(c.constraints.podEvents)), DeletionCosts: map[string]int32{}}
	for node, on := range c.podsByNode {
		n := c.constraints.byNode[node]
		if n == nil || !n.next.IsZero() && !now.Before(n.next) {
			n = &readConstraints{}
			for _, e := range on {
				c.readConstraintsOf(e, now, n)
			}
			c.constraints.byNode[node] = n
		}
		s := n.NodeConstraints
		s.LastPodEvent = c.constraints.podEvents[node]
		if s != (NodeConstraints{}) {
			out.Nodes[node] = s
		}
		maps.Copy(out.DeletionCosts, n.costs)
		out.Invalid, out.Timed = append(out.Invalid, n.invalid...), append(out.Timed, n.timed...)
		if !n.next.IsZero() && (out.Next.IsZero() || n.next.Before(out.Next)) {
			out.Next = n.next
		}
	}
	for node, at := range c.constraints.podEvents {
		if _, ok := out.Nodes[node]; !ok {
			out.Nodes[node] = NodeConstraints{LastPodEvent: at}
		}
	}
	byName := func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	}
	slices.SortFunc(out.Invalid, byName)
	slices.SortFunc(out.Timed, byName)
	return out
}

func (c *Cache) readConstraintsOf(e *entry, now time.Time, s *readConstraints) {
	c.constraints.podsAsked++
	pod := e.obj
	if len(pod.Annotations) > 0 {
		if text := pod.Annotations[karpv1.PodDeletionCostAnnotationKey]; text != "" {
			if n, err := strconv.ParseInt(text, 10, 32); err == nil && n != 0 {
				if s.costs == nil {
					s.costs = map[string]int32{}
				}
				s.costs[e.pod.PodRef.String()] = int32(n)
			}
		}
		if text, ok := pod.Annotations[karpv1.DoNotDisruptAnnotationKey]; ok && pod.DeletionTimestamp == nil {
			held, end := intake.HeldUntil(pod, now)
			switch name := e.pod.PodRef.String(); {
			case held && (s.Held == "" || name < s.Held):
				s.Held = name
			case !held && end.IsZero() && text != "false":
				s.invalid = append(s.invalid, pod)
			}
			if held && !end.IsZero() {
				s.timed = append(s.timed, pod)
				if s.next.IsZero() || end.Before(s.next) {
					s.next = end
				}
			}
		}
	}
	if e.pod.Mirror || pod.DeletionTimestamp != nil || bearsDisruption(e.pod.Class) {
		return
	}
	if !slices.Contains(s.namespaces, pod.Namespace) {
		s.namespaces = append(s.namespaces, pod.Namespace)
	}
	refusal := c.blocks.read.Refuse(pod)
	if refusal == "" {
		return
	}
	if name := e.pod.PodRef.String(); s.Refused == "" || name < s.Refused {
		s.Refused, s.Refusal, s.Guardian = name, refusal, ""
		if budget, several := c.blocks.read.Guardian(pod); budget != "" && !several {
			s.Guardian = pod.Namespace + "/" + budget
		}
	}
}

// bearsDisruption reports whether pods of the class tolerate the taint of nodes that go: no drain evicts them.
func bearsDisruption(class *cluster.Class) bool {
	if len(class.Tolerations) == 0 {
		return false
	}
	taint := karpv1.DisruptedNoScheduleTaint()
	return slices.ContainsFunc(class.Tolerations, func(t cluster.Toleration) bool {
		return t.Tolerates(cluster.Taint{Key: taint.Key, Value: taint.Value, Effect: cluster.Effect(taint.Effect)})
	})
}

// notePodEvent notes that a pod came to its node, ended or began to go. What was so when the pod was first seen happened
// when its conditions say, not now: a start of this process is no event.
func (c *Cache) notePodEvent(e, old *entry) {
	if e.pod.Node == "" || e.pod.Daemon {
		return
	}
	at := c.now()
	switch {
	case old == nil || old.obj.UID != e.obj.UID:
		at = boundAt(e.obj)
	case old.pod.Node == "", !old.pod.Terminating && e.pod.Terminating:
	default:
		return
	}
	c.podEvent(e.pod.Node, at)
}

func (c *Cache) podEvent(node string, at time.Time) {
	if at.After(c.constraints.podEvents[node]) {
		c.constraints.podEvents[node] = at
	}
}

// boundAt is when the scheduler bound the pod, or when it was made if that is not written.
func boundAt(pod *corev1.Pod) time.Time {
	for i := range pod.Status.Conditions {
		if x := &pod.Status.Conditions[i]; x.Type == corev1.PodScheduled && x.Status == corev1.ConditionTrue && !x.LastTransitionTime.IsZero() {
			return x.LastTransitionTime.Time
		}
	}
	return pod.CreationTimestamp.Time
}

// LastPodEvent is when a pod that is not a daemon's was last seen to come to the node, to end or to begin to go; zero when
// not known.
func (c *Cache) LastPodEvent(node string) time.Time {
	c.mu.Lock()
	defer c.unlock()
	return c.constraints.podEvents[node]
}
