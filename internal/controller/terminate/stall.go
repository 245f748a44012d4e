package terminate

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/controller/events"
)

// stall is a pod that can't be evicted yet, and why.
type stall struct{ pod, why string }

func (r *round) stalled(p *corev1.Pod, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stalls = append(r.stalls, stall{p.Namespace + "/" + p.Name, why})
}

// tell says on the node and its claim what stalls the drain: one pod by name, and how many more there are. An event for
// each of a thousand pods would tell nobody more.
func (r *round) tell() {
	if len(r.stalls) == 0 {
		return
	}
	one := slices.MinFunc(r.stalls, func(a, b stall) int { return cmp.Compare(a.pod, b.pod) })
	text := fmt.Sprintf("pod %s can't be evicted: %s", one.pod, one.why)
	switch more := len(r.stalls) - 1; {
	case more == 1:
		text += "; one more can't either"
	case more > 1:
		text += fmt.Sprintf("; %d more can't either", more)
	}
	r.memory.remember(Stall{Node: r.node.Name, Text: text, Since: r.now, Reason: disrupted(r.claim), pod: one.pod})
	r.Recorder.Event(r.node, corev1.EventTypeWarning, events.FailedDraining, text)
	if r.claim != nil {
		r.Recorder.Event(r.claim, corev1.EventTypeWarning, events.FailedDraining, text)
	}
}

// Stall is a drain that waits for a pod which may not be evicted.
type Stall struct {
	Node, Text string
	Since      time.Time
	// Reason is why Kerf chose to remove the node; empty where it did not (disrupted).
	Reason string

	pod string
}

// remember keeps what stalls the drain of a node, and since when it does.
func (m *memory) remember(s Stall) {
	if was := m.stall.Load(); was != nil {
		s.Since = was.Since
	}
	m.stall.Store(&s)
}

// free forgets a stall whose pod goes, or is gone. That a pod's eviction is not asked for in each round says nothing of it.
func (m *memory) free(waiting []*corev1.Pod) {
	s := m.stall.Load()
	if s != nil && !slices.ContainsFunc(waiting, func(p *corev1.Pod) bool { return p.DeletionTimestamp.IsZero() && p.Namespace+"/"+p.Name == s.pod }) {
		m.stall.Store(nil)
	}
}

// Stalls are the drains that are stalled now, by the names of their nodes. It may be called by any goroutine.
func (n *Nodes) Stalls() (out []Stall) {
	n.memories.Range(func(_, m any) bool {
		if s := m.(*memory).stall.Load(); s != nil {
			out = append(out, *s)
		}
		return true
	})
	slices.SortFunc(out, func(a, b Stall) int { return cmp.Compare(a.Node, b.Node) })
	return out
}
