package actors

import (
	"cmp"
	"math"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
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

func (t *turns) turn(uid types.UID) int {
	if n, ok := t.of[uid]; ok {
		return n
	}
	return math.MaxInt
}

// hear gives pods their turn at the scheduler, and owners theirs when a pod of theirs goes.
func (c *Actors) hear() cache.ResourceEventHandler {
	goes := func(p *corev1.Pod) {
		if o := metav1.GetControllerOf(p); o != nil {
			c.bereft.note(o.UID)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { c.queued.note(obj.(*corev1.Pod).UID) },
		UpdateFunc: func(before, after any) {
			if p := after.(*corev1.Pod); p.DeletionTimestamp != nil && before.(*corev1.Pod).DeletionTimestamp == nil {
				goes(p)
			}
		},
		DeleteFunc: func(obj any) {
			if d, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = d.Obj
			}
			p := obj.(*corev1.Pod)
			c.queued.drop(p.UID)
			if p.DeletionTimestamp == nil {
				goes(p)
			}
		},
	}
}
