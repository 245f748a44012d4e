package pack

import (
	"slices"
	"sync"
)

// Questions makes a WhatIf for one problem after the other and keeps what was worked out about instance types, pools and
// nodes that the next problem holds too. Their answers are those of NewWhatIf. The zero value knows nothing yet.
//
// What problems point to is taken to be the same when the pointers are, as by Engine.
//
// Concurrency: safe; each WhatIf is still its caller's alone.
type Questions struct {
	mu    sync.Mutex
	spare []*memory // used last at the end
	lent  []*WhatIf
}

// idleRounds is how many calls of Release a memory is kept that none of them gave back: searches that are made side by side
// have one each, and most rounds make one.
const idleRounds = 8

// WhatIf is NewWhatIf.
//
// Cost: that of what has changed since a WhatIf was released.
func (q *Questions) WhatIf(p *Problem) *WhatIf {
	k := q.take()
	k.learned, k.worked = learned{}, Worked{}
	w := newWhatIf(p, k) // lost if this panics
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lent = append(q.lent, w)
	return w
}

func (q *Questions) take() *memory {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.spare)
	if n == 0 {
		return newMemory()
	}
	k := q.spare[n-1]
	q.spare = q.spare[:n-1]
	if k.full() {
		return newMemory()
	}
	return k
}

// Release ends every WhatIf that was made: none may be used again.
func (q *Questions) Release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, k := range q.spare {
		k.idle++
	}
	q.spare = slices.DeleteFunc(q.spare, func(k *memory) bool { return k.idle > idleRounds })
	for _, w := range q.lent {
		w.Drop()
		k := w.s.memory
		k.endRound()
		k.idle = 0
		q.spare = append(q.spare, k)
	}
	q.lent = nil
}

// Forget gives up what the WhatIfs know that were not released: a panic may have left it half changed.
func (q *Questions) Forget() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lent = nil
}
