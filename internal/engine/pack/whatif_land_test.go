package pack_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

const enough = 1 << 40

// moved is a cluster of hardly used nodes of which the first have gone, one by one, and where their pods were found to fit.
func moved(t testing.TB, nodes, pods, away int) (*pack.WhatIf, [][]plan.Placement) {
	t.Helper()
	p, err := scenario.Fragmented(scenario.Fragmentation{Nodes: nodes, Pods: pods, Percent: 30, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	w := pack.NewWhatIf(p)
	var moves [][]plan.Placement
	for i := range away {
		if a := w.Try([]int{i}, pack.Rules{}); a.Refusal != pack.Fine {
			t.Fatalf("node %d: %+v", i, a)
		}
		moves = append(moves, w.Keep().Placements)
	}
	return w, moves
}

func podsOf(placements []plan.Placement) (out []cluster.PodRef) {
	for _, pl := range placements {
		out = append(out, pl.Pods...)
	}
	slices.SortFunc(out, func(a, b cluster.PodRef) int {
		return slices.Compare([]string{a.Namespace, a.Name}, []string{b.Namespace, b.Name})
	})
	return out
}

// Which pods a move has stays, and a second time comes to the same.
func TestLandingKeepsThePodsOfEachMove(t *testing.T) {
	w, moves := moved(t, 30, 6, 5)
	first, ok := w.Land(moves, enough)
	if !ok {
		t.Fatal("they do not land")
	}
	again, _ := w.Land(moves, enough)
	elsewhere := false
	for i := range moves {
		if !slices.Equal(podsOf(first[i]), podsOf(moves[i])) {
			t.Errorf("move %d has other pods", i)
		}
		if fmt.Sprint(first[i]) != fmt.Sprint(again[i]) {
			t.Errorf("move %d lands otherwise the second time", i)
		}
		elsewhere = elsewhere || fmt.Sprint(first[i]) != fmt.Sprint(moves[i])
	}
	if !elsewhere {
		t.Error("all pods are where the search had them: this shows nothing")
	}
	if _, ok := w.Land(moves, 1); ok {
		t.Error("they land at more than it may cost")
	}
}

// BenchmarkLand says what a score costs: disrupt.mostLandingScores is held to 0.2 s by it.
func BenchmarkLand(b *testing.B) {
	for _, nodes := range []int{100, 1000, 4000} {
		w, moves := moved(b, nodes, 20, 10)
		pods := 0
		for _, m := range moves {
			pods += len(podsOf(m))
		}
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			for b.Loop() {
				if _, ok := w.Land(moves, enough); !ok {
					b.Fatal("they do not land")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(pods*(nodes-len(moves))), "ns/score")
		})
	}
}
