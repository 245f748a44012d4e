package provision

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/cache"
)

// every are n moments, one after each step.
func every(step time.Duration, n int) []time.Duration {
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = time.Duration(i) * step
	}
	return out
}

// windows are when the wait ends for pods that come at some moments, by the rule that users know: when none has come for
// idle, and after most at the latest.
func windows(at []time.Duration, idle, most time.Duration) []time.Duration {
	var out []time.Duration
	for i := 0; i < len(at); {
		first, end := at[i], at[i]+idle
		for ; i < len(at) && at[i] < min(end, first+most); i++ {
			end = at[i] + idle
		}
		out = append(out, min(end, first+most))
	}
	return out
}

func TestHowLongAPodWaitsForOthers(t *testing.T) {
	const idle, most = time.Second, 10 * time.Second
	one, two := cache.Owner{UID: "1"}, cache.Owner{UID: "2"}
	for name, tt := range map[string]struct {
		at    []time.Duration
		owner func(i int) cache.Owner
		wants map[types.UID]int // pods that the owners have in the end
		want  []time.Duration   // when the wait ends
	}{
		"a pod without an owner":            {at: every(0, 1), want: []time.Duration{loneWindow}},
		"the only pod of its owner":         {at: every(0, 1), owner: by(one), wants: map[types.UID]int{"1": 1}, want: []time.Duration{loneWindow}},
		"the first of many, and no others":  {at: every(0, 1), owner: by(one), wants: map[types.UID]int{"1": 9}, want: []time.Duration{idle}},
		"all of an owner, as slowly as 0.9": {at: every(900*time.Millisecond, 5), owner: by(one), wants: map[types.UID]int{"1": 5}, want: []time.Duration{3600*time.Millisecond + loneWindow}},
		"an owner that can't be read":       {at: every(200*time.Millisecond, 5), owner: by(one), want: []time.Duration{loneWindow, 800*time.Millisecond + idle}},
		"two owners at once": {at: every(10*time.Millisecond, 4), owner: func(i int) cache.Owner { return []cache.Owner{one, two}[i%2] },
			wants: map[types.UID]int{"1": 2, "2": 2}, want: []time.Duration{30*time.Millisecond + idle}},
		"pods without owners, with pauses":   {at: every(300*time.Millisecond, 8), want: []time.Duration{loneWindow, 2100*time.Millisecond + idle}},
		"longer than the longest wait":       {at: every(100*time.Millisecond, 150), owner: by(one), wants: map[types.UID]int{"1": 150}, want: []time.Duration{most, 14900*time.Millisecond + idle}},
		"pods without owners, far apart":     {at: every(3*time.Second, 3), want: []time.Duration{loneWindow, 3*time.Second + loneWindow, 6*time.Second + loneWindow}},
		"the usual burst of 2,000 on a slow": {at: every(17*time.Millisecond, 2000), owner: by(one), wants: map[types.UID]int{"1": 2000}, want: []time.Duration{most, 20*time.Second + 13*time.Millisecond, 30*time.Second + 26*time.Millisecond, 33983*time.Millisecond + idle}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				b := newBatch(idle, most, clock.RealClock{})
				var mu sync.Mutex
				settled := map[types.UID]int{}
				b.missing = func(_ context.Context, o cache.Owner) (int, bool) {
					mu.Lock()
					defer mu.Unlock()
					n, ok := tt.wants[o.UID]
					return n - settled[o.UID], ok
				}
				var got []time.Duration
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() {
					defer close(done)
					for {
						select {
						case <-ctx.Done():
							return
						case <-b.signal:
						}
						if !b.wait(ctx) {
							return
						}
						got = append(got, time.Since(began))
					}
				}()
				for i, at := range tt.at {
					time.Sleep(at - time.Since(began))
					owner := cache.Owner{}
					if tt.owner != nil {
						owner = tt.owner(i)
					}
					mu.Lock()
					settled[owner.UID]++
					mu.Unlock()
					b.arrive(fmt.Sprint(i), owner)
					synctest.Wait()
				}
				time.Sleep(most)
				cancel()
				<-done
				if !slices.Equal(got, tt.want) {
					t.Errorf("the wait ended after %v, want %v", got, tt.want)
				}
				if theirs := windows(tt.at, idle, most); got[len(got)-1] > theirs[len(theirs)-1] {
					t.Errorf("the last pod waited until %s, and only until %s by the settings alone", got[len(got)-1], theirs[len(theirs)-1])
				}
			})
		})
	}
}

func by(o cache.Owner) func(int) cache.Owner { return func(int) cache.Owner { return o } }

// TestABatchKnowsWhetherPodsCameUntilItsEnd: who creates them may have stopped.
func TestABatchKnowsWhetherPodsCameUntilItsEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		at            []time.Duration
		batches       int
		flows, stream bool // of the last of them
	}{
		"a burst that is over":         {every(10*time.Millisecond, 50), 1, false, false},
		"one that goes on":             {every(100*time.Millisecond, 200), 1, true, true},
		"pods that come now and again": {every(5*time.Second, 3), 2, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBatch(time.Second, 10*time.Second, clock.RealClock{})
				b.whole = true
				begun := time.Now()
				var come sync.WaitGroup
				defer come.Wait()
				come.Go(func() {
					for i, at := range tt.at {
						time.Sleep(time.Until(begun.Add(at)))
						b.arrive(fmt.Sprint(i), cache.Owner{UID: types.UID(fmt.Sprint(i % 2))})
					}
				})
				var got arrivals
				for range tt.batches {
					<-b.signal
					b.wait(t.Context())
					got = b.take()
				}
				if got.flows != tt.flows || got.stream != tt.stream {
					t.Errorf("%d pods, flows %v, stream %v", len(got.pods), got.flows, got.stream)
				}
			})
		})
	}
}

func TestWhatIsExpectedAfterABatch(t *testing.T) {
	class := &cluster.Class{ID: "c", Namespace: "ns", Requests: res.List{"cpu": 500, "pods": 1}}
	spread := &cluster.Class{ID: "s", Namespace: "ns", Requests: res.List{"cpu": 500, "pods": 1}, Spreads: []cluster.Spread{{}}}
	for name, tt := range map[string]struct {
		class   *cluster.Class
		batches []int // pods; each batch comes ten seconds after the one before
		owner   func(i int) cache.Owner
		missing map[types.UID]int
		stream  bool
		silent  bool // no pod had come for a while when the wait ended
		want    int  // after the last
	}{
		"all that an owner still wants": {batches: []int{10}, owner: by(cache.Owner{UID: "1"}), missing: map[types.UID]int{"1": 90}, want: 90},
		"no more of an owner that has stopped creating them, as where a quota is used up": {batches: []int{10}, owner: by(cache.Owner{UID: "1"}), missing: map[types.UID]int{"1": 90}, silent: true},
		"thirty for each that came of an owner that wants a million":                      {batches: []int{10}, owner: by(cache.Owner{UID: "1"}), missing: map[types.UID]int{"1": 1_000_000}, want: 300},
		"as many as came in the last 40 seconds":                                          {batches: []int{10, 10, 10}, stream: true, want: 30},
		"what came before counts no more":                                                 {batches: []int{10, 10, 10, 10, 10, 10}, stream: true, want: 50},
		"two owners of several pods each":                                                 {batches: []int{10, 10}, owner: func(i int) cache.Owner { return cache.Owner{UID: types.UID(fmt.Sprint(i / 10))} }, missing: map[types.UID]int{"0": 4, "1": 7}, stream: true, want: 7},
		"no more than an owner wants":                                                     {batches: []int{10}, owner: by(cache.Owner{UID: "1"}), missing: map[types.UID]int{"1": 3}, stream: true, want: 3},
		"an owner that has all, though others came":                                       {batches: []int{10}, owner: by(cache.Owner{UID: "1"}), missing: map[types.UID]int{"1": 0}, stream: true},
		"a burst without owners is over when it is silent":                                {batches: []int{10}},
		"a stream without owners goes on":                                                 {batches: []int{1, 1, 1}, stream: true, want: 3},
		"jobs of one pod each":                                                            {batches: []int{1, 1, 1}, owner: func(i int) cache.Owner { return cache.Owner{UID: types.UID(fmt.Sprint(i))} }, missing: map[types.UID]int{"0": 0, "1": 0, "2": 0}, stream: true, want: 3},
		"an owner that can't be read":                                                     {batches: []int{10}, owner: by(cache.Owner{UID: "1"}), stream: true},
		"pods whose place depends on others are decided on as they are":                   {class: spread, batches: []int{10}, owner: by(cache.Owner{UID: "1"}), missing: map[types.UID]int{"1": 90}},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.class == nil {
				tt.class = class
			}
			var x expected
			var got []*cluster.Pod
			now, n := time.Unix(0, 0), 0
			for _, size := range tt.batches {
				var batch arrivals
				var pending []*cluster.Pod
				for range size {
					owner := cache.Owner{}
					if tt.owner != nil {
						owner = tt.owner(n)
					}
					owner.Namespace = "ns"
					batch.pods = append(batch.pods, arrival{fmt.Sprint(n), owner})
					pending = append(pending, &cluster.Pod{PodRef: cluster.PodRef{Namespace: "ns", Name: fmt.Sprint(n), UID: fmt.Sprint(n)}, Class: tt.class})
					n++
				}
				batch.stream, batch.flows = tt.stream, !tt.silent
				got = x.pods(t.Context(), batch, pending, now, func(_ context.Context, o cache.Owner) (int, bool) {
					n, ok := tt.missing[o.UID]
					return n, ok
				})
				now = now.Add(10 * time.Second)
			}
			if len(got) != tt.want {
				t.Errorf("%d pods are expected, want %d", len(got), tt.want)
			}
			for _, p := range got {
				if p.Class != tt.class {
					t.Errorf("an expected pod is of class %s", p.Class.ID)
				}
			}
		})
	}
}

func TestNothingIsLaunchedForPodsThatDoNotExist(t *testing.T) {
	ref := func(name string) cluster.PodRef { return cluster.PodRef{Namespace: "ns", Name: name, UID: name} }
	more := []*cluster.Pod{{PodRef: ref("x")}, {PodRef: ref("y")}}
	p := &plan.Plan{
		Price:      7,
		NewNodes:   []plan.NewNode{{Pool: "p", Pods: []cluster.PodRef{ref("x"), ref("a")}, Price: 3}, {Pool: "p", Pods: []cluster.PodRef{ref("y")}, Price: 4}},
		Placements: []plan.Placement{{Node: "n", Pods: []cluster.PodRef{ref("x")}}},
		Unplaced:   []plan.Unplaced{{Pods: []cluster.PodRef{ref("y")}}},
	}
	if leavesOut(p, more) {
		t.Error("an expected pod without a place counts as one that exists")
	}
	got := without(p, more)
	if len(got.NewNodes) != 1 || !slices.Equal(got.NewNodes[0].Pods, []cluster.PodRef{ref("a")}) || got.Price != 3 || len(got.Placements)+len(got.Unplaced) != 0 {
		t.Errorf("left: %+v", got)
	}
	p.Unplaced[0].Pods = []cluster.PodRef{ref("y"), ref("b")}
	if !leavesOut(p, more) {
		t.Error("a pod that exists was left out for the sake of others, and nothing is noticed")
	}
}

// As Karpenter waits: for the whole silence, also where nobody is known to follow.
func TestWholeBatchesWaitForTheirSilence(t *testing.T) {
	now := time.Unix(100, 0)
	for whole, want := range map[bool]time.Duration{false: loneWindow, true: time.Second} {
		b := newBatch(time.Second, 10*time.Second, clocktesting.NewFakeClock(now))
		b.whole = whole
		b.arrive("default/a", cache.Owner{})
		if left := b.left(t.Context(), now); left != want {
			t.Errorf("whole %t: %s are left, want %s", whole, left, want)
		}
	}
}
