package simcluster

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// patience is how long, in real time, a cluster may stay at the same second of virtual time: a bubble in which somebody waits
// for what virtual time does not count (a lock, a computation without end) would stand still until the tests' own timeout.
const patience = time.Minute

// busier is by how much longer a cluster is waited for in which somebody still computes: on an instance that is busy with other
// work that may take long.
const busier = 5

// pulse is a bubble's sign of life. A goroutine inside writes it, one outside reads it.
type pulse struct {
	beats  atomic.Int64 // seconds of virtual time
	bubble atomic.Pointer[string]
}

// beat makes the bubble that it is called in give a sign of life each second, until its test ends.
func (p *pulse) beat(t *testing.T) {
	name := bubble()
	p.bubble.Store(&name)
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				p.beats.Add(1)
			}
		}
	}()
	t.Cleanup(func() { close(over); <-done })
}

// watch looks from outside whether p still beats, and calls stalled once, with the stacks of the bubble's goroutines, when
// it has not for so long. stop ends the watch.
func (p *pulse) watch(patience time.Duration, stalled func(stacks string)) (stop func()) {
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(max(patience/20, time.Millisecond))
		defer tick.Stop()
		last, since := p.beats.Load(), time.Now()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			now := p.beats.Load()
			if now != last {
				last, since = now, time.Now()
			}
			name := p.bubble.Load()
			if time.Since(since) < patience || name == nil {
				continue
			}
			if left := within(stacks(), *name); !computes(left) || time.Since(since) > busier*patience {
				stalled(left)
				return
			}
		}
	}()
	return func() { close(over); <-done }
}

// bubble names the bubble that the caller is in, as stacks do; empty outside.
func bubble() string {
	text := make([]byte, 256)
	first, _, _ := strings.Cut(string(text[:runtime.Stack(text, false)]), "\n")
	at := strings.Index(first, "synctest bubble ")
	if at < 0 {
		return ""
	}
	return strings.TrimRight(first[at:], "]:")
}

// stacks are those of all goroutines.
func stacks() string {
	for size := 1 << 20; ; size *= 2 {
		text := make([]byte, size)
		if n := runtime.Stack(text, true); n < size {
			return string(text[:n])
		}
	}
}

// computes reports whether one of the goroutines could go on at once, or waits for the collection of a large heap.
func computes(stacks string) bool {
	for _, state := range []string{"[runnable", "[running", "[wait for GC cycle", "[GC "} {
		if strings.Contains(stacks, state) {
			return true
		}
	}
	return false
}

// within are the stacks of a bubble's goroutines among those of all.
func within(stacks, bubble string) string {
	var out []string
	for _, g := range strings.Split(stacks, "\n\n") {
		first, _, _ := strings.Cut(g, "\n")
		if strings.Contains(first, bubble+"]") || strings.Contains(first, bubble+",") {
			out = append(out, g)
		}
	}
	return strings.Join(out, "\n\n")
}

// giveUp ends the test binary: a bubble that stands still can't be ended in any other way.
func giveUp(test string, o Options) func(stacks string) {
	return func(stacks string) {
		again := ""
		if o.Stalled != nil {
			again = o.Stalled()
		}
		fmt.Fprintf(os.Stderr, "%s\n\n", stacks)
		panic(fmt.Sprintf("%s: the cluster has stood still for a minute of real time or more (seed %d). Its goroutines are above. %s", test, o.Seed, again))
	}
}
