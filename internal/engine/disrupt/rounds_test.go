package disrupt_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// BenchmarkRounds consolidates until nothing more is found, and then looks once more: what the bill comes to beside what
// can't be undercut, how often a pod is moved, and what looking costs when nothing is left to do.
func BenchmarkRounds(b *testing.B) {
	for _, f := range []scenario.Fragmentation{
		{Nodes: 100}, {Nodes: 300}, {Nodes: 300, Topology: true}, {Nodes: 300, Spot: true}, {Nodes: 300, Spot: true, Topology: true},
		{Nodes: 700}, {Nodes: 2000}, {Nodes: 2000, Topology: true}, {Nodes: 2000, Pods: 30}, {Nodes: 2000, Pods: 30, Topology: true},
	} {
		if f.Pods == 0 {
			f.Pods = 15
		}
		f.Percent, f.Seed = 30, 1
		b.Run(fmt.Sprintf("nodes=%d/pods=%d/spot=%v/topology=%v", f.Nodes, f.Nodes*f.Pods, f.Spot, f.Topology), func(b *testing.B) {
			c := fragmented(b, f)
			floor := least(c)
			for b.Loop() {
				rounds(b, c, floor)
			}
		})
	}
}

func rounds(b *testing.B, c *pack.Problem, floor catalog.MicroUSD) {
	pods := 0
	for _, n := range c.Nodes {
		pods += len(n.Pods)
	}
	sum, first, last, count, evicted := time.Duration(0), time.Duration(0), time.Duration(0), 0, 0
	var d *disrupt.Decision
	for first == 0 || len(d.Moves) > 0 {
		p := anyway(c)
		p.Options.PodPrice, p.Options.NodePrice, p.Options.Overlap = 1_000, 10_000, 3*time.Minute // as the controller has them
		start := cpuTime()
		d = disrupt.Decide(p)
		last = cpuTime() - start
		sum += last
		if first == 0 {
			first = last
		}
		count++
		evicted += evictions(c, d)
		c = carryOut(c, d)
	}
	b.ReportMetric(first.Seconds(), "cpu-s-first")
	b.ReportMetric(sum.Seconds(), "cpu-s-all")
	b.ReportMetric(last.Seconds(), "cpu-s-settled")
	b.ReportMetric(float64(count), "rounds")
	b.ReportMetric(float64(evicted)/float64(pods), "evictions/pod")
	b.ReportMetric(100*(float64(d.After)/float64(floor)-1), "%gap")
	b.ReportMetric(float64(len(c.Nodes)), "nodes-left")
	b.ReportMetric(float64(d.Stats.Questions), "questions-settled")
}

func evictions(c *pack.Problem, d *disrupt.Decision) int {
	pods := map[string]int{}
	for _, n := range c.Nodes {
		pods[n.Name] = len(n.Pods)
	}
	sum := 0
	for i := range d.Moves {
		for _, name := range d.Moves[i].Nodes {
			sum += pods[name]
		}
	}
	return sum
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestConsolidationComesNearTheFloorAndMovesPodsHardlyTwice(t *testing.T) {
	f := scenario.Fragmentation{Nodes: 100, Pods: 15, Percent: 30, Seed: 1}
	c := fragmented(t, f)
	floor, pods, evicted := least(c), 0, 0
	for _, n := range c.Nodes {
		pods += len(n.Pods)
	}
	d := disrupt.Decide(anyway(c))
	for round := 0; len(d.Moves) > 0 && round < 10; round++ {
		evicted += evictions(c, d)
		c = carryOut(c, d)
		d = disrupt.Decide(anyway(c))
	}
	if gap := 100 * (float64(d.After)/float64(floor) - 1); gap > 5 || len(d.Moves) > 0 {
		t.Errorf("ends %.1f %% over the floor with %d moves left", gap, len(d.Moves))
	}
	if evicted > pods*13/10 {
		t.Errorf("%d evictions for %d pods", evicted, pods)
	}
}

func TestPartsOfALargeClusterComeAsNearTheFloorAsTheWhole(t *testing.T) {
	c := fragmented(t, scenario.Fragmentation{Nodes: 800, Pods: 30, Percent: 30, Seed: 1})
	d := disrupt.Decide(anyway(c))
	if floor := least(c); float64(d.After) > 1.04*float64(floor) {
		t.Errorf("one round leaves %d, the floor is %d", d.After, floor)
	}
}

func TestRoundsForTheLastPercentsAskAtMostTwiceWhatALookAsksThatFindsNothing(t *testing.T) {
	c := fragmented(t, scenario.Fragmentation{Nodes: 300, Pods: 15, Percent: 30, Topology: true, Seed: 1})
	d := disrupt.Decide(anyway(c))
	most := 0
	for round := 0; len(d.Moves) > 0 && round < 20; round++ {
		c = carryOut(c, d)
		d = disrupt.Decide(anyway(c))
		most = max(most, d.Stats.Questions)
	}
	if len(d.Moves) > 0 || most > 2*d.Stats.Questions {
		t.Errorf("a round asks %d questions, the last one %d and finds %d moves", most, d.Stats.Questions, len(d.Moves))
	}
}
