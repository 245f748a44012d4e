package disrupt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

const (
	// judgeFor is how long after a command an instance that has to be launched for its pods tells that the plan was wrong.
	judgeFor = 5 * time.Minute
	// lookBack is how long a command counts, by what it was to save, and an instance that was launched in spite of it.
	lookBack = 10 * time.Minute
	// tripAt is how many instances must have been launched, and tripPercent what they cost of all that was to be saved, for the
	// breaker to open. The scheduler places pods as it likes, so that one now and then does not fit is to be expected.
	tripAt, tripPercent = 3, 30
	// openFor is how long the breaker stays open the first time; each time that it opens again soon it is twice as long, up
	// to mostOpen.
	openFor, mostOpen = 10 * time.Minute, 2 * time.Hour
)

// Breaker stops consolidation when instances have to be launched for pods that were said to fit elsewhere. Until when it is open
// stands on the NodePools too (breakerAnnotation), for the next leader. The zero Breaker knows nothing yet.
//
// Concurrency: safe.
type Breaker struct {
	mu sync.Mutex
	// moves and misses of the last minutes, oldest first.
	moves  []move
	misses []miss
	last   opening
}

// move is a command that moved pods.
type move struct {
	at     time.Time
	saving catalog.MicroUSD
	// owners of the pods, each with how many pods it had then.
	owners map[types.UID]int
	// missed are the pods that an instance was launched for since. Of a launch that EC2 refuses they are launched for again.
	missed map[types.UID]bool
}

// miss is an instance that had to be launched for pods that were said to fit elsewhere, at the part of its price that is theirs.
type miss struct {
	at    time.Time
	price catalog.MicroUSD
}

// Launch is an instance that was launched, with the pods that it was launched for and its price per hour: that of the moment,
// while what a move was to save is reckoned by spot prices at their worst. So the breaker opens sooner rather than later.
type Launch struct {
	Pods  []*corev1.Pod
	Price catalog.MicroUSD
	// Currency of the price; empty is USD.
	Currency catalog.Currency
}

// breakerAnnotation is on NodePools while the breaker is open, and after; it holds an opening.
const breakerAnnotation = "kerf.sh/consolidation-held"

// opening is until when the breaker is open, for how long it opened and why.
type opening struct {
	Until   time.Time       `json:"until"`
	For     metav1.Duration `json:"for"`
	Because string          `json:"because"`
}

// restore makes the breaker know what the pools tell of a former leader's.
func (g *Breaker) restore(pools []*karpv1.NodePool, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range pools {
		var o opening
		if json.Unmarshal([]byte(p.Annotations[breakerAnnotation]), &o) == nil && o.Until.After(g.last.Until) && !tooFar(o.Until, now, mostOpen) && o.For.Duration <= mostOpen {
			g.last = o
		}
	}
}

// opening is what the pools have to tell; "" while the breaker is closed.
func (g *Breaker) opening(now time.Time) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.openLocked(now) {
		return ""
	}
	text, _ := json.Marshal(opening{g.last.Until.UTC().Truncate(time.Second), g.last.For, g.last.Because}) // none of it can fail
	return string(text)
}

// writeBreaker writes on the pools until when the breaker is open.
func (l *Loop) writeBreaker(ctx context.Context) error {
	text := l.Breaker.opening(l.Clock.Now())
	if text == "" {
		return nil
	}
	var errs []error
	for _, p := range l.State.Pools() {
		if p.Annotations[breakerAnnotation] == text || !p.DeletionTimestamp.IsZero() {
			continue
		}
		if err := annotate(ctx, l.Queue.Client, p, map[string]any{breakerAnnotation: text}); err != nil {
			errs = append(errs, fmt.Errorf("noting on nodepool %s that consolidation is held: %w", p.Name, err))
		}
	}
	return errors.Join(errs...)
}

// ownerOf is what the pod's next incarnation has in common with it: its controller; "" if it has none.
func ownerOf(pod *corev1.Pod) types.UID {
	if o := metav1.GetControllerOfNoCopy(pod); o != nil {
		return o.UID
	}
	return ""
}

// Moving notes that a command begins to move pods, to save so much per hour. Count is how many pods an
// owner has.
func (g *Breaker) Moving(pods []*corev1.Pod, saving catalog.MicroUSD, count func(types.UID) int, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := move{at: now, saving: saving, owners: map[types.UID]int{}, missed: map[types.UID]bool{}}
	for _, p := range pods {
		if owner := ownerOf(p); owner != "" {
			m.owners[owner] = count(owner)
		}
	}
	g.moves = append(g.moves, m)
}

// Launched notes instances that were launched. It returns what to say when that opens the breaker. An owner that has more pods
// than when they were moved has grown, and says nothing about the plan.
func (g *Breaker) Launched(launched []Launch, count func(types.UID) int, now time.Time) (opened string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.moves = slices.DeleteFunc(g.moves, func(m move) bool { return now.Sub(m.at) >= lookBack })
	g.misses = slices.DeleteFunc(g.misses, func(m miss) bool { return now.Sub(m.at) >= lookBack })
	in := catalog.Currency("")
	for _, b := range launched {
		in = b.Currency
		n, price := 0, b.Price/catalog.MicroUSD(max(1, len(b.Pods)))
		for _, p := range b.Pods {
			if m := g.movedLocked(p, count, now); m != nil && !m.missed[p.UID] {
				m.missed[p.UID] = true
				n++
			}
		}
		if n > 0 {
			g.misses = append(g.misses, miss{at: now, price: price * catalog.MicroUSD(n)})
		}
	}
	saved, spent := catalog.MicroUSD(0), catalog.MicroUSD(0)
	for _, m := range g.moves {
		saved += m.saving
	}
	for _, m := range g.misses {
		spent += m.price
	}
	if g.openLocked(now) || len(g.misses) < tripAt || spent*100 < saved*tripPercent {
		return ""
	}
	hold := openFor
	if since := now.Sub(g.last.Until); g.last.For.Duration > 0 && since >= 0 && since < mostOpen {
		hold = min(2*g.last.For.Duration, mostOpen)
	}
	why := fmt.Sprintf("%s for %s/h had to be launched in %s for pods that were said to fit elsewhere, by consolidations that were to save %s/h",
		plan.Count(len(g.misses), "instance"), in.Amount(spent), lookBack, in.Amount(saved))
	g.last = opening{now.Add(hold), metav1.Duration{Duration: hold}, why}
	g.moves, g.misses = nil, nil // they are judged
	return why
}

// movedLocked is the move that the pod may be there for: the last of its owner's pods, a short time ago, if the owner has not
// grown since; else nil. A pod that is older than the move waited before it, and is there for another reason.
func (g *Breaker) movedLocked(pod *corev1.Pod, count func(types.UID) int, now time.Time) *move {
	owner := ownerOf(pod)
	for i := len(g.moves) - 1; i >= 0; i-- {
		m := &g.moves[i]
		if pod.CreationTimestamp.Time.Before(m.at.Truncate(time.Second)) {
			continue
		}
		if had := m.owners[owner]; had > 0 && now.Sub(m.at) < judgeFor && count(owner) <= had {
			return m
		}
	}
	return nil
}

// Open says whether consolidation that moves pods is held, until when, and why.
func (g *Breaker) Open(now time.Time) (until time.Time, why string, open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.last.Until, g.last.Because, g.openLocked(now)
}

func (g *Breaker) openLocked(now time.Time) bool {
	return now.Before(g.last.Until) && !tooFar(g.last.Until, now, mostOpen)
}
