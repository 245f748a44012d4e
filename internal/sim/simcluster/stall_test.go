package simcluster

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestABubbleThatStandsStillIsSeenFromOutside has a bubble wait for a lock, which stops its clock, until the watch has seen it.
func TestABubbleThatStandsStillIsSeenFromOutside(t *testing.T) {
	p := &pulse{}
	var lock sync.Mutex
	lock.Lock()
	seen := make(chan string, 1)
	stop := p.watch(20*time.Millisecond, func(stacks string) {
		seen <- stacks
		lock.Unlock()
	})
	defer stop()
	synctest.Test(t, func(t *testing.T) {
		p.beat(t)
		waitForNothing(&lock)
	})
	if stacks := <-seen; !strings.Contains(stacks, "simcluster.waitForNothing") || strings.Contains(stacks, ".(*pulse).watch") {
		t.Errorf("the stacks are not those of the bubble alone:\n%s", stacks)
	}
}

func TestOnlyWhoCouldGoOnComputes(t *testing.T) {
	const waits = "goroutine 7 [select (durable), synctest bubble 53]:\nx.loop()\n\ngoroutine 8 [sync.Mutex.Lock, synctest bubble 53]:\nx.lock()"
	if computes(waits) {
		t.Error("goroutines that wait were taken for some that compute")
	}
	for _, state := range []string{"runnable", "wait for GC cycle", "GC assist wait"} {
		if !computes(waits + "\n\ngoroutine 9 [" + state + ", synctest bubble 53]:\nx.solve()") {
			t.Errorf("a goroutine in state %q was taken for one that waits", state)
		}
	}
}

func waitForNothing(lock *sync.Mutex) {
	lock.Lock()
	defer lock.Unlock()
}

// TestAHouseThatLivesIsLeftAlone lets virtual time pass for as long as it takes the watch to look often.
func TestAHouseThatLivesIsLeftAlone(t *testing.T) {
	p := &pulse{}
	stop := p.watch(time.Minute, func(string) { t.Error("it was taken for one that stands still") })
	synctest.Test(t, func(t *testing.T) {
		p.beat(t)
		time.Sleep(time.Hour)
	})
	stop()
	if n := p.beats.Load(); n < 3599 {
		t.Errorf("an hour had %d beats", n)
	}
}
