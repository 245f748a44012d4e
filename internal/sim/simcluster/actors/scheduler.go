package actors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// schedule binds the pods that can be bound, by priority and age, and says of the others that they can't. A pod takes of
// the nodes that suit it the one with the most room left, as the default scheduler's strongest score has it; but first
// the one it is nominated to. Preferences are not heard, and nobody is preempted.
func (c *Actors) schedule(ctx context.Context) (time.Duration, error) {
	pods, err := c.podsBy(unplaced, some)
	if err != nil {
		return 0, err
	}
	waiting := slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool {
		return p.Spec.SchedulerName != corev1.DefaultSchedulerName || len(p.Spec.SchedulingGates) > 0
	})
	if len(waiting) == 0 {
		return 0, nil
	}
	c.inTurn(waiting)
	nodes, err := c.nodes.List(labels.Everything())
	if err != nil {
		return 0, err
	}
	b, err := c.newBoard(nodes, pods)
	if err != nil {
		return 0, err
	}
	state := b.state()
	tried := map[types.UID]string{}
	var errs []error
	for _, p := range waiting {
		s := b.best(c, p)
		if s == nil {
			tried[p.UID] = state
			errs = append(errs, passed(c.unschedulable(ctx, p, b.why(), c.tried[p.UID] != state)))
			continue
		}
		err := c.o.Client.CoreV1().Pods(p.Namespace).Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: p.UID}, Target: corev1.ObjectReference{Kind: "Node", Name: s.node.Name},
		}, metav1.CreateOptions{})
		if err == nil {
			b.leave(p, s)
			s.take(p, b.needs[p.UID])
		}
		errs = append(errs, passed(err))
	}
	c.tried = tried
	return 0, errors.Join(errs...)
}

// inTurn orders pods by priority and age, and those of one second by when they came to the scheduler.
func (c *Actors) inTurn(waiting []*corev1.Pod) {
	type place struct {
		pod           *corev1.Pod
		priority      int32
		created, turn int64
	}
	line := make([]place, len(waiting))
	turns := c.queued.turns(waiting)
	for i, p := range waiting {
		line[i] = place{p, priority(p), p.CreationTimestamp.Unix(), turns[i]}
	}
	slices.SortFunc(line, func(a, b place) int {
		switch {
		case a.priority != b.priority:
			return cmp.Compare(b.priority, a.priority)
		case a.created != b.created:
			return cmp.Compare(a.created, b.created)
		case a.turn != b.turn:
			return cmp.Compare(a.turn, b.turn)
		}
		return cmp.Or(cmp.Compare(a.pod.Namespace, b.pod.Namespace), cmp.Compare(a.pod.Name, b.pod.Name))
	})
	for i := range line {
		waiting[i] = line[i].pod
	}
}

func priority(p *corev1.Pod) int32 {
	if p.Spec.Priority == nil {
		return 0
	}
	return *p.Spec.Priority
}

// unschedulable says of a pod that no node suits it. When it was tried because a node has changed it is not nominated any
// more: the default scheduler takes that away when preemption finds nothing, and does not try a pod again for its own status.
func (c *Actors) unschedulable(ctx context.Context, p *corev1.Pod, why string, again bool) error {
	lose := again && p.Status.NominatedNodeName != ""
	if old := condition(p, corev1.PodScheduled); old != nil && old.Reason == corev1.PodReasonUnschedulable && !lose {
		return nil
	}
	p = p.DeepCopy()
	if lose {
		p.Status.NominatedNodeName = ""
	}
	set(p, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: why, LastTransitionTime: metav1.Now()})
	_, err := c.o.Client.CoreV1().Pods(p.Namespace).UpdateStatus(ctx, p, metav1.UpdateOptions{})
	return err
}

// best is the node that a pod goes to; nil if none suits it.
func (b *board) best(c *Actors, p *corev1.Pod) *seat {
	affinity, own := nodeaffinity.GetRequiredNodeAffinity(p), b.expected[p]
	suits := func(s *seat) bool {
		if !b.holds(s, p) || !admits(s.node, p) || s.portTaken(p) {
			return false
		}
		ok, err := affinity.Match(s.node)
		return err == nil && ok && c.volumesReach(p, s.node)
	}
	var fit []*seat
	kind := alike(p)
	if b.full[kind] {
		if own != nil && suits(own) { // what is kept there is kept from the others only
			fit = append(fit, own)
		}
	} else {
		for _, s := range b.seats {
			if suits(s) {
				fit = append(fit, s)
			}
		}
		b.full[kind] = len(fit) == 0
	}
	fit = b.together(p, fit)
	fit = b.spread(p, fit)
	if own != nil && slices.Contains(fit, own) {
		return own
	}
	var best *seat
	for _, s := range fit {
		if best == nil || s.room() > best.room() {
			best = s
		}
	}
	return best
}

// holds reports whether the seat has room for the pod beside what is nominated to it, by priority no less than the pod.
func (b *board) holds(s *seat, p *corev1.Pod) bool {
	want := b.needs[p.UID]
	if len(s.due) == 0 || !s.free.hold(want, nil) {
		return s.free.hold(want, nil)
	}
	others := b.nominated(s, priority(p))
	if b.expected[p] == s {
		others = maps.Clone(others) // it is among them
		for name, n := range want {
			others[name] -= n
		}
	}
	return s.free.hold(want, others) && s.free.hold(others, want)
}

// nominated is what the pods ask for together that are nominated to the seat, by priority no less than the given one.
func (b *board) nominated(s *seat, least int32) needs {
	if sum, known := s.nominated[least]; known {
		return sum
	}
	sum := needs{}
	for _, o := range s.due {
		if priority(o) >= least {
			for name, n := range b.needs[o.UID] {
				sum[name] += n
			}
		}
	}
	if s.nominated == nil {
		s.nominated = map[int32]needs{}
	}
	s.nominated[least] = sum
	return sum
}

// hold reports whether there is as much as is wanted, together with what is wanted besides of the same.
func (free needs) hold(want, besides needs) bool {
	for name, n := range want {
		if n += besides[name]; n > free[name] && n > 0 {
			return false
		}
	}
	return true
}

// room is the share of processor and memory that is free.
func (s *seat) room() float64 {
	sum := 0.0
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if s.most[name] > 0 {
			sum += float64(s.free[name]) / float64(s.most[name])
		}
	}
	return sum
}

// admits tells whether a node's taints let a pod in.
func admits(n *corev1.Node, p *corev1.Pod) bool {
	taints := n.Spec.Taints
	if n.Spec.Unschedulable {
		taints = append(slices.Clone(taints), corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
	for i := range taints {
		t := &taints[i]
		if t.Effect == corev1.TaintEffectPreferNoSchedule {
			continue
		}
		if !slices.ContainsFunc(p.Spec.Tolerations, func(tol corev1.Toleration) bool { return tolerates(&tol, t) }) {
			return false
		}
	}
	return true
}

// mayRun tells whether a daemon's pod belongs on a node, full or not.
func mayRun(p *corev1.Pod, n *corev1.Node) bool {
	for i := range n.Spec.Taints {
		t := &n.Spec.Taints[i]
		if t.Key == corev1.TaintNodeNotReady && t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectPreferNoSchedule {
			continue
		}
		if !slices.ContainsFunc(p.Spec.Tolerations, func(tol corev1.Toleration) bool { return tolerates(&tol, t) }) {
			return false
		}
	}
	return selects(p, n)
}

func (s *seat) portTaken(p *corev1.Pod) bool {
	mine := ports(p)
	if len(mine) == 0 {
		return false
	}
	return slices.ContainsFunc(s.pods, func(other *corev1.Pod) bool {
		return slices.ContainsFunc(ports(other), func(port string) bool { return slices.Contains(mine, port) })
	})
}

func ports(p *corev1.Pod) []string {
	var out []string
	for _, k := range p.Spec.Containers {
		for _, port := range k.Ports {
			if port.HostPort > 0 {
				out = append(out, fmt.Sprintf("%s/%d", cmp.Or(port.Protocol, corev1.ProtocolTCP), port.HostPort))
			}
		}
	}
	return out
}

// volumesReach tells whether the volumes of a pod that are there can be attached to a node.
func (c *Actors) volumesReach(p *corev1.Pod, n *corev1.Node) bool {
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		claim, err := c.claims.PersistentVolumeClaims(p.Namespace).Get(v.PersistentVolumeClaim.ClaimName)
		if err != nil {
			return false
		}
		if claim.Spec.VolumeName == "" {
			continue
		}
		volume, err := c.volumes.Get(claim.Spec.VolumeName)
		if err != nil {
			return false
		}
		if a := volume.Spec.NodeAffinity; a != nil && a.Required != nil {
			sel, err := nodeaffinity.NewNodeSelector(a.Required)
			if err != nil || !sel.Match(n) {
				return false
			}
		}
	}
	return true
}

// selects tells whether a pod's node selector and affinity allow a node.
func selects(p *corev1.Pod, n *corev1.Node) bool {
	ok, err := nodeaffinity.GetRequiredNodeAffinity(p).Match(n)
	return err == nil && ok
}
