package decisions

import (
	"fmt"
	"slices"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/record"
	"github.com/kerf-sh/kerf/internal/guard"
)

// A decision holds the whole cluster, and writing it costs in proportion: 33 ms and 15 MB of garbage for 1,000 nodes with 20,000 pods
// (go test ./internal/engine/record -bench Encode). So decisions wait in a queue as the values that they are, which share what did not
// change, and are written one at a time with a rest in between:
//
//   - One that repeats the one before takes its place in the queue. Where the one before is written already, it is left waiting until
//     another decision follows, somebody asks for its file, or none has repeated it for a time.
//   - When the queue is full, what nobody asks about is lost first (worth). A rest ends before a launch or a move would be lost for it.
const (
	// queueMost is how many decisions may wait, which take a quarter of a second to write (BenchmarkEncode). What they hold in memory
	// is what has changed from one to the next.
	queueMost = 8
	// leisure is how many times as long as it took to write a decision the writer rests. Writing takes an eleventh of a core at most,
	// but for decisions whose files are asked for, and for launches and moves that would be lost otherwise.
	leisure = 10
	// still is after how long a repetition is written that nothing follows: what it holds in memory may be gone from the cluster. Pods
	// that wait are decided on every ten seconds or so, which puts it off.
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
		at := leastWorth(waiting)
		if missed := waiting[at].worth() == asked; missed && !r.working {
			r.rested = time.Time{}
		} else {
			if missed {
				r.lost(waiting[at], fmt.Errorf("%d later ones wait to be written", queueMost))
			}
			r.queue = slices.Delete(r.queue, first+at, first+at+1)
		}
	}
	r.start()
}

// start has the writer begin once the first decision of the queue is to be written.
func (r *Ring) start() {
	if r.working || len(r.queue) == 0 {
		return
	}
	wait := time.Until(r.due())
	switch {
	case wait <= 0:
		r.working = true
		guard.Go("record", r.write)
	case r.timer != nil:
		r.timer.Reset(wait)
	default:
		r.timer = guard.AfterFunc(wait, "record", func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.start()
		})
	}
}

// due is when the first decision of the queue is to be written.
func (r *Ring) due() time.Time {
	if r.hurried > 0 {
		return time.Time{}
	}
	if n := len(r.entries); len(r.queue) == 1 && n > 0 && r.queue[0].repeats(r.entries[n-1]) {
		if end := r.queue[0].added.Add(still); end.After(r.rested) {
			return end
		}
	}
	return r.rested
}

// write writes the first decision of the queue.
func (r *Ring) write() {
	r.mu.Lock()
	e, known := r.queue[0], r.types
	r.mu.Unlock()
	began := time.Now()
	var file *record.File
	err := guard.Run("record", func() (err error) {
		file, err = r.encode(e.decision, known)
		return err
	})
	took := time.Since(began)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue = slices.Delete(r.queue, 0, 1)
	if err != nil {
		r.lost(e, err)
	} else {
		e.decision, e.file, e.Bytes = nil, file, file.Size()
		r.insert(e)
	}
	r.rested = time.Now().Add(leisure * took)
	r.working = false
	r.start()
	r.idle.Broadcast()
}

// settle waits until the decision of an ID no longer waits to be written.
func (r *Ring) settle(id string) {
	if n := len(r.queue); id == Latest && n > 0 {
		id = r.queue[n-1].ID // not those that come meanwhile
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
