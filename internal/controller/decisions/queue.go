package decisions

import (
	"slices"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/record"
	"github.com/kerf-sh/kerf/internal/guard"
)

// A decision holds the whole cluster, and writing it costs in proportion. So decisions wait in a queue as the values that they are,
// which share what did not change, and are written one at a time with a rest in between:
//
//   - One that repeats the one before takes its place in the queue. Where the one before is written already, it is left waiting until
//     another decision follows, somebody asks for its file, or none has repeated it for a time.
//   - When the queue is full, what nobody asks about is lost first (worth). A rest ends before a launch or a move would be lost for it.
const (
	// queueMost is how many decisions may wait: they hold memory until they are written.
	queueMost = 8
	// leisure is how many times as long as it took to write a decision the writer rests: writing takes a tenth of a core at most.
	leisure = 10
	// still is after how long a repetition is written that nothing follows: what it holds in memory may be gone from the cluster.
	still = time.Minute
)

// enqueue has a decision written. It does not wait for it.
func (r *Ring) enqueue(e *entry) {
	first := 0
	if r.working {
		first = 1 // that one is being written
	}
	if n := len(r.queue); n > first && e.repeats(r.queue[n-1]) {
		e.replace(r.queue[n-1])
		r.queue = r.queue[:n-1]
	}
	r.queue = append(r.queue, e)
	if waiting := r.queue[first:]; len(waiting) > queueMost {
		if at := leastWorth(waiting); r.working || waiting[at].worth() < asked {
			r.queue = slices.Delete(r.queue, first+at, first+at+1)
		} else {
			r.endRest()
		}
	}
	r.start()
	r.awaitStill()
}

// start has the writer begin if there is something to write now.
func (r *Ring) start() {
	if !r.working && r.due() {
		r.working = true
		guard.Go("record", r.work)
	}
}

// due reports whether the first decision of the queue is to be written now.
func (r *Ring) due() bool {
	switch n := len(r.queue); {
	case n == 0:
		return false
	case r.hurried > 0:
		return true
	case n == 1 && r.repeatsLast(r.queue[0]) && time.Since(r.queue[0].added) < still:
		return false
	}
	return r.rest == nil
}

// awaitStill has the queue looked at again where a repetition alone is left in it.
func (r *Ring) awaitStill() {
	if r.working || len(r.queue) != 1 || !r.repeatsLast(r.queue[0]) {
		return
	}
	guard.AfterFunc(still-time.Since(r.queue[0].added), "record", func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.start()
	})
}

// repeatsLast reports whether a decision repeats the last one that is written.
func (r *Ring) repeatsLast(e *entry) bool {
	n := len(r.entries)
	return n > 0 && e.repeats(r.entries[n-1])
}

func (r *Ring) work() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.due() {
		e, known := r.queue[0], r.types
		r.mu.Unlock()
		began := time.Now()
		var file *record.File
		err := guard.Run("record", func() (err error) {
			file, err = record.Encode(e.decision, known)
			return err
		})
		took := time.Since(began)
		r.mu.Lock()
		r.queue = slices.Delete(r.queue, 0, 1)
		if err != nil {
			r.lost(err)
		} else {
			e.decision, e.file, e.Bytes = nil, file, file.Size()
			r.insert(e)
		}
		r.restFor(leisure * took)
		r.idle.Broadcast()
	}
	r.working = false
	r.awaitStill()
	r.idle.Broadcast()
}

// restFor has nothing written for a time, unless somebody asks for it.
func (r *Ring) restFor(d time.Duration) {
	r.endRest()
	if d <= 0 {
		return
	}
	var timer *time.Timer
	timer = guard.AfterFunc(d, "record", func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.rest == timer {
			r.rest = nil
		}
		r.start()
	})
	r.rest = timer
}

func (r *Ring) endRest() {
	if r.rest != nil {
		r.rest.Stop()
		r.rest = nil
	}
}

// settle waits until the decision of an ID no longer waits to be written.
func (r *Ring) settle(id string) {
	if n := len(r.queue); id == Latest && n > 0 {
		id = r.queue[n-1].ID
	}
	r.hurried++
	for slices.ContainsFunc(r.queue, func(e *entry) bool { return e.is(id) }) {
		r.start()
		r.idle.Wait()
	}
	r.hurried--
}

// all are the decisions as they will be kept once those of the queue are written, oldest first.
func (r *Ring) all() []*entry {
	all := slices.Clone(r.entries)
	for _, e := range r.queue {
		if n := len(all); n > 0 && e.repeats(all[n-1]) {
			later := *e
			later.replace(all[n-1])
			e, all = &later, all[:n-1]
		}
		all = append(all, e)
	}
	for len(all) > r.most {
		at := leastWorth(all)
		all = slices.Delete(all, at, at+1)
	}
	return all
}
