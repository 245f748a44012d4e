package actors

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"
)

// board is the cluster as the scheduler sees it at one look.
type board struct {
	seats    []*seat               // by name
	expected map[*corev1.Pod]*seat // pods that are nominated and have no node
	// guarded tells that some pod keeps others away from it.
	guarded bool
	needs   map[types.UID]needs // of the pods without a node
	// full are the kinds of pods (alike) that no seat suits, but perhaps that which one of them is nominated to. Within a look seats only
	// fill up.
	full map[types.UID]bool
}

// needs is what a pod takes of a node, in thousandths.
type needs map[corev1.ResourceName]int64

// seat is a node with the pods on it.
type seat struct {
	node      *corev1.Node
	pods      []*corev1.Pod
	due       []*corev1.Pod   // nominated to it
	nominated map[int32]needs // what they ask for together, by priority no less than the key; as far as it was asked
	free      needs           // thousandths
	most      needs
	guarded   bool   // a pod on it keeps others away
	state     string // of the node, while it takes pods
	taken     bool   // by a pod since it was made
}

// newBoard puts the nodes on a board, with the pods on them, and those of the others that are nominated.
//
// Cost: that of the nodes that have changed since the last board, and of the pods without a node.
func (c *Actors) newBoard(nodes []*corev1.Node, unplaced []*corev1.Pod) (*board, error) {
	b := &board{expected: map[*corev1.Pod]*seat{}, needs: make(map[types.UID]needs, len(unplaced)), full: map[types.UID]bool{}}
	changed, known := c.seatsDue.take(), c.seats
	c.seats = make(map[string]*seat, len(nodes))
	for _, n := range nodes {
		s := known[n.Name]
		if s == nil || s.node != n || s.taken || changed[n.Name] {
			pods, err := c.podsBy(byNode, n.Name)
			if err != nil {
				c.seats = nil // the marks are lost
				return nil, err
			}
			s = newSeat(n, pods)
		}
		s.due, s.nominated = nil, nil
		c.seats[n.Name] = s
		b.seats = append(b.seats, s)
		b.guarded = b.guarded || s.guarded
	}
	slices.SortFunc(b.seats, func(x, y *seat) int { return cmp.Compare(x.node.Name, y.node.Name) })
	ofKind := map[types.UID]needs{}
	for _, p := range unplaced {
		kind := alike(p)
		if ofKind[kind] == nil {
			ofKind[kind] = needsOf(p)
		}
		b.needs[p.UID] = ofKind[kind]
		if s := c.seats[p.Status.NominatedNodeName]; s != nil {
			s.due = append(s.due, p)
			b.expected[p] = s
		}
	}
	return b, nil
}

func newSeat(n *corev1.Node, pods []*corev1.Pod) *seat {
	s := &seat{node: n, free: needs{}, most: needs{}}
	for name, q := range n.Status.Allocatable {
		s.free[name], s.most[name] = q.MilliValue(), q.MilliValue()
	}
	for _, p := range pods {
		if !ended(p) {
			s.take(p, needsOf(p))
			s.guarded = s.guarded || p.Spec.Affinity != nil && p.Spec.Affinity.PodAntiAffinity != nil
		}
	}
	s.taken = false
	if admits(n, &corev1.Pod{}) {
		s.state = fmt.Sprintf("%s %v %d;", n.UID, s.most, len(s.pods))
	}
	return s
}

// state is what the default scheduler tries refused pods again for, as far as the actors changes it: nodes that take pods.
func (b *board) state() string {
	var out strings.Builder
	for _, s := range b.seats {
		out.WriteString(s.state)
	}
	return out.String()
}

// leave ends the nomination of a pod that has a node.
func (b *board) leave(p *corev1.Pod, to *seat) {
	if s := b.expected[p]; s != nil {
		s.due, s.nominated = slices.DeleteFunc(s.due, func(o *corev1.Pod) bool { return o == p }), nil
		delete(b.expected, p)
		if s != to {
			clear(b.full) // others may have the room that was kept for it
		}
	}
}

// take counts a pod on a node.
func (s *seat) take(p *corev1.Pod, want needs) {
	s.taken = true
	s.pods = append(s.pods, p)
	for name, n := range want {
		s.free[name] -= n
	}
}

// alike is the kind of a pod: pods of a ReplicaSet are the same but for their names and nominations. Others are each of a kind of their own.
func alike(p *corev1.Pod) types.UID {
	if o := metav1.GetControllerOfNoCopy(p); o != nil && o.Kind == "ReplicaSet" {
		return o.UID
	}
	return p.UID
}

func needsOf(p *corev1.Pod) needs {
	out := needs{corev1.ResourcePods: 1000}
	for name, q := range resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{}) {
		out[name] = q.MilliValue()
	}
	return out
}

func (b *board) why() string {
	return fmt.Sprintf("0/%d nodes are available", len(b.seats))
}
