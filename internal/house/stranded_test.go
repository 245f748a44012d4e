package house

import (
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

const queueGoroutine = `goroutine 845052 [chan send (durable), synctest bubble 53]:
sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue.(*priorityqueue[...]).handleReadyItems.func1.1()
	priorityqueue.go:400 +0x28d
sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue.(*priorityqueue[...]).handleReadyItems(0x5067e20)
	priorityqueue.go:408 +0x29`

func TestOnlyAQueueOfControllerRuntimeMayBeLeft(t *testing.T) {
	const outside = "goroutine 1 [chan receive, 4 minutes]:\ntesting.(*T).Run(0x1)\n\tx.go:1"
	const ours = "goroutine 7 [select (durable), synctest bubble 53]:\ngithub.com/kerf-sh/kerf/internal/app.loop()\n\tx.go:1"
	const reads = "goroutine 8 [chan receive (durable), synctest bubble 53]:\nsigs.k8s.io/controller-runtime/pkg/controller/priorityqueue.(*priorityqueue[...]).handleReadyItems(0x1)\n\tx.go:1"
	const another = "goroutine 9 [select (durable), synctest bubble 5]:\ngithub.com/kerf-sh/kerf/internal/app.loop()\n\tx.go:1"
	for name, c := range map[string]struct {
		stacks string
		want   bool
	}{
		"the queue's goroutine that hands an item to nobody": {outside + "\n\n" + queueGoroutine + "\n\n" + another, true},
		"it, and one of the controller":                      {queueGoroutine + "\n\n" + ours, false},
		"a queue that was not shut":                          {reads, false},
		"none of the bubble":                                 {outside + "\n\n" + another, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := stranded(c.stacks, "synctest bubble 53"); got != c.want {
				t.Errorf("stranded: %v, want %v", got, c.want)
			}
		})
	}
}

func TestAQueueThatIsShutWithAnItemInHandDoesNotFailABubble(t *testing.T) {
	left := 0
	for pause := range 200 {
		t.Run("", func(t *testing.T) {
			name := ""
			defer func() {
				if name != "" && stranded(stacks(), name) {
					left++
				}
			}()
			defer endBubble(t, &name)
			synctest.Test(t, func(t *testing.T) {
				name = bubble()
				q := priorityqueue.New[string]("q")
				for range 10 {
					go q.Get()
				}
				synctest.Wait()
				for i := range 10 {
					q.Add(strconv.Itoa(i))
				}
				for range pause % 8 {
					runtime.Gosched()
				}
				q.ShutDown()
			})
		})
	}
	// Which goroutine goes first is the scheduler's choice.
	t.Logf("%d of 200 queues left a goroutine", left)
}
