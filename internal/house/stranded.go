package house

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// strandedIn is the function of controller-runtime v0.24 whose goroutine may outlive its queue: a worker that is told of
// the end while it waits for an item leaves, the queue still counts it, and hands the next item to nobody. A process takes
// that goroutine with it when it ends; a bubble has no way to end it.
const strandedIn = "controller/priorityqueue.(*priorityqueue[...]).handleReadyItems("

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

// endBubble lets a bubble end in which nothing is left but goroutines that are stranded as strandedIn says. It is to be
// deferred by whoever runs the bubble.
func endBubble(t *testing.T, name *string) {
	t.Helper()
	failure := recover()
	if failure == nil {
		return
	}
	if !strings.Contains(fmt.Sprint(failure), "blocked goroutines remain") || *name == "" || !stranded(stacks(), *name) {
		panic(failure)
	}
	t.Log("a queue of controller-runtime was left with an item for a worker that had gone")
	if t.Failed() {
		t.FailNow()
	}
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

// stranded reports whether goroutines are left in a bubble, and all of them are stranded.
func stranded(stacks, bubble string) bool {
	left := within(stacks, bubble)
	if left == "" {
		return false
	}
	for _, g := range strings.Split(left, "\n\n") {
		first, _, _ := strings.Cut(g, "\n")
		if !strings.Contains(first, "[chan send") || !strings.Contains(g, strandedIn) {
			return false
		}
	}
	return true
}
