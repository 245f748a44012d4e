package disrupt

import (
	"fmt"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// instances of a price each, the first of which stand all along.
func instances(n int, price catalog.MicroUSD) (out []*cluster.Node) {
	for i := range n {
		out = append(out, &cluster.Node{Claim: fmt.Sprint("claim-", i), Price: price, Launched: true})
	}
	return out
}

// watched is what a tenure knows that has seen, each minute, so many instances of ten as the story tells. An instance that goes
// and comes again is another one.
func watched(minutes int, story func(minute int) (count int, price catalog.MicroUSD)) *savingsHorizon {
	t, began, before, born := &savingsHorizon{}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), 0, 0
	for m := range minutes {
		n, price := story(m)
		if n > before {
			born++
		}
		before = n
		nodes := instances(n, price)
		if n > 8 {
			nodes[8].Claim = fmt.Sprint("young-", born)
		}
		t.see(nodes, 0, began.Add(time.Duration(m)*time.Minute))
	}
	return t
}

func TestInstancesThatCannotBeHadAreNoSavingAskedBack(t *testing.T) {
	seen, began := &savingsHorizon{}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for m := range 120 {
		nodes := instances(10, 100)
		if m%5 == 4 {
			nodes = append(nodes, &cluster.Node{Claim: fmt.Sprint("sold-out-", m), Price: 100})
		}
		seen.see(nodes, 0, began.Add(time.Duration(m)*time.Minute))
	}
	if len(seen.returns) > 0 {
		t.Errorf("got %v", seen.returns)
	}
}

func TestHowMuchOfASavingIsAskedBack(t *testing.T) {
	breathes := func(minute int) int { return 9 + minute/5%2 }
	for sentence, tt := range map[string]struct {
		minutes int
		story   func(minute int) (int, catalog.MicroUSD)
		asked   bool
	}{
		"nothing, where instances stand":                             {120, func(int) (int, catalog.MicroUSD) { return 10, 100 }, false},
		"nothing, where instances went and did not come again":       {120, func(m int) (int, catalog.MicroUSD) { return 10 - min(m/30, 3), 100 }, false},
		"nothing, where there was less and there is more":            {120, func(m int) (int, catalog.MicroUSD) { return 5 + m/20, 100 }, false},
		"nothing, where only prices move":                            {120, func(m int) (int, catalog.MicroUSD) { return 10, catalog.MicroUSD(100 + 50*(m/5%2)) }, false},
		"an instance, where one comes every ten minutes":             {60, func(m int) (int, catalog.MicroUSD) { return breathes(m), 100 }, true},
		"nothing yet, where that was seen once":                      {6, func(m int) (int, catalog.MicroUSD) { return []int{10, 10, 9, 9, 10, 10}[m], 100 }, false},
		"nothing any more, once it has been calm for so much longer": {100, func(m int) (int, catalog.MicroUSD) { return breathes(min(m, 60)), 100 }, false},
		"it still does when it has been calm for a few minutes":      {71, func(m int) (int, catalog.MicroUSD) { return breathes(min(m, 60)), 100 }, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := watched(tt.minutes, tt.story)
			if (len(got.returns) > 0) != tt.asked {
				t.Fatalf("got %v", got.returns)
			}
			if !tt.asked {
				return
			}
			if r := got.returns[len(got.returns)-1]; r.Price != 100 || r.After > 7*time.Minute {
				t.Errorf("asked back: %v", got.returns)
			}
		})
	}
}

func TestForHowLongASavingIsCountedOn(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for sentence, tt := range map[string]struct {
		age, young time.Duration // of the instances, of the last pod
		want       time.Duration
	}{
		"where all is new, as long as the least":              {time.Minute, time.Minute, leastHorizon},
		"where pods come, twice that":                         {4 * time.Hour, time.Minute, 2 * leastHorizon},
		"where instances are old and none come, a step below": {4 * time.Hour, time.Hour, 4 * leastHorizon},
		"where none has come for a time, by that":             {1000 * time.Hour, time.Hour, 8 * leastHorizon},
		"at most for a day":                                   {1000 * time.Hour, 100 * time.Hour, mostHorizon},
	} {
		t.Run(sentence, func(t *testing.T) {
			savingsHorizon := &savingsHorizon{}
			savingsHorizon.see([]*cluster.Node{{Claim: "old", Price: 1, Launched: true, CreatedAt: now.Add(-tt.age), Pods: []*cluster.Pod{{CreatedAt: now.Add(-tt.young)}}}, {Name: "not ours"}}, 0, now)
			if savingsHorizon.horizon != tt.want {
				t.Errorf("%s, want %s", savingsHorizon.horizon, tt.want)
			}
		})
	}
}

func TestPodsThatTakeLittleRoomLeaveSavingsToBeCountedOn(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	room := res.List{"cpu": 100_000, "memory": 100_000, "pods": 10}
	asks := func(cpu, memory int64) res.List { return res.List{"cpu": cpu, "memory": memory, "pods": 1} }
	for sentence, tt := range map[string]struct {
		nodes    int
		requests res.List // of the pod that comes each minute
		late     time.Duration
		minutes  int
		want     time.Duration
	}{
		"pods of a thousandth, seen for a short time":     {1, asks(100, 10), 0, 60, restlessHorizon},
		"pods of a thousandth":                            {1, asks(100, 10), 0, 100, 4 * leastHorizon},
		"pods of a ten thousandth":                        {1, asks(10, 1), 0, 100, mostHorizon},
		"pods of next to nothing in a large cluster":      {2000, asks(1, 0), 0, 300, mostHorizon},
		"pods that ask for nothing":                       {1, nil, 0, 100, mostHorizon},
		"pods of a tenth":                                 {1, asks(100, 10_000), 0, 100, restlessHorizon},
		"pods of a tenth that waited for their instances": {1, asks(100, 10_000), 90 * time.Second, 100, restlessHorizon},
	} {
		t.Run(sentence, func(t *testing.T) {
			savingsHorizon := &savingsHorizon{}
			for m := range tt.minutes {
				now := began.Add(time.Duration(m) * time.Minute)
				nodes := []*cluster.Node{{Name: "not ours"}}
				for i := range tt.nodes {
					nodes = append(nodes, &cluster.Node{Claim: fmt.Sprint("old-", i), Price: 1_000_000, Launched: true, CreatedAt: began.Add(-1000 * time.Hour), Allocatable: room})
				}
				pod := func(name string, requests res.List, age time.Duration) *cluster.Pod {
					return &cluster.Pod{PodRef: cluster.PodRef{UID: name}, Class: &cluster.Class{Requests: requests}, CreatedAt: now.Add(-age)}
				}
				daemon := pod(fmt.Sprint("daemon-", m), room, time.Second)
				daemon.Daemon = true
				nodes[1].Pods = []*cluster.Pod{pod(fmt.Sprint("pod-", m), tt.requests, tt.late+time.Second), pod("old", room, time.Hour), daemon}
				savingsHorizon.see(nodes, 0, now)
			}
			if savingsHorizon.horizon != tt.want {
				t.Errorf("%s, want %s", savingsHorizon.horizon, tt.want)
			}
		})
	}
}
