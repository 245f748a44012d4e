package terminate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

const (
	// atOnce is how many calls one drain makes at the same time.
	atOnce = 10
	// lag is how long an eviction may hold up the next one of its node.
	lag = 50 * time.Millisecond
	// answers is how long an answer of the API may take to be seen in the cache, after which the call is made again.
	answers = 10 * time.Second
	// repeat is when a call is made again that failed, other than for a budget.
	repeat = 2 * time.Second
)

// memory is what this process remembers of a drain, so that it does not ask twice because its cache is behind.
type memory struct {
	uid   types.UID // of the node
	begun time.Time // of this drain, as this process knows it
	// tied counts the pods whose eviction comes first and was not asked for yet; other drains of the same command look at it.
	tied atomic.Int64
	// stall is what the drain waits for that may not be; others read it.
	stall atomic.Pointer[Stall]
	// beside are the other nodes that go by the node's command, once they were looked up.
	beside      []string
	knowsBeside bool
	// asked and deleted are by pod: before what time its eviction is not asked for again, and its deletion.
	asked   map[types.UID]time.Time
	deleted map[types.UID]deletion
}

type deletion struct {
	again time.Time
	by    time.Time // the instance's end that it was for
}

// recall gives what is remembered of the node's drain.
func (n *Nodes) recall(node *corev1.Node) *memory {
	if m, ok := n.memories.Load(node.Name); ok && m.(*memory).uid == node.UID {
		return m.(*memory)
	}
	m := &memory{uid: node.UID, begun: n.Clock.Now(), asked: map[types.UID]time.Time{}, deleted: map[types.UID]deletion{}}
	m.tied.Store(1) // until it is counted
	n.memories.Store(node.Name, m)
	return m
}

// round is one look at a drain.
type round struct {
	*Nodes
	node  *corev1.Node
	claim *karpv1.NodeClaim
	by    end
	now   time.Time

	mu     sync.Mutex // guards the rest while pods are worked on
	memory *memory
	next   time.Time // when something is due; zero for nothing
	stalls []stall
}

// due notes that something is to be done at t.
func (r *round) due(t time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next.IsZero() || t.Before(r.next) {
		r.next = t
	}
}

// after is how long to wait where no event comes.
func (r *round) after() time.Duration {
	if r.next.IsZero() {
		return 0
	}
	return max(50*time.Millisecond, r.next.Sub(r.Clock.Now()))
}

// rest notes that a pod's eviction is not to be asked for again for a while. It counts from now: the answer may have taken long.
func (r *round) rest(p *corev1.Pod, d time.Duration) {
	again := r.Clock.Now().Add(d)
	r.mu.Lock()
	r.memory.asked[p.UID] = again
	r.mu.Unlock()
	r.due(again)
}

// run makes end what has to by the instance's end, evicts the others' first group unless the drain is held, and says what
// stalls. What becomes of one pod does not hold up the others.
func (r *round) run(ctx context.Context, waiting []*corev1.Pod, held bool) {
	if held {
		r.due(r.now.Add(lookAgain))
	}
	if !r.by.IsZero() && !r.by.passed(r.now, 0) {
		r.due(r.by.Time)
	}
	r.memory.free(waiting)
	forced, evicted := r.turns(waiting, held)
	err := errors.Join(
		r.forceAll(ctx, forced),
		r.evictAll(ctx, evicted))
	if err != nil && ctx.Err() == nil {
		// Not returned: the pause after an error grows, and what is due by the instance's end must not wait for it.
		r.Log.Warn("some pods of a node that drains could not be evicted; it is tried again", append(story.OfNode(r.node), "node", r.node.Name, "error", err)...)
	}
	r.tell()
}

// evictAll asks for the evictions in their order, for as long as one may stay unanswered: those whose turn has not come by then come
// first in the next round, while the others rest.
func (r *round) evictAll(ctx context.Context, pods []*corev1.Pod) error {
	ctx, cancel := context.WithTimeout(ctx, unanswered)
	defer cancel()
	evict := func(pods []*corev1.Pod) error {
		return each(pods, func() <-chan time.Time { return r.Clock.After(lag) }, func(p *corev1.Pod) error { return r.evict(ctx, p) })
	}
	tied := inOrder(pods)
	r.memory.tied.Store(int64(tied))
	err := evict(pods[:tied])
	r.memory.tied.Store(0)
	if tied < len(pods) && r.othersFirst(ctx) {
		r.due(r.now.Add(othersAgain))
		return err
	}
	return errors.Join(err, evict(pods[tied:]))
}

// turns are the pods that have to end now, whatever their budgets say, and those to evict.
func (r *round) turns(waiting []*corev1.Pod, held bool) (forced, evicted []*corev1.Pod) {
	group := map[*corev1.Pod]bool{}
	for _, p := range first(waiting) {
		group[p] = !held
	}
	for _, p := range waiting {
		switch {
		case r.mustGo(p):
			forced = append(forced, p)
		case p.DeletionTimestamp.IsZero() && group[p] && r.mayGo(p):
			evicted = append(evicted, p)
		}
		if until := lets(p, r.by, r.now); until.Sub(r.now) < 365*24*time.Hour {
			r.due(until)
		}
	}
	return forced, evicted
}

// mayGo reports whether a pod's eviction is to be asked for now.
func (r *round) mayGo(p *corev1.Pod) bool {
	if last, ok := r.memory.deleted[p.UID]; ok && last.by.Equal(r.by.Time) {
		return false // it goes by the instance's end, not by the budgets
	}
	if again := r.memory.asked[p.UID]; r.now.Before(again) {
		r.due(again)
		return false
	}
	switch held, until := intake.HeldUntil(p, r.now); {
	case held && until.IsZero():
		r.stalled(p, "its annotation "+karpv1.DoNotDisruptAnnotationKey+" forbids it")
		return false
	case held:
		r.due(until)
		r.stalled(p, fmt.Sprintf("its annotation %s forbids it until %s", karpv1.DoNotDisruptAnnotationKey, until.UTC().Format(time.RFC3339)))
		return false
	}
	if r.Replacements != nil && r.now.Sub(r.memory.begun) < awaitTurnFor && r.Replacements.AwaitsTurn(p.UID) {
		r.due(r.now.Add(othersAgain))
		return false
	}
	return true
}

// each calls f for all pods, some at a time, and joins the errors in the order of the pods. With lag the calls are made in
// that order: one waits until the one before it has returned, or until lag says that this takes too long.
func each(pods []*corev1.Pod, lag func() <-chan time.Time, f func(*corev1.Pod) error) error {
	errs := make([]error, len(pods))
	work := guard.Group{Limit: atOnce}
	for i, p := range pods {
		done := make(chan struct{})
		work.Go("drain.evict", func() error {
			defer close(done)
			errs[i] = guard.Run("drain.evict", func() error { return f(p) })
			return nil
		})
		if lag == nil {
			continue
		}
		select {
		case <-done:
		case <-lag():
		}
	}
	_ = work.Wait() // each has its own
	return errors.Join(errs...)
}
