package guard

import (
	"slices"
	"sync"
)

var (
	listening sync.Mutex
	listeners []*func(*Panic)
)

// Listen has f told of every panic of this process until stop is called. f must not block, and is called by the goroutine
// that panicked.
func Listen(f func(*Panic)) (stop func()) {
	listening.Lock()
	defer listening.Unlock()
	l := &f
	listeners = append(listeners, l)
	return func() {
		listening.Lock()
		defer listening.Unlock()
		listeners = slices.DeleteFunc(listeners, func(o *func(*Panic)) bool { return o == l })
	}
}

// Tell tells the listeners of a panic that somebody else has recovered.
func Tell(p *Panic) {
	listening.Lock()
	told := slices.Clone(listeners)
	listening.Unlock()
	for _, l := range told {
		(*l)(p)
	}
}
