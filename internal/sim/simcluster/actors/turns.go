package actors

import (
	"cmp"
	"math"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// turns is who comes first where the real ones have queues: as things were heard of.
type turns struct {
	mu   sync.Mutex
	last int
	of   map[types.UID]int
}

// note gives a turn to who has none.
func (t *turns) note(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[types.UID]int{}
	}
	if _, ok := t.of[uid]; !ok {
		t.last++
		t.of[uid] = t.last
	}
}

func (t *turns) drop(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.of, uid)
}

// compare orders two; who has no turn comes last.
func (t *turns) compare(a, b types.UID) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return cmp.Compare(t.turn(a), t.turn(b))
}

// turns are those of pods, in their order.
func (t *turns) turns(pods []*corev1.Pod) []int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]int64, len(pods))
	for i, p := range pods {
		out[i] = int64(t.turn(p.UID))
	}
	return out
}

func (t *turns) turn(uid types.UID) int {
	if n, ok := t.of[uid]; ok {
		return n
	}
	return math.MaxInt
}
