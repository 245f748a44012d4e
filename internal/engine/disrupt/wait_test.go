package disrupt_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// crowded is a cluster of nodes of 16 processors at $0.20, each with pods of so many processors, and a type of 4.
func crowded(price catalog.MicroUSD, nodes ...[]int64) *disrupt.Problem {
	p := &pack.Problem{Pools: []*cluster.Pool{{Name: "default", Types: []*catalog.Type{typeOf("small", 4, way{"a", catalog.OnDemand, price})}}},
		Options: pack.Options{WellKnown: scenario.WellKnown()}}
	for i, cpus := range nodes {
		n := &cluster.Node{Name: fmt.Sprint("n", i), Claim: fmt.Sprint("n", i), Pool: "default", Zone: "a", CapacityType: catalog.OnDemand, InstanceType: "large",
			Price: 200_000, Initialized: true, Allocatable: res.List{res.CPU: 16_000, res.Memory: 32 << 30, res.Pods: 50}}
		for k, cpu := range cpus {
			n.Pods = append(n.Pods, &cluster.Pod{PodRef: cluster.PodRef{Namespace: "ns", Name: fmt.Sprint(n.Name, "-", k)}, Node: n.Name,
				Class: &cluster.Class{ID: fmt.Sprint("cpu", cpu), Namespace: "ns", Requests: res.List{res.CPU: cpu * 1000, res.Pods: 1}}})
		}
		p.Nodes = append(p.Nodes, n)
	}
	return anyway(p)
}

// A node of one pod goes, for which the others have room.
func TestAMoveThatSavesLittleHasToStandForAsLongAsItTakesToPayBack(t *testing.T) {
	for name, tt := range map[string]struct {
		others int
		pod    catalog.MicroUSD // what moving a usual pod is held to cost
		waits  bool
		most   bool // as long as any move
	}{
		"a small part of the bill":               {20, 1_000, true, false},
		"a large part of the bill":               {3, 1_000, false, false},
		"moving costs nothing":                   {20, 0, false, false},
		"it would take hours, and that is a lot": {20, 500_000, true, true},
	} {
		nodes := [][]int64{{1}}
		for range tt.others {
			nodes = append(nodes, []int64{8, 5})
		}
		p := crowded(190_000, nodes...)
		p.Options.PodPrice, p.Options.SavingsHorizon = tt.pod, 24*time.Hour
		d := disrupt.Decide(p)
		if len(d.Moves) != 1 || d.Moves[0].Nodes[0] != "n0" {
			t.Fatalf("%s: %s", name, d)
		}
		m := &d.Moves[0]
		want := time.Duration(0)
		if tt.waits {
			want = (time.Duration(float64(tt.pod*catalog.MicroUSD(m.Disruption)/1_000_000) / float64(m.Saving) * float64(time.Hour))).Round(time.Second)
			if want < 10*time.Second || (want > 30*time.Minute) != tt.most {
				t.Fatalf("%s: this shows nothing: %s", name, want)
			}
			want = min(want, 30*time.Minute)
		}
		if m.Wait != want {
			t.Errorf("%s: it has to stand for %s, want %s; %d for %d", name, m.Wait, want, m.Disruption, m.Saving)
		}
	}
}

func TestForHowLongSmallSavingsWaitIsASetting(t *testing.T) {
	for setting, want := range map[time.Duration]time.Duration{0: disrupt.LongestWait, time.Minute: time.Minute, 3 * time.Hour: 3 * time.Hour, -1: 0} {
		nodes := [][]int64{{1}}
		for range 20 {
			nodes = append(nodes, []int64{8, 5})
		}
		p := crowded(190_000, nodes...)
		p.Options.PodPrice, p.Options.SavingsHorizon, p.Options.SmallSavingsWait = 700_000, 24*time.Hour, setting
		d := disrupt.Decide(p)
		if len(d.Moves) != 1 || p.Options.Payback(&d.Moves[0]) < 3*time.Hour {
			t.Fatalf("this shows nothing: %s", d)
		}
		if got := d.Moves[0].Wait; got != want {
			t.Errorf("with %s it waits for %s, want %s", setting, got, want)
		}
	}
}

// Budgets let little happen at a time, also where there is much to be saved.
func TestWhatOnlyBudgetsHoldUpIsNotLittle(t *testing.T) {
	nodes := [][]int64{}
	for range 40 {
		nodes = append(nodes, []int64{2})
	}
	p := crowded(190_000, nodes...)
	p.Options.PodPrice, p.Options.NodePrice = 1_000, 10_000
	for i := range p.Pools {
		p.Pools[i].Allowed = map[disrupt.Cause]int{disrupt.Underutilized: 4}
	}
	d := disrupt.Decide(p)
	if len(d.Moves) == 0 || (d.Before-d.After)*100 > d.Before*12 {
		t.Fatalf("this shows nothing: %s", d)
	}
	for i := range d.Moves {
		if d.Moves[i].Wait > 0 {
			t.Errorf("%v has to wait %s: %d of %d is saved, and %d held up by budgets", d.Moves[i].Nodes, d.Moves[i].Wait, (d.Before - d.After), d.Before, d.OverBudget)
		}
	}
}

// Most of the load has gone: what has lost all its pods goes when its consolidateAfter has passed, and must not be filled
// before with the pods of nodes that have lost none.
func TestAMoveToANodeThatMayGoItselfWaitsUntilThen(t *testing.T) {
	const soon = 9 * time.Second
	after := []disrupt.Reason{{Code: disrupt.ConsolidateAfter, Detail: soon.String()}}
	for name, tt := range map[string]struct {
		other []int64 // pods of the node that has room
		soon  time.Duration
		want  time.Duration
	}{
		"it is empty":                    {nil, soon, soon},
		"it is badly used":               {[]int64{2}, soon, soon},
		"it is well used":                {[]int64{6, 6}, soon, 0},
		"it stays for another reason":    {nil, 0, 0},
		"it is the one that is to go":    {nil, -1, 0},
		"it is, and others are not full": {[]int64{1, 1}, -1, 0},
	} {
		p := crowded(190_000, []int64{1}, tt.other)
		if tt.soon >= 0 {
			p.Nodes[1].Blocks, p.Nodes[1].Soon = after, tt.soon
		}
		p.Options.PodPrice = 1_000
		d := disrupt.Decide(p)
		if len(d.Moves) == 0 {
			t.Fatalf("%s: %s", name, d)
		}
		if m := &d.Moves[0]; m.Onto != tt.want || tt.soon >= 0 && m.Nodes[0] != "n0" {
			t.Errorf("%s: it waits for %s, want %s\n%s", name, m.Onto, tt.want, d)
		}
	}
}
