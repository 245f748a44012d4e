package simcluster

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

// TestLoopsOfOnePeriodDoNotMeet: with real clocks, those that wake at the same moment run in each other's midst.
func TestLoopsOfOnePeriodDoNotMeet(t *testing.T) {
	var m moments
	for name, tt := range map[string]struct {
		clocks func() clock.WithTicker
		meet   bool
	}{
		"each with moments of its own": {m.clock, false},
		"with real clocks":             {func() clock.WithTicker { return clock.RealClock{} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				var busy, rounds, met atomic.Int64
				loop := func(wait func() <-chan time.Time) {
					for {
						select {
						case <-ctx.Done():
							return
						case <-wait():
						}
						if busy.Add(1) > 1 {
							met.Add(1)
						}
						for range 10 {
							runtime.Gosched()
						}
						busy.Add(-1)
						rounds.Add(1)
					}
				}
				for range 5 {
					c := tt.clocks()
					ticker, timer := tt.clocks().NewTicker(time.Second), tt.clocks().NewTimer(time.Second)
					defer ticker.Stop()
					go loop(func() <-chan time.Time { return c.After(time.Second) })
					go loop(ticker.C)
					go loop(func() <-chan time.Time { timer.Reset(time.Second); return timer.C() })
				}
				<-ctx.Done()
				synctest.Wait()
				if n := rounds.Load(); n < 15*58 || n > 15*60 {
					t.Errorf("%d rounds in a minute of 15 loops of a second", n)
				}
				if (met.Load() > 0) != tt.meet {
					t.Errorf("%d rounds began in the midst of another", met.Load())
				}
			})
		})
	}
}

// TestATickerOfItsOwnMomentKeepsItsPeriod, and is silent once it is stopped.
func TestATickerOfItsOwnMomentKeepsItsPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m moments
		m.clock()
		ticker := m.clock().NewTicker(time.Second)
		first := <-ticker.C()
		for range 999 {
			<-ticker.C()
		}
		if last := <-ticker.C(); last.Sub(first) != 1000*time.Second {
			t.Errorf("1000 ticks of a second took %s", last.Sub(first))
		}
		ticker.Stop()
		time.Sleep(time.Minute)
		select {
		case at := <-ticker.C():
			t.Errorf("a ticker that was stopped ticks at %s", at)
		default:
		}
	})
}
