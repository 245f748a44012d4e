package placement_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/aws/placement"
)

var three = []int32{1, 2, 3}

func TestPartitionsAreChosenEvenly(t *testing.T) {
	p := placement.NewPartitions(time.Now)
	seen := []placement.Placed{{"i-1", 1}, {"i-2", 1}, {"i-3", 3}}
	count := map[int32]int{1: 2, 3: 1}
	for n := range 6 {
		count[p.Choose(fmt.Sprint(n), "pg-1", three, seen)]++
	}
	if diff := cmp.Diff(map[int32]int{1: 3, 2: 3, 3: 3}, count); diff != "" {
		t.Errorf("with those that were there before: (-want +got)\n%s", diff)
	}
	if got := p.Choose("other", "pg-2", three, nil); got != 1 {
		t.Errorf("instances of another group counted: %d", got)
	}
}

func TestAClaimKeepsItsPartitionUntilItIsRefused(t *testing.T) {
	p := placement.NewPartitions(time.Now)
	if got := p.Choose("a", "pg-1", three, nil); got != 1 {
		t.Fatalf("first: %d", got)
	}
	busy := []placement.Placed{{"i-1", 1}}
	if got := p.Choose("a", "pg-1", three, busy); got != 1 {
		t.Errorf("again: %d", got)
	}
	if got := p.Choose("a", "pg-1", []int32{2, 3}, busy); got != 2 {
		t.Errorf("with the first one closed: %d", got)
	}
	p.Refused("a")
	if got := p.Choose("b", "pg-1", three, busy); got != 2 {
		t.Errorf("an instance that was refused counts: %d", got)
	}
	if got := p.Choose("c", "pg-1", nil, nil); got != 0 {
		t.Errorf("none is allowed: %d", got)
	}
}

func TestAnInstanceCountsOnce(t *testing.T) {
	now := time.Unix(0, 0)
	p := placement.NewPartitions(func() time.Time { return now })
	p.Choose("a", "pg-1", three, nil) // 1
	p.Launched("a", "i-a")
	// It is seen: one in partition 1, and not two. The next goes to 2, and then both have one; so has 3 after that.
	seen := []placement.Placed{{"i-a", 1}}
	for n, want := range []int32{2, 3, 1} {
		if got := p.Choose(fmt.Sprint(n), "pg-1", three, seen); got != want {
			t.Errorf("choice %d: partition %d, want %d", n, got, want)
		}
	}
	now = now.Add(10 * time.Minute)
	if got := p.Choose("late", "pg-1", three, seen); got != 2 {
		t.Errorf("what never came counts for ever: %d", got)
	}
}
