package app

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/state/cache"
)

func TestAProcessIsNotAliveOnceTheLockWasWaitedForInVain(t *testing.T) {
	type span struct{ from, to time.Duration }
	const forEver = time.Hour
	every := func(from, to time.Duration) (out []time.Duration) {
		for at := from; at <= to; at += 10 * time.Second {
			out = append(out, at)
		}
		return out
	}
	for name, tc := range map[string]struct {
		held  []span
		fails []time.Duration // of the probes every ten seconds, for four minutes
		told  int
	}{
		"a lock that is free":                     {},
		"a lock that is held at the start":        {held: []span{{0, mostLocked}}},
		"one hold after the other":                {held: []span{{5 * time.Second, 55 * time.Second}, {55 * time.Second, 110 * time.Second}, {110 * time.Second, 165 * time.Second}}},
		"a lock that is never given back":         {held: []span{{5 * time.Second, forEver}}, fails: every(80*time.Second, 240*time.Second), told: 1},
		"a lock that is given back after all":     {held: []span{{5 * time.Second, 95 * time.Second}}, fails: every(80*time.Second, 90*time.Second), told: 1},
		"a lock that is given back and held anew": {held: []span{{0, 75 * time.Second}, {85 * time.Second, forEver}}, fails: slices.Concat(every(70*time.Second, 70*time.Second), every(160*time.Second, 240*time.Second)), told: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, log := time.Now(), bytes.Buffer{}
				await := func() {
					at := time.Since(began)
					for _, s := range tc.held {
						if s.from <= at && at < s.to {
							time.Sleep(s.to - at)
							return // the next holder comes after who waits
						}
					}
				}
				l := &lockCheck{await: await, now: time.Now, log: slog.New(slog.NewTextHandler(&log, nil))}
				var fails []time.Duration
				for at := time.Duration(0); at <= 4*time.Minute; at += 10 * time.Second {
					if l.check(nil) != nil {
						fails = append(fails, at)
					}
					time.Sleep(10 * time.Second)
				}
				if told := strings.Count(log.String(), "not alive"); !slices.Equal(fails, tc.fails) || told != tc.told {
					t.Errorf("fails at %v, want %v; told %d times, want %d", fails, tc.fails, told, tc.told)
				}
				time.Sleep(forEver)
			})
		})
	}
}

func TestTheLockOfTheCacheIsWaitedFor(t *testing.T) {
	locked, free := make(chan struct{}), make(chan struct{})
	hold := false
	state := cache.New(cache.Options{Now: func() time.Time {
		if hold {
			hold = false
			close(locked)
			<-free
		}
		return time.Now()
	}})
	now := time.Now()
	l := &lockCheck{await: state.AwaitLock, now: func() time.Time { return now }, log: slog.New(slog.DiscardHandler)}
	hold = true
	ended := make(chan struct{})
	go func() { state.Snapshot(); close(ended) }()
	<-locked
	for _, step := range []struct {
		after time.Duration
		fails bool
	}{{0, false}, {mostLocked, false}, {time.Second, true}} {
		now = now.Add(step.after)
		if err := l.check(nil); (err != nil) != step.fails {
			t.Errorf("%s later: %v", step.after, err)
		}
	}
	close(free)
	<-ended
	l.wait()
	if err := l.check(nil); err != nil {
		t.Errorf("once the lock is free: %v", err)
	}
}

func TestAPanicInTheWaitForTheLockIsNoWait(t *testing.T) {
	now := time.Now()
	l := &lockCheck{await: func() { panic("a listener of the state") }, now: func() time.Time { return now }, log: slog.New(slog.DiscardHandler), since: now}
	if err := guard.Run("app.liveness", func() error { l.wait(); return nil }); err == nil {
		t.Fatal("it did not panic")
	}
	now = now.Add(mostLocked + time.Second)
	l.await = func() {}
	if err := l.check(nil); err != nil {
		t.Errorf("a process whose lock is free is not alive: %v", err)
	}
}
