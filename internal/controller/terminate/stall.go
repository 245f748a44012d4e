package terminate

import (
	"cmp"
	"fmt"
	"slices"

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
	r.Recorder.Event(r.node, corev1.EventTypeWarning, events.FailedDraining, text)
	if r.claim != nil {
		r.Recorder.Event(r.claim, corev1.EventTypeWarning, events.FailedDraining, text)
	}
}
