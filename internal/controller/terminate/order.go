package terminate

import (
	"cmp"
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// The successors of evicted pods are scheduled in the order of the evictions. Those that few nodes suit come first, of all nodes
// of a command: others would take their room on the new nodes, and an instance more would be launched for them. Then the largest
// come first: all of them find room more often so.

const (
	// together is for how long after the first look at a drain pods that many nodes suit wait for those of the command's other
	// nodes that few do. Their evictions take milliseconds; a node of the command that is not drained after all must not
	// hold up the others.
	together = 2 * time.Second
	// othersAgain is how soon it is looked again whether they have been asked for.
	othersAgain = 100 * time.Millisecond
	// awaitTurnFor is for how long after the first look at a drain pods wait for the turn of the new node that is for them. A turn takes
	// little more than a second (disrupt.Candidates); where many new nodes come, or a budget holds up one of them, the drain goes on.
	awaitTurnFor = 30 * time.Second
)

// inOrder sorts the pods in the order in which they are to be evicted, and returns how many of them, from the front, few nodes suit.
func inOrder(pods []*corev1.Pod) (tied int) {
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(intake.PodRequests(b).Size(), intake.PodRequests(a).Size()))
	})
	for tied < len(pods) && rank(pods[tied]) == 0 {
		tied++
	}
	return tied
}

// rank is 0 for pods that few nodes suit, 1 for others.
func rank(p *corev1.Pod) int {
	if isTied(p) {
		return 0
	}
	return 1
}

// isTied reports whether more than requests and taints decides which nodes suit the pod.
func isTied(p *corev1.Pod) bool {
	s := &p.Spec
	if len(s.NodeSelector) > 0 || slices.ContainsFunc(s.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil }) {
		return true
	}
	if slices.ContainsFunc(s.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool { return c.WhenUnsatisfiable == corev1.DoNotSchedule }) {
		return true
	}
	if slices.ContainsFunc(s.Containers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(port corev1.ContainerPort) bool { return port.HostPort > 0 })
	}) {
		return true
	}
	a := s.Affinity
	return a != nil && (a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil ||
		a.PodAffinity != nil && len(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 ||
		a.PodAntiAffinity != nil && len(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0)
}

// othersFirst reports whether the command that lets the node go has pods on other nodes that few nodes suit and whose eviction
// has not been asked for yet.
func (r *round) othersFirst(ctx context.Context) bool {
	if r.now.Sub(r.memory.begun) >= together {
		return false
	}
	if !r.memory.knowsBeside {
		r.memory.knowsBeside = true
		var err error
		if r.memory.beside, err = index.BesideInCommand(ctx, r.Client, r.node); err != nil {
			return false // the order is worth less than the drain
		}
	}
	return slices.ContainsFunc(r.memory.beside, func(name string) bool {
		if m, looked := r.memories.Load(name); looked {
			return m.(*memory).tied.Load() > 0
		}
		return r.Client.Get(ctx, client.ObjectKey{Name: name}, &corev1.Node{}) == nil // it is not gone: its drain has not begun
	})
}
