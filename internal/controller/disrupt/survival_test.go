package disrupt

import (
	"fmt"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// instances of a price each, the first of which stand all along.
func instances(n int, price catalog.MicroUSD) (out []*cluster.Node) {
	for i := range n {
		out = append(out, &cluster.Node{Claim: fmt.Sprint("claim-", i), Price: price, Launched: true})
	}
	return out
}

// watched is what is known that has seen, each minute, so many instances of ten as the story tells. An instance that goes and
// comes again is another one.
func watched(minutes int, story func(minute int) (count int, price catalog.MicroUSD)) *survival {
	t, began, before, born := &survival{}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), 0, 0
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
		t.see(nodes, nobody, began.Add(time.Duration(m)*time.Minute))
	}
	return t
}

func TestInstancesThatCannotBeHadAreNoSavingThatIsLost(t *testing.T) {
	seen, began := &survival{}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for m := range 120 {
		nodes := instances(10, 100)
		if m%5 == 4 {
			nodes = append(nodes, &cluster.Node{Claim: fmt.Sprint("sold-out-", m), Price: 100})
		}
		seen.see(nodes, nobody, began.Add(time.Duration(m)*time.Minute))
	}
	if len(seen.curve) > 0 {
		t.Errorf("got %v", seen.curve)
	}
}

// nobody is awaited.
func nobody(string) bool { return false }

// A replacement is launched, and the old node goes when it is there.
func TestAReplacementIsNoSavingThatIsLost(t *testing.T) {
	seen, began := &survival{}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for m := range 120 {
		nodes, n := instances(10, 100), m/10
		nodes[9].Claim = fmt.Sprint("node-", n)
		if m%10 > 5 {
			nodes[9].Leaving = true
		}
		if m%10 > 7 {
			nodes = append(nodes, &cluster.Node{Claim: fmt.Sprint("node-", n+1), Price: 100, Launched: true})
		}
		seen.see(nodes, func(claim string) bool { return claim == fmt.Sprint("node-", n+1) }, began.Add(time.Duration(m)*time.Minute))
	}
	if len(seen.curve) > 0 {
		t.Errorf("got %v", seen.curve)
	}
}

func TestHowMuchOfASavingIsLeft(t *testing.T) {
	breathes := func(minute int) int { return 9 + minute/5%2 }
	for sentence, tt := range map[string]struct {
		minutes int
		story   func(minute int) (int, catalog.MicroUSD)
		left    [2]int // percent, at least and at most
	}{
		"all, where instances stand":                                    {120, func(int) (int, catalog.MicroUSD) { return 10, 100 }, [2]int{100, 100}},
		"all, where instances went and did not come again":              {120, func(m int) (int, catalog.MicroUSD) { return 10 - min(m/30, 3), 100 }, [2]int{100, 100}},
		"all, where there was less and there is more":                   {120, func(m int) (int, catalog.MicroUSD) { return 5 + m/20, 100 }, [2]int{100, 100}},
		"all, where only prices move":                                   {120, func(m int) (int, catalog.MicroUSD) { return 10, catalog.MicroUSD(100 + 50*(m/5%2)) }, [2]int{100, 100}},
		"little, where an instance comes every ten minutes":             {100, func(m int) (int, catalog.MicroUSD) { return breathes(m), 100 }, [2]int{1, 15}},
		"some, where that was seen once":                                {12, func(m int) (int, catalog.MicroUSD) { return []int{10, 10, 9, 9, 10}[min(m, 4)], 100 }, [2]int{10, 30}},
		"some, where one of several that went was needed":               {60, func(m int) (int, catalog.MicroUSD) { return 10 - min(m/5, 4) + m/30, 100 }, [2]int{60, 85}},
		"all again, once it has been calm for as long as that is known": {500, func(m int) (int, catalog.MicroUSD) { return breathes(min(m, 60)), 100 }, [2]int{100, 100}},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, left := watched(tt.minutes, tt.story), 100
			for _, s := range got.curve {
				if s.Percent >= left {
					t.Errorf("more is left later: %v", got.curve)
				}
				left = s.Percent
			}
			if left < tt.left[0] || left > tt.left[1] {
				t.Errorf("%d %% are left, want %v: %v", left, tt.left, got.curve)
			}
		})
	}
}

func TestForHowLongASavingIsCountedOn(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for sentence, tt := range map[string]struct {
		age  time.Duration // of the instances
		want time.Duration
	}{
		"where all is new, as long as the least": {time.Minute, leastHorizon},
		"as long as they have lasted, in steps":  {4 * time.Hour, 4 * leastHorizon},
		"at most for a day":                      {1000 * time.Hour, mostHorizon},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := &survival{}
			s.see([]*cluster.Node{{Claim: "old", Price: 1, Launched: true, CreatedAt: now.Add(-tt.age)}, {Name: "not ours"}}, nobody, now)
			if s.horizon != tt.want {
				t.Errorf("%s, want %s", s.horizon, tt.want)
			}
		})
	}
}
