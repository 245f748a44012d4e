package disrupt_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kerf-sh/kerf/internal/catalog"
	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/disrupt"
	"github.com/kerf-sh/kerf/internal/pack"
	"github.com/kerf-sh/kerf/internal/res"
	"github.com/kerf-sh/kerf/internal/scenario"
	"github.com/kerf-sh/kerf/internal/verify"
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
	d := anyway(p)
	d.Options.PodPrice, d.Options.NodePrice, d.Options.Horizon = 1_000, 10_000, time.Hour
	return d
}

// The first node's pods fit on the others, which have room for six and for four: the pod of four on the second, those of
// three on the first. The scheduler puts the largest where the most is left.
func TestWhatTheSchedulerWouldLeaveWithoutRoomIsReckonedWith(t *testing.T) {
	for name, c := range map[string]struct {
		price catalog.MicroUSD
		pods  []int64
		why   string
	}{
		"a machine for what is left costs as much as is saved": {190_000, []int64{4, 3, 3},
			"moving its pods is held to cost $0.0135, and would save $0.0100 in the time left (the scheduler would leave no room for 1 of them, and machines for these cost at least $0.1900/h)"},
		"a machine for what is left costs little": {20_000, []int64{4, 3, 3}, ""},
		"all find room": {190_000, []int64{4, 3}, ""},
	} {
		p := crowded(c.price, c.pods, []int64{10}, []int64{12})
		for i := range p.Nodes[1:] {
			p.Nodes[i+1].Blocks = []disrupt.Reason{{Code: disrupt.Other, Detail: "it stays"}}
		}
		d := disrupt.Decide(p)
		for _, v := range verify.Moves(p, d) {
			t.Error(v)
		}
		var why string
		for _, k := range d.Kept {
			if k.Node == "n0" {
				why = k.Reasons[0].Text()
			}
		}
		if why != c.why || (len(d.Moves) == 1) != (c.why == "") {
			t.Errorf("%s: kept because %q\n%s", name, why, d)
		}
	}
}

// What is foretold of a question depends on what was kept, and on nothing that was only asked.
func TestWhatIsForetoldIsTheSameWhenAskedAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawCluster(t, true)
		w := pack.NewWhatIf(p)
		ask := func(node int) (pack.Strays, bool) {
			fine := w.Try([]int{node}, pack.Rules{Buy: true, Old: 1 << 40, Saving: 1, AllSpot: true, SpotToSpot: true, MinTypes: 1}).Refusal == pack.Fine
			return w.Strays(), fine
		}
		var left []int
		for id := range p.Nodes {
			left = append(left, id)
		}
		for len(left) > 0 {
			var first []pack.Strays
			for _, id := range left {
				s, _ := ask(id)
				first = append(first, s)
			}
			for i, id := range left {
				if s, _ := ask(id); s != first[i] {
					t.Fatalf("of node %d first %+v, then %+v", id, first[i], s)
				}
			}
			at := rapid.IntRange(0, len(left)-1).Draw(t, "node")
			if _, fine := ask(left[at]); fine {
				w.Keep()
			}
			left = append(left[:at], left[at+1:]...)
		}
	})
}
