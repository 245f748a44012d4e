package disrupt

import (
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/disrupt"
)

const (
	// restFor is how long pods stay where a move has brought them.
	restFor = 10 * time.Minute
	// judgeFor is how long after a command a machine that has to be bought for its pods tells that the plan was wrong.
	judgeFor = 5 * time.Minute
	// tripAt is how many of the last commands must have turned out wrong, and what part of them, for the breaker to open.
	tripAt, tripShare = 3, 0.3
	// lookBack is how many commands count.
	lookBack = 10
	// openFor is how long the breaker stays open the first time; each time that it opens again soon it is twice as long, up
	// to mostOpen.
	openFor, mostOpen = 10 * time.Minute, 2 * time.Hour
)

// Governor keeps consolidation from doing harm: it lets pods rest where a move has brought them, and stops when machines
// have to be bought for pods that were said to fit elsewhere.
//
// Its memory is this process's own: a new leader begins with an open mind.
//
// Concurrency: safe.
type Governor struct {
	mu sync.Mutex
	// moved is when pods of an owner were last moved by consolidation.
	moved map[types.UID]time.Time
	// outcomes of the last commands, oldest first.
	outcomes []*outcome
	until    time.Time     // the breaker is open
	held     time.Duration // for how long it opened last
	why      string
}

// outcome is what came of a command.
type outcome struct {
	at time.Time
	// owners of the pods that it moved, each with how many pods it had then.
	owners map[types.UID]int
	wrong  bool
}

// NewGovernor returns a governor that knows nothing yet.
func NewGovernor() *Governor { return &Governor{moved: map[types.UID]time.Time{}} }

// ownerOf is what the pod's next incarnation has in common with it: its controller; "" if it has none.
func ownerOf(pod *corev1.Pod) types.UID {
	if o := metav1.GetControllerOfNoCopy(pod); o != nil {
		return o.UID
	}
	return ""
}

// Moving notes that a command begins to move pods. Count is how many pods an owner has.
func (g *Governor) Moving(pods []*corev1.Pod, count func(types.UID) int, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for owner, at := range g.moved {
		if now.Sub(at) >= 2*restFor {
			delete(g.moved, owner)
		}
	}
	o := &outcome{at: now, owners: map[types.UID]int{}}
	for _, p := range pods {
		if owner := ownerOf(p); owner != "" {
			g.moved[owner], o.owners[owner] = now, count(owner)
		}
	}
	g.outcomes = append(g.outcomes, o)
	if len(g.outcomes) > lookBack {
		g.outcomes = g.outcomes[len(g.outcomes)-lookBack:]
	}
}

// blocks says whether pods on the node were brought there by a move a short time ago, and until when they rest. Pods are
// known again by their owner and their age: an owner whose pods were moved, and a pod that is younger than the move.
func (g *Governor) blocks(n *cluster.Node, pod func(cluster.PodRef) *corev1.Pod, now time.Time) (r disrupt.Reason, until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.moved) == 0 {
		return r, until
	}
	for _, p := range n.Pods {
		if p.Daemon || p.Mirror || p.CreatedAt.IsZero() || now.Sub(p.CreatedAt) >= restFor {
			continue
		}
		obj := pod(p.PodRef)
		if obj == nil {
			continue
		}
		at, ok := g.moved[ownerOf(obj)]
		if !ok || p.CreatedAt.Before(at.Truncate(time.Second)) {
			continue
		}
		if end := p.CreatedAt.Add(restFor); end.After(until) {
			until = end
			r = disrupt.Reason{Code: disrupt.Other, Pod: p.PodRef.String(), Detail: fmt.Sprintf("pod %s was moved there a short time ago; it rests for %s", p.PodRef, restFor)}
		}
	}
	return r, until
}

// Bought notes that machines had to be bought for pods. It returns what to say when that opens the breaker. An owner that
// has more pods than when they were moved has grown, and says nothing about the plan.
func (g *Governor) Bought(pods []*corev1.Pod, count func(types.UID) int, now time.Time) (opened string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range pods {
		owner := ownerOf(p)
		for _, o := range g.outcomes {
			if had := o.owners[owner]; owner != "" && had > 0 && now.Sub(o.at) < judgeFor && count(owner) <= had {
				o.wrong = true
			}
		}
	}
	wrong := 0
	for _, o := range g.outcomes {
		if o.wrong {
			wrong++
		}
	}
	if now.Before(g.until) || wrong < tripAt || float64(wrong) < tripShare*float64(len(g.outcomes)) {
		return ""
	}
	hold := openFor
	if g.held > 0 && now.Sub(g.until) < mostOpen {
		hold = min(2*g.held, mostOpen)
	}
	g.held, g.until = hold, now.Add(hold)
	g.why = fmt.Sprintf("machines had to be bought for pods of %d of the last %d consolidations that were said to fit elsewhere", wrong, len(g.outcomes))
	g.outcomes = nil
	return g.why
}

// Open says whether consolidation that moves pods is held, until when, and why.
func (g *Governor) Open(now time.Time) (until time.Time, why string, open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.until, g.why, now.Before(g.until)
}
